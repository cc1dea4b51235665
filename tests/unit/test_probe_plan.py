# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a probe says before it begins: its end, what nothing will count, and the numbers of GPUs that it can run on."""

from __future__ import annotations

import os
import pathlib

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe, probe_outcome, probe_plan
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, measuring


def gpus(count, mig=()):
    """What the driver lists: whole GPUs, or instances (by their UUID) of the first."""
    entries = [{"index": number, "uuid": "GPU-%d" % number, "mig_uuid": None, "name": "Lab GPU"} for number in range(count)]
    if mig:
        entries = [dict(entries[0], mig_uuid=uuid) for uuid in mig] + entries[1:]
    return lambda: {"gpus": entries, "error": None}


def answer(mean, outcome="completed", in_use=()):
    return {"measurement": {"outcome": outcome, "iteration_seconds": {"mean": mean}, "epoch_seconds": None, "notes": [],
                            "gpus": [{"in_use": used} for used in in_use]}, "started": "s"}


def measured(counts, listed, times=None, in_use=None, **environment):
    """(result of measure(), [CUDA_VISIBLE_DEVICES of each run]); `in_use`: of each GPU, whether the command uses it, all where nothing is said."""
    asked = []

    def once(given):
        asked.append(given["environment"]["CUDA_VISIBLE_DEVICES"])
        count = len(asked[-1].split(","))
        return answer((times or {}).get(given["environment"]["GPU_AUDIT_GPU_COUNT"], 1.0), in_use=(in_use or [True] * count)[:count])
    return probe.measure({"argv": ["x"], "gpu_counts": counts, "environment": environment}, once, listed)["measurement"], asked


def test_one_run_for_each_number_of_gpus_that_is_there():
    result, asked = measured([4, 1, 2, 8], gpus(4), {"1": 1.0, "2": 1.1, "4": None})
    assert asked == ["0", "0,1", "0,1,2,3"]
    assert result["scaling"] == {"basis": "step", "seconds": {"1": 1.0, "2": 1.1}, "used_gpus": {"1": 1, "2": 2, "4": 4}}
    assert result["notes"] == ["not run on 8 GPUs: there are 4 GPUs", "no time on 4 GPUs: the command told none"]


@pytest.mark.parametrize("in_use, used, words", [
    ([True, False, False, False], {"1": 1, "2": 1, "4": 1}, "on 2 GPUs the command used only 1: its times say nothing"),
    ([True, True, True, False], {"1": 1, "2": 2, "4": 3}, "on 4 GPUs the command used only 3"), ([True] * 4, {"1": 1, "2": 2, "4": 4}, None),
    ([True, True, None, True], {"1": 1, "2": 2, "4": None}, "isn't known: they were not sampled"),
    # A GPU that fell out of the sampling.
    ([True, True, True], {"1": 1, "2": 2, "4": None}, "isn't known: they were not sampled")])
def test_gpus_that_were_given_and_not_used_are_told(in_use, used, words):
    result, _asked = measured([1, 2, 4], gpus(4), in_use=in_use)
    assert result["scaling"]["used_gpus"] == used
    assert result["notes"] == [] if words is None else len(result["notes"]) == 1 and words in result["notes"][0]
    for note in result["notes"]:
        assert "GPU" in complaints.say(note, "zh") and "isn't" not in complaints.say(note, "zh") and " the " not in complaints.say(note, "zh")


def entry(**figures):
    return dict({"utilization_mean_fraction": 0.0, "memory_used_peak_bytes": 0, "memory_other_bytes": 0, "memory_total_bytes": 80 << 30,
                 "used_by_job": None}, **figures)


@pytest.mark.parametrize("figures, used", [
    ({}, False), ({"utilization_mean_fraction": 0.9, "memory_used_peak_bytes": 40 << 30, "used_by_job": True}, True),
    # In a container the driver's pids are others': its memory grew.
    ({"utilization_mean_fraction": 0.9, "memory_used_peak_bytes": 40 << 30}, True),
    # A context, and no work.
    ({"memory_used_peak_bytes": 500 << 20, "used_by_job": True}, False),
    # Another's work and memory, from before.
    ({"utilization_mean_fraction": 0.9, "memory_used_peak_bytes": 40 << 30, "memory_other_bytes": 40 << 30}, False),
    ({"memory_used_peak_bytes": 10 << 30, "used_by_job": True}, True),
    ({"utilization_mean_fraction": None, "used_by_job": True}, True), ({"utilization_mean_fraction": None}, False),
    ({"utilization_mean_fraction": None, "memory_used_peak_bytes": None}, None),
    ({"utilization_mean_fraction": None, "memory_used_peak_bytes": None, "used_by_job": True}, True),
    # Memory that the host shares is not told.
    ({"utilization_mean_fraction": 0.5, "memory_used_peak_bytes": None, "memory_total_bytes": None}, True)])
def test_whether_a_gpu_was_used(figures, used):
    assert probe_outcome.in_use(entry(**figures)) is used


