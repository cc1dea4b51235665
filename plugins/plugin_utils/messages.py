# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every sentence that judging writes, in English and Simplified Chinese: `text(language, key, **params)`.

Policies carry the titles and advice of their checks themselves. A test holds that each key has both languages and the same placeholders.
"""

from __future__ import annotations

from .messages_network import TABLE as _NETWORK

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
    "absent.one_gpu": ("one GPU: nothing to scale over", "只有一个 GPU，不涉及扩展"),
    "absent.scaling_not_asked": (
        "no times on several numbers of GPUs (workload_probe or scaling_seconds of the form)",
        "没有多种 GPU 数下的耗时（workload_probe 或表单的 scaling_seconds）",
    ),
    "absent.scaling_unusable": (
        "{source} has no usable seconds for two or more numbers of GPUs.",
        "{source} 中没有至少两种 GPU 数的可用耗时。",
    ),
    "absent.scaling_unused": (
        "On {gpus} GPUs the probed command used only {used}: its times say nothing of what more GPUs bring.",
        "在 {gpus} 个 GPU 上运行时，被探测的命令只使用了 {used} 个：其耗时不能说明增加 GPU 的收益。",
    ),
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
    "absent.not_started": (
        "The command of the last {module} ({command}) could not be started, so it shows nothing of this.",
        "最近一次 {module} 的命令（{command}）未能启动，无法据此判断。",
    ),
    "absent.probe_ended": (
        "The command of the last {module} ({command}) ended as {outcome} and no iteration of it was counted, so what it used by then isn't known to "
        "be what the job needs.",
        "最近一次 {module} 的命令（{command}）以 {outcome} 结束，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.failed": (
        "The probed command ({command}) failed with exit code {exit_code} and no iteration of it was counted, so what it used by then isn't "
        "known to be what the job needs.",
        "被探测的命令（{command}）以退出码 {exit_code} 失败，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.signal": (
        "The probed command ({command}) was ended by {signal} and no iteration of it was counted, so what it used by then isn't known to be "
        "what the job needs.",
        "被探测的命令（{command}）被信号 {signal} 终止，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.oom_host": (
        "The kernel ended the probed command ({command}) because the host's memory ran out, before any iteration was counted, so what it used by then "
        "isn't known to be what the job needs.",
        "主机内存耗尽，内核终止了被探测的命令（{command}），此前未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.timeout": (
        "The probed command ({command}) was ended at its time limit and no iteration of it was counted, so what it used by then isn't known "
        "to be what the job needs.",
        "被探测的命令（{command}）到达时间上限后被终止，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.hang": (
        "The probed command ({command}) stood still and was ended; no iteration of it was counted, so what it used by then isn't known to be "
        "what the job needs.",
        "被探测的命令（{command}）停滞后被终止，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.not_started": (
        "The probed command ({command}) could not be started, so nothing was measured: {error}.",
        "被探测的命令（{command}）未能启动，因此没有任何测量结果：{error}。",
    ),
    "absent.reservation": (
        "reservation: {framework} reserves VRAM on purpose and told no peak of its own",
        "reservation：{framework} 有意预留显存，且未给出自身的峰值",
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
    # ---------------------------------------------------------------------------------------------------
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
    "answer.reservation": (
        "Let the command tell its own peak (PyTorch: torch.cuda.max_memory_allocated; JAX: memory_stats()['peak_bytes_in_use']; "
        "TensorFlow: "
        "get_memory_info()['peak']), or switch the reservation off for the probe (XLA_PYTHON_CLIENT_PREALLOCATE=false, "
        "TF_FORCE_GPU_ALLOW_GROWTH=true). With vLLM the rest is KV cache: judge concurrency instead.",
        "让命令给出自身的峰值（PyTorch：torch.cuda.max_memory_allocated；JAX：memory_stats()['peak_bytes_in_use']；"
        "TensorFlow：get_memory_info()['peak']），或在探测时关闭预留（XLA_PYTHON_CLIENT_PREALLOCATE=false、"
        "TF_FORCE_GPU_ALLOW_GROWTH=true）。vLLM 的其余部分是 KV 缓存：应改看并发能力。",
    ),
    "answer.scaling_unused": (
        "Start one process for each GPU, such as [torchrun, --nproc_per_node=gpu, train.py] with DistributedDataParallel (accelerate launch, "
        "deepspeed and mpirun do it too): `python train.py` alone uses one GPU. GPU_AUDIT_GPU_COUNT has the number of GPUs of each run. "
        "Then probe again.",
        "请为每个 GPU 启动一个进程，例如 [torchrun, --nproc_per_node=gpu, train.py] 并使用 DistributedDataParallel（也可用 accelerate launch、"
        "deepspeed 或 mpirun）：单独执行 `python train.py` 只会使用一个 GPU。每次运行的 GPU 数量见环境变量 GPU_AUDIT_GPU_COUNT。然后重新探测。",
    ),
    "answer.cached": (
        "Measure again with more bytes than the host has RAM, or with direct reads.",
        "用大于主机内存的数据量或直接 I/O 重新测量。",
    ),
    "answer.memory": ("Measure in the directory where the data set really lies.", "在数据集真正所在的目录中测量。"),
    "answer.probe_ended": (
        "Make the command run by hand on this host (the end of its output is in the measurement), then probe again.",
        "先在该主机上手动跑通命令（其输出末尾保存在测量文件中），再重新探测。",
    ),
    "answer.probe_ended.oom_host": (
        "Give the job more host memory or let it take less (fewer loader workers, smaller caches), then probe again.",
        "增加可用的主机内存，或降低作业的内存占用（减少加载进程、缩小缓存），再重新探测。",
    ),
    "answer.probe_ended.timeout": (
        "Raise timeout_seconds, and let iterations be counted (iteration_pattern, progress_file or the helper gpu_audit_probe.py), then "
        "probe again.",
        "提高 timeout_seconds，并让迭代可被计数（iteration_pattern、progress_file 或辅助文件 gpu_audit_probe.py），再重新探测。",
    ),
    "answer.probe_ended.hang": (
        "Find what it waits for (py-spy dump, NCCL_DEBUG=INFO; the end of its output is in the measurement). Where it worked all the time, "
        "let iterations be counted, or raise hang_seconds. Then probe again.",
        "找出它在等待什么（py-spy dump、NCCL_DEBUG=INFO；其输出末尾保存在测量文件中）。若命令其实一直在工作，请让迭代可被计数，或提高 hang_seconds。然后重新探测。",
    ),
    "answer.probe_ended.not_started": (
        "Set the probe's program, folder, user or environment right, as the message says, then probe again.",
        "按提示修正探测的程序、工作目录、用户或环境变量，再重新探测。",
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
    "finding.superlinear": (
        "super-linear: suspect caches or a cold first run on the fewest GPUs, and measure that one again",
        "超线性：疑似缓存影响，或最少 GPU 的首次运行未预热；请重测该基准",
    ),
    "finding.gpus_unseen": (
        "whether the command used every GPU that it was given isn't known (they were not sampled): see that it did before relying on it",
        "命令是否使用了分配给它的所有 GPU 未知（未采样）：作为依据前请先确认",
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
    "finding.peak_in_zone": ("inside the target zone of 0.70 to 0.80", "位于 0.70 至 0.80 的目标区间内"),
    "finding.peak_below_zone": (
        "below the target zone of 0.70 to 0.80: there is room for a larger batch or longer inputs",
        "低于 0.70 至 0.80 的目标区间：可增大批大小或输入长度",
    ),
    "advice.small_files": (
        "In sequence this storage is fast enough; opening many small files is what is slow. Pack them into shards (tar, RecordIO, "
        "Parquet, LMDB) of some "
        "hundred MB, cache them on local NVMe, or read with more workers.",
        "该存储的顺序读取足够快，慢在打开大量小文件。将其打包为数百 MB 的分片（tar、RecordIO、Parquet、LMDB），缓存到本地 NVMe，或增加读取进程。",
    ),
    # --- what a workload probe saw ----------------------------------------------------------------------------------------------------
    "advice.outcome.failed": (
        "The command ended with an error of its own (exit code in the evidence). Make it run by hand first, then probe again.",
        "命令自身报错退出（退出码见证据）。请先手动跑通，再重新探测。",
    ),
    "advice.outcome.not_started": (
        "The command could not be started. Check program, working directory, user and environment of the probe.",
        "命令未能启动。请检查探测所用的程序、工作目录、用户和环境变量。",
    ),
    "advice.outcome.timeout": (
        "The time limit came before the command ended or had made the iterations asked for. Raise timeout_seconds or ask for fewer "
        "iterations. Where none was counted although it made some, give an iteration_pattern that matches its output.",
        "命令结束或完成所要求的迭代数之前已到时间上限。请提高 timeout_seconds 或减少迭代数。若命令已有迭代却未被计数，请给出与其输出匹配的 iteration_pattern。",
    ),
    "advice.outcome.hang": (
        "No iteration came any more; where none was counted, there was no output, no reading, no CPU time and no use of a GPU either. Look "
        "for a collective that waits for a missing rank, a loader worker that died, or "
        "a file system that doesn't answer (py-spy dump, NCCL_DEBUG=INFO).",
        "命令已停滞：不再有新的迭代；若未计到迭代，则输出、读取、CPU 和 GPU 均无活动。请检查是否有集合通信在等待缺失的 rank、加载进程已退出或文件系统无响应（py-spy dump、NCCL_DEBUG=INFO）。",
    ),
    "advice.outcome.oom_cuda": ("A GPU was out of memory; see the check on VRAM.", "显存不足，见显存检查项。"),
    "advice.outcome.oom_host": ("The kernel ended it for want of memory; see the check on memory.", "因内存不足被内核终止，见内存检查项。"),
    "advice.out_of_memory.at_start": (
        "The VRAM was full before the first iteration. Halve the batch size (or the sequence length) and run again; once it runs, "
        "raise it until the peak "
        "lies between 0.70 and 0.80. If one sample doesn't fit either: activation checkpointing, a lower precision, sharding, or a "
        "GPU with more memory.",
        "首次迭代前显存已满。将批大小（或序列长度）减半后重跑；跑通后再逐步增大，直到峰值落在 0.70 至 0.80。若单个样本也放不下：启用激活检查点、更低精度、分片，或换用显存更大的 GPU。",
    ),
    "advice.out_of_memory.moment_unknown": (
        "The VRAM ran full; whether before or after the first iteration isn't known: none was counted, and nothing shows that none was "
        "made. Give an iteration_pattern that matches the output, or wrap the loop with gpu_audit_probe.py, and probe again: full at the "
        "start asks for a smaller batch, full later points to "
        "longer inputs, fragmentation or tensors that are kept.",
        "显存已用尽；未计到任何迭代，也没有迹象表明确实未迭代，发生在首次迭代之前还是之后未知。请给出与输出匹配的 iteration_pattern，或用 gpu_audit_probe.py 包装循环后重新探测："
        "起始即满应减小批大小，之后才满则多为输入更长、显存碎片或张量未释放。",
    ),
    "advice.out_of_memory.later": (
        "The VRAM ran full after some iterations: a longer input, fragmentation, or tensors that are kept (a loss added up with "
        "its graph). Cap the length of "
        "inputs, set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, look for what grows; else a smaller batch.",
        "若干次迭代后显存用尽：输入更长、显存碎片，或张量未释放（如累加带计算图的 loss）。限制输入长度，设置 "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True，查找持续增长的部分；否则减小批大小。",
    ),
    "advice.out_of_memory.reservation": (
        "The framework wanted to reserve more VRAM than was free. Lower what it reserves (gpu_memory_utilization, "
        "XLA_PYTHON_CLIENT_MEM_FRACTION) or free "
        "the GPU of others; the size of the work isn't shown to be the cause.",
        "框架要预留的显存超过空闲量。降低其预留比例（gpu_memory_utilization、XLA_PYTHON_CLIENT_MEM_FRACTION），或清理 GPU 上的其他进程；并不能说明工作规模是原因。",
    ),
    "advice.data_side.host_cpu": (
        "The loader is bound by the CPU. Add loader workers while there are free cores, decode on the GPU or beforehand, keep the "
        "work on each sample small; "
        "else give the job more cores.",
        "数据加载受限于 CPU。有空闲核时增加加载进程，把解码移到 GPU 或提前完成，减少每个样本的处理；否则为作业分配更多核。",
    ),
    "advice.data_side.other_processes": (
        "The host's CPUs are busy, but not with this job: end or move what else runs there (top, ps), or set CPUs aside for the job, and "
        "probe again. If the waiting stays, the loader waits for something else than the CPU.",
        "主机 CPU 繁忙，但并非被该作业占用：结束或迁走其他进程（用 top、ps 查看），或为作业预留 CPU，再重新探测。若等待依旧，则数据加载等待的并不是 CPU。",
    ),
    "advice.data_side.io_wait": (
        "The job waits for the storage. Cache the data set on local NVMe or in RAM, pack small files into shards, prefetch more; "
        "measure the storage "
        "(storage_benchmark).",
        "作业在等待存储。将数据集缓存到本地 NVMe 或内存，把小文件打包成分片，增加预取；并实测存储（storage_benchmark）。",
    ),
    "advice.data_side.swap": (
        "The host swaps. Lower the loader's workers and prefetch, or give the job more memory.",
        "主机在换页。减少加载进程和预取，或为作业分配更多内存。",
    ),
    "advice.data_side.network_link": (
        "The network that brings the data is at its limit. Cache on local disks, pack small files, add clients or a faster link.",
        "承载数据的网络已达上限。在本地磁盘缓存、打包小文件、增加客户端，或使用更快的链路。",
    ),
    "advice.data_side.unnamed": (
        "The VRAM is steady and the GPUs are half idle, and neither CPU, storage wait, swap nor network is at its limit. Add "
        "loader workers, cache, pack small "
        "files; look for a serial part between iterations (logging, evaluation, synchronising with the CPU).",
        "显存稳定但 GPU 半空闲，而 CPU、存储等待、换页和网络均未达上限。增加加载进程、缓存、打包小文件；并检查迭代之间的串行部分（日志、评估、与 CPU 同步）。",
    ),
    "advice.data_side.wait_only": (
        "The job's own loop waits for data; the GPUs' figures don't show it or were not sampled, and what it waits for isn't known. "
        "Add loader workers, cache the data, pack small files, and probe again with the GPUs sampled to see what limits.",
        "作业自身的循环在等待数据；GPU 数据未体现这一点或未采样，等待的原因未知。增加加载进程、缓存数据、打包小文件，并在采样 GPU 的情况下重新探测以确定瓶颈。",
    ),
    "advice.capped.thermal": (
        "The GPUs slowed down for heat. Check fans, dust, air baffles, inlet temperature and neighbours, or the coolant.",
        "GPU 因过热降频。检查风扇、积尘、导风罩、进风温度和相邻设备，或冷却液。",
    ),
    "advice.capped.power_brake": (
        "The chassis made the GPUs brake. Check power supplies, their feeds and the BMC's power limit.",
        "机箱触发了 GPU 功率制动。检查电源、供电线路和 BMC 功率上限。",
    ),
    "advice.capped.power_limit_lowered": (
        "A power limit below the default held the clocks down. Raise it (nvidia-smi -pl) unless rack power or cooling needs it.",
        "低于默认值的功率上限压低了时钟。除非机架供电或散热需要，否则请调高（nvidia-smi -pl）。",
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
    "word.worth_adding": ("worth adding GPUs", "值得增加 GPU"),
    "word.marginal_gain": ("marginal gain: efficiency below 80 %", "收益有限：扩展效率低于 80%"),
    "word.not_worth_adding": ("not worth adding GPUs: efficiency below 60 %", "不值得增加 GPU：扩展效率低于 60%"),
    "word.nvme": ("NVMe", "NVMe 固态盘"),
    "word.ssd": ("SATA or SAS SSD", "SATA/SAS 固态盘"),
    "word.hdd": ("hard disk", "机械硬盘"),
    "word.network": ("network file system", "网络文件系统"),
    "word.network_small_files": ("network file system with small files", "网络文件系统（小文件）"),
    "word.memory": ("memory", "内存文件系统"),
    "word.overlay": ("overlay", "overlay 文件系统"),
    "word.completed": ("completed", "正常完成"),
    "word.stopped": ("stopped after what was asked for", "达到要求后停止"),
    "word.failed": ("ended with an error", "报错退出"),
    "word.oom_cuda": ("out of GPU memory", "显存不足"),
    "word.oom_host": ("ended by the kernel for want of memory", "因内存不足被内核终止"),
    "word.hang": ("hung", "挂起"),
    "word.at_start": ("before the first iteration", "首次迭代之前"),
    "word.moment_unknown": ("whether at the start or later isn't known", "是否在起始阶段未知"),
    "word.later": ("after some iterations", "若干次迭代之后"),
    "word.reservation": ("reserving VRAM on purpose", "有意预留显存时"),
    "word.host_cpu": ("the host's CPU", "主机 CPU"),
    "word.other_processes": ("other processes on the host's CPUs", "占用主机 CPU 的其他进程"),
    "word.io_wait": ("waiting for storage", "等待存储"),
    "word.network_link": ("the network", "网络"),
    "word.timed_out": ("ran into the time limit", "达到时间上限"),
    "word.swap": ("swapping", "换页"),
    "word.unnamed": ("the data side, cause not named", "数据侧（原因未定）"),
    "word.thermal": ("heat", "过热"),
    "word.power_brake": ("power brake of the chassis", "机箱功率制动"),
    "word.power_limit_lowered": ("a lowered power limit", "被调低的功率上限"),
    "word.power_limit": ("the default power limit", "默认功率上限"),
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
    **_NETWORK,
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
