# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every message in both languages; numbers for people; what is made from the code is current."""

from __future__ import annotations

import ast
import importlib.util
import json
import pathlib
import re
import string

import conftest
import fleet_maker
import jsonschema
import pytest
import yaml
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import messages, numbers, policy_files, workload

PLUGIN_UTILS = conftest.ROOT / "plugins" / "plugin_utils"
SCHEMAS = PLUGIN_UTILS / "schemas"


def placeholders(text):
    return {field for _literal, field, _spec, _conversion in string.Formatter().parse(text) if field}


@pytest.mark.parametrize("key", sorted(messages.TABLE))
def test_both_languages_with_the_same_placeholders(key):
    english, chinese = messages.TABLE[key]
    assert english and chinese and placeholders(english) == placeholders(chinese)
    if not re.fullmatch(r"\W*|(\W*\{\w+\}\W*)+", english):
        assert re.search("[\u4e00-\u9fff]", chinese), key


def test_the_table_has_each_key_of_its_parts_and_none_is_written_twice():
    written = [
        node.value
        for path in PLUGIN_UTILS.glob("messages*.py")
        for table in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(table, ast.Dict)
        for node in table.keys
        if node is not None
    ]
    assert sorted(written) == sorted(messages.TABLE)


def test_what_a_host_says_is_never_a_format():
    assert messages.text("en", "reason.unreachable", error="{0} {error} %s") == "The host can't be reached: {0} {error} %s"


def test_unknown_languages_read_as_english_and_unknown_words_as_they_are():
    assert messages.text("fr", "verdict.ready") == "ready"
    assert messages.word("zh", "brand_new") == "brand_new" and messages.word("zh", "reset") == "重置 GPU"


def test_every_key_that_the_code_names_is_in_the_table_and_none_is_left_over():
    source = "\n".join(
        path.read_text(encoding="utf-8")
        for path in [*PLUGIN_UTILS.glob("*.py"), *(PLUGIN_UTILS / "metrics").glob("*.py")]
        # A plan has a table of texts of its own.
        if not path.name.startswith(("messages", "plan"))
    )
    named = set(
        re.findall(r'"((?:absent|answer|finding|advice|word|verdict|reason|invalid|cause|headline|purpose|item|status|note)\.[a-z_.]+)"', source)
    )
    whole = {key for key in named if not key.endswith(".")}
    assert whole <= set(messages.TABLE), whole - set(messages.TABLE)
    advice = tuple("advice.%s." % kind for kind in ("driver", "outcome", "out_of_memory", "data_side", "capped"))
    composed = (*advice, "absent.measurement_stale.", "word.", "verdict.", "item.", "status.", "cause.", "headline.", "reason.")
    assert not [key for key in messages.TABLE if key not in whole and not key.startswith(composed)]


@pytest.mark.parametrize(
    "value, text",
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (2**40 * 1.1, "1.10 TiB"),
        (2**30 - 1, "1.00 GiB"),
        (123 * 2**30, "123 GiB"),
        (-5 * 2**20, "-5.00 MiB"),
        (2**70, "1024 EiB"),
    ],
)
def test_bytes(value, text):
    assert numbers.format_bytes(value) == text


@pytest.mark.parametrize(
    "value, unit, language, text",
    [
        (0.82, "fraction", "en", "82 %"),
        (0.847, "fraction", "en", "84.7 %"),
        (0.0, "fraction", "en", "0 %"),
        (1.9375, "ratio", "en", "1.94×"),
        (0, "ratio", "en", "0×"),
        (0.00034, "ratio", "en", "0.0003×"),
        (3e-9, "ratio", "zh", "< 0.0001×"),
        (4, "cores", "en", "4"),
        (35, "celsius", "en", "35 °C"),
        (300, "seconds", "en", "300 s"),
        (0.25, "seconds", "zh", "0.25 秒"),
        (True, "bool", "en", "yes"),
        (False, "bool", "zh", "否"),
        (None, "count", "en", "-"),
        (["a", "b"], "word", "en", "a, b"),
        (float("nan"), "ratio", "en", "nan"),
        (5e9, "bytes_per_second", "en", "4.66 GiB/s"),
        ("x", "bytes", "en", "x"),
        (10**400, "bytes", "en", "1" + "0" * 400),
    ],
)
def test_values(value, unit, language, text):
    assert numbers.format_value(value, unit, language) == text


@pytest.mark.parametrize(
    "limit, unit, language, tolerance, text",
    [
        ({"below": 4}, "cores", "en", 0, "≥ 4"),
        ({"at_least": 0.8}, "fraction", "en", 0, "< 80 %"),
        ({"above": 0}, "count", "en", 0, "≤ 0"),
        ({"at_most": 5}, "celsius", "en", 0, "> 5 °C"),
        ({"below": 2}, "ratio", "en", 0.05, "≥ 2× (tolerance 0.05×)"),
        ({"below": 2}, "ratio", "zh", 0.05, "≥ 2×（容差 0.05×）"),
        ({"equals": True}, "bool", "en", 0, "not yes"),
        ({"not_equals": "a"}, "word", "zh", 0, "a"),
        ({"one_of": ["a", "b"]}, "word", "zh", 0, "不为 a、b"),
        ({"none_of": ["a"]}, "word", "en", 0, "a"),
        (None, "count", "en", 0, ""),
    ],
)
def test_limits(limit, unit, language, tolerance, text):
    assert numbers.format_required(limit, unit, language, tolerance) == text


def schema(name):
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def validate(value, name):
    jsonschema.Draft202012Validator(schema(name)).validate(value)


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_the_schemas_are_schemas(path):
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_reports_follow_their_schema(language):
    validate(fleet_maker.make_report(120, seed=2, language=language), "report.json")


def test_inputs_documents_and_measurements_follow_theirs():
    for inputs, document in fleet_maker.make_documents(60, seed=4):
        validate(inputs, "inputs.json")
        if document is not None:
            validate(document, "host.json")
            for measurement in document["measurements"]:
                validate(measurement, "measurement.json")


@pytest.mark.parametrize("name", ["base", "training", "finetuning", "inference", "rendering", "transcoding"])
def test_shipped_policies_follow_their_schema(name):
    path = pathlib.Path(policy_files.SHIPPED_DIR) / (name + ".yml")
    validate(yaml.safe_load(path.read_text(encoding="utf-8")), "policy.json")


def test_the_schemas_refuse_what_they_should():
    for value, name in (
        ({"kind": "cooking"}, "workload.json"),
        ({"checks": {"gpu.count": {"fial": 1}}}, "policy.json"),
        ({"name": 3}, "inputs.json"),
        ({"name": "x", "schema": "trainops.gpu_audit/host/1", "facts": [], "errors": []}, "host.json"),
    ):
        with pytest.raises(jsonschema.ValidationError):
            validate(value, name)


def test_the_example_form_is_whole_and_valid():
    form = yaml.safe_load((conftest.ROOT / "docs" / "workload-example.yml").read_text(encoding="utf-8"))["gpu_audit_workload"]
    validate(form, "workload.json")
    normalised, problems = workload.normalise(form)
    assert problems == [] and not workload.missing(normalised)


def test_pages_made_from_the_code_are_current():
    spec = importlib.util.spec_from_file_location("write_docs", conftest.ROOT / "tests" / "tools" / "write_docs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path, text in module.made().items():
        assert (conftest.ROOT / path).read_text(encoding="utf-8") == text, "run python tests/tools/write_docs.py: %s is old" % path
