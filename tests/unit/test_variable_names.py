# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A misspelt variable of any role is told, with the one that was meant; every variable of the roles is known."""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import variable_names

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIXES = {"prepare": "gpu_audit_prepare_", "measure_storage": "measure_storage_", "measure_network": "measure_network_",
            "probe_workload": "probe_workload_"}


def documented(role):
    """The variables of a role's argument spec."""
    return set(yaml.safe_load((ROOT / "roles" / role / "meta" / "argument_specs.yml").read_text())["argument_specs"]["main"]["options"])


def written(role, prefix):
    """The names with this prefix that the role's files and the playbooks hold; a prefix alone, said of all of them, is none."""
    pages = [*ROOT.glob("roles/%s/**/*.yml" % role), *ROOT.glob("playbooks/*.yml")]
    return {name for page in pages for name in re.findall(r"\b%s[a-z0-9_]*[a-z0-9]\b(?![*(])" % prefix, page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("role, prefix", PREFIXES.items())
def test_the_names_are_those_of_the_roles(role, prefix):
    settable, made = ({prefix + rest for rest in rests} for rests in variable_names.ROLES[prefix])
    assert settable == {name for name in documented(role) if name.startswith(prefix)}
    assert settable | made == written(role, prefix)
    assert variable_names.unknown(documented(role)) == []


@pytest.mark.parametrize("role", sorted(path.name for path in (ROOT / "roles").iterdir()))
def test_every_role_is_told_of_its_own_prefix(role):
    ours = documented(role)
    prefix = PREFIXES.get(role, variable_names.PREFIX)
    assert any(name.startswith(prefix) for name in ours) and variable_names.unknown(ours) == []
    assert variable_names.unknown(name + "x" for name in ours if name != "gpu_audit_thresholds")


@pytest.mark.parametrize("name, meant", [
    ("measure_storage_paht", "measure_storage_path"), ("measure_storage_size_byte", "measure_storage_size_bytes"),
    ("measure_network_uplaod_url", "measure_network_upload_url"), ("measure_network_request_latency_second", "measure_network_request_latency_seconds"),
    ("probe_workload_agrv", "probe_workload_argv"), ("probe_workload_iteration", "probe_workload_iterations"),
    ("gpu_audit_prepare_methode", "gpu_audit_prepare_method"), ("vram_estimate_model", "gpu_audit_model"),
    ("vram_estimate_plan_file", "gpu_audit_plan_file"), ("gpu_audit_modle", "gpu_audit_model"),
])
def test_a_misspelt_one_is_told_with_the_one_that_was_meant(name, meant):
    assert variable_names.unknown([name]) == ['%s is no variable of this audit and changes nothing (did you mean "%s"?)' % (name, meant)]


def test_names_of_a_role_are_not_alike_for_their_prefix():
    assert variable_names.unknown(["measure_storage_zzz"]) == ["measure_storage_zzz is no variable of this audit and changes nothing"]


@pytest.mark.parametrize("name", ["measure_storage", "probe_workloads", "gpu_audit", "own_measure_storage_path", "gpu_audit_thresholds_mine", 7])
def test_somebody_elses_name_is_nobodys_business(name):
    assert variable_names.unknown([name]) == []
