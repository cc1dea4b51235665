# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the roles document is what the code takes: the workload form field by field, the variables, their defaults."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import collecting, expected, host_options, report, verdict, workload

ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
TYPES = {"choice": "str", "list": "list", "text": "str", "path": "str", "size": "raw", "int": "int", "number": "float", "bool": "bool",
         "times": "dict"}


def options(role):
    return yaml.safe_load((ROLES / role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"]


def defaults(role):
    return yaml.safe_load((ROLES / role / "defaults" / "main.yml").read_text())


def test_the_workload_form_is_documented_field_by_field():
    documented = options("audit")["gpu_audit_workload"]["options"]
    assert list(documented) == list(workload.ARGUMENT_SPEC)
    for name, row in workload.ARGUMENT_SPEC.items():
        entry = documented[name]
        assert entry["type"] == TYPES[row["type"]], name
        assert tuple(entry.get("choices") or ()) == tuple(row["choices"] or ()), name
        assert entry["description"].startswith(row["description"]["en"]), name


def test_expectations_are_those_that_a_metric_asks_for():
    assert tuple(sorted(options("audit")["gpu_audit_expected"]["options"])) == expected.FIELDS


@pytest.mark.parametrize("role", ["audit", "gate", "report", "vram_estimate", "measure_storage", "probe_workload"])
def test_every_switch_has_its_default_and_its_documentation(role):
    documented = options(role)
    assert set(documented) == set(defaults(role))
    for name, value in defaults(role).items():
        assert documented[name]["default"] == value, name


def test_all_that_collecting_reads_is_a_switch_of_the_role():
    read = {*collecting.INPUT_VARIABLES, *host_options.VARIABLES, *collecting.COLLECT_VARIABLES, *collecting.RUN_VARIABLES}
    assert set(options("audit")) == read | {"gpu_audit_output_dir", "gpu_audit_thresholds"}
    for name, value in {**collecting.COLLECT_VARIABLES, **collecting.RUN_VARIABLES}.items():
        assert (defaults("audit")[name] or None) == (value or None), name


def test_choices_are_those_of_the_code():
    assert options("audit")["gpu_audit_formats"]["choices"] == list(report.ALL) == options("report")["gpu_audit_formats"]["choices"]
    assert options("gate")["gpu_audit_gate"]["choices"] == list(verdict.GATES)


@pytest.mark.parametrize("role", ["measure_storage", "probe_workload"])
def test_a_measuring_role_documents_every_variable_that_it_or_its_action_reads(role):
    text = "\n".join(path.read_text() for folder in ("tasks", "vars") for path in (ROLES / role / folder).glob("*.yml"))
    made = {"gpu_audit_probe", *re.findall(r"register: (\w+)", text), *re.findall(r"^ *(\w+):", text, re.MULTILINE)}
    # The action's own, and the language of what every action says.
    text += (ROLES.parent / "plugins" / "plugin_utils" / "measuring_action.py").read_text() + " gpu_audit_language"
    read = set(re.findall(r"\b(?:%s|gpu_audit)_\w+" % role, text)) - made
    assert read <= set(options(role)), read - set(options(role))
    rows = re.findall(r"^\| `(\w+)` \|", (ROLES / role / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(options(role))


def test_the_probe_s_role_hands_every_option_of_the_module_on():
    from ansible_collections.trainops.gpu_audit.plugins.modules import workload_probe
    task = (ROLES / "probe_workload" / "tasks" / "main.yml").read_text()
    assert not [name for name in workload_probe.ARGUMENTS if not re.search(r"^    %s: " % name, task, re.MULTILINE)]
