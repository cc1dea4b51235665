# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a probe says before it begins: its end, what nothing will count, and the numbers of GPUs that it can run on."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe, probe_outcome, probe_plan
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import measuring


def gpus(count, mig=()):
    """What the driver lists: whole GPUs, or instances (by their UUID) of the first."""
    entries = [{"index": number, "uuid": "GPU-%d" % number, "mig_uuid": None, "name": "Lab GPU"} for number in range(count)]
    if mig:
        entries = [dict(entries[0], mig_uuid=uuid) for uuid in mig] + entries[1:]
    return lambda: {"gpus": entries, "error": None}


def answer(mean, outcome="completed"):
    return {"measurement": {"outcome": outcome, "iteration_seconds": {"mean": mean}, "epoch_seconds": None, "notes": []}, "started": "s"}


def measured(counts, listed, times=None, **environment):
    """(result of measure(), [CUDA_VISIBLE_DEVICES of each run])"""
    asked = []

    def once(given):
        asked.append(given["environment"]["CUDA_VISIBLE_DEVICES"])
        return answer((times or {}).get(given["environment"]["GPU_AUDIT_GPU_COUNT"], 1.0))
    return probe.measure({"argv": ["x"], "gpu_counts": counts, "environment": environment}, once, listed)["measurement"], asked


def test_one_run_for_each_number_of_gpus_that_is_there():
    result, asked = measured([4, 1, 2, 8], gpus(4), {"1": 1.0, "2": 1.1, "4": None})
    assert asked == ["0", "0,1", "0,1,2,3"]
    assert result["scaling"] == {"basis": "step", "seconds": {"1": 1.0, "2": 1.1}}
    assert result["notes"] == ["not run on 8 GPUs: there are 4 GPUs", "no time on 4 GPUs: the command told none"]


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
        probe.plan({"argv": ["x"], "gpu_counts": counts, "environment": environment}, listed)


def test_the_plan_has_an_end_and_counts_only_what_will_be_run():
    plan = probe.plan({"argv": ["x"], "timeout_seconds": 100.0, "gpu_counts": [1, 2, 4], "iteration_pattern": "step"}, gpus(2))
    assert plan["seconds"] == 2 * (100 + 5 + probe_plan.SPARE_SECONDS)
    assert plan["notes"] == ["runs on 1, 2 GPUs, one after the other", "not run on 4 GPUs: there are 2 GPUs"]
    with pytest.raises(probe.ProbeError, match="run_as: there is no user"):
        probe.plan({"argv": ["x"], "run_as": "nobody-here"})


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
    announced = probe.plan({"argv": ["x"], "chdir": str(tmp_path), **options}, gpus(8))["notes"]
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
    plan = probe.plan({"argv": ["x"], "chdir": str(tmp_path), "iterations": 3, "gpu_counts": [1, 9], "scaling_basis": "epoch"}, gpus(8))
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
    assert {name for name in probe_outcome._COMMANDS.values()} <= {name for name, dummy in probe_outcome.RESERVING}
