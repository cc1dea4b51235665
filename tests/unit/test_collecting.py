# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""From a module's answer and a host's variables to documents; which stored measurements hold."""

from __future__ import annotations

import base64
import datetime
import json
import os
import zlib

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import collecting, measurement_store, run_directory

NOW = datetime.datetime(2026, 11, 30, 12, 0, tzinfo=datetime.timezone.utc)
FACTS = {"schema": "trainops.gpu_audit/facts/1", "platform": {"machine_id": "m1"},
         "gpu": {"state": "ok", "gpus": [{"uuid": "GPU-1", "name": "A"}, {"uuid": "GPU-2", "name": "A"}]}}


def packed(value):
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.b64encode(zlib.compress(raw)).decode()


def test_packed_facts_come_back():
    assert collecting.unpack_facts(packed(FACTS)) == FACTS


@pytest.mark.parametrize("text, said", [
    (None, "not text"), (17, "not text"), ("A" * (collecting.PACKED_LIMIT + 1), "not text"), ("not base64!", "can't be unpacked"),
    (base64.b64encode(b"no zlib").decode(), "can't be unpacked"), (packed(FACTS)[:40], "cut off"), (packed(b"[1, "), "not JSON"),
    (packed([1]), "not a document of schema"), (packed({"schema": "other"}), "not a document of schema"),
    (packed(b"[" * 100000), "not JSON"), (packed({**FACTS, "gpu": json.loads("[" * 100 + "]" * 100)}), "nested too deeply"),
])
def test_packed_facts_that_are_none_say_why(text, said):
    with pytest.raises(run_directory.InvalidDocument, match=said):
        collecting.unpack_facts(text)


def test_numbers_that_json_can_not_write_are_null():
    raw = json.dumps(FACTS)[:-1].encode() + b', "more": [1e999, -1e999, NaN, 1e300]}'
    assert collecting.unpack_facts(packed(raw))["more"] == [None, None, None, 1e300]


def test_a_small_text_that_unpacks_to_gigabytes_is_refused_early():
    bomb = packed(b"0" * (64 * 1024 * 1024))
    assert len(bomb) < 100000
    with pytest.raises(run_directory.InvalidDocument, match="larger than"):
        collecting.unpack_facts(bomb)


@pytest.mark.parametrize("result, kind, said", [
    ({"rc": 127, "msg": "not found", "module_stderr": "/bin/sh: 1: python3: not found"}, "no_python", "not found"),
    ({"rc": 126, "msg": "x"}, "no_python", "x"),
    ({"rc": 1, "msg": "Task failed: Action failed: boom", "module_stderr": "Traceback\n  line\nKeyError: 'y'\n"},
     "module_failed", "boom: "),
    ({"rc": 127, "msg": "MODULE FAILURE: No start of json char found", "module_stderr": "pyenv: python3.13: command not found\n\nThe ..."},
     "no_python", "shim of a version manager, which starts none here: pyenv: python3.13"),
    ({"rc": 126, "msg": "x", "module_stderr": "No version is set for command python3"}, "no_python", "Set ansible_python_interpreter"),
    ({"msg": ""}, "module_failed", "without a message"),
    ({"msg": ["odd"]}, "module_failed", "without a message"),
])
def test_a_failure_is_named_and_told(result, kind, said):
    found, message = collecting.failure(result)
    assert found == kind and said in message and "\n" not in message and not message.startswith("Task failed")


def test_the_end_of_a_long_output_is_kept():
    assert collecting.tail("x\n" * 1000 + "the reason").endswith("the reason") and len(collecting.tail("x\n" * 1000)) < 700


def test_what_the_progress_line_says_of_gpus():
    assert collecting.gpu_summary(FACTS) == {"gpu_count": 2, "gpu_name": "A", "gpu_state": "ok"}
    assert collecting.gpu_summary({"gpu": {"error": "crashed"}}) == {"gpu_count": None, "gpu_name": None, "gpu_state": None}
    assert collecting.gpu_summary({}) == {"gpu_count": None, "gpu_name": None, "gpu_state": None}
    assert len(collecting.gpu_summary({"gpu": {"state": "ok", "gpus": [{"name": "x" * 9999}]}})["gpu_name"]) < 120