def busy(busy, busiest, job, usable=2, cpus=2):
    cpu = {"busy_fraction": busy, "busiest_core_fraction": busiest, "iowait_cores": 0.0, "cpus": cpus}
    slow = dict(entry(utilization_mean_fraction=0.4), in_use=True, clock_event_seconds={})
    unused = dict(entry(utilization_mean_fraction=0.0), in_use=False, clock_event_seconds={})
    found = probe_outcome.limiter([slow, unused], cpu, 0.0, {}, job, usable, None, 60)
    # GPUs that weren't given work say nothing of what holds the others back.
    assert probe_outcome.limiter([dict(slow, utilization_mean_fraction=0.95), unused], cpu, 0.0, {}, job, usable, None, 60) is None
    return found


@pytest.mark.parametrize("figures, found", [
    # A loader that sleeps on a host that others keep busy.
    ((0.93, 0.97, 0.04), "other_processes"), ((0.93, 0.97, 1.7), "host_cpu"), ((0.95, 0.99, 1.9), "host_cpu"),
    ((0.93, 0.97, None), "host_cpu"), ((0.5, 0.97, 0.04), None), ((0.5, 0.97, 0.9), "host_cpu"), ((0.2, 0.3, 0.3), None),
    # A quota of one core on a host of 64, most of them idle.
    ((0.1, 0.4, 0.95, 1, 64), "host_cpu")])
def test_whose_work_keeps_the_host_busy(figures, found):
    assert busy(*figures) == found


@pytest.mark.parametrize("visible, listed, asked", [
    ("0,1", gpus(1), ["0"]), ("MIG-a,MIG-b", gpus(1, ["MIG-a", "MIG-b"]), ["MIG-a", "MIG-a,MIG-b"]), ("3, 2", gpus(4), ["3", "3,2"])])
def test_only_gpus_that_the_environment_leaves_are_counted(visible, listed, asked):
    result, runs = measured([1, 2], listed, CUDA_VISIBLE_DEVICES=visible)
    assert runs == asked and len(result["notes"]) == 2 - len(asked)


@pytest.mark.parametrize("counts, listed, environment, words", [
    ([4, 8], gpus(2), {}, "not even 4 GPUs can be used: there are 2 GPUs. Give numbers up to 2"),
    ([2], gpus(1), {}, "not even 2 GPUs can be used: there is 1 GPU. Give"), ([1], gpus(0), {}, "there are no GPUs. Leave gpu_counts out"),
    ([2, 4], gpus(8), {"CUDA_VISIBLE_DEVICES": "5"}, "there is 1 GPU that CUDA_VISIBLE_DEVICES leaves"),
    ([1], lambda: {"gpus": [], "error": "Driver Not Loaded"}, {}, "can't be counted (Driver Not Loaded)")])
def test_numbers_that_are_all_above_what_is_there_are_refused_before_anything_is_started(counts, listed, environment, words):
    started = []
    with pytest.raises(probe.ProbeError) as caught:
        probe.measure({"argv": ["x"], "gpu_counts": counts, "environment": environment}, started.append, listed)
    assert words in str(caught.value) and not started
    with pytest.raises(probe.ProbeError, match="gpu_counts: "):
        probe.plan({"argv": ["sh"], "gpu_counts": counts, "environment": environment}, listed)


def test_the_plan_has_an_end_and_counts_only_what_will_be_run():
    plan = probe.plan({"argv": ["sh"], "timeout_seconds": 100.0, "gpu_counts": [1, 2, 4], "iteration_pattern": "step"}, gpus(2))
    assert plan["seconds"] == 2 * (100 + 5 + probe_plan.SPARE_SECONDS)
    assert plan["notes"] == ["runs on 1, 2 GPUs, one after the other", "not run on 4 GPUs: there are 2 GPUs"]
    with pytest.raises(probe.ProbeError, match="run_as: there is no user"):
        probe.plan({"argv": ["sh"], "run_as": "nobody-here"})


def refused(**options):
    with pytest.raises(probe.ProbeError) as caught:
        probe.plan({"argv": ["sh"], **options})
    return str(caught.value)


