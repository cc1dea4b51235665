# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Compute: CPU cores that feed each GPU, and how idle the GPUs were during a workload."""

from __future__ import annotations

from . import gpu as gpu_metrics, probe
from .measurements import find_measurement, source_of
from .registry import amount, define, gpu_label, maps, number, text

define(
    "compute.usable_cores",
    "cores",
    "cores this process may run on: affinity and cgroup quota counted, threads of one core once; a VM's vCPUs as they are",
    ("cpu.usable_cores",),
    "本进程实际可用的核数：计入亲和性与 cgroup 配额，同一核的多个线程只计一次；虚拟机按 vCPU 计",
)
define(
    "compute.cores_per_gpu",
    "cores",
    "compute.usable_cores / number of GPUs (lost ones included)",
    ("cpu.usable_cores", "gpu.gpus"),
    "compute.usable_cores / GPU 数量（含掉卡的）",
)
define(
    "compute.gpu_idle_fraction",
    "fraction",
    "worst GPU that the job of a workload probe uses (of all where it uses none): share of time without work on it, over the same window "
    "as workload.gpu_utilization_mean_fraction",
    ("workload_probe.result.gpus[].idle_fraction", "workload_probe.result.gpus[].in_use", "workload_probe.result.window"),
    "工作负载探测中作业所用 GPU（都未使用时取全部）里最差的一个：没有工作的时间占比，统计区间与 workload.gpu_utilization_mean_fraction 相同",
)

define(
    "compute.encoder_peak_fraction",
    "fraction",
    "worst GPU of a workload probe: peak use of its video encoder",
    ("workload_probe.result.gpus[].utilization_encoder_peak_fraction",),
    "工作负载探测中最差的 GPU：视频编码器的峰值占用",
)


def derive(state):
    """Every compute.* metric."""
    cpu, problem = state.subject("cpu")
    cores = amount(cpu, "usable_cores") if cpu else None
    if cores is None:
        state.unread(["compute.usable_cores"], problem, "cpu.usable_cores")
    else:
        state.value("compute.usable_cores", cores, _core_evidence(cpu, cores))
    _derive_cores_per_gpu(state, cpu, cores)
    _derive_idle(state)


def _core_evidence(cpu, cores):
    evidence = [{"what": "usable_cores", "value": cores, "source": "cpu"}]
    quota, physical = number(cpu, "quota_cores"), amount(cpu, "cores_physical")
    if quota is not None:
        evidence.append({"what": "quota_cores", "value": quota, "source": "cgroup"})
    if physical is not None and physical != cores:
        evidence.append({"what": "cores_physical", "value": physical, "source": "cpu"})
    return evidence


def _derive_cores_per_gpu(state, cpu, cores):
    name = "compute.cores_per_gpu"
    count = len(state.gpus)
    if not count:
        gpu_metrics.absent_everywhere(state, name)
    elif cores is None:
        state.copy_absence(name, "compute.usable_cores")
    else:
        count = max(count, (state.get("gpu.count") or 0) + (state.get("gpu.lost") or 0))
        state.value(name, cores / count, _core_evidence(cpu, cores) + [{"what": "gpus", "value": count, "source": state.source}])


def _derive_idle(state):
    _derive_probe(state, "compute.gpu_idle_fraction", "idle_fraction")
    _derive_probe(state, "compute.encoder_peak_fraction", "utilization_encoder_peak_fraction")


def _derive_probe(state, name, field):
    """The largest value of a 0..1 field over the whole GPUs that a workload probe's job uses, over all of them where it uses none."""
    measurement = find_measurement(state, name, "workload_probe")
    if measurement is None:
        return
    absence = probe.peak_absence(measurement)
    if absence and not probe.is_reservation(absence):
        state.unknown(name, absence[0], **absence[1])
        return
    entries = probe.used_gpus(measurement["result"])
    entries = entries or [entry for entry in maps(measurement["result"], "gpus") if not text(entry, "mig_uuid")]
    known = [(amount(entry, field), gpu_label(entry)) for entry in entries]
    if not known or any(fraction is None or fraction > 1 for fraction, _label in known):
        state.unknown(name, "absent.measurement_incomplete", module="workload_probe", field=field)
        return
    worst, label = max(known)
    state.value(name, worst, [{"what": label, "value": worst, "source": source_of(measurement)}])
