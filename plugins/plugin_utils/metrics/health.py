# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Health of the GPUs: memory errors, clock-event reasons, temperature, PCIe link, fabric, modes. Every metric is the worst over the
host's GPUs.
"""

from __future__ import annotations

from . import clocks, links
from .catalogue import find_board
from .per_gpu import evidence, put_count, read
from .registry import amount, define, flag, number, text

_FLAGS = (
    ("gpu.sram_threshold", "ecc_sram_threshold_exceeded", "GPUs whose SRAM error threshold is exceeded", "SRAM 错误超过阈值的 GPU 数量"),
    ("gpu.remap_failed", "remapped_rows_failure", "GPUs on which remapping a row failed", "行重映射失败的 GPU 数量"),
    ("gpu.remap_pending", "remapped_rows_pending", "GPUs with a row remap waiting for a reset", "有待重置生效的行重映射的 GPU 数量"),
    (
        "gpu.retirement_pending",
        "retired_pages_pending",
        "GPUs with page retirements waiting for a reset",
        "有待重置生效的页退役的 GPU 数量",
    ),
)
_SUMS = (
    (
        "gpu.ecc_uncorrectable",
        "ecc_uncorrectable_volatile",
        "uncorrectable ECC errors since the driver was loaded, all GPUs",
        "驱动加载以来不可纠正的 ECC 错误数（全部 GPU）",
    ),
    (
        "gpu.ecc_lifetime",
        "ecc_uncorrectable_aggregate",
        "uncorrectable ECC errors over the boards' lives, all GPUs",
        "板卡整个寿命内不可纠正的 ECC 错误数（全部 GPU）",
    ),
    (
        "gpu.ecc_corrected_lifetime",
        "ecc_corrected_aggregate",
        "corrected ECC errors over the boards' lives, all GPUs",
        "板卡整个寿命内已纠正的 ECC 错误数（全部 GPU）",
    ),
    (
        "gpu.remapped_rows",
        "remapped_rows_uncorrectable",
        "rows remapped after uncorrectable errors, all GPUs",
        "因不可纠正错误而重映射的行数（全部 GPU）",
    ),
    (
        "gpu.retired_pages",
        "retired_pages_double_bit",
        "pages retired after double-bit errors, all GPUs",
        "因双比特错误退役的页数（全部 GPU）",
    ),
)
for _name, _field, _en, _zh in _FLAGS + _SUMS:
    define(_name, "count", _en, ("gpu.gpus[].%s" % _field,), _zh)
define(
    "gpu.recovery_action",
    "word",
    "the driver's recovery action of the worst GPU: none, reset, reboot, drain_p2p, drain_and_reset, other words as they are",
    ("gpu.gpus[].recovery_action",),
    "最差 GPU 上驱动给出的恢复动作：none、reset、reboot、drain_p2p、drain_and_reset，其他词原样保留",
    good="none",
)
define(
    "gpu.temperature_headroom_celsius",
    "celsius",
    "coolest margin to hardware slowdown: temperature_headroom_celsius less temperature_slowdown_tlimit_celsius "
    "where the driver gives T.Limit",
    ("gpu.gpus[].temperature_headroom_celsius", "…temperature_slowdown_tlimit_celsius"),
    "距硬件降频的最小温度余量：temperature_headroom_celsius；驱动给出 T.Limit 时再减去 temperature_slowdown_tlimit_celsius",
)
define("gpu.persistence_off", "count", "GPUs without persistence mode", ("gpu.gpus[].persistence_mode",), "未开启持久模式的 GPU 数量")
define(
    "gpu.ecc_off",
    "count",
    "data-centre boards whose ECC mode is off",
    ("gpu.gpus[].ecc_mode", "the board's class in gpus.yml"),
    "ECC 关闭的数据中心板卡数量",
)
define(
    "gpu.inforom",
    "count",
    "warnings of the driver about a corrupt infoROM",
    ("gpu.warnings", "gpu.gpus[].error"),
    "驱动关于 infoROM 损坏的警告数",
)

# From harmless to worst; a word nobody knows ranks below the known bad ones but above none.
_RECOVERY_ORDER = ("none", "drain_p2p", "drain_and_reset", "reset", "gpu_reset", "reboot", "node_reboot")
_ALIASES = {
    "gpu_reset": "reset",
    "node_reboot": "reboot",
    "gpu_reset_required": "reset",
    "node_reboot_required": "reboot",
    "drain_and_reset_required": "drain_and_reset",
    "n/a": "none",
}


def derive(state):
    """Every metric of the GPUs' health."""
    for name, field, _en, _zh in _FLAGS:
        reading = read(state, name, field, flag)
        if reading:
            put_count(state, name, reading, lambda value: value)
    for name, field, _en, _zh in _SUMS:
        _derive_sum(state, name, field)
    _derive_recovery(state)
    _derive_temperature(state)
    _derive_modes(state)
    _derive_inforom(state)
    clocks.derive(state)
    links.derive(state)


