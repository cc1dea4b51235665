# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every sentence of a plan, in English and Simplified Chinese."""

from __future__ import annotations

from .messages import sentence

TABLE = {
    "title": ("VRAM plan", "显存规划"),
    "base_missing": (
        "Nothing is sized: the workload form lacks {fields}. Give the three base figures (input_sample_bytes, batch_size, hours_per_day) "
        "in gpu_audit_workload.",
        "未做估算：工作负载表单缺少 {fields}。请在 gpu_audit_workload 中给出三项基础数据（input_sample_bytes、batch_size、hours_per_day）。",
    ),
    "incomplete": (
        "Not sized: {fields} missing. One GPU takes at least {size}.",
        "无法给出总量：缺少 {fields}。单个 GPU 至少需要 {size}。",
    ),
    "fits": (
        "{size} on each GPU ({gpus} in all): {count} of {total} boards hold it below {target} of their memory.",
        "共 {gpus} 个 GPU，每个需要 {size}：{total} 种板卡中有 {count} 种可将占用控制在显存的 {target} 以下。",
    ),
    "fits_more": (
        "{size} on each GPU ({gpus} in all): no board holds it below {target} of its memory. With more GPUs it fits, from {needed} x "
        "{board} on.",
        "共 {gpus} 个 GPU，每个需要 {size}：没有板卡能将占用控制在显存的 {target} 以下。增加 GPU 后可以放下，最少 {needed} × {board}。",
    ),
    "fits_none": (
        "{size} on each GPU ({gpus} in all): no board holds it below {target} of its memory, whatever the number. Change how the job "
        "is run.",
        "共 {gpus} 个 GPU，每个需要 {size}：没有板卡能将占用控制在显存的 {target} 以下，增加数量也无济于事。请调整运行方式。",
    ),
    "parts": ("Memory of one GPU", "单个 GPU 的显存构成"),
    "part": ("part", "部分"),
    "per_gpu": ("bytes per GPU", "每 GPU 用量"),
    "share": ("share", "占比"),
    "hint.largest": ("Most of it: {part}, {size} ({share}).", "占用最多：{part}，{size}（{share}）。"),
    "hint.change": (
        "With {change} it takes {size} and fits {gpus} x {board} ({memory}).",
        "改用 {change} 后需要 {size}，可放入 {gpus} × {board}（{memory}）。",
    ),
    "hint.gpus": (
        "With {change} it fits from {needed} x {board} on.",
        "改用 {change} 后可以放下，最少 {needed} × {board}。",
    ),
    "how": ("how it was counted", "计算方法"),
    "total": ("total", "合计"),
    "on_gpus": ("on each GPU, {gpus} in all", "每个 GPU（共 {gpus} 个）"),
    "needs_fields": ("needs {fields}", "需要 {fields}"),
    "how.of_the_above": ("{factor} x the parts above", "以上各项之和 × {factor}"),
    "how.total_of_weights": ("to a total of {factor} x weights", "补足至总量为权重的 {factor} 倍"),
    "how.one_step": ("one step of up to 8192 tokens", "单步最多 8192 个 token"),
    "how.one_layer": ("one whole layer at a time", "一次一个完整的层"),
    "how.in_host_memory": ("in host memory", "位于主机内存"),
    "part.weights": ("weights", "权重"),
    "part.gradients": ("gradients", "梯度"),
    "part.optimizer": ("optimizer", "优化器状态"),
    "part.activations": ("activations", "激活"),
    "part.recomputed_layer": ("layer being recomputed", "正在重算的层"),
    "part.logits": ("logits and their gradient", "logits 及其梯度"),
    "part.input_batch": ("input batch, and the next", "当前与下一批输入"),
    "part.communication_buckets": ("communication buckets", "通信缓冲区"),
    "part.gathered_layers": ("gathered layers", "聚集的层参数"),
    "part.kv_cache": ("KV cache", "KV 缓存"),
    "part.workspace": ("workspace", "工作区"),
    "part.framework_overhead": ("framework and CUDA context", "框架与 CUDA 上下文"),
    "part.fragmentation": ("fragmentation", "显存碎片"),
    "boards_title": ("Boards (the peak must stay below {target} of the memory)", "板卡（峰值须低于显存的 {target}）"),
    "memory": ("memory", "显存"),
    "used": ("used on {gpus}", "{gpus} 个时占用"),
    "room": ("headroom", "余量"),
    "fits_here": ("fits", "能放下"),
    "needed": ("fewest GPUs", "最少 GPU 数"),
    "on_hosts": ("{gpus} on {hosts} hosts", "{gpus}（{hosts} 台主机）"),
    "boards": ("boards", "板卡"),
    "yes": ("yes", "是"),
    "no": ("no", "否"),
    "unknown": ("unknown", "未知"),
    "why.memory_unknown": ("Memory not known", "显存容量未知"),
    "why.format": ("No units for this precision", "不支持该精度"),
    "why.too_small": ("Too small for what is known already", "已知部分即已超出"),
    "why.no_number": ("Too small, however many", "显存不足，增加数量无效"),
    "savings": ("What would take less", "可节省显存的改动"),
    "held_by": ("then held by", "之后可用的板卡"),
    "fits_on": ("{count} boards, the smallest {board} ({memory})", "{count} 种板卡，最小为 {board}（{memory}）"),
    "needs_gpus": ("from {needed} x {board} on", "最少 {needed} × {board}"),
    "fits_nowhere": ("no board", "无"),
    "change": ("change", "改动"),
    "needs": ("What the job needs besides", "作业的其他需求"),
    "need": ("need", "需求"),
    "amount": ("amount", "数量"),
    "need.checkpoint_bytes": ("one checkpoint", "单个检查点"),
    "need.host_memory_bytes": ("memory of each host, for loading and offload", "每台主机的内存（加载与卸载）"),
    "need.read_bytes_per_second": ("reading of all GPUs together", "全部 GPU 合计读取速度"),
    "need.run_days": ("days of one run", "单次运行天数"),
    "list": ("{label}: {names}", "{label}：{names}"),
    "assumed": ("Assumed, because it was not given", "未给出而采用的默认值"),
    "note.parameters": (
        "{given} parameters were given, {counted} are counted from the shape: experts, another MLP or a typing error. The given "
        "figure was used.",
        "给出的参数量为 {given}，由结构推算为 {counted}：可能是 MoE、MLP 结构不同或填写有误。已采用给出的数值。",
    ),
    "note.states": (
        "Each trained parameter takes {bytes} B (weights, gradients, optimizer; method {method}). Other pages count 16, 18 or 20 B "
        "for the same job.",
        "每个训练参数占用 {bytes} B（权重、梯度、优化器；训练方式 {method}）。同一作业在其他资料中可能按 16、18 或 20 B 计。",
    ),
    "note.fp8": (
        "FP8 training keeps 16-bit weights and activations; it was counted as 16 bit.",
        "FP8 训练仍保留 16 位权重与激活，按 16 位计算。",
    ),
    "note.unsharded": (
        "Without sharding every GPU holds the whole model: more GPUs don't help. See sharding (zero1 to zero3, fsdp), "
        "tensor_parallel or method.",
        "不切分时每个 GPU 都保存完整模型，增加 GPU 无效。可考虑 sharding（zero1 至 zero3、fsdp）、tensor_parallel 或 method。",
    ),
    "note.pipeline": (
        "Pipeline stages keep as many micro-batches as there are stages: activations don't shrink with them.",
        "流水线首级同时保留与级数相同的微批次，激活不会随级数减少。",
    ),
    "note.boards": (
        "boards looks at {count}: {names}. A key of the catalogue names one alone: boards: {example}.",
        "boards 匹配到 {count} 种：{names}。若只需其中一种，请使用目录中的键：boards: {example}。",
    ),
    "note.board": ("boards looks at one: {names} ({example}).", "boards 只匹配到一种：{names}（{example}）。"),
    "note.margin": (
        "An estimate, good to about a quarter: measure the peak with workload_probe on the machine. {target} leaves room for longer "
        "inputs and fragments.",
        "此为估算，误差约四分之一：请在机器上用 workload_probe 实测峰值。{target} 的上限为更长输入和碎片留有余量。",
    ),
}


def text(language, key, **params):
    """The sentence of a key in "en" or "zh" (anything else reads as "en"), its placeholders filled. KeyError for an unknown key."""
    return sentence(TABLE[key], language, params)


def change_text(change):
    """Fields and values that replace others, as somebody would write them."""
    return ", ".join("%s: %s" % (name, str(value).lower() if isinstance(value, bool) else value) for name, value in change.items())
