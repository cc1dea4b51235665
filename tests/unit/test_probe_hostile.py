# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Commands and drivers that say what no JSON has, patterns that match everywhere, processes that kill those who watch them."""

from __future__ import annotations

import json
import math

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import probe, probe_output, probe_result
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.tame import MAX_DEPTH, shown, tame
from ansible_collections.trainops.gpu_audit.plugins.modules import workload_probe
from hypothesis import given, settings
from hypothesis import strategies as st
from probing import Lab, needs_compiler

ANYTHING = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.integers(min_value=10 ** 5000), st.text(st.characters(codec=None)), st.binary()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=4)), max_leaves=8)


def depth(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max([depth(item) for item in inner], default=0)


@settings(max_examples=150, deadline=None)
@given(ANYTHING)
def test_whatever_was_said_can_be_written_and_read_again(value):
    tamed = tame(value)
    assert json.loads(json.dumps(tamed, allow_nan=False, ensure_ascii=False).encode("utf-8")) == tamed


def test_what_can_be_said_stays_as_it_is():
    value = {"a": [1, 2.5, None, True, "é 中", {}], "b": 2 ** 64, "c": -3}
    assert tame(value) == value and tame(value)["a"][3] is True


def test_what_is_nested_too_deeply_is_cut():
    value = 1
    for _level in range(300):
        value = [{"a": value}]
    assert depth(tame(value)) == MAX_DEPTH


class Ended(Exception):
    """The module's answer."""


class Module:
    """As much of AnsibleModule as main() asks for."""

    params, check_mode = {"argv": ["x"], "chdir": "/\udc80"}, False

    def __init__(self, **dummy_about):
        pass

    def exit_json(self, **answer):
        raise Ended(answer)

    fail_json = exit_json


HOSTILE = {"measurement": {"samples_per_second": math.inf, "framework": "\udc80x", "gpus": [{"name": "\ud800", "power_mean_watts": math.nan}]}}


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("error", [None, "chdir: /\udc80 isn't there"])
def test_the_module_answers_what_every_reader_takes(monkeypatch, check, error):
    def said(dummy_params):
        if error:
            raise probe.ProbeError(error)
        return HOSTILE
    monkeypatch.setattr(workload_probe, "_Module", Module)
    monkeypatch.setattr(Module, "check_mode", check)
    monkeypatch.setattr(workload_probe.importing, "compile_once", lambda dummy_name: None)
    monkeypatch.setattr(probe, "measure", said)
    monkeypatch.setattr(probe, "plan", said)
    with pytest.raises(Ended) as ended:
        workload_probe.main()
    answer, = ended.value.args
    json.dumps(answer, allow_nan=False, ensure_ascii=False).encode("utf-8")
    if error:
        assert answer["msg"] == "chdir: /? isn't there"
    else:
        measured = (answer["plan"] if check else answer)["measurement"]
        assert measured == {"samples_per_second": None, "framework": "?x", "gpus": [{"name": "?", "power_mean_watts": None}]}


def test_a_framework_s_name_is_one_clean_line():
    progress = probe_output.Progress()
    progress.json_line('{"framework": "\\udc80to\\u001b[31mrch\\n2"}', 1.0)
    assert progress.framework == "to [31mrch 2"
    progress.json_line('{"framework": "\\u0000"}', 1.0)
    assert progress.framework is None


def test_a_rate_past_all_numbers_is_unknown():
    progress = probe_output.Progress()
    progress.json_line('{"iteration": 1, "seconds": 1e-300, "samples": 1e18}', 1.0)
    assert probe_result.iteration_figures(progress)["samples_per_second"] is None


@needs_compiler
def test_a_driver_s_share_that_is_no_number_is_unknown_and_not_zero(tmp_path):
    lab = Lab(tmp_path)
    lab.scenario(extra="gpm.sm_util = nan\n")
    gpu, = lab.run(["/bin/sleep", "2.4"])["measurement"]["gpus"]
    assert gpu["sm_activity_mean_fraction"] is None and gpu["utilization_mean_fraction"] is not None


# -- patterns -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iteration_pattern", "epoch_pattern", "memory_pattern"])
@pytest.mark.parametrize("pattern", [r"x*?", r"\d*", "(step)?", "^", "$", "|step", "(?=.*)"])
def test_a_pattern_that_matches_an_empty_text_is_refused_before_anything_runs(name, pattern):
    pattern = "(?P<mib>%s)" % pattern if name == "memory_pattern" else pattern
    with pytest.raises(probe.ProbeError, match="also matches an empty text") as caught:
        probe.check_options({"argv": ["x"], name: pattern})
    assert str(caught.value).startswith(name + ": ")


@pytest.mark.parametrize("pattern", [r"\b", r"(?=step)", r"(?<=p)(?= )"])
def test_a_match_without_a_character_counts_nothing_and_is_noted_once(pattern):
    progress = probe_output.Progress(pattern)
    for moment in range(3):
        assert not progress.line("step 1 of 9", moment)
    assert not progress.iterations and len(progress.notes) == 1 and "iteration_pattern matched without taking a character" in progress.notes[0]


def test_an_empty_match_before_a_whole_one_is_passed_over():
    progress = probe_output.Progress(r"(?=s)|\d+")
    assert progress.line("step 7", 1.0) and progress.iterations == 1 and not progress.notes


def test_a_line_tells_one_iteration_and_one_epoch_however_often_they_match():
    progress = probe_output.Progress(r"\d", r"e", r"(?P<mib>\d+)M")
    progress.line("e 1 2 3 e 10M 30M 20M", 1.0)
    progress.line("e 4 e", 3.0)
    assert progress.iterations == 2 and progress.times == [None, 2.0] and progress.epochs == [2.0] and progress.framework_peak == 30 << 20


def test_all_matches_that_are_looked_at_of_a_line_are_few():
    progress = probe_output.Progress(r".", r".", r"(?P<bytes>.)")
    progress.line("x", 1.0)
    for name, most in probe_output.MATCHES.items():
        assert len(progress._matches(name, "x" * 3000, 1.0)) == most


@pytest.mark.parametrize("pattern", ["(" * 3000, "(?P=%s)" % ("n" * 3000), "(?P<%s>x)" % ("n" * 3000), "(?P<%s!>x)" % ("n" * 3000), "x*" * 40 + "y?" * 2000,
                                     "(?:" * 3000 + ")" * 3000])
def test_a_pattern_is_not_repeated_at_length(pattern):
    with pytest.raises(probe_output.PatternError) as caught:
        probe_output.Progress(pattern)
    said = str(caught.value)
    assert len(said) < 300 and said.startswith("iteration_pattern: ") and "..." in said


def test_what_is_shown_of_a_text():
    assert shown("a\nb") == "a b" and shown("x" * 60) == "x" * 60 and shown("x" * 61) == "x" * 57 + "..." and shown("\ud800a") == "a"