@pytest.mark.parametrize("form, said", [
    ({"latency_seconds": "2 ms", "concurrency": "20 users"}, "concurrency must be a whole number that is not negative, not '20 users'; latency_seconds"),
    ({"latency": 2}, "latency is no field of the form"),
    ("inference", "must be a mapping"),
])
def test_a_wrong_form_is_refused_before_a_measurement_in_the_words_of_the_audit(form, said):
    with pytest.raises(ValueError, match="^gpu_audit_workload: .*" + said):
        collecting.checked_form({"gpu_audit_workload": form}, {})
    with pytest.raises(ValueError, match="gpu_audit_workload: 'x' is undefined"):
        collecting.checked_form({}, {"gpu_audit_workload": "'x' is undefined"})
    assert collecting.checked_form({}, {}) == {} == collecting.checked_form({"gpu_audit_workload": None}, {})
    assert collecting.checked_form({"gpu_audit_workload": {"input_sample_bytes": "1 KiB"}}, {}) == {"input_sample_bytes": 1024}


@pytest.mark.parametrize("values, variable, said", [
    ({"gpu_audit_policy": ["a"]}, "gpu_audit_policy", "name of a policy"),
    ({"gpu_audit_workload": "training"}, "gpu_audit_workload", "mapping"),
    ({"gpu_audit_waivers": [1]}, "gpu_audit_waivers", "mapping"),
    ({"gpu_audit_thresholds_x": 3}, "gpu_audit_thresholds_x", "mapping"),
    ({"gpu_audit_host_timeout": "soon"}, "gpu_audit_host_timeout", "seconds"),
    ({"gpu_audit_host_timeout": True}, "gpu_audit_host_timeout", "seconds"),
    ({"gpu_audit_measurement_max_age_seconds": -1}, "gpu_audit_measurement_max_age_seconds", "seconds"),
    ({"gpu_audit_waivers": {"a": {"expires": "2027-01-01"}}}, "gpu_audit_waivers", "a: needs a reason"),
    ({"gpu_audit_waivers": {"a": {"reason": "r", "expires": "soon"}}}, "gpu_audit_waivers", "'soon'"),
    ({"gpu_audit_expected": {"gpu_cout": 8}}, "gpu_audit_expected", 'did you mean "gpu_count"'),
    ({"gpu_audit_expected": {"gpu_count": "eight"}}, "gpu_audit_expected", "gpu_count must be a whole number that is not negative, not 'eight'"),
    ({"gpu_audit_expected": {"gpu_count": -1}}, "gpu_audit_expected", "not -1"),
    ({"gpu_audit_expected": {"gpu_count": 7.5}}, "gpu_audit_expected", "not 7.5"),
    ({"gpu_audit_expected": {"gpu_count": True}}, "gpu_audit_expected", "not True"),
    ({"gpu_audit_expected": {"pcie_width": "x16", "nvlinks": "many"}}, "gpu_audit_expected", "'many'; pcie_width must be"),
    ({"gpu_audit_expected": {"gpu_name": ["H100"]}}, "gpu_audit_expected", "gpu_name must be text"),
])
def test_a_variable_of_the_wrong_kind_is_named_and_not_used(values, variable, said):
    problems = collecting.shape_problems(values)
    assert list(problems) == [variable] and said in problems[variable] and variable not in values


def test_variables_of_the_right_kind_pass():
    values = {"gpu_audit_policy": "training", "gpu_audit_workload": {}, "gpu_audit_expected": {"gpu_count": 8},
              "gpu_audit_host_timeout": "60", "gpu_audit_thresholds": "",
              "gpu_audit_waivers": {"c": {"reason": "r", "expires": "2027-01-01"}, "d": {"reason": "r"}}}
    assert collecting.shape_problems(dict(values)) == {}


def test_limits_that_came_as_text_are_numbers_and_words_stay_words():
    given = {"t": {"a": {"warn": "6", "fail": {"below": "1.5"}, "enabled": "False", "tolerance": 0.1},
                   "b": {"fail": {"equals": "550"}}, "c": "x"}}
    assert collecting.thresholds_list(given, ["t"])[0]["values"] == {
        "a": {"warn": 6, "fail": {"below": 1.5}, "enabled": False, "tolerance": 0.1}, "b": {"fail": {"equals": "550"}}, "c": "x"}


