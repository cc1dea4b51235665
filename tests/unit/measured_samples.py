# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hosts with full measurements, as the measuring modules give them: probe with series and scaling, storage test with every job."""

from __future__ import annotations

import math

import judging
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge

GIB, MIB = 2**30, 2**20
SERIES_CAP = 240
PROBE, STORAGE = 0, 1
FORM = {
    "samples_per_second_per_gpu": 1200,
    "input_sample_bytes": 600 * 1000,
    "dataset_path": "/data/dataset",
    "checkpoint_bytes": 40 * GIB,
    "checkpoint_interval_minutes": 30,
}


def host(peak=0.76, busy=0.9, change=None, form=None, **result):
    """(document, inputs): eight GPUs, a probe of 100 s, a storage test of five jobs. `change(probe result, storage result)` in place."""
    document, inputs = judging.host()
    probe, storage = document["measurements"][PROBE]["result"], document["measurements"][STORAGE]["result"]
    probe.update(_probe(probe["gpus"], peak, busy))
    probe.update(result)
    storage.update(_storage())
    inputs["workload"].update(FORM)
    inputs["workload"].update(form or {})
    if change:
        change(probe, storage)
    return document, inputs


def _probe(gpus, peak, busy):
    times = [round(100 * at / (SERIES_CAP - 1), 1) for at in range(SERIES_CAP)]
    lines = {}
    for number, gpu in enumerate(gpus):
        usable = gpu["memory_total_bytes"] - gpu["memory_reserved_bytes"]
        top = peak - 0.01 * number
        climb = [min(1.0, 0.15 + at / 40) for at in range(SERIES_CAP)]
        memory = [int(usable * top * share * (1 - 0.02 * (at % 7 == 3))) for at, share in enumerate(climb)]
        use = [
            round(max(0.0, min(1.0, busy - 0.02 * number + 0.08 * math.sin(at / 5 + number) - (0.5 if at % 60 < 3 else 0))), 2)
            for at in range(SERIES_CAP)
        ]
        gpu.update(
            name="NVIDIA H100 80GB HBM3",
            memory_used_peak_bytes=max(memory),
            memory_start_peak_bytes=int(usable * 0.4),
            memory_other_bytes=0,
            utilization_mean_fraction=round(sum(use) / len(use), 4),
            utilization_p10_fraction=sorted(use)[24],
            utilization_p90_fraction=sorted(use)[216],
            idle_fraction=0.05,
            power_mean_watts=520.5,
            temperature_max_celsius=67,
            clock_event_seconds={"sw_power_cap": 4.0},
        )
        lines[str(gpu["index"])] = {"memory_used_bytes": memory, "utilization_fraction": use}
    return {
        "outcome": "stopped",
        "exit_code": None,
        "signal": "TERM",
        "duration_seconds": 100.0,
        "iterations": 50,
        "iteration_seconds": {"mean": 1.9, "p50": 1.88, "p95": 2.2},
        "epoch_seconds": 845.0,
        "data_wait_fraction": 0.08,
        "read_bytes": 560 * 10**9,
        "read_bytes_per_second": 5.6e9,
        "framework_peak_bytes": None,
        "reservation": None,
        "cpu": {"busy_fraction": 0.41, "busiest_core_fraction": 0.8, "iowait_fraction": 0.02},
        "memory": {"swap_in_bytes": 0, "swap_out_bytes": 0, "major_faults": 12, "peak_rss_bytes": 61 * GIB},
        "limiter": None,
        "series": {"interval_seconds": 0.5, "t": times, "gpu": lines},
        "sampler": {"interval_seconds": 0.5, "samples": 200, "cpu_seconds": 0.4},
        "scaling": {"seconds": {"1": 800, "2": 415, "4": 225, "8": 128}, "basis": "epoch"},
        "notes": [],
    }


def job(rate, direction="read", **changed):
    """One job of a storage test that moved `rate` bytes a second for a minute."""
    figures = {
        "bytes_per_second": rate,
        "iops": rate / MIB,
        "latency_mean_seconds": 0.0012,
        "latency_p50_seconds": 0.001,
        "latency_p95_seconds": 0.003,
        "latency_p99_seconds": 0.009,
        "bytes": int(rate * 60),
        "runtime_seconds": 60.0,
    }
    return dict(
        {
            direction: figures,
            "cpu_user_fraction": 0.05,
            "cpu_system_fraction": 0.2,
            "engine": "libaio",
            "direct": True,
            "buffered_label": None,
            "block_size_bytes": MIB,
            "queue_depth": 1,
            "numjobs": 4,
            "size_bytes": 4 * GIB,
            "notes": [],
        },
        **changed,
    )


