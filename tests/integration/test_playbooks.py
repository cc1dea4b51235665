# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The shipped playbooks on one machine: no host is ever lost, the gate fails exactly whom it should, exit codes."""

from __future__ import annotations

import json
import pathlib

import pytest
from playbook_site import DEAD, LOCAL, POOR, Site, recap

TROUBLED = {
    "a-broken": {"ansible_connection": "ssh", "ansible_host": "{{ nope }}"},
    "b-dead": DEAD,
    "badbecome": {"ansible_connection": "local", "ansible_become": "{{ nope }}"},
    "badconnection": {"ansible_connection": "{{ nope }}"},
    "badform": {"ansible_connection": "local", "gpu_audit_workload": {"kind": "trainning"}},
    "badtype": {"ansible_connection": "local", "gpu_audit_expected": "eight"},
    "badvariable": {"ansible_connection": "local", "gpu_audit_workload": {"kind": "{{ undefined_thing }}"}},
    "good": LOCAL,
    "nopython": {"ansible_connection": "local", "ansible_python_interpreter": "/nonexistent/python3"},
    "poor": POOR,
}
TRUE_STATUS = {
    "a-broken": "error", "b-dead": "unreachable", "badbecome": "error", "badconnection": "error", "badform": "error", "badtype": "error",
    "badvariable": "error", "good": "ready", "nopython": "error", "poor": "not_ready",
}


@pytest.fixture
def site(tmp_path):
    return Site(tmp_path)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    """One audit of every kind of trouble, the first host among the broken ones."""
    site = Site(tmp_path_factory.mktemp("troubled"))
    site.inventory(TROUBLED, groups={"rack1": list(TROUBLED)})
    return site, site.play("audit")


def test_every_host_is_in_the_report_under_its_true_status(troubled):
    site, done = troubled
    assert done.returncode == 0, done.stdout
    assert site.verdicts() == TRUE_STATUS
    assert site.report()["summary"]["hosts"] == len(TROUBLED)


def test_each_document_says_what_was_wrong_in_the_tools_own_words(troubled):
    site, _done = troubled
    said = {name: site.document(name)["errors"][0] for name, verdict in TRUE_STATUS.items() if verdict in ("error", "unreachable")}
    assert {name: error["kind"] for name, error in said.items()} == {
        "a-broken": "template", "b-dead": "unreachable", "badbecome": "template", "badconnection": "template", "badform": "invalid",
        "badtype": "invalid", "badvariable": "template", "nopython": "no_python"}
    assert "Connection refused" in said["b-dead"]["message"]
    assert "gpu_audit_workload: 'undefined_thing' is undefined" in said["badvariable"]["message"]
    assert "trainning" in said["badform"]["message"] and "gpu_audit_expected" in said["badtype"]["message"]
    assert "/nonexistent/python3" in said["nopython"]["message"]
    for name in ("a-broken", "badconnection", "badbecome"):
        assert "nope" in said[name]["message"]


def test_groups_are_kept_also_of_a_host_that_could_not_be_begun(troubled):
    site, _done = troubled
    assert site.inputs("a-broken")["groups"] == ["rack1"] == site.inputs("good")["groups"]


def test_an_audit_is_one_task_a_host_and_changes_nothing(troubled):
    counters = recap(troubled[1].stdout)
    assert all(count["changed"] == 0 and count["failed"] == 0 and count["unreachable"] == 0 for count in counters.values())
    assert [name for name, count in counters.items() if count["ok"] > 1] == ["a-broken"]


def test_without_the_callback_the_last_task_says_verdicts_and_path(troubled):
    site, done = troubled
    assert str(site.latest.resolve() / "report.html") in done.stdout
    assert "not ready" in done.stdout and "Traceback" not in done.stdout


def test_every_format_is_written(troubled):
    site, _done = troubled
    assert {path.name for path in site.latest.iterdir()} == {
        "run.json", "inputs", "hosts", "report.json", "report.html", "report.csv", "report.md", "junit.xml", "gpu_audit.prom"}


