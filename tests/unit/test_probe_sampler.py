# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The sampler's parts: statistics of a fixed size, the kernel's counters, the fixed cost, the figures made of its lines."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe_summary, sampler, sampler_host
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.sampler_series import Histogram, Series, percentile
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles
from hypothesis import given, settings
from hypothesis import strategies as st

STAT = """cpu  100 0 50 800 50 0 0 0 0 0
cpu0 60 0 30 400 10 0 0 0 0 0
cpu1 40 0 20 400 40 0 0 0 0 0
intr 1 2 3
"""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(st.none(), st.integers(0, 10 ** 12)), min_size=1, max_size=400), st.integers(2, 20))
def test_a_series_never_grows_past_its_cap_and_never_loses_its_peak(values, cap):
    series = Series(cap, {"x": "peak", "y": "mean"})
    for second, value in enumerate(values):
        series.add(second, {"x": value, "y": value})
    assert len(series.times()) == len(series.column("x")) == len(series.column("y")) <= cap
    told = [value for value in values if value is not None]
    kept = [value for value in series.column("x") if value is not None]
    assert (max(kept) == max(told)) if told else not kept
    assert series.times() == list(range(0, len(values), series.stride))
    means = [value for value in series.column("y") if value is not None]
    assert not told or min(told) - 1e-6 <= min(means) <= max(means) <= max(told) * (1 + 1e-9) + 1e-6


def test_a_histogram_weighs_by_time():
    histogram = Histogram()
    for fraction, seconds in ((0.1, 1.0), (0.5, 8.0), (0.9, 1.0), (None, 5.0), (1.7, 0.0)):
        histogram.add(fraction, seconds)
    assert (histogram.quantile(0.10), histogram.quantile(0.50), histogram.quantile(0.95)) == (0.1, 0.5, 0.9)
    assert abs(histogram.mean() - 0.5) < 1e-9 and histogram.peak == 0.9 and histogram.count == 3
    assert Histogram().mean() is None and Histogram().quantile(0.5) is None


def test_percentiles():
    assert percentile([], 0.5) is None and percentile([3], 0.95) == 3 and percentile([1, 2, 3, 4], 0.5) == 2.5


def test_cpu_load_of_the_cpus_that_count():
    before = sampler_host.parse_cpu_times(STAT)
    assert before["cpu"] == (150, 50, 1000) and set(before) == {"cpu", "0", "1"}
    after = sampler_host.parse_cpu_times(STAT.replace("cpu0 60 0 30 400 10", "cpu0 150 0 30 410 10").replace("cpu1 40 0 20 400 40", "cpu1 40 0 20 450 90"))
    load = sampler_host.cpu_load(before, after, {0, 1})
    assert load == {"busy": 0.45, "iowait": 0.25, "busiest": 0.9, "iowait_cores": 0.5}
    assert sampler_host.cpu_load(before, after, {1})["busy"] == 0.0
    assert sampler_host.cpu_load(before, before, None)["busy"] is None


def test_the_kernel_s_other_texts():
    assert sampler_host.parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 total=7\n") == {"some": 123, "full": 7}
    assert sampler_host.parse_io("rchar: 10\nread_bytes: 4096\ncancelled_write_bytes: x\n") == {"rchar": 10, "read_bytes": 4096}
    net = "Inter-| Receive | Transmit\n face |bytes packets\n    lo: 9 1 0\n  eth0: 1234 5 0 0 0 0 0 0 99 0\n"
    assert sampler_host.parse_net_dev(net) == {"eth0": 1234}
    assert sampler_host.parse_process("42 (a) b) S 7 42 42 0 -1 0 0 0 0 0 30 12 0 0 20 0 1 0 777 0") == (7, 42, "S")
    assert sampler_host.parse_process("42 (gone") is None
    assert sampler_host.mapped_frameworks("7f /usr/lib/python3/site-packages/torch/lib/libtorch_cuda.so\n7f /x/jaxlib/y.so\n") == {"torch", "jax"}


def test_the_tree_below_a_process():
    parents = {2: 1, 3: 2, 4: 3, 5: 1, 6: 9}
    assert sampler_host.descendants(parents, 2) == [3, 4] and sampler_host.descendants(parents, 6) == []


