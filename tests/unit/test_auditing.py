# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging a stored run: nobody is lost, the same run gives the same bytes, overrides, policies that can't be used."""

from __future__ import annotations

import os
import pathlib

import fleet_maker
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import auditing, policy, policy_files, run_directory, run_pointer, run_reader


@pytest.fixture
def run(tmp_path):
    path = str(tmp_path / "run")
    run_directory.make_run_directory(path)
    names = []
    for inputs, document in fleet_maker.make_documents(12):
        names.append(inputs["name"])
        run_directory.write_json(run_directory.inputs_path(path, inputs["name"]), inputs)
        if document is not None:
            run_directory.write_json(run_directory.host_path(path, inputs["name"]), document)
    run_directory.write_json(run_directory.manifest_path(path), fleet_maker.make_run(names, {"training": policy.resolve("training")}))
    return path


def content(folder):
    with open(os.path.join(folder, "report.json"), "rb") as stream:
        return stream.read()


def test_the_same_run_gives_the_same_bytes_and_stays_as_it_is(run):
    with open(run_directory.manifest_path(run), "rb") as stream:
        before = stream.read()
    auditing.judge_stored(run)
    first = content(run)
    auditing.judge_stored(run)
    assert content(run) == first
    with open(run_directory.manifest_path(run), "rb") as stream:
        assert stream.read() == before


def test_whoever_is_expected_is_in_the_report(run):
    pathlib.Path(run_directory.host_path(run, "node-0001")).unlink(missing_ok=True)
    judged = auditing.judge_stored(run, ["never-seen"])
    verdicts = {host["name"]: host["verdict"] for host in judged.report["hosts"]}
    assert len(verdicts) == 13 and verdicts["never-seen"] == verdicts["node-0001"] == "not_tried"


def test_a_run_that_ends_now_is_recorded_as_ended(run):
    auditing.judge_stored(run, ["late"], finished="2026-12-01T00:00:00Z")
    manifest = run_reader.read_manifest(run)[0]
    assert manifest["finished"] == "2026-12-01T00:00:00Z" and manifest["partial"] is False and "late" in manifest["expected"]


def test_a_run_that_ends_now_keeps_the_rules_it_was_judged_by(run):
    # Collecting leaves a shipped policy to whoever judges.
    run_directory.write_json(run_directory.manifest_path(run), dict(run_reader.read_manifest(run)[0], policies={}))
    auditing.judge_stored(run)
    assert run_reader.read_manifest(run)[0]["policies"] == {}, "a stored run stays as it is"
    auditing.judge_stored(run, finished="2026-12-01T00:00:00Z")
    assert run_reader.read_manifest(run)[0]["policies"] == {"training": policy.resolve("training")}


def test_the_shipped_policies_are_known_by_name_without_reading_them():
    assert policy_files.is_shipped("training") and policy_files.is_shipped("base")
    assert not any(policy_files.is_shipped(name) for name in ("trainin", "training.yml", "../policies/training", ""))


def test_an_interrupted_run_is_partial_and_its_clock_is_the_last_document(run):
    manifest = dict(run_reader.read_manifest(run)[0], finished=None, partial=True, expected=["nobody-came"])
    run_directory.write_json(run_directory.manifest_path(run), manifest)
    judged = auditing.judge_stored(run)
    assert judged.report["run"]["partial"] is True and judged.report["run"]["finished"] == "2026-11-30T11:58:00Z"


def test_other_rules(run):
    given = [{"variable": "gpu_audit_thresholds", "values": {"compute.cores_per_gpu": {"fail": 1000}}}]
    judged = auditing.judge_stored(run, overrides={"thresholds": given})
    failing = [host for host in judged.report["hosts"] for finding in host["findings"]
               if finding["check"] == "compute.cores_per_gpu" and finding["status"] == "fail"]
    assert failing
    judged = auditing.judge_stored(run, overrides={"policy": "inference"})
    assert list(judged.report["run"]["policies"]) == ["inference"]


def test_thresholds_of_one_name_are_replaced_and_the_rest_kept():
    stored = [{"variable": "a", "values": 1}, {"variable": "c", "values": 2}, "garbage"]
    merged = auditing.merge_thresholds(stored, [{"variable": "c", "values": 3}, {"variable": "b", "values": 4}])
    assert merged == [{"variable": "a", "values": 1}, {"variable": "b", "values": 4}, {"variable": "c", "values": 3}]


