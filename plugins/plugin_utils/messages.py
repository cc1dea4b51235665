# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every sentence that judging writes, in English and Simplified Chinese: `text(language, key, **params)`.

The network's, a probe's and the verdict's part of the table lie in files of their own. Policies carry the titles and advice of their checks
themselves. A test holds that each key has both languages and the same placeholders.
"""

from __future__ import annotations

from .messages_network import TABLE as _NETWORK
from .messages_probe import TABLE as _PROBE
from .messages_verdict import TABLE as _VERDICT

TABLE = {
    # --- why a metric has no value
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
    "absent.measurement_stale.future": (
        "The last {module} ({finished}) lies in the future: a clock was wrong. Measure again.",
        "最近一次 {module}（{finished}）的时间晚于当前时间，说明时钟有误，请重新测量。",
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
    "absent.cached": (
        "cached: {job} of {module} was answered out of RAM in {target}, so it says nothing of the disk.",
        "cached：{module} 在 {target} 的 {job} 结果来自内存缓存，不代表磁盘速度。",
    ),
    "absent.memory": (
        "memory: {target} lies in memory, so {job} of {module} says nothing of a disk.",
        "memory：{target} 位于内存文件系统，{module} 的 {job} 结果不代表磁盘速度。",
    ),
    "absent.shards": ("The form says that the data set is packed in shards.", "表单注明数据集已打包为分片。"),
    "absent.medium_unknown": (
        "What {path} lies on can't be seen: {seen} doesn't tell the kind of disk behind it (a virtual disk, for one).",
        "看不到 {path} 所在的介质：{seen} 未透露其背后的磁盘类型（例如虚拟磁盘）。",
    ),
    "absent.no_shape": (
        "The form doesn't say how the samples lie on the disk (dataset_layout, dataset_file_bytes, dataset_file_count).",
        "表单未说明样本在磁盘上的形态（dataset_layout、dataset_file_bytes、dataset_file_count）。",
    ),
    "absent.when_false": ("The condition of this check doesn't hold here.", "此检查的前提条件在该主机上不成立。"),
    "absent.expression_failed": ("The expression of this check failed: {error}", "此检查的表达式执行失败：{error}"),
    "absent.expression_empty": ("The expression of this check gave no value.", "此检查的表达式没有给出值。"),
    "absent.not_comparable": ("The value {value} can't be compared with the limit.", "值 {value} 无法与限值比较。"),
    "absent.quick": (
        "A quick look ({job}) says {actual}; a quick look doesn't answer. {seen}",
        "快速初测（{job}）得到 {actual}；快速初测不能作为结论。{seen}",
    ),
    "absent.too_short": (
        "The test ({job}) says {actual}, but it was over too soon to answer. {seen}",
        "测试（{job}）得到 {actual}，但时间过短，不能作为结论。{seen}",
    ),
    # --- what would answer it
    "answer.measure": (
        "Measure it (docs/measurements.md).",
        "请实测（docs/measurements.md）。",
    ),
    "answer.quick": ("Measure in full, without measure_storage_quick.", "请去掉 measure_storage_quick 完整测量。"),
    "answer.too_short": (
        "Measure in full; storage that is done with that within seconds needs a larger measure_storage_size_bytes (docs/storage.md).",
        "请完整测量；若存储在几秒内就能完成，请调大 measure_storage_size_bytes（docs/storage.md）。",
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
    "answer.cached": (
        "Measure again with more bytes than the host has RAM, or with direct reads.",
        "用大于主机内存的数据量或直接 I/O 重新测量。",
    ),
    "answer.memory": ("Measure in the directory where the data set really lies.", "在数据集真正所在的目录中测量。"),
    "answer.audit": ("Remove what keeps it from being read, then audit again.", "排除无法读取的原因，然后重新审计。"),
    # --- findings
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
    "finding.quick": (
        "from a quick first look; measure in full before relying on it",
        "来自快速初测，作为依据前请完整测量",
    ),
    "finding.too_short": (
        "from a test that was over too soon; measure in full before relying on it",
        "来自时间过短的测试，作为依据前请完整测量",
    ),
    "finding.buffered": (
        "measured through the page cache (buffered)",
        "经页缓存测得（buffered）",
    ),
    "advice.small_files": (
        "In sequence this storage is fast enough; opening many small files is what is slow. Pack them into shards (tar, RecordIO, "
        "Parquet, LMDB) of some "
        "hundred MB, cache them on local NVMe, or read with more workers.",
        "该存储的顺序读取足够快，慢在打开大量小文件。将其打包为数百 MB 的分片（tar、RecordIO、Parquet、LMDB），缓存到本地 NVMe，或增加读取进程。",
    ),
    # --- the driver's failures
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
    "word.ok": ("ok", "正常"),
    "word.nvme": ("NVMe", "NVMe 固态盘"),
    "word.ssd": ("SATA or SAS SSD", "SATA/SAS 固态盘"),
    "word.hdd": ("hard disk", "机械硬盘"),
    "word.network": ("network file system", "网络文件系统"),
    "word.network_small_files": ("network file system with small files", "网络文件系统（小文件）"),
    "word.memory": ("memory", "内存文件系统"),
    "word.overlay": ("overlay", "overlay 文件系统"),
    "word.completed": ("completed", "正常完成"),
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
    # --- a document that can't be used
    "invalid.type": ("{path} must be {wanted}, not {found}", "{path} 必须是 {wanted}，而不是 {found}"),
    # --- items
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
    **_NETWORK,
    **_PROBE,
    **_VERDICT,
}


def sentence(entry, language, params):
    """One entry (English, Chinese) of a table of texts in a language, its placeholders filled where there are parameters."""
    chosen = entry[1 if language == "zh" else 0]
    return chosen.format(**params) if params else chosen


def text(language, key, **params):
    """The sentence of a key in "en" or "zh" (anything else reads as "en"), its placeholders filled. KeyError for an unknown key.

    Parameters are values, never formats: braces in what a host said stay as they are.
    """
    return sentence(TABLE[key], language, params)


def word(language, value):
    """A metric's word for people; a word nobody knows (a driver may bring new ones) as it is."""
    entry = TABLE.get("word." + value) if isinstance(value, str) else None
    return str(value) if entry is None else entry[1 if language == "zh" else 0]
