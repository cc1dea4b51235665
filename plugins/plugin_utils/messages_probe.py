# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The part of the table of `messages.py` that is about a workload probe: how its command ended, what held it back, how it scales."""

from __future__ import annotations

TABLE = {
    # --- why a metric has no value
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
    "absent.not_started": (
        "The command of the last {module} ({command}) could not be started, so it shows nothing of this.",
        "最近一次 {module} 的命令（{command}）未能启动，无法据此判断。",
    ),
    "absent.probe_ended": (
        "The command of the last {module} ({command}) ended as {outcome} and no iteration of it was counted, so what it used by then isn't "
        "known to "
        "be what the job needs.",
        "最近一次 {module} 的命令（{command}）以 {outcome} 结束，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.failed": (
        "The probed command ({command}) failed with exit code {exit_code} and no iteration of it was counted, so what it used by then "
        "isn't "
        "known to be what the job needs.",
        "被探测的命令（{command}）以退出码 {exit_code} 失败，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.signal": (
        "The probed command ({command}) was ended by {signal} and no iteration of it was counted, so what it used by then isn't known to "
        "be "
        "what the job needs.",
        "被探测的命令（{command}）被信号 {signal} 终止，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.oom_host": (
        "The kernel ended the probed command ({command}) because the host's memory ran out, before any iteration was counted, so what it "
        "used by then "
        "isn't known to be what the job needs.",
        "主机内存耗尽，内核终止了被探测的命令（{command}），此前未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.timeout": (
        "The probed command ({command}) was ended at its time limit and no iteration of it was counted, so what it used by then isn't "
        "known "
        "to be what the job needs.",
        "被探测的命令（{command}）到达时间上限后被终止，且未计到任何迭代，因此其用量不能视为该作业的需求。",
    ),
    "absent.probe_ended.hang": (
        "The probed command ({command}) stood still and was ended; no iteration of it was counted, so what it used by then isn't known to "
        "be "
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
    # --- what would answer it
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
        "Start one process for each GPU, such as [torchrun, --nproc_per_node=gpu, train.py] with DistributedDataParallel (accelerate "
        "launch, "
        "deepspeed and mpirun do it too): `python train.py` alone uses one GPU. GPU_AUDIT_GPU_COUNT has the number of GPUs of each run. "
        "Then probe again.",
        "请为每个 GPU 启动一个进程，例如 [torchrun, --nproc_per_node=gpu, train.py] 并使用 DistributedDataParallel（也可用 accelerate launch、"
        "deepspeed 或 mpirun）：单独执行 `python train.py` 只会使用一个 GPU。每次运行的 GPU 数量见环境变量 GPU_AUDIT_GPU_COUNT。然后重新探测。",
    ),
    "answer.probe_ended": (
        "Make the command run by hand on this host (the end of its output is in the measurement), then probe again.",
        "先在该主机上手动跑通命令（其输出末尾保存在测量文件中），再重新探测。",
    ),
    "answer.probe_ended.oom_host": (
        "Give the job more host memory or let it take less (fewer loader workers, smaller caches), then probe again.",
        "增加可用的主机内存，或降低作业的内存占用（减少加载进程、缩小缓存），再重新探测。",
    ),
    "answer.probe_ended.timeout": (
        "Raise probe_workload_timeout_seconds, and let iterations be counted (probe_workload_iteration_pattern, "
        "probe_workload_progress_file or the helper gpu_audit_probe.py), then "
        "probe again.",
        "提高 probe_workload_timeout_seconds，并让迭代可被计数（probe_workload_iteration_pattern、probe_workload_progress_file 或辅助文件 gpu_audit_probe.py），再重新探测。",
    ),
    "answer.probe_ended.hang": (
        "Find what it waits for (py-spy dump, NCCL_DEBUG=INFO; the end of its output is in the measurement). Where it worked all the time, "
        "let iterations be counted, or raise probe_workload_hang_seconds. Then probe again.",
        "找出它在等待什么（py-spy dump、NCCL_DEBUG=INFO；其输出末尾保存在测量文件中）。若命令其实一直在工作，请让迭代可被计数，或提高 probe_workload_hang_seconds。然后重新探测。",
    ),
    "answer.probe_ended.not_started": (
        "Set the probe's program, folder, user or environment right, as the message says, then probe again.",
        "按提示修正探测的程序、工作目录、用户或环境变量，再重新探测。",
    ),
    # --- findings
    "finding.superlinear": (
        "super-linear: suspect caches or a cold first run on the fewest GPUs, and measure that one again",
        "超线性：疑似缓存影响，或最少 GPU 的首次运行未预热；请重测该基准",
    ),
    "finding.gpus_unseen": (
        "whether the command used every GPU that it was given isn't known (they were not sampled): see that it did before relying on it",
        "命令是否使用了分配给它的所有 GPU 未知（未采样）：作为依据前请先确认",
    ),
    "finding.peak_in_zone": ("inside the target zone of 0.70 to 0.80", "位于 0.70 至 0.80 的目标区间内"),
    "finding.peak_below_zone": (
        "below the target zone of 0.70 to 0.80: there is room for a larger batch or longer inputs",
        "低于 0.70 至 0.80 的目标区间：可增大批大小或输入长度",
    ),
    # --- advice on what was seen
    "advice.outcome.failed": (
        "The command ended with an error of its own (exit code in the evidence). Make it run by hand first, then probe again.",
        "命令自身报错退出（退出码见证据）。请先手动跑通，再重新探测。",
    ),
    "advice.outcome.not_started": (
        "The command could not be started. Check program, working directory, user and environment of the probe.",
        "命令未能启动。请检查探测所用的程序、工作目录、用户和环境变量。",
    ),
    "advice.outcome.timeout": (
        "The time limit came before the command ended or had made the iterations asked for. Raise probe_workload_timeout_seconds or ask "
        "for fewer "
        "iterations. Where none was counted although it made some, give a probe_workload_iteration_pattern that matches its output.",
        "命令结束或完成所要求的迭代数之前已到时间上限。请提高 probe_workload_timeout_seconds 或减少迭代数。若命令已有迭代却未被计数，请给出与其输出匹配的 probe_workload_iteration_pattern。",
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
        "made. Give a probe_workload_iteration_pattern that matches the output, or wrap the loop with gpu_audit_probe.py, and probe again: "
        "full at the "
        "start asks for a smaller batch, full later points to "
        "longer inputs, fragmentation or tensors that are kept.",
        "显存已用尽；未计到任何迭代，也没有迹象表明确实未迭代，发生在首次迭代之前还是之后未知。请给出与输出匹配的 probe_workload_iteration_pattern，或用 gpu_audit_probe.py 包装循环后重新探测："
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
    # --- words
    "word.worth_adding": ("worth adding GPUs", "值得增加 GPU"),
    "word.marginal_gain": ("marginal gain: efficiency below 80 %", "收益有限：扩展效率低于 80%"),
    "word.not_worth_adding": ("not worth adding GPUs: efficiency below 60 %", "不值得增加 GPU：扩展效率低于 60%"),
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
}
