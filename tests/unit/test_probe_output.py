# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a workload tells: its lines, JSON lines, the helper; and how an outcome, a limiter and a reservation follow from what was seen."""

from __future__ import annotations

import importlib.util
import itertools
import json
import os

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe_outcome, probe_output, probe_result
from probing import HELPER

SEEN = {"stop": None, "exit_code": 1, "signal": None, "killed": False, "oom_kills": 0, "cuda_oom": None, "host_oom": None, "progress_after_oom": False}


@pytest.mark.parametrize("change, outcome", [
    ({"exit_code": 0}, "completed"), ({"exit_code": 0, "cuda_oom": "x"}, "completed"), ({}, "failed"),
    ({"cuda_oom": "CUDA out of memory"}, "oom_cuda"), ({"exit_code": None, "signal": 9}, "failed"),
    ({"exit_code": None, "signal": 9, "oom_kills": None}, "failed"), ({"exit_code": None, "signal": 9, "oom_kills": 1}, "oom_host"),
    ({"exit_code": 137, "oom_kills": 1}, "oom_host"), ({"killed": True, "oom_kills": 2}, "oom_host"), ({"killed": False, "oom_kills": 2}, "failed"),
    ({"host_oom": "worker is killed by signal: Killed", "oom_kills": 1}, "oom_host"), ({"exit_code": None, "signal": 11}, "failed"),
    ({"stop": "timeout", "signal": 15}, "timeout"), ({"stop": "hang", "signal": 15}, "hang"), ({"stop": "iterations", "signal": 15}, "stopped"),
    ({"stop": "run_seconds", "signal": 9, "oom_kills": 1}, "stopped"), ({"stop": "hang", "cuda_oom": "x"}, "oom_cuda"),
    ({"stop": "timeout", "cuda_oom": "x", "progress_after_oom": True}, "timeout"), ({"stop": "timeout", "killed": True, "oom_kills": 1}, "oom_host")])
def test_outcomes_are_told_apart(change, outcome):
    assert probe_outcome.decide_outcome({**SEEN, **change}) == outcome