def test_a_policy_that_cannot_be_used_is_the_hosts_error_and_told_once(run):
    manifest = run_reader.read_manifest(run)[0]
    run_directory.write_json(run_directory.manifest_path(run), dict(manifest, policies={}))
    for name in manifest["expected"]:
        inputs = run_reader.read_inputs(run, name)
        run_directory.write_json(run_directory.inputs_path(run, name), dict(inputs, policy="trainin"))
    judged = auditing.judge_stored(run)
    assert {host["verdict"] for host in judged.report["hosts"]} <= {"error", "unreachable", "not_tried"}
    told = [problem for problem in judged.problems if "trainin" in problem]
    assert len(told) == 1 and 'did you mean "training"' in told[0]
    assert any('did you mean "training"' in error["message"] for host in judged.report["hosts"] for error in host["errors"])


def test_when_every_host_fails_for_the_audits_own_settings_the_reason_is_given():
    wrong = {"verdict": "error", "errors": [{"kind": "invalid", "message": "typo"}]}
    assert auditing.nothing_judged({"hosts": [wrong, wrong]}) == "typo"
    dead = {"verdict": "unreachable", "errors": [{"kind": "unreachable", "message": "x"}]}
    assert auditing.nothing_judged({"hosts": [wrong, dead]}) is None
    assert auditing.nothing_judged({"hosts": [wrong, {"verdict": "ready", "errors": []}]}) is None
    assert auditing.nothing_judged({"hosts": []}) is None


@pytest.mark.parametrize("overrides, said", [
    ({"policy": "trainin"}, 'gpu_audit_policy: .*"training"'),
    ({"thresholds": [{"variable": "gpu_audit_thresholds", "values": {"compute.cores_per_gpus": {"warn": 1}}}]}, '"compute.cores_per_gpu"'),
    ({"waivers": {"gpu.losst": {"reason": "x"}}}, 'gpu_audit_waivers: .*"gpu.lost"'),
])
def test_a_typo_in_the_rules_given_now_leaves_the_stored_report(run, overrides, said):
    auditing.judge_stored(run)
    before = content(run)
    with pytest.raises(run_directory.RunDirectoryError, match=said):
        auditing.judge_stored(run, overrides=overrides)
    assert content(run) == before


def test_a_host_whose_inputs_are_gone_is_not_judged_by_other_rules(run):
    ready = next(host["name"] for host in auditing.judge_stored(run).report["hosts"] if host["findings"])
    pathlib.Path(run_directory.inputs_path(run, ready)).unlink()
    found = {host["name"]: host for host in auditing.judge_stored(run).report["hosts"]}[ready]
    assert found["verdict"] == "error" and "inputs/%s.json" % ready in found["reason"] and "missing" in found["reason"]
    found = {host["name"]: host for host in auditing.judge_stored(run, overrides={"policy": "base"}).report["hosts"]}[ready]
    assert found["verdict"] != "error" and "inputs/%s.json" % ready in found["errors"][-1]["message"]


def test_a_policy_file_is_looked_for_beside_the_inventory(tmp_path):
    (tmp_path / "mine.yml").write_text("schema: trainops.gpu_audit/policy/1\nname: mine\nextends: training\n")
    assert policy_files.load("mine.yml", ["/nonexistent", str(tmp_path)])["policy"]["name"] == "mine"
    assert "error" in policy_files.load("mine.yml", ["/nonexistent"])


def test_rendering_into_another_folder(run, tmp_path):
    other = str(tmp_path / "other")
    judged = auditing.judge_stored(run, destination=other)
    written = auditing.render_stored(run, judged, "zh", ("csv", "junit"))
    assert sorted(os.listdir(other)) == ["junit.xml", "report.csv", "report.json"] and set(written) == {"csv", "junit"}
    assert not os.path.exists(os.path.join(run, "report.json"))


def test_a_report_that_is_none_is_one_clear_error(run):
    with pytest.raises(run_directory.RunDirectoryError, match="Judge the run first"):
        auditing.read_report(run)


def test_what_is_kept_for_the_gate(run, tmp_path):
    judged = auditing.judge_stored(run)
    auditing.keep(str(tmp_path), run, judged)
    assert run_pointer.kept_judged(str(tmp_path))["run_directory"] == run
    first = judged.report["hosts"][0]
    assert run_pointer.kept_entry(str(tmp_path), first["name"])["verdict"] == first["verdict"]
    assert run_pointer.kept_entry(str(tmp_path), "stranger") is None
