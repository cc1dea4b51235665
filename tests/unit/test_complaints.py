# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every mistake that the audit finds in its own settings can be told in Chinese; what hosts and tools say stays as it is."""

from __future__ import annotations

import copy
import re

import judging
import pytest
import test_collecting
import test_policy
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    collecting,
    complaints,
    expected,
    policy,
    waivers,
    workload,
)


def chinese(sentence):
    """The sentence in Chinese, free of the English that it was."""
    said = complaints.say(sentence, "zh")
    assert re.search("[\u4e00-\u9fff]", said), sentence
    assert not re.search("must be|is no |did you mean|needs a|can't|, not |, line ", said), said
    return said


@pytest.mark.parametrize("english, translated", complaints.table())
def test_both_languages_have_the_same_placeholders(english, translated):
    names = re.findall(r"\{(\w+)\*?\}", english.replace("{{", "").replace("}}", ""))
    assert sorted(names) == sorted(re.findall(r"\{(\w+)\}", translated.replace("{{", "").replace("}}", "")))


def parameters(function):
    # Copied: that test may change its own.
    return copy.deepcopy(_parameters(function))


def _parameters(function):
    return next(mark for mark in function.pytestmark if mark.name == "parametrize").args[1]


@pytest.mark.parametrize("text, _line, _words", parameters(test_policy.test_errors_name_file_line_key_and_the_nearest_name))
def test_mistakes_in_a_policy_file(tmp_path, text, _line, _words):
    chinese(test_policy.refused(tmp_path, text))


@pytest.mark.parametrize("values, variable, _said", parameters(test_collecting.test_a_variable_of_the_wrong_kind_is_named_and_not_used))
def test_mistakes_in_variables(values, variable, _said):
    problems = collecting.shape_problems(dict(values))
    chinese("%s: %s" % (variable, problems[variable]))


@pytest.mark.parametrize("values", [
    {"a.b": {"warn": 1}}, {"compute.cores_per_gpus": {"warn": 1}}, {"gpu.lost": {"wran": 1}}, {"gpu.lost": 3}, {"gpu.lost": {"warn": {"below": "x"}}},
    {"gpu.lost": {"enabled": "x"}}, {"gpu.lost": {"tolerance": -1}}, {"gpu.lost": {"warn": {"one_of": 3}}}, 7,
])
def test_mistakes_in_thresholds(values):
    with pytest.raises(policy.PolicyError) as caught:
        policy.apply_thresholds(judging.shipped("training"), [{"variable": "gpu_audit_thresholds_x", "values": values}])
    chinese(caught.value)


@pytest.mark.parametrize("name", sorted(workload.ARGUMENT_SPEC))
def test_mistakes_in_the_form(name):
    for form in ({name: {"a": 1}}, {name + "x": 1}):
        for problem in workload.normalise(form)[1]:
            assert name in chinese(problem)


def test_mistakes_in_the_form_as_a_whole_in_expectations_and_waivers():
    for problem in [*workload.normalise(3)[1], *workload.normalise({"hours_per_day": 25})[1], *workload.normalise({"zzz": 1})[1],
                    *expected.normalise({"gpu_count": "eight", "gpu_cout": 8, "gpu_name": [1]})[1], *expected.normalise(3)[1],
                    *waivers.strangers({"gpu.losst": {}, "zzz": {}}, judging.shipped("base")["checks"])]:
        chinese(problem)


@pytest.mark.parametrize("wrong", parameters(test_collecting.test_a_wrong_switch_is_named_and_never_taken_for_off))
def test_mistakes_in_switches(wrong):
    with pytest.raises(ValueError) as caught:
        collecting.checked_settings({**collecting.RUN_VARIABLES, **wrong})
    chinese(caught.value)


def test_several_at_once_with_their_variables_and_where_they_stand():
    assert complaints.say("gpu_audit_expected: gpu_count must be a whole number that is not negative, not 'x'; pcie_width must be text, not 3", "zh") == (
        "gpu_audit_expected：gpu_count 必须是非负整数，而不是 'x'；pcie_width 必须是文本，而不是 3")
    assert complaints.say('p.yml, line 3: gpu.lost: warn: is no comparison (did you mean "below"?): use below, above', "zh") == (
        "p.yml 第 3 行：gpu.lost：warn：不是比较方式（是否想写\u201cbelow\u201d？）：可用 below, above")


def test_lost_hosts_and_time_limits():
    chinese(collecting.LOST_EARLIER)
    assert complaints.say("no answer within gpu_audit_host_timeout (5 s)", "zh") == "在 gpu_audit_host_timeout（5 秒）内没有应答"


@pytest.mark.parametrize("words", ["Connection refused", "ssh: connect to host a port 22: No route to host", "", "{0} {x}", "a" * 9000, "; ; ", ": "])
def test_the_words_of_hosts_and_tools_stay(words):
    assert complaints.say(words, "zh") == words == complaints.say(words, "en")
