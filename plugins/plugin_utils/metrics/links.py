# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Links of the GPUs: PCIe width and generation, replays, NVLink, fabric."""

from __future__ import annotations

from ..numbers import is_whole
from .catalogue import find_board
from .gpu import is_virtual_gpu, under_load
from .per_gpu import evidence, read
from .registry import amount, define, flag, gpu_label, maps, text

define(
    "gpu.pcie_width",
    "word",
    "full, below_max, below_siblings (narrower than same-model data-centre GPUs of the host) or below_expected "
    "(gpu_audit_expected.pcie_width); "
    "not applicable in virtual machines",
    ("gpu.gpus[].pcie_width_current", "gpu.gpus[].pcie_width_max", "expected.pcie_width"),
    "full、below_max、below_siblings（比同机同型号数据中心 GPU 窄）或 below_expected（低于 gpu_audit_expected.pcie_width）；虚拟机中不适用",
    good="full",
)
define(
    "gpu.pcie_generation",
    "count",
    "GPUs under load whose PCIe generation is below their maximum; idle ones are not judged, they lower it to save power",
    ("gpu.gpus[].pcie_generation_current", "gpu.gpus[].pcie_generation_max", "gpu.gpus[].performance_state"),
    "有负载时 PCIe 代际低于最大值的 GPU 数量；空闲 GPU 会为省电降低代际，不作判断",
)
define(
    "gpu.pcie_replays",
    "count",
    "PCIe replays since the driver was loaded, all GPUs",
    ("gpu.gpus[].pcie_replay_count",),
    "驱动加载以来的 PCIe 重放次数（全部 GPU）",
)
define(
    "gpu.nvlinks_missing",
    "count",
    "NVLinks fewer than gpu_audit_expected.nvlinks says, the worst GPU; not applicable without that figure",
    ("gpu.gpus[].nvlinks_active_count", "expected.nvlinks"),
    "最差 GPU 的 NVLink 少于 gpu_audit_expected.nvlinks 的条数；未给期望值时不适用",
)
define(
    "gpu.fabric",
    "word",
    "ok (completed and success), no_cluster (a GB200 or GB300 outside of any NVLink domain) or the state of the worst GPU, for products "
    "with NVSwitch",
    ("gpu.gpus[].fabric_state", "gpu.gpus[].fabric_status"),
    "ok（completed 且 success）、no_cluster（GB200 或 GB300 未加入任何 NVLink 域）或最差 GPU 的状态；仅用于带 NVSwitch 的产品",
    good="ok",
)

_WIDTH_ORDER = ("full", "below_max", "below_siblings", "below_expected")


def derive(state):
    """Every metric of links."""
    _derive_width(state)
    _derive_generation(state)
    _derive_replays(state)
    _derive_nvlinks(state)
    _derive_fabric(state)


def _expected_width(state):
    wanted = state.expected.get("pcie_width")
    return wanted if is_whole(wanted) else None


def _derive_width(state):
    name = "gpu.pcie_width"
    reading = read(state, name, "pcie_width_current", amount)
    if not reading:
        return
    if state.virtual or any(is_virtual_gpu(gpu) for gpu in state.live):
        state.not_applicable(name, "absent.virtual_machine")
        return
    wanted = _expected_width(state)
    widest = {}
    for gpu, width in reading.pairs:
        model = text(gpu, "name")
        widest[model] = max(width, widest.get(model, 0))
    words = []
    for gpu, width in reading.pairs:
        words.append((_width_word(gpu, width, wanted, widest), gpu, width))
    worst = max(words, key=lambda entry: _WIDTH_ORDER.index(entry[0]))[0]
    if worst == "full" and reading.failed:
        reading.mark(state, name)
        return
    bad = [{"what": gpu_label(gpu), "value": width, "source": state.source} for word, gpu, width in words if word != "full"]
    state.value(name, worst, bad)


