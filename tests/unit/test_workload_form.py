# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The workload form: sizes, kinds of values, what is missing, what must fit."""

from __future__ import annotations

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import workload
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "value, size",
    [
        (0, 0),
        (1500, 1500),
        (1e6, 1000000),
        ("1500", 1500),
        ("1.5 TiB", 1649267441664),
        ("105 GB", 105 * 10**9),
        ("105GB", 105 * 10**9),
        ("2k", 2000),
        ("1 KiB", 1024),
        ("7 b", 7),
        (" 3 MiB ", 3 * 2**20),
        (-1, None),
        (True, None),
        ("lots", None),
        ("1.5 XB", None),
        ("-1 GB", None),
        (float("nan"), None),
        (float("inf"), None),
        ("1e400", None),
        ("9" * 63, None),
        ([1], None),
        (None, None),
        ("", None),
    ],
)
def test_sizes(value, size):
    assert workload.parse_size(value) == size


def test_a_whole_form_is_normalised():
    form, problems = workload.normalise(
        {
            "kind": "training",
            "dataset_bytes": "4 TiB",
            "batch_size": "256",
            "hours_per_day": 20,
            "leans_on": "vram",
            "dataset_path": "/data",
            "log_bytes": None,
            "weights_bytes": "",
        }
    )
    assert problems == []
    assert form == {
        "kind": "training",
        "dataset_bytes": 4 * 2**40,
        "batch_size": 256,
        "hours_per_day": 20,
        "leans_on": ["vram"],
        "dataset_path": "/data",
    }


@pytest.mark.parametrize(
    "field, value, words",
    [
        ("kind", "trainig", "one of training"),
        ("hours_per_day", 25, "24"),
        ("batch_size", 1.5, "whole number"),
        ("batch_size", True, "whole number"),
        ("dataset_path", "data", "absolute path"),
        ("dataset_path", "/a\0b", "absolute path"),
        ("leans_on", ["speed"], "list of"),
        ("dataset_bytes", {}, "size"),
        ("datset_bytes", 1, "dataset_bytes"),
        ("run_hours", -1, "not negative"),
        ("model", ["x"], "text"),
    ],
)
def test_a_wrong_field_is_left_out_and_named(field, value, words):
    form, problems = workload.normalise({field: value})
    assert form == {} and len(problems) == 1
    assert "gpu_audit_workload." + field in problems[0] and words in problems[0]


def test_a_form_that_is_no_map():
    assert workload.normalise(None) == ({}, [])
    assert workload.normalise(["x"])[1] == ["gpu_audit_workload must be a map of fields, not list"]


def test_base_figures_are_always_missing_until_given():
    assert [name for name in workload.missing({}) if name in workload.BASE_FIELDS] == list(workload.BASE_FIELDS)
    assert workload.base_figures_missing({"input_sample_bytes": 1, "batch_size": 1}) == ["hours_per_day"]


def test_only_what_the_kind_of_work_needs_is_missing():
    assert "checkpoint_bytes" in workload.missing({"kind": "training"})
    assert "checkpoint_bytes" not in workload.missing({"kind": "transcoding"})
    assert "mode" in workload.missing({"kind": "inference"}) and "mode" not in workload.missing({"kind": "training"})


def test_needs_count_checkpoints_kept_and_leave_out_what_is_there():
    form = {
        "dataset_bytes": 100,
        "dataset_path": "/d",
        "weights_bytes": 10,
        "checkpoint_bytes": 7,
        "checkpoints_kept": 3,
        "checkpoints_path": "/c",
        "data_in_place": ["dataset"],
    }
    assert workload.storage_needs(form) == [("weights", None, 10), ("checkpoints", "/c", 21)]


def test_the_example_of_each_field_is_valid():
    form, problems = workload.normalise({name: row["example"] for name, row in workload.ARGUMENT_SPEC.items()})
    assert problems == [] and set(form) == set(workload.ARGUMENT_SPEC)


def test_every_field_is_explained_in_both_languages():
    for name, row in workload.ARGUMENT_SPEC.items():
        assert row["description"]["en"] and row["description"]["zh"] and row["description"]["en"] != row["description"]["zh"], name


@given(
    st.dictionaries(
        st.sampled_from(sorted(workload.ARGUMENT_SPEC)) | st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=4,
        ),
        max_size=8,
    )
)
def test_no_form_crashes(raw):
    form, problems = workload.normalise(raw)
    assert set(form) <= set(workload.ARGUMENT_SPEC)
    assert all("\n" not in problem or "\\n" in problem for problem in problems)
    assert workload.normalise(form) == (form, [])