def test_what_can_not_be_started_is_refused_before(tmp_path):
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "job").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "job").chmod(0o755)
    assert "the command no-such-program isn't there, or isn't on PATH" in refused(argv=["no-such-program"])
    assert "/no/such isn't there" in refused(argv=["/no/such"]) and "may not be executed" in refused(argv=[str(tmp_path / "plain")])
    assert "chdir: /no/folder isn't there" in refused(chdir="/no/folder") and "is no folder" in refused(chdir="/etc/passwd")
    # By the command's own PATH and folder.
    assert "isn't on PATH" in refused(argv=["job"]) and "isn't on PATH" in refused(environment={"PATH": str(tmp_path / "bin")})
    probe.plan({"argv": ["job"], "environment": {"PATH": str(tmp_path / "bin")}})
    probe.plan({"argv": ["bin/job"], "chdir": str(tmp_path)})
    assert "isn't there" in refused(argv=["bin/job"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can look as another user")
def test_it_is_looked_at_as_the_command_s_user(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "job").write_text("#!/bin/sh\n")
    (closed / "job").chmod(0o755)
    probe.plan({"argv": [str(closed / "job")]})
    assert "can't be reached by user nobody" in refused(argv=[str(closed / "job")], run_as="nobody")
    assert "may not be entered by user nobody" in refused(chdir=str(closed), run_as="nobody")
    assert os.geteuid() == 0


def warned(tmp_path, **options):
    notes = probe.plan({"argv": ["python3", "train.py"], "chdir": str(tmp_path), **options}, gpus(8))["notes"]
    return [note for note in notes if note.startswith("warning: ")]


@pytest.mark.parametrize("options, words", [
    ({"iterations": 30}, "nothing will count iterations"), ({"gpu_counts": [1, 2]}, "nothing will count iterations"),
    ({"gpu_counts": [1, 2], "scaling_basis": "epoch"}, "nothing will tell epochs"),
    ({"gpu_counts": [1, 2], "scaling_basis": "epoch", "iteration_pattern": "step"}, "nothing will tell epochs"),
    ({}, None), ({"iterations": 30, "iteration_pattern": "step"}, None), ({"iterations": 30, "progress_file": "p.jsonl"}, None),
    ({"gpu_counts": [1, 2], "scaling_basis": "epoch", "iteration_pattern": "step", "iterations_per_epoch": 100}, None),
    ({"gpu_counts": [1, 2], "scaling_basis": "epoch", "epoch_pattern": "epoch"}, None),
    # A play with --check has not put the helper there yet.
    ({"iterations": 30, "environment": {"PYTHONPATH": "/no/such/folder"}}, None)])
def test_what_nothing_will_count_is_said_before(tmp_path, options, words):
    notes = warned(tmp_path, **options)
    assert notes == [] if words is None else len(notes) == 1 and words in notes[0] and "gpu_audit_probe.py" in notes[0]
    announced = probe.plan({"argv": ["sh"], "chdir": str(tmp_path), **options}, gpus(8))["notes"]
    assert ("ends after 30 iterations" in announced) is ("iterations" in options and words is None)


@pytest.mark.parametrize("place, options", [
    (".", {}), ("src", {"argv": ["python3", "src/train.py"]}), ("lib", {"environment": {"PYTHONPATH": "other:lib"}})])
def test_a_helper_that_the_command_can_import_is_seen(tmp_path, place, options):
    for folder in ("src", "lib", "other"):
        (tmp_path / folder).mkdir()
    assert warned(tmp_path, iterations=5, **options)
    (tmp_path / place / probe_plan.HELPER_FILE).write_text("")
    assert not warned(tmp_path, iterations=5, **options)


def test_notes_fit_in_the_announcement_whole(tmp_path):
    plan = probe.plan({"argv": ["sh"], "chdir": str(tmp_path), "iterations": 3, "gpu_counts": [1, 9], "scaling_basis": "epoch"}, gpus(8))
    assert measuring.plan_of({"plan": plan})["says"] == plan["notes"]


@pytest.mark.parametrize("options, words", [
    ({"environment": {"LIST": [1, 2]}}, "environment: LIST must be text or a number"), ({"environment": {"A=B": 1}}, "a map of names"),
    ({"argv": ["x", "a\0b"]}, "can't hold NUL"), ({"environment": {"A": "x\0"}}, "can't hold NUL"), ({"chdir": "/a\0"}, "can't hold NUL"),
    ({"timeout_seconds": 1e7}, "timeout_seconds: 10000000 is not between 1 and 604800"), ({"run_as": "no\0body"}, "can't hold NUL"),
    ({"interval_seconds": 0.01}, "interval_seconds: 0.01 is not between 0.1 and 60")])
def test_a_wrong_option_is_one_plain_sentence(options, words):
    with pytest.raises(probe.ProbeError) as caught:
        probe.check_options({"argv": ["x"], **options})
    assert words in str(caught.value)


def test_values_of_the_environment_are_text_as_yaml_spells_them():
    given = {"ONE": 1, "HALF": 0.5, "ON": True, "OFF": False, "NONE": None, 5: "five"}
    assert probe.check_options({"argv": ["x"], "environment": given})["environment"] == {
        "ONE": "1", "HALF": "0.5", "ON": "true", "OFF": "false", "NONE": "", "5": "five"}


@pytest.mark.parametrize("page", ["docs/probe.md", "plugins/modules/workload_probe.py", "roles/probe_workload/meta/argument_specs.yml",
                                  "roles/probe_workload/README.md"])
def test_every_page_names_the_frameworks_that_the_code_looks_for(page):
    *first, last = [shown for dummy, shown in probe_outcome.RESERVING]
    text = " ".join((pathlib.Path(__file__).resolve().parents[2] / page).read_text().split())
    assert "%s and %s" % (", ".join(first), last) in text
    assert set(probe_outcome._COMMANDS.values()) <= {name for name, dummy in probe_outcome.RESERVING}