def test_the_run_says_who_was_expected_and_by_what_it_was_judged(troubled):
    run = troubled[0].read("run.json")
    assert run["expected"] == sorted(TROUBLED) and run["partial"] is False and run["finished"] >= run["started"]
    # The default stands for the hosts whose own variables can't be read.
    assert sorted(run["policies"]) == ["lenient.yml", "training"] and run["ansible_version"] and run["collection_version"]


def test_the_gate_fails_exactly_the_hosts_below_it(site):
    site.inventory(TROUBLED)
    done = site.play("gate")
    assert done.returncode == 2
    failed = {name for name, count in recap(done.stdout).items() if count["failed"]}
    assert failed == set(TROUBLED) - {"good"}
    assert site.verdicts() == TRUE_STATUS
    assert "b-dead is below the gate (fail): unreachable. Failed to connect" in done.stdout


def test_the_gate_passes_when_all_do(site):
    site.inventory({"one": LOCAL, "two": LOCAL})
    done = site.play("gate")
    assert done.returncode == 0 and set(site.verdicts().values()) == {"ready"}, done.stdout


def test_limit_asks_only_for_those(site):
    site.inventory(TROUBLED)
    assert site.play("gate", "--limit", "good").returncode == 0
    assert site.verdicts() == {"good": "ready"}
    done = site.play("gate", "--limit", "a-broken,b-dead")
    assert done.returncode == 2 and site.verdicts() == {"a-broken": "error", "b-dead": "unreachable"}


@pytest.mark.parametrize("playbook", ["audit", "gate"])
@pytest.mark.parametrize("hosts, arguments", [
    ({}, ()), ({"a": LOCAL, "b": LOCAL}, ("-e", "gpu_audit_hosts=nobody")), ({"a": LOCAL, "b": LOCAL}, ("-e", "gpu_audit_hosts=a", "--limit", "b")),
])
def test_where_there_is_no_host_nothing_passes(site, playbook, hosts, arguments):
    site.inventory(hosts)
    done = site.play(playbook, *arguments)
    assert done.returncode != 0 and "no host to audit" in done.stdout and "Traceback" not in done.stdout
    assert not site.output.exists()


def test_a_play_of_ones_own_with_the_gate_needs_the_lookup_to_fail_without_hosts(site):
    """As roles/gate/README.md says."""
    site.inventory({})
    play = "- hosts: %s\n  gather_facts: false\n  roles: [trainops.gpu_audit.gate]\n"
    assert site.play(site.own_play(play % "all")).returncode == 0
    done = site.play(site.own_play(play % "\"{{ query('trainops.gpu_audit.play_hosts', 'all') }}\""))
    assert done.returncode != 0 and "no host to audit" in done.stdout, done.stdout


@pytest.mark.parametrize("look", ["--syntax-check", "--list-hosts", "--list-tasks", "--list-tags"])
def test_looking_at_a_playbook_needs_no_host(site, look):
    site.inventory({})
    assert site.play("gate", look).returncode == 0


def test_the_hosts_of_a_play_may_be_a_pattern_a_list_or_this_machine(site):
    site.inventory({"a": LOCAL, "b": LOCAL, "c": LOCAL}, groups={"rack1": ["a", "b"]})
    assert site.play("gate", "-e", "gpu_audit_hosts=rack1:!b").returncode == 0 and list(site.verdicts()) == ["a"]
    assert site.play("gate", "-e", '{"gpu_audit_hosts": ["a", "c"]}').returncode == 0 and list(site.verdicts()) == ["a", "c"]
    everywhere = json.dumps({"gpu_audit_hosts": "localhost", "gpu_audit_policy": "lenient.yml", "gpu_audit_output_dir": str(site.output)})
    assert site.play("gate", "-e", everywhere, inventory=False).returncode == 0 and list(site.verdicts()) == ["localhost"]