def _width_word(gpu, width, wanted, widest):
    if wanted is not None:
        return "below_expected" if width < wanted else "full"
    model = text(gpu, "name")
    board = find_board(model, text(gpu, "device_id"))
    if model and board and board["class"] == "datacenter" and width < widest[model]:
        return "below_siblings"
    most = amount(gpu, "pcie_width_max")
    return "below_max" if most is not None and width < most else "full"


def _derive_generation(state):
    name = "gpu.pcie_generation"
    reading = read(state, name, "pcie_generation_current", amount)
    if not reading:
        return
    if state.virtual:
        state.not_applicable(name, "absent.virtual_machine")
        return
    loaded = [(gpu, value) for gpu, value in reading.pairs if under_load(gpu) and amount(gpu, "pcie_generation_max") is not None]
    if not loaded:
        state.not_applicable(name, "absent.not_under_load")
        return
    low = [(gpu, value) for gpu, value in loaded if value < amount(gpu, "pcie_generation_max")]
    state.value(name, len(low), evidence(state, low))


def _derive_replays(state):
    reading = read(state, "gpu.pcie_replays", "pcie_replay_count", amount)
    if reading:
        bad = [(gpu, value) for gpu, value in reading.pairs if value > 0]
        state.value("gpu.pcie_replays", sum(value for _gpu, value in bad), evidence(state, bad))


def _active_links(gpu, field):
    count = amount(gpu, field)
    if count is not None:
        return count
    links = maps(gpu, "nvlinks")
    return sum(1 for link in links if flag(link, "active")) if links else None


def _derive_nvlinks(state):
    name = "gpu.nvlinks_missing"
    wanted = state.expected.get("nvlinks")
    if not is_whole(wanted):
        state.not_applicable(name, "absent.no_expectation", field="nvlinks")
        return
    reading = read(state, name, "nvlinks_active_count", _active_links)
    if not reading:
        if state.live and not state.absent[name]["status"] == "unknown":
            # NVLinks were expected and the driver shows none.
            state.absent.pop(name)
            state.value(name, wanted, [{"what": "gpu_audit_expected.nvlinks", "value": wanted, "source": "inventory"}])
        return
    short = [(gpu, count) for gpu, count in reading.pairs if count < wanted]
    state.value(name, max([wanted - count for _gpu, count in short] or [0]), evidence(state, short))


def _is_alone_in_a_rack(gpu):
    """A Grace Blackwell board without a cluster's UUID: zeros are right on a single HGX node, and wrong where the rack is one fabric."""
    uuid = text(gpu, "fabric_cluster_uuid")
    return bool(uuid) and not uuid.strip("0-") and any(word in (text(gpu, "name") or "") for word in ("GB200", "GB300"))


def _fabric_word(gpu):
    """ok, no_cluster, or what the fabric says of a GPU: state words, insufficient_resources and other failed status words as they are."""
    word = (text(gpu, "fabric_state") or "").strip().lower().replace(" ", "_")
    status = (text(gpu, "fabric_status") or "").strip().lower().replace(" ", "_")
    if word == "completed":
        if status == "success":
            return "no_cluster" if _is_alone_in_a_rack(gpu) else "ok"
        return status or "completed_without_status"
    return word


def _derive_fabric(state):
    name = "gpu.fabric"
    supported = [
        gpu for gpu in state.live if (text(gpu, "fabric_state") or "not_supported").strip().lower() not in ("not_supported", "n/a")
    ]
    failed = read(state, name, "fabric_state", text)
    if not failed:
        return
    state.absent.pop(name, None)
    if not supported:
        if failed.failed:
            failed.mark(state, name)
        else:
            state.not_applicable(name, "absent.no_nvswitch")
        return
    words = [(_fabric_word(gpu), gpu) for gpu in supported]
    bad = sorted(word for word, _gpu in words if word != "ok")
    # A stage on the way ranks below a failure.
    bad.sort(key=lambda word: (word in ("in_progress", "completed_without_status"), word))
    if not bad and failed.failed:
        failed.mark(state, name)
        return
    state.value(name, bad[0] if bad else "ok", evidence(state, [(gpu, word) for word, gpu in words if word != "ok"]))