def _storage(sequential=9e9, small=7.4e9, write=5e9):
    return {
        "path": "/data/dataset",
        "file_system": {"type": "xfs", "kind": "nvme", "device": "/dev/nvme0n1", "mount_point": "/data", "network": False},
        "fio_version": "fio-3.36",
        "quick": False,
        "cached": False,
        "hosts_at_once": 1,
        "notes": [],
        "read_bytes_per_second": sequential,
        "small_file_bytes_per_second": small,
        "small_files_per_second": small / 120000,
        "checkpoint_write_bytes_per_second": write,
        "mixed_read_bytes_per_second": 4e9,
        "jobs": {
            "dataset_read": job(sequential),
            "small_files": job(small, block_size_bytes=120000, file_size_bytes=120000, file_count=20000),
            "random_read": job(2e9, block_size_bytes=4096, queue_depth=32),
            "checkpoint_write": job(write, "write"),
            "mixed": job(4e9),
        },
    }


def report(pairs, language="en"):
    """The whole report of these (document, inputs), and functions name -> document, name -> inputs as rendering wants them."""
    entries, documents, inputs_of = [], {}, {}
    for number, (document, inputs) in enumerate(pairs, 1):
        name = "gpu%02d" % number
        document["name"] = inputs["name"] = name
        entries.append(judging.judged(document, inputs, language=language))
        documents[name], inputs_of[name] = document, inputs
    run = {
        "id": "20261130T115700Z-abc123",
        "started": judging.NOW,
        "finished": judging.NOW,
        "language": language,
        "partial": False,
        "collection_version": "0.1.0",
        "ansible_version": "2.19.14",
    }
    return judge.judge_run(entries, {"training": judging.shipped("training")}, run, language), documents.get, inputs_of.get


def _worse(probe, storage):
    """Everything a measurement can complain of, as far as one host can have it at once."""
    probe.update(limiter="io_wait", data_wait_fraction=0.47)
    probe["cpu"]["iowait_fraction"] = 0.31
    probe["memory"].update(swap_in_bytes=6 * GIB, swap_out_bytes=9 * GIB)
    probe["scaling"]["seconds"] = {"1": 800, "2": 470, "4": 300, "8": 231}
    for gpu in probe["gpus"][:2]:
        gpu.update(memory_other_bytes=3 * GIB, clock_event_seconds={"sw_thermal_slowdown": 41.0})
    for gpu in probe["gpus"]:
        gpu["idle_fraction"] = 0.42
    storage.update(_storage(sequential=6.1e9, small=0.9e9, write=0.35e9))
    storage["shared"] = {"alone_bytes_per_second": 6.1e9, "together_bytes_per_second": 1.5e9}
    storage["jobs"]["dataset_read"].update(block_size_bytes=64 * 1024)
    storage.update(hosts_at_once=4)


def troubled():
    """A host on which almost every check of a measurement warns or fails."""
    return host(
        peak=0.87,
        busy=0.45,
        change=_worse,
        form={"dataset_layout": "files", "dataset_file_bytes": 110000, "dataset_file_count": 1200000, "read_block_bytes": MIB},
    )


def _partial(_probe, storage):
    storage.update(quick=True, cached=True, read_bytes_per_second=24e9)
    storage["jobs"]["dataset_read"]["buffered_label"] = "cached"


def storage_alone():
    """A host whose workload nobody probed; its storage test was a quick one that came out of RAM."""
    document, inputs = host(change=_partial)
    del document["measurements"][PROBE]
    return document, inputs


def superlinear():
    """A host whose one GPU was measured cold, and whose data set lies on a network share that is read through the page cache."""

    def change(probe, storage):
        probe["scaling"]["seconds"] = {"1": 980, "2": 415, "4": 225, "8": 150}
        probe.update(epoch_seconds=None, read_bytes=None, read_bytes_per_second=None, data_wait_fraction=None)
        storage.update(_storage(sequential=6.2e9, small=3e8), quick=True)
        storage["file_system"].update(type="nfs4", kind="network", network=True)
        for entry in storage["jobs"].values():
            entry["buffered_label"] = "buffered"

    return host(peak=0.82, change=change)


def page():
    """One host of each kind."""
    return [host(), troubled(), storage_alone(), superlinear()]