def test_every_host_dead(site):
    site.inventory({"one": DEAD, "two": DEAD})
    assert site.play("audit").returncode == 0
    done = site.play("gate")
    assert done.returncode == 2 and set(site.verdicts().values()) == {"unreachable"}
    assert {name for name, count in recap(done.stdout).items() if count["failed"]} == {"one", "two"}


def test_in_batches_nobody_is_lost_also_when_a_whole_batch_is_dead(site):
    site.inventory({"a": DEAD, "b": DEAD, "c": LOCAL, "d": POOR, "e": LOCAL})
    done = site.play("gate", "-e", "gpu_audit_serial=2")
    assert done.returncode == 2
    assert site.verdicts() == {"a": "unreachable", "b": "unreachable", "c": "ready", "d": "not_ready", "e": "ready"}
    assert {name for name, count in recap(done.stdout).items() if count["failed"]} == {"a", "b", "d"}
    assert len(site.runs()) == 1


def test_in_a_users_serial_play_the_hosts_after_a_refused_batch_are_not_tried(site):
    site.inventory({"a": POOR, "b": POOR, "c": LOCAL})
    own = site.own_play("""
- hosts: all
  gather_facts: false
  serial: 2
  roles: [trainops.gpu_audit.audit, trainops.gpu_audit.gate]
""")
    done = site.play(own)
    assert done.returncode == 2
    assert site.verdicts() == {"a": "not_ready", "b": "not_ready", "c": "not_tried"}


def test_a_host_that_a_users_play_lost_before_the_audit_is_in_the_report_with_why(site):
    site.inventory({"a": DEAD, "b": LOCAL})
    own = site.own_play("""
- hosts: all
  gather_facts: true
  gather_subset: ["!all", "!min"]
  roles: [trainops.gpu_audit.audit, trainops.gpu_audit.gate]
""")
    done = site.play(own)
    assert done.returncode == 4, done.stdout
    assert site.verdicts() == {"a": "error", "b": "ready"}
    assert "before the audit came to it" in site.document("a")["errors"][0]["message"]


def test_a_user_who_names_the_role_gets_its_arguments_checked(site):
    site.inventory({"a": LOCAL})
    own = site.own_play("""
- hosts: all
  gather_facts: false
  roles:
    - role: trainops.gpu_audit.audit
      gpu_audit_language: klingon
""")
    done = site.play(own)
    assert done.returncode == 2 and "klingon" in done.stdout and "gpu_audit_language" in done.stdout


def test_the_pieces_by_tags(site):
    site.inventory({"a": LOCAL, "b": POOR})
    done = site.play("gate", "--tags", "collect")
    assert done.returncode == 0
    said = done.stdout
    run = site.output / site.runs()[0]
    assert not (run / "report.json").exists() and (run / "hosts" / "a.json").exists()
    assert "Run: %s" % run in said
    assert site.play("gate", "--tags", "judge").returncode == 0
    assert (run / "report.json").exists() and not (run / "report.html").exists()
    assert site.play("gate", "--tags", "report").returncode == 0
    assert (run / "report.html").exists()
    assert site.play("gate", "--tags", "gate").returncode == 2
    assert len(site.runs()) == 1


def test_check_mode_collects_and_reports(site):
    site.inventory({"a": LOCAL})
    done = site.play("audit", "--check")
    assert done.returncode == 0 and site.verdicts() == {"a": "ready"}


def test_a_policy_typo_is_told_before_any_host_is_contacted(site):
    site.inventory({"a": LOCAL, "b": DEAD}, {"gpu_audit_policy": "typo.yml"})
    (site.folder / "typo.yml").write_text(
        "name: typo\nchecks:\n  memory.total_bytes:\n    item: memory\n    fial: {below: 1}\nschema: trainops.gpu_audit/policy/1\n")
    done = site.play("audit")
    assert done.returncode == 2
    assert site.verdicts() == {"a": "error", "b": "error"}
    message = site.document("b")["errors"][0]["message"]
    assert "typo.yml, line 5" in message and "fial" in message and '"fail"' in message
    assert message[:60] in done.stdout.replace("\\", "")