@pytest.mark.parametrize("version", [1, 2])
def test_oom_kills_of_the_own_group(tmp_path, version):
    files = {"proc/vmstat": "oom_kill 5\n"}
    if version == 1:
        files.update({"proc/self/cgroup": "4:memory:/job\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                      "sys/fs/cgroup/memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"})
    else:
        files.update({"proc/self/cgroup": "0::/job\n", "proc/self/mountinfo": "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
                      "sys/fs/cgroup/job/memory.events": "low 0\noom 3\noom_kill 2\n"})
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert sampler_host.oom_kills(HostFiles(str(tmp_path))) == {"group": 2, "host": 5}


class Api:
    """A driver with one GPU; every call takes some CPU time."""

    nvmlMemory_v2 = 0

    def __init__(self, burn=0.0):
        self.burn = burn

    def __getattr__(self, name):
        def call(*dummy):
            until = time.process_time() + self.burn
            while time.process_time() < until:
                pass
            values = {"nvmlDeviceGetCount": 1, "nvmlDeviceGetMemoryInfo": type("M", (), {"total": 100, "used": 40, "reserved": 5}),
                      "nvmlDeviceGetUtilizationRates": type("U", (), {"gpu": 50, "memory": 1}), "nvmlDeviceGetPowerUsage": 1500,
                      "nvmlDeviceGetUUID": "GPU-x", "nvmlDeviceGetName": "G", "nvmlDeviceGetMigMode": [0, 0], "nvmlInit": None,
                      "nvmlDeviceGetHandleByIndex": 1, "nvmlDeviceGetTemperature": 55, "nvmlDeviceGetCurrentClocksEventReasons": 4,
                      "nvmlDeviceGetEncoderUtilization": [10, 1], "nvmlDeviceGetComputeRunningProcesses": [],
                      "nvmlDeviceGetGraphicsRunningProcesses": []}
            return values[name]
        return call


def sample_lines(api, count, step=0.5):
    """Lines of a sampler whose time is made up."""
    lines, clock = [], [100.0]
    one = sampler.Sampler(step, 1, lambda text: lines.append(json.loads(text)), api=api, clock=lambda: clock[0])
    one.open()
    for dummy in range(count):
        one.sample()
        clock[0] += one.interval
    return one, lines


def test_a_sampler_says_what_is_there_and_then_only_what_changes():
    dummy, lines = sample_lines(Api(), 3)
    hello = lines[0]["hello"]
    assert hello["gpus"][0]["memory_total_bytes"] == 100 and hello["gpu_uuids"] == ["GPU-x"] and hello["error"] is None
    assert lines[1]["gpus"][0]["used"] == 40 and lines[1]["gpus"][0]["util"] == 0.5 and lines[1]["gpus"][0]["watts"] == 1.5
    assert "celsius" in lines[1]["gpus"][0] and "host" in lines[1] and "tree" in lines[1]


def test_a_dear_driver_is_asked_less_often():
    cheap, dummy = sample_lines(Api(), 60)
    assert cheap.interval == 0.5
    dear, lines = sample_lines(Api(burn=0.002), 80)
    assert dear.every("slow", sampler.SLOW_SECONDS) > sampler.SLOW_SECONDS and dear.interval > 0.5 and lines[-1]["every"] > 0.5


HELLO = {"error": None, "notes": [], "gpu_uuids": ["GPU-a", "GPU-b"], "before": [{"used": 7, "processes": [], "processes_known": True}] * 2,
         "gpus": [{"index": number, "uuid": "GPU-" + letter, "mig_uuid": None, "name": "G", "memory_total_bytes": 100, "memory_reserved_bytes": 5,
                   "errors": {}} for number, letter in enumerate("ab")]}


COUNTERS = {"cpu": {}, "swap_in": 0, "swap_out": 0, "read": None, "available": 5, "total": 9}


def line(moment, used, util, **more):
    gpu = {"used": used, "util": util, "watts": 100.0, "mask": 0x44, **more}
    return {"m": moment, "t": moment, "cpu": 0.01, "every": 1.0, "host": COUNTERS, "gpus": [gpu] * 2}


def test_figures_from_the_first_iteration_on():
    summary = probe_summary.Summary(HELLO, 1.0, lambda pid: pid == 9)
    summary.begin(0.0)
    for moment in range(1, 11):
        summary.add(line(float(moment), 30 + moment, 0.0, processes={"9": 25, "8": 5}))
    summary.first_iteration(10.5)
    for moment in range(11, 21):
        summary.add(line(float(moment), 60, 0.8))
    gpu = summary.gpus()[0]
    assert summary.window()[1] == "iterations" and gpu["utilization_mean_fraction"] == 0.8 and gpu["idle_fraction"] == 0.2
    assert summary.host_read_bytes() is None
    assert (gpu["memory_used_peak_bytes"], gpu["memory_start_peak_bytes"], gpu["memory_other_bytes"]) == (60, 40, 7)
    assert gpu["memory_job_peak_bytes"] == 25 and gpu["used_by_job"]
    assert gpu["clock_event_seconds"] == {"hw_thermal_slowdown": 20.0, "sw_power_cap": 20.0}
    assert summary.compact_series()["gpu"]["1"]["memory_used_bytes"][-1] == 60
    assert [entry["index"] for entry in summary.gpus({1})] == [1]


def test_a_long_load_belongs_to_the_start_only_where_iterations_tell_its_end():
    for told, peak in ((True, 90), (False, 10)):
        summary = probe_summary.Summary(HELLO, 30.0, lambda pid: False)
        summary.begin(0.0)
        summary.add(line(20.0, 10, 0.1))
        summary.add(line(50.0, 90, 0.1))
        if told:
            summary.first_iteration(55.0)
        assert summary.gpus()[0]["memory_start_peak_bytes"] == peak


def test_a_gap_in_the_samples_counts_for_no_more_than_three():
    summary = probe_summary.Summary(HELLO, 1.0, lambda pid: False)
    summary.begin(0.0)
    summary.add(line(100.0, 1, 1.0))
    assert summary.run.seconds == 3.0


@pytest.mark.parametrize("text, numbers", [
    (None, None), ("", set()), ("-1", set()), ("0", {0}), ("1,0", {0, 1}), ("1,7,0", {1}), ("GPU-b", {1}), ("GPU-", {0, 1})])
def test_visible_devices(text, numbers):
    assert probe_summary.visible_numbers(HELLO["gpus"], {} if text is None else {"CUDA_VISIBLE_DEVICES": text}) == numbers


def test_mixed_boards_are_numbered_by_cuda_in_its_own_way():
    gpus = [dict(HELLO["gpus"][0], name="H100"), dict(HELLO["gpus"][1], name="T4")]
    assert probe_summary.visible_numbers(gpus, {"CUDA_VISIBLE_DEVICES": "0"}) is None
    assert probe_summary.visible_numbers(gpus, {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}) == {0}
