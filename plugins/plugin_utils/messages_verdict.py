# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the table of `messages.py` that is about a whole host or fleet: verdicts and their reasons, causes, the headline."""

from __future__ import annotations

TABLE = {
    # --- verdicts
    "verdict.ready": ("ready", "就绪"),
    "verdict.ready_with_warnings": ("ready with warnings", "就绪（有警告）"),
    "verdict.unproven": ("unproven", "未验证"),
    "verdict.not_ready": ("not ready", "未就绪"),
    "verdict.unreachable": ("unreachable", "无法连接"),
    "verdict.error": ("error", "出错"),
    "verdict.not_tried": ("not tried", "未尝试"),
    "reason.ready": ("Every question of the checklist is answered and nothing is wrong.", "清单中的问题均已得到回答，未发现问题。"),
    "reason.ready_with_warnings": ("Nothing fails; {count} to look at: {titles}.", "没有失败项；有 {count} 项需要关注：{titles}。"),
    "reason.unproven": ("Nothing fails, but not answered yet: {titles}.", "没有失败项，但尚未得到回答：{titles}。"),
    "reason.not_ready": ("Fails: {titles}.", "未通过：{titles}。"),
    "reason.open": ("{item} not answered", "{item}尚未回答"),
    "reason.more": ("{count} more", "另有 {count} 项"),
    "reason.not_tried": (
        "The host was not tried: the run was interrupted or its batch was given up.",
        "该主机未被尝试：运行被中断或所在批次被放弃。",
    ),
    "reason.unreachable": ("The host can't be reached: {error}", "无法连接主机：{error}"),
    "reason.error": ("There is no valid document of the host: {error}", "没有该主机的有效文档：{error}"),
    "reason.inputs": ("A variable of the host can't be used: {error}", "该主机的变量无法使用：{error}"),
    "reason.no_policy": ("The policy {policy} of this host could not be read.", "无法读取该主机的策略 {policy}。"),
    "reason.silent": ("no reason was recorded", "没有记录原因"),
    # --- causes and headline
    "cause.driver_support.too_old": (
        "driver {driver} is too old for the CUDA {cuda} that is installed",
        "驱动 {driver} 对已安装的 CUDA {cuda} 来说过旧",
    ),
    "cause.driver_support.below_toolkit": (
        "driver {driver} is older than the one CUDA {cuda} came with",
        "驱动 {driver} 旧于 CUDA {cuda} 自带的驱动",
    ),
    "cause.capacity": ("{place}: needs {needed}, {free} free", "{place}：需要 {needed}，可用 {free}"),
    "cause.counted": ("{detail} ({count} hosts)", "{detail}（{count} 台）"),
    "cause.title": ("{title}: {detail}", "{title}：{detail}"),
    "cause.numeric": ("{actual}; required: {required}", "{actual}；要求：{required}"),
    "cause.range": ("{low} to {high}", "{low} 至 {high}"),
    "cause.unreachable": ("Hosts can't be reached", "主机无法连接"),
    "cause.error": ("Hosts gave no valid document", "主机没有给出有效文档"),
    "cause.error.settings": ("The audit's own settings are wrong", "审计自身的设置有误"),
    "cause.error.no_python": ("No Python that runs was found on hosts", "主机上没有可运行的 Python"),
    "cause.error.module_failed": ("Collecting failed on hosts", "主机上的采集失败"),
    "cause.error.timeout": ("Hosts didn't answer in time", "主机未在限定时间内应答"),
    "cause.not_tried": ("Hosts were not tried", "主机未被尝试"),
    "cause.advice.unreachable": (
        "Check power, network, the ssh service and the inventory's address, user and key.",
        "检查电源、网络、ssh 服务，以及清单中的地址、用户和密钥。",
    ),
    "cause.advice.error": (
        "The detail says what is wrong with the document. Audit these hosts again.",
        "详情说明了文档的问题。请重新审计这些主机。",
    ),
    "cause.advice.error.settings": (
        "Correct the variable or policy that the detail names (inventory, group_vars, host_vars, -e), then audit again or, for a stored "
        "run, rejudge. Nothing is wrong with the hosts.",
        "更正详情所指的变量或策略（清单、group_vars、host_vars 或 -e），然后重新审计；对已存储的运行则重新评判。问题不在主机。",
    ),
    "cause.advice.error.no_python": (
        "Set ansible_python_interpreter to a Python 3.7 or newer that is on the host; install python3 where there is none.",
        "将 ansible_python_interpreter 设为主机上可用的 Python 3.7 或更高版本；没有则安装 python3。",
    ),
    "cause.advice.error.module_failed": (
        "The detail ends with the host's own words: look there at free space in the temporary folder, privileges and Python.",
        "详情末尾是主机给出的原话：据此检查主机的临时目录空间、权限和 Python。",
    ),
    "cause.advice.error.timeout": (
        "Look at the load and the mounts of the hosts, or allow more time (gpu_audit_host_timeout).",
        "检查主机的负载和挂载，或放宽时间（gpu_audit_host_timeout）。",
    ),
    "cause.advice.not_tried": ("Run the audit again for these hosts.", "对这些主机重新运行审计。"),
    "headline.none": ("No host was audited.", "没有审计任何主机。"),
    "headline.ready": ("{ready} of {hosts} hosts are ready for {purpose}.", "{hosts} 台主机中有 {ready} 台可用于{purpose}。"),
    "headline.warnings": ("{count} of them with warnings.", "其中 {count} 台有警告。"),
    "headline.unproven": ("{count} unproven: measurements or form fields are missing.", "{count} 台尚未验证：缺少测量结果或表单字段。"),
    "headline.unreachable": ("{count} can't be reached.", "{count} 台无法连接。"),
    "headline.error": ("{count} gave no valid document.", "{count} 台没有给出有效文档。"),
    "headline.settings": ("{count} not judged: the audit's own settings are wrong.", "{count} 台未评判：审计自身的设置有误。"),
    "headline.not_tried": ("{count} not tried.", "{count} 台未被尝试。"),
    "headline.one_fails": ("1 fails: {reason}.", "1 台未通过：{reason}。"),
    "headline.one_reason": ("{count} fail for one reason: {reason}.", "{count} 台因同一原因未通过：{reason}。"),
    "headline.reasons": (
        "{count} fail, most of them ({most}) for this: {reason}.",
        "{count} 台未通过，其中最多（{most} 台）的原因是：{reason}。",
    ),
    "headline.several": (
        "{count} fail for several reasons; the commonest ({most}): {reason}.",
        "{count} 台因多种原因未通过；最常见（{most} 台）：{reason}。",
    ),
    "headline.each": (
        "{count} fail, each for a reason of its own; one of them: {reason}.",
        "{count} 台未通过，原因各不相同；其中一台：{reason}。",
    ),
    "headline.partial": ("The run was interrupted.", "运行被中断。"),
    "purpose.mixed": ("their work", "各自的工作负载"),
}