def test_inputs_hold_what_was_given_and_what_was_wrong():
    inputs = collecting.host_inputs("n", ["b", "a"], {"gpu_audit_policy": "p", "gpu_audit_workload": {"kind": "training"}}, {"v": "m"}, [])
    assert inputs["groups"] == ["a", "b"] and inputs["policy"] == "p" and inputs["errors"] == [{"variable": "v", "message": "m"}]
    assert set(inputs) == set(run_directory.empty_inputs("n"))


@pytest.mark.parametrize("wrong", [
    {"gpu_audit_formats": 5}, {"gpu_audit_formats": {"html": True}}, {"gpu_audit_formats": [["html"]]}, {"gpu_audit_hide_serials": "maybe"},
    {"gpu_audit_hide_serials": ["x"]}, {"gpu_audit_report_documents": 2}, {"gpu_audit_language": ["en"]},
])
def test_a_wrong_switch_is_named_and_never_taken_for_off(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        collecting.checked_settings({**collecting.RUN_VARIABLES, **wrong})


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_json_can_not_write_spoil_no_inputs(odd):
    values = {"gpu_audit_expected": {"gpu_count": odd}, "gpu_audit_waivers": {"gpu.count": {"reason": "x", "expires": odd}}}
    given = collecting.thresholds_list({"t": {"gpu.count": {"warn": odd, "fail": {"one_of": [odd]}}}}, ["t"])
    inputs = collecting.host_inputs("n", [], values, {"t": "needs a number"}, given)
    assert str(odd) in run_directory.to_json(inputs).decode() and inputs["errors"]


def test_settings_of_a_run():
    good = collecting.checked_settings(dict(collecting.RUN_VARIABLES, gpu_audit_formats="html, csv", gpu_audit_hide_serials="yes"))
    assert good["gpu_audit_formats"] == ["html", "csv"] and good["gpu_audit_hide_serials"] is True
    with pytest.raises(ValueError, match="gpu_audit_formats: no format pdf"):
        collecting.checked_settings(dict(collecting.RUN_VARIABLES, gpu_audit_formats=["pdf"]))
    with pytest.raises(ValueError, match="gpu_audit_language"):
        collecting.checked_settings(dict(collecting.RUN_VARIABLES, gpu_audit_language="fr"))


def measurement(**changes):
    base = {"schema": measurement_store.MEASUREMENT_SCHEMA, "name": "n", "machine_id": "m1", "gpu_uuids": ["GPU-2", "GPU-1"],
            "module": "probe", "target": None, "options": {},
            "started": "2026-11-30T10:00:00Z", "finished": "2026-11-30T11:00:00Z", "result": {}}
    return dict(base, **changes)


def test_the_newest_that_fits_holds():
    old, new = measurement(finished="2026-11-29T11:00:00Z"), measurement()
    assert measurement_store.select([new, old], FACTS, NOW, 604800) == ([new], [])


def test_a_failure_hides_no_older_result_that_holds():
    good = measurement(finished="2026-11-29T11:00:00Z", result={"notes": ["first"]})
    failed = measurement(error="no such file")
    del failed["result"]
    (kept,), stale = measurement_store.select([failed, good], FACTS, NOW, 604800)
    assert kept["finished"] == good["finished"] and not stale
    assert kept["result"]["notes"] == ["first", "a later measurement (2026-11-30T11:00:00Z) failed: no such file"]
    assert good["result"]["notes"] == ["first"]
    newer = measurement(finished="2026-11-30T11:30:00Z")
    assert measurement_store.select([failed, good, newer], FACTS, NOW, 604800) == ([newer], [])
    # One too old to count is no reason to leave the failure unsaid.
    assert measurement_store.select([failed, good], FACTS, NOW, 7200)[0] == [failed]


def test_one_per_module_and_target():
    found = [measurement(target="/a"), measurement(target="/b"), measurement(module="other")]
    assert len(measurement_store.select(found, FACTS, NOW, 604800)[0]) == 3


def storage_test(hour, **result):
    return measurement(module="storage_benchmark", finished="2026-11-30T%02d:00:00Z" % hour, result=result)


def test_older_storage_tests_stay_for_the_jobs_that_nothing_newer_answers():
    full = storage_test(1, read_bytes_per_second=5, small_file_bytes_per_second=5)
    again, other = storage_test(2, read_bytes_per_second=6), storage_test(3, random_read_iops=7)
    outdated = storage_test(0, read_bytes_per_second=4)
    assert measurement_store.select([outdated, full, again, other], FACTS, NOW, 604800) == ([other, again, full], [])
    # Not for what no longer counts itself.
    foreign = dict(full, machine_id="m2")
    assert measurement_store.select([foreign, other], FACTS, NOW, 604800)[0] == [other]
    assert measurement_store.select([full, other], FACTS, NOW, 9.5 * 3600)[0] == [other]


@pytest.mark.parametrize("weak", [
    {"quick": True}, {"cached": True}, {"jobs": {"dataset_read": {"read": {"runtime_seconds": 0.3}}}},
    {"jobs": {"dataset_read": {"buffered_label": "memory"}}}])
def test_a_storage_test_that_answers_nothing_hides_none_that_does(weak):
    full, hint = storage_test(1, read_bytes_per_second=5), storage_test(2, read_bytes_per_second=6, **weak)
    assert measurement_store.select([full, hint], FACTS, NOW, 604800)[0] == [hint, full]
    assert measurement_store.select([dict(full, finished=hint["finished"]), dict(hint, finished=full["finished"])], FACTS, NOW, 604800)[0] == [
        dict(full, finished=hint["finished"])]


@pytest.mark.parametrize("changes, reason", [
    ({"machine_id": "m2"}, "machine"), ({"gpu_uuids": ["GPU-1"]}, "gpus"), ({"finished": "2026-11-01T00:00:00Z"}, "age"),
])
def test_what_no_longer_holds_is_stale_with_the_reason(changes, reason):
    current, stale = measurement_store.select([measurement(**changes)], FACTS, NOW, 604800)
    assert current == [] and [entry["reason"] for entry in stale] == [reason]


def test_a_newer_one_of_another_machine_hides_none_that_fits():
    fits, foreign = measurement(), measurement(machine_id="m2", finished="2026-11-30T11:30:00Z")
    assert measurement_store.select([foreign, fits], FACTS, NOW, 604800)[0] == [fits]


def test_a_test_of_no_gpu_outlives_an_exchange_of_one():
    disk = measurement(module="storage", gpu_uuids=[])
    assert measurement_store.select([disk], dict(FACTS, gpu={"gpus": []}), NOW, 604800)[0] == [disk]


def test_stored_files_are_read_and_broken_ones_named(tmp_path):
    folder = tmp_path / "measurements" / run_directory.safe_name("n")
    folder.mkdir(parents=True)
    (folder / "good.json").write_text(json.dumps(measurement()))
    (folder / "broken.json").write_text("{")
    (folder / "foreign.json").write_text(json.dumps(measurement(name="m")))
    (folder / "timeless.json").write_text(json.dumps(measurement(finished="yesterday")))
    os.symlink("/etc/passwd", folder / "link.json")
    found, broken = measurement_store.read_all(str(tmp_path), "n")
    assert found == [measurement()]
    assert sorted(entry["file"] for entry in broken) == ["broken.json", "foreign.json", "link.json", "timeless.json"]
    assert measurement_store.read_all(str(tmp_path), "nobody") == ([], [])


@pytest.mark.parametrize("facts", [
    {"platform": "x", "gpu": [1]}, {"platform": {"machine_id": {}}, "gpu": {"gpus": {"a": 1}}}, {"gpu": {"gpus": [{"uuid": [1]}, 3]}}, {},
])
def test_facts_of_any_kind_are_compared_with_measurements(facts):
    for uuids in (["GPU-1"], [["x"]], 5, None):
        stored = measurement(gpu_uuids=uuids, target={"odd": 1})
        current, stale = measurement_store.select([stored, measurement()], facts, NOW, 1e9)
        assert not current and {entry["reason"] for entry in stale} == {"machine"}


def test_a_broken_pipe_is_told_as_what_it_means():
    assert "refused or closed ([Errno 32] Broken pipe)" in collecting.own_words("[Errno 32] Broken pipe")
    assert collecting.own_words("ssh: connect to host a port 22: Connection refused").startswith("ssh: connect")


def test_a_module_that_was_killed_as_a_job_is_told_without_a_traceback():
    words = 'Traceback (most recent call last):\n  File "/x/async_wrapper.py", line 1, in _run\nValueError: No start of json char found\n'
    assert collecting.failure({"failed": True, "msg": words}) == (
        "module_failed", "the module ended without an answer: it was killed, or broke off (ValueError: No start of json char found)")