@pytest.mark.parametrize("line", [
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "RuntimeError: CUDA error: out of memory",
    "RuntimeError: cuda runtime error (2) : out of memory at /x.cu:66", "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying",
    "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor", "CUBLAS_STATUS_ALLOC_FAILED when calling",
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`", "failed: CUDA_ERROR_OUT_OF_MEMORY: out of memory"])
def test_words_for_gpu_memory_that_does_not_suffice(line):
    progress = probe_output.Progress()
    progress.line(line, 1.0)
    assert progress.cuda_oom == line and progress.host_oom is None


@pytest.mark.parametrize("line", ["MemoryError", "out of memory budget: none", "java.lang.OutOfMemory", "loaded room.png", "Killed process"])
def test_words_that_say_something_else(line):
    progress = probe_output.Progress()
    progress.line(line, 1.0)
    assert progress.cuda_oom is None


def test_iterations_by_time_between_lines_or_by_their_own_figure():
    progress = probe_output.Progress(r"step (?P<iteration>\d+)")
    for number in range(7):
        assert progress.line("step %d" % number, 10 + 2.0 * number)
    figures = probe_result.iteration_figures(progress)
    assert figures["iterations"] == 7 and figures["iteration_seconds"] == {"mean": 2.0, "p50": 2.0, "p95": 2.0}
    progress = probe_output.Progress(r"(?P<milliseconds>\d+) ms, data (?P<data_seconds>[\d.]+)")
    for number in (9000, 100, 100, 300, 100):
        progress.line("%d ms, data 0.05" % number, 0)
    figures = probe_result.iteration_figures(progress)
    assert figures["iteration_seconds"]["mean"] == 0.15 and figures["data_wait_fraction"] == round(0.2 / 0.6, 6)


def test_epochs_measured_or_worked_out():
    progress = probe_output.Progress(r"step", r"epoch took (?P<seconds>[\d.]+)")
    progress.line("epoch took 12.5", 1)
    assert probe_result.iteration_figures(progress)["epoch_seconds"] == 12.5
    progress = probe_output.Progress()
    for number in range(6):
        progress.json_line(json.dumps({"iteration": number, "seconds": 0.5, "data_seconds": 0.1, "samples": 8}), 1.0)
    progress.json_line('{"iterations_per_epoch": 100}', 1.0)
    figures = probe_result.iteration_figures(progress)
    assert (figures["epoch_seconds"], figures["epoch_source"]) == (50.0, "iterations")
    assert (figures["data_wait_fraction"], figures["samples_per_second"]) == (0.2, 16.0)


def test_nothing_told_is_unknown_and_not_zero():
    figures = probe_result.iteration_figures(probe_output.Progress())
    assert figures["iterations"] is None and figures["data_wait_fraction"] is None and figures["epoch_seconds"] is None
    assert figures["iteration_seconds"] == {"mean": None, "p50": None, "p95": None}


@pytest.mark.parametrize("line", ["", "[]", "nonsense", "{", '"x"', "1e999", '{"iteration": 1, "seconds": "NaN"}', '{"iteration": 1, "seconds": -1}',
                                  '{"iteration": 1, "seconds": 1e999}', "[" * 8000,
                                  '{"iteration": 1, "seconds": 1e308, "samples": 1e308, "iterations_per_epoch": 1e308}',
                                  '{"memory_peak_bytes": true}', '{"epoch": 1, "seconds": null}'])
def test_odd_json_lines_do_no_harm(line):
    progress = probe_output.Progress()
    for _repeat in range(6):
        progress.json_line(line, 1.0)
    assert json.dumps(probe_result.iteration_figures(progress), allow_nan=False)
    assert progress.framework_peak is None


def test_a_clock_that_goes_back_gives_no_time():
    progress = probe_output.Progress()
    for moment in (5, 3, 4):
        progress.json_line('{"iteration": 1, "time": %d}' % moment, 9.0)
        progress.json_line('{"epoch": 1, "time": %d}' % moment, 9.0)
    assert progress.times == [None, None, 1.0] and progress.epochs == [1.0]


@pytest.mark.parametrize("pattern", ["(" * 5000, "a{99999999999}", "(?:" * 3000 + ")" * 3000, "[", "(?P<seconds>a)(?P<seconds>b)"])
def test_what_is_no_pattern_is_said_in_short(pattern):
    with pytest.raises(probe_output.PatternError, match="is no regular expression") as caught:
        probe_output.Progress(pattern)
    assert len(str(caught.value)) < 500


def test_a_loop_that_tells_twice_counts_once():
    progress = probe_output.Progress("step")
    for number in range(4):
        progress.json_line('{"iteration": %d, "seconds": 1}' % number, number)
        progress.line("step", number)
    assert progress.iterations == 4


def test_lines_end_with_either_sign_and_long_ones_are_cut():
    lines = probe_output.Lines(10)
    assert lines.feed(b"a\rb\nc") == ["a", "b"] and lines.feed(b"d\r\n") == ["cd"] and lines.tail == b"a\rb\ncd\r\n"
    assert [len(line) for line in lines.feed(b"x" * 100000)] == [probe_output.MAX_LINE] and len(lines.tail) == 10
    assert lines.end() == [] and lines.total == 100008


def test_a_file_is_followed_from_where_it_was(tmp_path):
    path = tmp_path / "x.jsonl"
    follower = probe_output.Follower(str(path))
    follower.start_at_end()
    assert follower.read() == []
    path.write_text("old\n")
    follower = probe_output.Follower(str(path))
    follower.start_at_end()
    with path.open("a") as file:
        file.write("new\nhal")
    assert follower.read() == ["new"]
    path.write_text("anew\n")
    assert follower.read() == ["anew"]
    path.unlink()
    os.mkfifo(path)
    assert follower.read() == []


def entry(mean=0.4, **events):
    return {"utilization_mean_fraction": mean, "in_use": True, "clock_event_seconds": events}


IDLE = {"busy_fraction": 0.2, "busiest_core_fraction": 0.4, "iowait_cores": 0.0, "cpus": 8}


@pytest.mark.parametrize("change, limiter", [
    ({}, None), ({"cpu": {**IDLE, "busy_fraction": 0.95}, "job_cores": 4.0}, "host_cpu"), ({"cpu": {**IDLE, "busy_fraction": 0.95}}, "other_processes"),
    ({"cpu": {**IDLE, "busiest_core_fraction": 0.99}}, "host_cpu"),
    ({"job_cores": 7.5}, "host_cpu"), ({"cpu": {**IDLE, "iowait_cores": 1.5}}, "io_wait"), ({"pressure": {"io": 0.5}}, "io_wait"),
    ({"swap_rate": 50e6}, "swap"), ({"network_share": 0.9}, "network"), ({"gpus": [entry(hw_thermal_slowdown=20)]}, "thermal"),
    ({"gpus": [entry(0.95, sw_power_cap=80)]}, "power"), ({"gpus": [entry(0.95, sw_power_cap=20)]}, None),
    ({"gpus": [entry(0.95)], "cpu": {**IDLE, "busy_fraction": 1.0}}, None), ({"gpus": []}, None), ({"gpus": [entry(None)], "swap_rate": 50e6}, None)])
def test_what_holds_the_gpus_back(change, limiter):
    facts = {"gpus": [entry()], "cpu": IDLE, "swap_rate": 0.0, "pressure": {}, "job_cores": 1.0, "usable_cores": 8, "network_share": 0.1, "seconds": 100.0}
    assert probe_outcome.limiter(**{**facts, **change}) == limiter


@pytest.mark.parametrize("change, name", [
    ({}, None), ({"asked": "none", "mapped": {"jax"}}, None), ({"asked": "my-engine"}, "my-engine"), ({"mapped": {"jax"}}, "jax"),
    ({"mapped": {"jax"}, "environment": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}}, None), ({"mapped": {"torch"}}, None),
    ({"mapped": {"torch", "tensorflow"}}, None), ({"mapped": {"torch", "vllm"}}, "vllm"), ({"lines": {"vllm"}}, "vllm"),
    ({"mapped": {"tensorflow"}, "environment": {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}}, None), ({"argv": ["/opt/bin/vllm", "serve"]}, "vllm"),
    ({"argv": ["python3", "-m", "vllm.entrypoints.openai.api_server"]}, "vllm"), ({"argv": ["python3", "train.py", "--out", "vllm"]}, None)])
def test_frameworks_that_reserve(change, name):
    facts = {"asked": "auto", "argv": ["python3", "train.py"], "environment": {}, "lines": set(), "mapped": set()}
    assert probe_outcome.reservation(**{**facts, **change}) == name


def test_the_kernel_s_words():
    text = "3,812,99,-;Out of memory: Killed process 4242 (python3) total-vm:1kB\n6,813,99,-;oom_reaper: reaped process 4243 (python3), now anon-rss:0kB"
    assert probe_outcome.kernel_kills(text) == {4242, 4243}


class Clock:
    """A time that only what is told to take some moves."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def helper(tmp_path, monkeypatch):
    monkeypatch.setenv("GPU_AUDIT_PROBE_FILE", str(tmp_path / "progress.jsonl"))
    spec = importlib.util.spec_from_file_location("gpu_audit_probe", HELPER / "gpu_audit_probe.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    clock = Clock()
    monkeypatch.setattr(module, "time", type("time", (), {"monotonic": clock, "sleep": None}))
    module.clock, module.told = clock, lambda: [json.loads(line) for line in (tmp_path / "progress.jsonl").read_text().splitlines()]
    return module


def slow_loader(clock, waits):
    for wait in waits:
        clock.now += wait
        yield [1, 2, 3]


def test_the_helper_tells_waiting_from_work(helper):
    for _batch in helper.probe(slow_loader(helper.clock, [0.5, 0.25])):
        helper.clock.now += 0.75
    begun, first, second, epoch = helper.told()
    assert begun == {"begun": True} and (first["seconds"], first["data_seconds"], second["seconds"], second["data_seconds"]) == (1.25, 0.5, 1.0, 0.25)
    assert epoch == {"epoch": 1, "seconds": 2.25}


def test_the_helper_counts_samples_and_length(helper):
    class Tensor:
        shape = (32, 3, 224, 224)
    for _batch in helper.probe([{"image": [Tensor()]}]):
        pass
    assert helper.told()[0] == {"iterations_per_epoch": 1} and helper.told()[1]["samples"] == 32


def test_the_helper_is_silent_outside_a_probe_and_on_other_ranks(helper, tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "3")
    assert list(helper.probe([1])) == [1] and not (tmp_path / "progress.jsonl").exists()
    monkeypatch.delenv("GPU_AUDIT_PROBE_FILE")
    monkeypatch.setattr(helper, "_WRITER", None)
    assert list(helper.probe(itertools.islice(itertools.count(), 2))) == [0, 1]


def test_a_file_that_can_t_be_written_doesn_t_end_a_training(helper, tmp_path, capsys):
    (tmp_path / "progress.jsonl").mkdir()
    assert list(helper.probe([1, 2])) == [1, 2]
    assert capsys.readouterr().err.count("gpu_audit_probe:") == 1


class Torch:
    """As much of PyTorch as the helper asks for, of a job that uses two GPUs."""

    def __init__(self, broken=False):
        self.cuda, self.broken, self.synchronised = self, broken, 0

    def is_initialized(self):
        return True

    def device_count(self):
        return 2

    def synchronize(self):
        self.synchronised += 1

    def max_memory_allocated(self, number):
        if self.broken:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")
        return 1000 + number

    def max_memory_reserved(self, number):
        return 2000 + number


class Size:
    """Neither a number of JSON's nor a sequence: what other libraries have for a shape, and a count."""

    def __float__(self):
        return 32.0


def test_the_helper_in_a_loop_of_pytorch_s_kind(helper, monkeypatch):
    torch = Torch()
    monkeypatch.setitem(helper.sys.modules, "torch", torch)
    for _batch in helper.probe([[1], [2]], samples=lambda batch: Size()):
        helper.clock.now += 2.0
    told = helper.told()
    assert torch.synchronised == 2 and [line["samples"] for line in told if "samples" in line] == [32.0, 32.0]
    assert {"framework": "torch", "memory_peak_bytes": 1001, "memory_reserved_bytes": 2001} in told


def test_the_helper_ends_no_training_whatever_a_batch_or_the_driver_is_like(helper, monkeypatch):
    class Loader(list):
        def __len__(self):
            raise NotImplementedError

    monkeypatch.setitem(helper.sys.modules, "torch", Torch(broken=True))
    odd = [type("Batch", (), {"shape": shape})() for shape in (Size(), None, (), (None, 3), "x", {})]
    assert len(list(helper.probe(Loader(odd)))) == len(odd)
    assert [line["iteration"] for line in helper.told() if "iteration" in line] == [1, 2, 3, 4, 5, 6]
    assert not [line for line in helper.told() if "framework" in line or "samples" in line]


@pytest.mark.parametrize("name", ["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"])
def test_one_process_of_a_job_tells_iterations(helper, monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert helper.Writer().first is False
    monkeypatch.setenv(name, "0")
    assert helper.Writer().first is True


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
TRACEBACK = ["Traceback (most recent call last):", '  File "/w/train.py", line 12, in <module>', '  File "/v/module.py", line 1501, in _call',
             "    x = self.layer1(x)", '  File "/v/module.py", line 1511, in _call', "    x = self.layer2(x)"]


def at_start(progress, seconds=20.0):
    return probe_result._out_of_memory("oom_cuda", progress, 0, None, seconds)["at_start"]


@pytest.mark.parametrize("pattern, printed, expected", [
    (r"step \d+", [OOM], True), (r"step \d+", ["Loading checkpoint shards: 25%| 1/4", "Loading checkpoint shards: 50%| 2/4", OOM], True),
    (r"step \d+", ["model has 7000 parameters", "seed 42", *TRACEBACK, OOM], True), (r"step \d+", ["begin", "begin", OOM], True),
    (r"step \d+", ["it 1 loss 0.5", "it 2 loss 0.4", OOM], None), (r"step \d+", ["10%|# | 1/10 [00:01<00:09]", "20%|## | 2/10 [00:02<00:08]", OOM], None),
    (r"step \d+", [OOM, "it 1", "it 2"], True), (r"step \d+", ["step 1", OOM], False), (None, [OOM], None),
    (r"step \d+", [*TRACEBACK, "warned", "it 1", "it 2", OOM], None)])
def test_a_pattern_that_matched_nothing_proves_a_start_only_where_no_iteration_can_have_been_printed(pattern, printed, expected):
    progress = probe_output.Progress(pattern)
    for line in printed:
        progress.line(line, 1.0)
    assert at_start(progress) is expected
    assert at_start(progress, 3600.0) is (None if expected else expected)


@pytest.mark.parametrize("lines, expected", [
    ([], None), (['{"iterations_per_epoch": 10}'], True), (['{"begun": true}'], True), (['{"iteration": 1, "seconds": 1}'], False),
    (['{"framework": "torch"}'], None), (['{"step": 1}'], None), (["broken"], None), (['{"epoch": 1}'], False)])
def test_the_start_is_only_claimed_where_iterations_would_have_been_told(lines, expected):
    progress = probe_output.Progress()
    for line in lines:
        progress.json_line(line, 1.0)
    assert at_start(progress, 3600.0) is expected


ASKED = {"iterations": None, "iteration_pattern": None, "progress_file": None}


@pytest.mark.parametrize("asked, printed, file, words", [
    ({}, ["x"], None, None), ({"iterations": 5}, ["x"], None, "give iteration_pattern or progress_file"),
    ({"iteration_pattern": "step"}, ["a", "b"], None, "matched none of the 2 lines"), ({"iteration_pattern": "step"}, [], None, "printed nothing"),
    ({"iteration_pattern": "step"}, ["step 1"], None, None), ({"progress_file": "p.jsonl"}, [], None, "progress_file p.jsonl: it isn't there"),
    ({"progress_file": "p.jsonl"}, [], "", "nothing was appended"), ({"progress_file": "p.jsonl"}, [], '{"step": 1}\n', "none of its 1 lines"),
    ({"progress_file": "p.jsonl"}, [], '{"iteration": 1}\n', None)])
def test_what_kept_iterations_from_being_counted_is_named(tmp_path, asked, printed, file, words):
    options, path = {**ASKED, **asked}, tmp_path / "p.jsonl"
    progress = probe_output.Progress(options["iteration_pattern"])
    for line in printed:
        progress.line(line, 1.0)
    if file is not None:
        path.write_text(file)
    follower = probe_output.Follower(str(path)) if options["progress_file"] else None
    for line in follower.read() if follower else ():
        progress.json_line(line, 1.0)
    notes = probe_result.uncounted(options, progress, follower)
    assert notes == [] if words is None else len(notes) == 1 and words in notes[0]


def test_a_file_that_another_takes_the_place_of_is_read_from_its_start(tmp_path):
    path, other = tmp_path / "x.jsonl", tmp_path / "y"
    path.write_text("old\n")
    follower = probe_output.Follower(str(path))
    follower.start_at_end()
    other.write_text("a longer first line\nsecond\n")
    other.rename(path)
    assert follower.read() == ["a longer first line", "second"] and follower.count == 2 and follower.why is None


def test_an_expression_that_is_slow_on_every_line_is_given_up_for_good():
    progress, line = probe_output.Progress(r"(a+)b|step"), "a" * 1500
    progress._spent = probe_output.ALL_CPU_SECONDS + 1
    progress.line("step", 100.0)
    assert progress.iterations == 1 and progress.iteration_pattern is None and "took too much processor time" in progress.notes[0]
    progress.line("step", 101.0)
    assert progress.iterations == 1 and len(progress.notes) == 1
    patient = probe_output.Progress(r"(a+)b|step")
    patient.line(line, 0.0)
    patient._spent = probe_output.ALL_CPU_SECONDS + 1
    patient.line("step", 100.0)
    assert patient.iterations == 1 and patient.iteration_pattern is not None