def test_a_threshold_typo_is_that_hosts_error(site):
    site.inventory({"a": dict(LOCAL, gpu_audit_thresholds={"memory.totl_bytes": {"fail": 1}}), "b": LOCAL})
    assert site.play("audit").returncode == 0
    assert site.verdicts() == {"a": "error", "b": "ready"}
    assert 'did you mean "memory.total_bytes"' in site.document("a")["errors"][0]["message"]


@pytest.mark.parametrize("variables, said", [
    ({"gpu_audit_timeout": "abc"}, "gpu_audit_timeout: must be a number of seconds above 0 and up to 600, not 'abc'"),
    ({"gpu_audit_gather_subset": ["gpus"]}, "gpu_audit_gather_subset: 'gpus' is none of all, gpu"),
    ({"gpu_audit_gpu_source": "nvlm"}, "gpu_audit_gpu_source: must be one of auto"),
    ({"gpu_audit_thresholds_x": {"memory.totl_bytes": {"fail": 1}}}, "gpu_audit_thresholds_x: memory.totl_bytes: "),
    ({"gpu_audit_workload": {"kind": "trainning"}}, "gpu_audit_workload: kind must be one of"),
    ({"gpu_audit_nvidia_smi_output_file": "gone.xml"}, "gpu_audit_nvidia_smi_output_file: no such file on the controller"),
])
def test_a_wrong_variable_is_named_before_any_host_is_contacted_and_fails_the_play_when_all_have_it(site, variables, said):
    site.inventory({"a": LOCAL, "b": DEAD}, variables)
    done = site.play("audit")
    assert done.returncode == 2, done.stdout
    assert site.verdicts() == {"a": "error", "b": "error"}
    for name in "ab":
        error = site.document(name)["errors"][0]
        assert error["kind"] == "invalid" and error["message"].startswith(said), error


def test_a_mistyped_variable_is_warned_of_once(site):
    site.inventory({"a": dict(LOCAL, gpu_audit_langage="zh"), "b": LOCAL}, {"gpu_audit_treshold": 1})
    done = site.play("audit")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0 and said.count('gpu_audit_treshold is no variable of this audit') == 1, done.stdout
    assert 'gpu_audit_langage is no variable of this audit and changes nothing (did you mean "gpu_audit_language"?)' in said


SAVED = """<?xml version="1.0" ?>
<nvidia_smi_log>
<driver_version>570.1</driver_version><attached_gpus>1</attached_gpus>
<gpu id="00000000:17:00.0"><product_name>NVIDIA L4</product_name><uuid>GPU-1</uuid>
<fb_memory_usage><total>23034 MiB</total><reserved>500 MiB</reserved><used>0 MiB</used><free>22534 MiB</free></fb_memory_usage></gpu>
</nvidia_smi_log>
"""


def test_saved_machines_are_judged_by_what_nvidia_smi_printed_there(site):
    (site.folder / "saved.xml").write_text(SAVED)
    subset = {"gpu_audit_gather_subset": ["gpu"], "folder": str(site.folder)}
    site.inventory({"file": dict(LOCAL, gpu_audit_nvidia_smi_output_file="saved.xml"), "text": dict(LOCAL, gpu_audit_nvidia_smi_output=SAVED),
                    "lookup": dict(LOCAL, gpu_audit_nvidia_smi_output="{{ lookup('ansible.builtin.file', folder ~ '/saved.xml') }}")}, subset)
    done = site.play("audit")
    assert done.returncode == 0, done.stdout
    for name in ("file", "text", "lookup"):
        facts = site.document(name)["facts"]
        assert sorted(facts) == ["gpu", "schema"] and facts["gpu"]["gpus"][0]["name"] == "NVIDIA L4"
        assert facts["gpu"]["source"] == "nvidia-smi" and facts["gpu"]["driver_version"] == "570.1"


