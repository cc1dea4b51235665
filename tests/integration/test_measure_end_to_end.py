# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A real program, probed against a stand-in driver: probe, measurement, metrics, findings, report; in one play and from a day before."""

from __future__ import annotations

import datetime
import json
import pathlib
import re
import sys

import pytest
from playbook_site import LOCAL, ROOT, Site

sys.path.insert(0, str(ROOT / "tests" / "unit"))

import probing

pytestmark = probing.needs_compiler

PLAY = """
- hosts: all
  gather_facts: false
  environment: {NVML_STUB_SCENARIO: "{{ scenario }}", LD_LIBRARY_PATH: "{{ library }}"}
  roles: [%s]
"""
# Iterations and waiting as the helper tells them, instead of by a pattern.
HELPED = {"probe_workload_iteration_pattern": ""}
# host: (words of the workload, further variables)
HOSTS = {
    "p79": (["--peak", "0.79"], HELPED),
    "p82": (["--peak", "0.82"], {}),
    "p86": (["--peak", "0.86"], {}),
    "waits": (["--peak", "0.75", "--wait-seconds", "0.15", "--utilization", "40"], HELPED),
    "full": (["--mode", "fill"], {}),
    "exits": (["--mode", "fail"], {}),
    "late": (["--steps", "1000"], {"probe_workload_timeout_seconds": 3}),
    "reserves": (["--mode", "reserve", "--peak", "0.97"], {"probe_workload_reserves": "vllm"}),
    # `python train.py` where torchrun is wanted: four GPUs, one of them used.
    "alone": (["--steps", "5"], {"probe_workload_gpu_counts": [1, 2, 4]}),
}
GPUS = {"alone": 4}
FORM = {"kind": "training", "input_sample_bytes": 150000, "batch_size": 8, "hours_per_day": 20}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Nine hosts probed and audited in one play."""
    made = Site(tmp_path_factory.mktemp("measured"))
    hosts = {}
    for name, (words, variables) in HOSTS.items():
        folder = made.folder / name
        (folder / "data").mkdir(parents=True)
        for number in range(5):
            (folder / "data" / str(number)).write_bytes(b"x" * 100000)
        lab = probing.Lab(folder)
        # What the driver keeps for itself is left out of both sides: with none, fractions are of the whole.
        lab.scenario(count=GPUS.get(name, 1), reserved=0)
        argv = [sys.executable, str(probing.WORKLOAD), "--live", str(lab.live), "--total", str(probing.TOTAL)]
        argv += ["--data", str(folder / "data")]
        hosts[name] = dict(LOCAL, scenario=str(folder / "scenario.conf"), probe_workload_argv=[*argv, *words], **variables)
    common = {
        "gpu_audit_policy": "training", "gpu_audit_workload": FORM, "library": lab.environment()["LD_LIBRARY_PATH"],
        "probe_workload_interval_seconds": 0.1, "probe_workload_iteration_pattern": r"step (?P<iteration>\d+)/",
        "probe_workload_helper": True, "probe_workload_helper_directory": str(made.folder / "helper"),
    }
    made.inventory(hosts, common)
    made.own_play(PLAY % "trainops.gpu_audit.probe_workload, trainops.gpu_audit.audit")
    done = made.play("own.yml", "--forks", "3")
    assert done.returncode == 0, done.stdout
    made.output_text = done.stdout
    return made


def host(site, name):
    return {entry["name"]: entry for entry in site.report()["hosts"]}[name]


def finding(site, name, check):
    """The finding on a check with its actual value, trimmed or not."""
    entry = host(site, name)
    found = {found["check"]: found for found in entry["findings"]}[check]
    return dict({"actual": entry["metrics"].get(check)}, **found)


@pytest.mark.parametrize(("name", "status", "peak"), [("p79", "pass", 0.79), ("p82", "warn", 0.82), ("p86", "fail", 0.86)])
def test_the_peak_that_a_program_climbs_to_is_judged(site, name, status, peak):
    found = finding(site, name, "vram.peak_fraction")
    assert found["status"] == status and found["actual"] == pytest.approx(peak, abs=0.002)


@pytest.mark.parametrize(("name", "outcome"), [("full", "oom_cuda"), ("exits", "failed"), ("late", "timed_out")])
def test_endings_are_told_apart(site, name, outcome):
    found = finding(site, name, "workload.outcome")
    assert found["status"] == "warn" and found["actual"] == outcome
    assert finding(site, name, "vram.out_of_memory")["status"] == ("fail" if name == "full" else "pass")


def test_vram_full_at_the_start_is_told_to_halve_the_batch(site):
    found = finding(site, "full", "vram.out_of_memory")
    assert found["actual"] == "at_start" and "Halve the batch" in found["advice"]


def test_one_that_exits_has_no_peak(site):
    assert finding(site, "exits", "vram.peak_fraction")["status"] == "unknown"


def test_a_reservation_is_unknown_and_never_halves_the_batch(site):
    found = finding(site, "reserves", "vram.peak_fraction")
    said = found.get("message") or host(site, "reserves")["absent"]["vram.peak_fraction"]
    assert found["status"] == "unknown" and said.startswith("reservation")
    assert "alve the batch" not in json.dumps(host(site, "reserves"))


def test_waiting_for_data_is_seen(site):
    found = finding(site, "waits", "workload.data_wait_fraction")
    assert found["status"] == "warn" and 0.4 < found["actual"] < 0.8
    assert finding(site, "waits", "workload.data_side")["status"] == "warn"
    assert finding(site, "p79", "workload.data_wait_fraction")["status"] == "pass"


def test_gpus_that_were_never_used_are_no_scaling(site):
    found = finding(site, "alone", "scaling.efficiency_fraction")
    said = found.get("message") or host(site, "alone")["absent"]["scaling.efficiency_fraction"]
    assert found["status"] == "unknown" and "On 2 GPUs the probed command used only 1" in said and "torchrun" in found["advice"]
    assert finding(site, "alone", "workload.unused_gpus")["status"] == "warn" and finding(site, "alone", "workload.unused_gpus")["actual"] == 3
    assert "on 2 GPUs the command used only 1: its times say nothing" in site.output_text
    assert "On 2 GPUs the probed command used only 1" in (site.latest / "report.html").read_text()
    assert finding(site, "p79", "workload.unused_gpus")["status"] == "pass"


@pytest.mark.parametrize("more", [[], ["--check"]])
def test_a_command_that_is_not_there_is_refused_and_nothing_is_kept(site, more):
    before = sorted(site.output.glob("measurements/*/*"))
    site.own_play(PLAY % "trainops.gpu_audit.probe_workload")
    for wrong, words in (({"probe_workload_argv": ["/no/such/program"]}, "the command /no/such/program isn't there"),
                         ({"probe_workload_chdir": "/no/folder"}, "chdir: /no/folder isn't there")):
        done = site.play("own.yml", "--limit", "p79", "-e", json.dumps(wrong), *more)
        assert done.returncode != 0 and words in done.stdout, done.stdout
    assert sorted(site.output.glob("measurements/*/*")) == before


def test_the_report_closes_with_the_record(site):
    page = (site.latest / "report.html").read_text()
    assert page.count("Closing record") == len(HOSTS) and "VRAM in use over time" in page and "GPU utilisation over time" in page
    assert host(site, "p79")["metrics"]["workload.epoch_seconds"] > 1


def test_it_was_announced_and_no_argument_was_kept(site):
    assert re.search(r"p79: workload_probe of python\S* \S*workload\.py: at most", site.output_text)
    for path in site.output.glob("measurements/*/*.json"):
        if not path.name.startswith("."):
            assert "--peak" not in path.read_text()


def test_a_measurement_of_the_day_before_gives_the_same_findings(site):
    before = {name: finding(site, name, "vram.peak_fraction")["status"] for name in HOSTS}
    yesterday = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for path in site.output.glob("measurements/*/workload_probe-*.json"):
        kept = json.loads(path.read_text())
        pathlib.Path(path).write_text(json.dumps(dict(kept, started=yesterday, finished=yesterday)))
    site.own_play(PLAY % "trainops.gpu_audit.audit")
    done = site.play("own.yml", "--forks", "3")
    assert done.returncode == 0, done.stdout
    assert {name: finding(site, name, "vram.peak_fraction")["status"] for name in HOSTS} == before
    assert yesterday.replace("T", " ").replace("Z", " UTC") in (site.latest / "report.html").read_text()
    site.play("own.yml", "-e", "gpu_audit_measurement_max_age_seconds=3600")
    assert {finding(site, name, "vram.peak_fraction")["status"] for name in HOSTS} == {"unknown"}
