# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every sentence that judging writes, in English and Simplified Chinese: `text(language, key, **params)`.

Policies carry the titles and advice of their checks themselves. A test holds that each key has both languages and the same placeholders.
"""

from __future__ import annotations

LANGUAGES = ("en", "zh")

TABLE = {
    # --- why a metric has no value
    # ----------------------------------------------------------------------------------------------
    "absent.not_derived": ("The audit has no rule for this figure.", "审计没有计算该指标的规则。"),
    "absent.needs_metric": ("It follows from {metric}, which has no value.", "该指标依赖的 {metric} 没有值。"),
    "absent.not_collected": (
        "Facts on {subject} were not collected: audit again with {subject} in gather_subset.",
        "未采集 {subject} 信息：请在 gather_subset 中加入 {subject} 后重新审计。",
    ),
    "absent.subject_failed": ("Collecting {subject} failed on the host: {error}", "主机上采集 {subject} 失败：{error}"),
    "absent.unreadable": ("{field} could not be read on the host.", "主机上无法读取 {field}。"),
    "absent.failed": ("{where}: reading {field} failed: {error}", "{where}：读取 {field} 失败：{error}"),
    "absent.not_permitted": (
        "No permission to read {field} ({error}): audit with become, or give the user the right.",
        "没有读取 {field} 的权限（{error}）：请使用 become 审计，或授予该用户权限。",
    ),
    "absent.not_supported": ("not supported", "不支持"),
    "absent.no_gpu": ("there is no NVIDIA GPU (PCI)", "没有 NVIDIA GPU（PCI）"),
    "absent.no_such_gpu": ("No GPU of this host is of the kind that is judged here.", "该主机没有此项检查所针对的 GPU。"),
    "absent.no_data_centre_gpu": ("No data-centre board in this host: ECC is a choice there.", "该主机没有数据中心板卡：ECC 可自行选择。"),
    "absent.tool_missing": ("driver library and nvidia-smi not found", "未找到驱动库和 nvidia-smi"),
    "absent.driver_silent": ("the driver doesn't answer", "驱动没有应答"),
    "absent.no_expectation": ("no gpu_audit_expected.{field}", "未给出 gpu_audit_expected.{field}"),
    "absent.unified_memory": ("GPU and host share one memory.", "GPU 与主机共用同一内存。"),
    "absent.virtual_machine": ("In a virtual machine the PCIe link is the hypervisor's.", "虚拟机中的 PCIe 链路由虚拟化层呈现。"),
    "absent.not_under_load": ("no GPU was under load", "没有 GPU 处于负载下"),
    "absent.no_nvswitch": ("These GPUs have no NVSwitch fabric.", "这些 GPU 没有 NVSwitch 互连。"),
    "absent.no_swap": ("The host has no swap.", "主机没有交换空间。"),
    "absent.no_links": ("No wired link is up.", "没有处于 up 状态的有线网口。"),
    "absent.no_rdma": ("no RDMA port in use", "没有使用中的 RDMA 端口"),
    "absent.no_paths": ("The form names no path.", "表单未填写路径。"),
    "absent.no_inode_limit": ("These file systems have no limit of inodes.", "这些文件系统没有 inode 上限。"),
    "absent.nothing_to_store": ("The form puts nothing on this host.", "表单没有要放到该主机上的数据。"),
    "absent.no_cuda_software": ("No CUDA toolkit and no framework with CUDA was found.", "未发现 CUDA 工具包或带 CUDA 的框架。"),
    "absent.unknown_cuda": ("CUDA {version} is not in the compatibility table.", "兼容性表中没有 CUDA {version}。"),
    "absent.form": ("form lacks {fields}", "表单缺少 {fields}"),
    "absent.path_unread": ("The free space of {path} is not known ({error}).", "无法得知 {path} 的可用空间（{error}）。"),
    "absent.not_measured": ("{module} has not been run", "尚未运行 {module}"),
    "absent.measurement_stale": ("The last {module} ({finished}) no longer counts.", "最近一次 {module}（{finished}）已不再有效。"),
    "absent.measurement_stale.age": (
        "The last {module} ({finished}) is older than gpu_audit_measurement_max_age_seconds.",
        "最近一次 {module}（{finished}）已超过 gpu_audit_measurement_max_age_seconds 规定的期限。",
    ),
    "absent.measurement_stale.machine": (
        "The last {module} ({finished}) was taken on another machine of this name.",
        "最近一次 {module}（{finished}）是在另一台同名机器上测得的。",
    ),
    "absent.measurement_stale.gpus": (
        "The last {module} ({finished}) was taken with other GPUs than the host has now.",
        "最近一次 {module}（{finished}）之后，主机的 GPU 已更换。",
    ),
    "absent.not_asked": ("not asked of this work", "此类工作负载不要求"),
    "absent.nothing_asked": (
        "The policy {policy} asks nothing about {item}: no check that is on answers it.",
        "策略 {policy} 没有就{item}提出任何问题：没有已启用且能回答它的检查。",
    ),
    "absent.measurement_failed": ("The last {module} failed: {error}", "最近一次 {module} 失败：{error}"),
    "absent.measurement_incomplete": ("The last {module} gave no usable {field}.", "最近一次 {module} 没有给出可用的 {field}。"),
    "absent.when_false": ("The condition of this check doesn't hold here.", "此检查的前提条件在该主机上不成立。"),
    "absent.expression_failed": ("The expression of this check failed: {error}", "此检查的表达式执行失败：{error}"),
    "absent.expression_empty": ("The expression of this check gave no value.", "此检查的表达式没有给出值。"),
    "absent.not_comparable": ("The value {value} can't be compared with the limit.", "值 {value} 无法与限值比较。"),
    # --- what would answer it
    # ---------------------------------------------------------------------------------------------------
    "answer.measure": (
        "Measure it (docs/measurements.md).",
        "请实测（docs/measurements.md）。",
    ),
    "answer.form": ("Fill in gpu_audit_workload.", "请补全 gpu_audit_workload。"),
    "answer.tool": (
        "Install the driver's tools on the host, or set gpu_audit_nvidia_smi, then audit again.",
        "在主机上安装驱动工具，或设置 gpu_audit_nvidia_smi，然后重新审计。",
    ),
    "answer.policy": (
        "Let the policy extend a shipped one, or give it a check of this item with `answers: true`.",
        "让该策略继承（extends）一个内置策略，或为该项添加一条设有 `answers: true` 的检查。",
    ),
    "answer.audit": ("Remove what keeps it from being read, then audit again.", "排除无法读取的原因，然后重新审计。"),
    # --- findings
    # ---------------------------------------------------------------------------------------------------------------
    "finding.limit": ("{title}: {actual}; required: {required}.", "{title}：{actual}；要求：{required}。"),
    "finding.plain": ("{title}: {actual}.", "{title}：{actual}。"),
    "finding.more": ("and {count} more", "另有 {count} 项"),
    "finding.satisfied": (
        "{title}: {actual} is below the usual limit, but {metric} is {value}, which is enough.",
        "{title}：{actual} 低于一般限值，但 {metric} 为 {value}，已足够。",
    ),
    "note.no_inputs": (
        "{file} is missing: judged by what -e says alone, without the host's own form, thresholds, expectations and waivers.",
        "缺少 {file}：仅按 -e 给出的内容评判，未使用该主机自己的表单、阈值、期望和豁免。",
    ),
    "note.never_warns": (
        "{check} fails ({fail}) before it warns ({warn}), so it never warns: give its warn limit too, or warn: null.",
        "{check} 的 fail 限值（{fail}）先于 warn 限值（{warn}）触发，因此不会产生警告：请同时给出 warn 限值，或设 warn: null。",
    ),
    "finding.waiver_expired": ("{message} (A waiver expired on {expires}: {reason}.)", "{message}（豁免已于 {expires} 到期：{reason}。）"),
    "advice.base_figures_missing": (
        "Unknown: base figures missing ({fields}). Without them nothing is sized and no upgrade is advised.",
        "未知：缺少基础数据（{fields}）。缺少时不做容量估算，也不给出升级建议。",
    ),
    # --- the driver's failures --------------------------------------------------------------------------------------------------------
    "advice.driver.timeout": (
        "The driver hangs. Drain the host and reboot it; look for Xid lines in the kernel log. If it hangs again, suspect the board.",
        "驱动挂起。排空主机并重启；查看内核日志中的 Xid。再次挂起则应怀疑板卡。",
    ),
    "advice.driver.stuck": (
        "A program hangs inside the driver (state D) and can't be ended. Only a reboot helps; look for Xid lines in the kernel log first.",
        "有程序卡在驱动中（D 状态）且无法结束。只能重启；请先查看内核日志中的 Xid。",
    ),
    "advice.driver.version_mismatch": (
        "The driver was upgraded without a restart. Reboot, or unload and load the nvidia modules once nothing uses the GPUs.",
        "驱动升级后没有重启。请重启，或在没有程序使用 GPU 时卸载并重新加载 nvidia 模块。",
    ),
    "advice.driver.driver_not_loaded": (
        "There is a GPU and no NVIDIA kernel module. Install the driver or load it (modprobe nvidia); after a kernel upgrade rebuild the "
        "module (dkms); check Secure Boot and nouveau.",
        "有 GPU 但没有加载 NVIDIA 内核模块。安装驱动或执行 modprobe nvidia；内核升级后需重新构建模块（dkms）；并检查 Secure Boot 与 nouveau。",
    ),
    "advice.driver.crashed": (
        "The driver's tool crashed. Reinstall the driver; if it crashes again, look at the kernel log.",
        "驱动工具崩溃。重新安装驱动；再次崩溃则查看内核日志。",
    ),
    "advice.driver.other": (
        "The driver answers with an error. Look at the kernel log for NVRM and Xid lines, then reset the GPUs or reboot.",
        "驱动返回错误。查看内核日志中的 NVRM 与 Xid，然后重置 GPU 或重启。",
    ),
    # --- words of metrics
    # -------------------------------------------------------------------------------------------------------
    "word.ok": ("ok", "正常"),
    "word.none": ("none", "无"),
    "word.full": ("full width", "满宽度"),
    "word.partial": ("some GPUs don't answer", "部分 GPU 不应答"),
    "word.timeout": ("gives no answer in time", "超时无应答"),
    "word.stuck": ("a program is stuck in it", "有程序卡在驱动中"),
    "word.version_mismatch": ("library and kernel module have different versions", "库与内核模块版本不一致"),
    "word.driver_not_loaded": ("the kernel module is not loaded", "内核模块未加载"),
    "word.crashed": ("its tool crashes", "工具崩溃"),
    "word.other": ("answers with an error", "返回错误"),
    "word.reset": ("GPU reset", "重置 GPU"),
    "word.reboot": ("reboot", "重启主机"),
    "word.drain_p2p": ("drain peer-to-peer traffic", "排空 P2P 流量"),
    "word.drain_and_reset": ("drain and reset", "排空并重置"),
    "word.below_max": ("narrower than the board's maximum", "窄于板卡最大宽度"),
    "word.below_siblings": ("narrower than its siblings", "窄于同型号的其他 GPU"),
    "word.below_expected": ("narrower than expected", "窄于期望宽度"),
    "word.in_progress": ("in progress", "进行中"),
    "word.not_started": ("not started", "未启动"),
    "word.completed_without_status": ("completed, without a status", "已完成，但没有状态"),
    "word.no_cluster": ("in no NVLink domain of the rack", "未加入机架的 NVLink 域"),
    "word.insufficient_resources": ("insufficient resources", "资源不足"),
    "word.below_toolkit": ("older than the toolkit's own driver", "旧于该工具包自带的驱动"),
    "word.too_old": ("too old", "过旧"),
    # --- verdicts
    # ---------------------------------------------------------------------------------------------------------------
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
    # --- a document that can't be used ------------------------------------------------------------------------------------------------
    "invalid.type": ("{path} must be {wanted}, not {found}", "{path} 必须是 {wanted}，而不是 {found}"),
    # --- causes and headline
    # ----------------------------------------------------------------------------------------------------
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
    "headline.partial": ("The run was interrupted.", "运行被中断。"),
    "purpose.mixed": ("their work", "各自的工作负载"),
    # --- items
    # ------------------------------------------------------------------------------------------------------------------
    "item.vram": ("VRAM", "显存"),
    "item.compute": ("compute", "算力"),
    "item.memory": ("memory", "内存"),
    "item.storage": ("storage", "存储"),
    "item.network": ("network", "网络"),
    "item.health": ("health", "健康"),
    "item.software": ("software", "软件"),
    "item.power": ("power", "功耗"),
    "item.cost": ("cost", "成本"),
    "item.utilisation": ("utilisation", "利用率"),
    "status.pass": ("pass", "通过"),
    "status.warn": ("warning", "警告"),
    "status.fail": ("fail", "失败"),
    "status.unknown": ("unknown", "未知"),
    "status.not_applicable": ("not applicable", "不适用"),
    "status.waived": ("waived", "已豁免"),
}


def text(language, key, **params):
    """The sentence of a key in "en" or "zh" (anything else reads as "en"), its placeholders filled. KeyError for an unknown key.

    Parameters are values, never formats: braces in what a host said stay as they are.
    """
    entry = TABLE[key]
    return entry[1 if language == "zh" else 0].format(**params) if params else entry[1 if language == "zh" else 0]


def word(language, value):
    """A metric's word for people; a word nobody knows (a driver may bring new ones) as it is."""
    entry = TABLE.get("word." + value) if isinstance(value, str) else None
    return str(value) if entry is None else entry[1 if language == "zh" else 0]