def test_thresholds_of_two_groups_are_merged_in_name_order(site):
    strict, mild = {"memory.total_bytes": {"fail": 1e18}}, {"memory.total_bytes": {"fail": 2}}
    site.inventory({"a": dict(LOCAL, gpu_audit_thresholds_b=mild, gpu_audit_thresholds_a=strict)})
    assert site.play("audit").returncode == 0
    assert [entry["variable"] for entry in site.inputs("a")["thresholds"]] == ["gpu_audit_thresholds_a", "gpu_audit_thresholds_b"]
    assert site.verdicts() == {"a": "ready"}


def test_a_threshold_that_is_a_template(site):
    site.inventory({"a": dict(LOCAL, limit=10**18, gpu_audit_thresholds={"memory.total_bytes": {"fail": "{{ limit }}"}})})
    assert site.play("audit").returncode == 0
    assert site.verdicts() == {"a": "not_ready"} and site.inputs("a")["thresholds"][0]["values"] == {"memory.total_bytes": {"fail": 10**18}}


def state_of(pid):
    """The state letter of a process, None when it is gone."""
    try:
        return pathlib.Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return None


def test_a_host_that_hangs_costs_its_timeout_and_no_more(site):
    hanging = site.folder / "python-that-hangs"
    hanging.write_text("#!/bin/sh\necho $$ > %s/pid\nexec sleep 120\n" % site.folder)
    hanging.chmod(0o755)
    site.inventory({"hangs": dict(LOCAL, ansible_python_interpreter=str(hanging), gpu_audit_host_timeout=2), "good": LOCAL})
    assert site.play("audit").returncode == 0
    assert site.verdicts() == {"hangs": "error", "good": "ready"}
    error = site.document("hangs")["errors"][0]
    assert error["kind"] == "timeout" and "gpu_audit_host_timeout" in error["message"]
    assert state_of((site.folder / "pid").read_text().strip()) in (None, "Z")


def test_a_name_that_is_a_path_stays_in_the_run(site):
    site.inventory({"../../x": LOCAL})
    assert site.play("audit").returncode == 0
    assert [path.name for path in (site.latest / "hosts").iterdir()] == ["%2e.%2f..%2fx.json"]
    assert site.verdicts() == {"../../x": "ready"}


def test_hosts_with_another_output_dir_share_the_one_run(site):
    site.inventory({"a": LOCAL, "b": dict(LOCAL, gpu_audit_output_dir=str(site.folder / "elsewhere"))})
    done = site.play("audit", "--forks", "1")
    assert done.returncode == 0 and site.verdicts() == {"a": "ready", "b": "ready"}
    assert not (site.folder / "elsewhere").exists() and "differs between hosts" in done.stdout


def test_a_place_that_cannot_be_written_is_one_clear_error(site):
    (site.folder / "file").write_text("")
    site.inventory({"a": LOCAL}, {"gpu_audit_output_dir": str(site.folder / "file" / "runs")})
    done = site.play("audit")
    assert done.returncode == 2 and "cannot make the run directory" in done.stdout and "Traceback" not in done.stdout


def test_ansible_gets_less_than_a_kilobyte_back(site):
    site.inventory({"a": LOCAL})
    done = site.play("audit", "-v")
    line = next(line for line in done.stdout.splitlines() if line.startswith("ok: [a] => "))
    found = json.loads(line.partition(" => ")[2])
    assert found["status"] == "collected" and found["changed"] is False and len(line) < 1024


@pytest.mark.parametrize("variable, said", [
    ("gpu_audit_language=klingon", "'klingon' is none of en, zh"), ("gpu_audit_formats=pdf", "no format pdf; there are: html")])
def test_a_wrong_switch_of_the_run_is_one_clear_error(site, variable, said):
    site.inventory({"a": LOCAL})
    done = site.play("audit", "-e", variable)
    assert done.returncode == 2 and said in done.stdout and "Traceback" not in done.stdout


def test_an_unreachable_host_whose_python_is_to_be_found_is_unreachable(site):
    site.inventory({"a": dict(DEAD, ansible_python_interpreter="auto")})
    assert site.play("audit").returncode == 0
    assert site.verdicts() == {"a": "unreachable"}