def _derive_sum(state, name, field):
    reading = read(state, name, field, amount)
    if not reading:
        return
    bad = [(gpu, value) for gpu, value in reading.pairs if value > 0]
    if not bad and reading.failed:
        reading.mark(state, name)
    else:
        state.value(name, sum(value for _gpu, value in bad), evidence(state, bad))


def _derive_recovery(state):
    name = "gpu.recovery_action"
    reading = read(state, name, "recovery_action", text)
    if not reading:
        return
    words = []
    for gpu, value in reading.pairs:
        word = value.strip().lower().replace(" ", "_")
        word = _ALIASES.get(word, word)
        rank = _RECOVERY_ORDER.index(word) if word in _RECOVERY_ORDER else 0.5
        words.append((rank, word, gpu))
    worst = max(rank for rank, _word, _gpu in words)
    if worst == 0 and reading.failed:
        reading.mark(state, name)
        return
    word = min(word for rank, word, _gpu in words if rank == worst)
    state.value(name, word, evidence(state, [(gpu, other) for rank, other, gpu in words if rank > 0]))


def _derive_temperature(state):
    name = "gpu.temperature_headroom_celsius"
    reading = read(state, name, "temperature_headroom_celsius", number)
    if not reading:
        return
    margins = []
    for gpu, headroom in reading.pairs:
        # The driver's T.Limit counts down to the operating limit; hardware slows down at the (negative) slowdown offset below it.
        offset = number(gpu, "temperature_slowdown_tlimit_celsius")
        margins.append((headroom - offset if offset is not None else headroom, gpu))
    worst = min(margin for margin, _gpu in margins)
    state.value(name, worst, evidence(state, [(gpu, margin) for margin, gpu in margins if margin == worst][:2]))


def _derive_modes(state):
    reading = read(state, "gpu.persistence_off", "persistence_mode", text)
    if reading:
        put_count(state, "gpu.persistence_off", reading, lambda value: value == "disabled")
    boards = [gpu for gpu in state.live if (find_board(text(gpu, "name"), text(gpu, "device_id")) or {}).get("class") == "datacenter"]
    reading = read(state, "gpu.ecc_off", "ecc_mode", text, boards, "absent.no_data_centre_gpu")
    if reading:
        put_count(state, "gpu.ecc_off", reading, lambda value: value == "disabled")


def _derive_inforom(state):
    name = "gpu.inforom"
    subject, problem = state.subject("gpu")
    if problem or not state.gpus:
        read(state, name, "warnings", text)
        return
    warnings = subject.get("warnings")
    lines = [line[:200] for line in warnings if isinstance(line, str)] if isinstance(warnings, list) else []
    lines += [text(gpu, "error") for gpu in state.gpus if text(gpu, "error")] + [text(subject, "error") or ""]
    corrupt = [line for line in lines if "inforom" in line.lower()]
    state.value(name, len(corrupt), [{"what": line, "value": "infoROM", "source": state.source} for line in corrupt[:8]])
