# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables for the host's module are checked before it runs, saved output is read, and mistyped names are told."""

from __future__ import annotations

import pathlib
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import host_options, variable_names

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("variable, value, said", [
    ("gpu_audit_timeout", "abc", "number of seconds above 0 and up to 600, not 'abc'"), ("gpu_audit_timeout", 0, "not 0"),
    ("gpu_audit_timeout", 601, "not 601"), ("gpu_audit_timeout", True, "not True"), ("gpu_audit_timeout", [3], "not [3]"),
    ("gpu_audit_timeout", "nan", "'nan'"), ("gpu_audit_timeout", 10**400, "number of seconds"),
    ("gpu_audit_gpu_source", "nvlm", "one of auto, nvml, nvidia_smi, not 'nvlm'"), ("gpu_audit_gpu_source", ["nvml"], "one of auto"),
    ("gpu_audit_gather_subset", ["gpus"], "'gpus' is none of all, gpu, cpu"), ("gpu_audit_gather_subset", "gpu,cpus", "'cpus'"),
    ("gpu_audit_gather_subset", ["!all"], "leaves nothing"), ("gpu_audit_gather_subset", {"gpu": 1}, "list of texts"),
    ("gpu_audit_gather_subset", [1], "list of texts"),
    ("gpu_audit_nvidia_smi", ["x"], "must be text"), ("gpu_audit_nvidia_smi_output", {"a": 1}, "must be text"),
    ("gpu_audit_python_environments", ["opt/train"], "absolute path"), ("gpu_audit_python_environments", 7, "list of texts"),
])
def test_what_the_module_would_refuse_is_told_by_the_variables_name(variable, value, said):
    values = {variable: value, "gpu_audit_policy": "training"}
    found = host_options.problems(values)
    assert list(found) == [variable] and said in found[variable] and values == {"gpu_audit_policy": "training"}
    assert not found[variable].startswith(host_options.MODULE_VARIABLES[variable] + ":")


def test_right_values_reach_the_module_in_its_own_types():
    values = {"gpu_audit_timeout": "2.5", "gpu_audit_gather_subset": "gpu, !cpu", "gpu_audit_gpu_source": "nvml", "gpu_audit_nvidia_smi": "",
              "gpu_audit_python_environments": ["/opt/a", "~/b"], "gpu_audit_nvidia_smi_output": None}
    assert host_options.problems(values) == {}
    assert host_options.module_options(values) == {"timeout": 2.5, "gather_subset": ["gpu", "!cpu"], "gpu_source": "nvml",
                                                   "python_environments": ["/opt/a", "~/b"]}


def test_each_option_that_a_variable_sets_has_a_check():
    assert set(host_options._CHECKS) == set(host_options.MODULE_VARIABLES.values())


def test_saved_output_is_looked_for_in_the_folders_in_turn(tmp_path):
    (tmp_path / "a.xml").write_bytes(b"<nvidia_smi_log>\xff {{ x }}")
    values = {"gpu_audit_nvidia_smi_output_file": "a.xml"}
    assert host_options.read_saved(values, ["/nonexistent", str(tmp_path)]) == {}
    assert host_options.module_options(values) == {"nvidia_smi_output": "<nvidia_smi_log>\ufffd {{ x }}"}
    values = {"gpu_audit_nvidia_smi_output_file": str(tmp_path / "a.xml")}
    assert host_options.read_saved(values, ["/nonexistent"]) == {} and values["gpu_audit_nvidia_smi_output"].startswith("<nvidia")
    values = {"gpu_audit_nvidia_smi_output_file": ""}
    assert host_options.read_saved(values, [str(tmp_path)]) == {} and host_options.module_options(values) == {}


@pytest.mark.parametrize("wanted, more, said", [
    ("gone.xml", {}, "no such file on the controller: 'gone.xml' (looked for"), ("folder", {}, "no such file"), (["a.xml"], {}, "must be the path"),
    ("empty.xml", {}, "empty"), ("huge.xml", {}, "larger than"), ("a.xml", {"gpu_audit_nvidia_smi_output": "text"}, "not both"),
    ("a\0b", {}, "must be the path"),
])
def test_saved_output_that_can_not_be_used_is_an_error_and_never_the_machine_at_hand(tmp_path, monkeypatch, wanted, more, said):
    monkeypatch.setattr(host_options, "SAVED_LIMIT_BYTES", 100)
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.xml").write_text("x")
    (tmp_path / "empty.xml").write_text(" \n")
    (tmp_path / "huge.xml").write_text("x" * 101)
    found = host_options.read_saved({"gpu_audit_nvidia_smi_output_file": wanted, **more}, [str(tmp_path)])
    assert list(found) == ["gpu_audit_nvidia_smi_output_file"] and said in found["gpu_audit_nvidia_smi_output_file"]


@pytest.mark.parametrize("name, meant", [
    ("gpu_audit_treshold", "gpu_audit_thresholds"), ("gpu_audit_polic", "gpu_audit_policy"), ("gpu_audit_langage", "gpu_audit_language"),
    ("gpu_audit_gate_level", "gpu_audit_gate"), ("gpu_audit_nvidia_smi_outputfile", "gpu_audit_nvidia_smi_output_file"),
])
def test_a_mistyped_variable_is_told_with_the_one_that_was_meant(name, meant):
    assert variable_names.unknown({name: 1, "other": 2, 3: 4, "gpu_audit": {}}) == [
        '%s is no variable of this audit and changes nothing (did you mean "%s"?)' % (name, meant)]


def test_every_variable_of_roles_playbooks_and_readmes_is_known():
    pages = [*ROOT.glob("roles/**/*.yml"), *ROOT.glob("playbooks/*.yml"), *ROOT.glob("roles/*/README.md"), *ROOT.glob("README*.md")]
    names = {name for page in pages for name in re.findall(r"\bgpu_audit_[a-z0-9_]+", page.read_text())}
    assert len(names) > 25 and variable_names.unknown(names) == []


def test_expected_fields_are_what_metrics_ask_for():
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import expected, metrics

    asked = {source.partition(".")[2] for entry in metrics.DEFINITIONS.values() for source in entry["inputs"] if source.startswith("expected.")}
    assert set(expected.FIELDS) == asked
