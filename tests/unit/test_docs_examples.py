# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The YAML in the documentation is what the code takes: every variable, threshold, waiver, form and policy shown there is valid."""

from __future__ import annotations

import re

import pytest
import yaml

from conftest import ROOT
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import expected as expected_module, metrics, policy, variable_names, workload

PAGES = ["README.md", "README.zh-CN.md", "docs/policies.md", "docs/workload-example.yml", "docs/vram.md", "docs/scaling.md", "docs/network.md",
         "roles/audit/README.md"]
TEXTS = sorted(str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")))
_FENCED = re.compile(r"```ya?ml\n(.*?)```", re.DOTALL)


def blocks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return [text] if page.endswith(".yml") else _FENCED.findall(text)


def shown():
    return [(page, number, yaml.safe_load(text)) for page in PAGES for number, text in enumerate(blocks(page))]


def variables(prefix):
    return [pytest.param(value, id="%s-%d-%s" % (page, number, key)) for page, number, data in shown() if isinstance(data, dict)
            for key, value in data.items() if key.startswith(prefix)]


def test_pages_show_examples():
    assert {page for page, dummy, dummy in shown()} >= {"README.md", "docs/policies.md", "docs/workload-example.yml"}


@pytest.mark.parametrize("values", variables("gpu_audit_thresholds"))
def test_thresholds_shown_are_taken(values):
    base = policy.resolve("training")
    assert policy.apply_thresholds(base, [{"variable": "shown", "values": values}]) != base


@pytest.mark.parametrize("form", variables("gpu_audit_workload"))
def test_workload_forms_shown_are_taken(form):
    normalised, problems = workload.normalise(form)
    assert problems == [] and set(normalised) == set(form)


@pytest.mark.parametrize("waived", variables("gpu_audit_waivers"))
def test_waivers_shown_are_of_real_checks(waived):
    assert set(waived) <= set(policy.resolve("training")["checks"])
    assert all(entry["reason"] and re.fullmatch(r"\d{4}-\d\d-\d\d", entry["expires"]) for entry in waived.values())


@pytest.mark.parametrize("expected", variables("gpu_audit_expected"))
def test_expectations_shown_can_be_used(expected):
    assert expected_module.normalise(expected)[1] == []


def test_the_policy_shown_resolves(tmp_path):
    found = [(page, text) for page in PAGES for text in blocks(page) if "schema: trainops.gpu_audit/policy/1" in text]
    assert found
    for page, text in found:
        path = tmp_path / "policy.yml"
        path.write_text(text, encoding="utf-8")
        resolved = policy.resolve(str(path))
        assert set(resolved["checks"]) > set(policy.resolve("training")["checks"]), page


@pytest.mark.parametrize("page", TEXTS)
def test_variables_of_roles_named_on_a_page_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\b(?:%s)[a-z0-9_]*[a-z0-9]\b(?![*(])" % "|".join(variable_names.ROLES), text)
    assert variable_names.unknown(set(named)) == []


@pytest.mark.parametrize("page", TEXTS)
def test_checks_of_the_network_named_on_a_page_exist(page):
    named = set(re.findall(r"`(network\.[a-z0-9_]+)`", (ROOT / page).read_text(encoding="utf-8")))
    assert named <= set(metrics.DEFINITIONS)


def test_the_examples_of_the_network_are_what_its_role_takes():
    options = yaml.safe_load((ROOT / "roles/measure_network/meta/argument_specs.yml").read_text(encoding="utf-8"))
    options = options["argument_specs"]["main"]["options"]
    kinds = {"str": str, "list": list, "dict": dict, "bool": bool, "int": int, "raw": object, "path": str, "float": (int, float)}
    found = [(name, value) for page, _number, data in shown() if page == "docs/network.md" and isinstance(data, dict)
             for name, value in data.items() if name in options]
    assert len(found) > 10
    for name, value in found:
        assert isinstance(value, kinds[options[name]["type"]]) and value in options[name].get("choices", [value]), name
