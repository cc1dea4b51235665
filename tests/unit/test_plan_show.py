# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What people get to see of a plan: the table, the Markdown, both languages, the page that explains it."""

from __future__ import annotations

import json
import math
import pathlib
import re

import pytest
import yaml
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import plan, plan_show, plan_texts, vram_fields
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics import catalogue
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.metrics.catalogue import boards, plain_name
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils.verdict_table import width
from hypothesis import given, settings
from hypothesis import strategies as st
from test_messages import placeholders
from test_vram import FORM, LLAMA, made

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("key", sorted(plan_texts.TABLE))
def test_both_languages_with_the_same_placeholders(key):
    english, chinese = plan_texts.TABLE[key]
    assert english and chinese and placeholders(english) == placeholders(chinese) and english != chinese


@pytest.mark.parametrize("language", ("en", "zh"))
def test_the_table_keeps_its_columns_and_its_width(language):
    shown = plan.lines(made(language=language, sharding="fsdp", gpus=8), language, 100)
    assert max(width(line) for line in shown[3:] if not line.startswith("- ")) <= 110
    # Figures end at the same column in every row of a table.
    start = next(index for index, line in enumerate(shown) if line.startswith("---"))
    first, second = shown[start].split("  ")[:2]
    column = len(first) + 2 + len(second)
    rows = shown[start + 1 : shown.index("", start)]
    assert len(rows) == 10
    for row in rows:
        before = next(row[:cut] for cut in range(len(row)) if width(row[:cut]) == column)
        assert before.endswith("B") and row[len(before) :].startswith("  "), row


@pytest.mark.parametrize("language", ("en", "zh"))
@pytest.mark.parametrize(
    "model", [{}, {"gpus": 8}, {"sharding": "fsdp", "gpus": 8}, {"parameters": "900B"}, {"layers": None, "parameters": "1B"}]
)
def test_every_board_stands_in_the_output_once(language, model):
    shown = " ".join(" ".join(plan.lines(made(language=language, **model), language, 100)).split())
    for board in boards():
        name = plain_name(board["names"][0])
        assert name in shown, name


def test_a_used_share_never_rounds_over_the_limit():
    assert plan_show.used_text(0.79996, True, 0.8) == "79.9 %" and plan_show.used_text(0.8, False, 0.8) == "80.0 %"
    assert plan_show.used_text(0.82344, False, 0.8235) == "82.4 %" and plan_show.used_text(0.12345, True, 0.8) == "12.3 %"


@pytest.mark.parametrize("language", ("en", "zh"))
def test_every_part_and_board_is_in_the_markdown(language):
    found = made(language=language, sharding="fsdp", gpus=8)
    text = plan.markdown(found, language)
    assert all(entry["title"] in text for entry in found["parts"]) and all(board["name"] in text for board in found["boards"])


def test_chinese_is_chinese_throughout():
    found = made({**FORM, "kind": "finetuning"}, "zh", sharding="zero3", gpus=8, offload="optimizer")
    for sentence in [found["headline"], *found["notes"], *(entry["title"] for entry in found["parts"])]:
        assert any("\u4e00" <= character <= "\u9fff" for character in sentence) or sentence == "logits", sentence
    assert not any(" x the " in entry["how"] or "memory" in entry["how"] for entry in found["parts"])


def test_the_page_shows_what_comes_out():
    page = (ROOT / "docs" / "vram.md").read_text(encoding="utf-8")
    model = yaml.safe_load(re.search(r"```yaml\n(.*?)```", page, re.DOTALL).group(1))
    shown = re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1).splitlines()
    printed = plan.lines(plan.make(model["gpu_audit_model"], model["gpu_audit_workload"]), "en", 110)
    assert len(shown) > 30 and [line for line in shown if line not in (*printed, "...")] == []


def test_a_plan_is_plain_json():
    found = made(sharding="fsdp", gpus=8)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: (
                st.sampled_from(row["choices"])
                if row["choices"]
                else st.booleans()
                if row["type"] == "bool"
                else st.one_of(st.integers(-1, 64), st.sampled_from(
                    ["8B", "1e3", "", None, "x", 4096, 10**7, 0.5, math.nan, math.inf, 10**400, -(10**400), "1e400"]))
            )
            for name, row in vram_fields.MODEL_SPEC.items()
        },
    ),
    st.sampled_from(vram_fields.KINDS),
)
@settings(max_examples=150, deadline=None)
def test_any_input_gives_a_plan_or_one_error(model, kind):
    try:
        found = plan.make({**LLAMA, **model}, {**FORM, "kind": kind})
    except vram_fields.PlanError:
        return
    assert found["at_least_bytes"] >= 0 and (found["bytes_per_gpu"] is None) is bool(found["missing"]) is not found["sized"]
    json.dumps(found, allow_nan=False)
    assert plan.lines(found) and plan.markdown(found, "zh")


@pytest.mark.parametrize("file", [
    "plugins/action/plan.py", "plugins/modules/plan.py", "plugins/plugin_utils/vram_fields.py", "plugins/filter/vram_estimate.yml",
    "roles/vram_estimate/meta/argument_specs.yml"])
def test_who_looks_for_the_fields_is_sent_to_their_page(file):
    assert "docs/vram-fields.md" in (ROOT / file).read_text(encoding="utf-8")
    page = (ROOT / "docs/vram-fields.md").read_text(encoding="utf-8")
    assert [name for name in LLAMA if "`%s`" % name not in page] == []


def test_every_board_has_a_name_of_its_own_with_what_tells_variants_apart():
    found = {board["key"]: catalogue.shown_name(board) for board in boards()}
    assert len(set(found.values())) == len(found)
    assert found["h100-sxm5-94gb"] == "H100 (SXM5, 94 GB)" and found["h100-sxm5-80gb"] == "H100 80GB HBM3 (SXM5)"
    # Said already, or nothing to tell apart.
    assert found["a100-sxm4-80gb"] == "A100-SXM4-80GB" and found["gb300-278gb"] == "GB300" and found["gh200-144gb"] == "GH200 144G HBM3e"


@pytest.mark.parametrize("language, many, one", [("en", "boards looks at 4: ", "boards looks at one: "), ("zh", "boards 匹配到 4 种：", "boards 只匹配到一种：")])
def test_the_plan_says_which_boards_it_looked_at(language, many, one):
    shown = "\n".join(made(language=language, boards="H100")["notes"])
    assert many in shown and "H100 (SXM5, 94 GB)" in shown and "H100 PCIe (80 GB)" in shown and "boards: h100-" in shown
    for name in ("h100-sxm5-94gb", "H100 (SXM5, 94 GB)", "NVIDIA H100 NVL"):
        found = made(language=language, boards=name)
        assert len(found["boards"]) == 1 and one in "\n".join(found["notes"])
    assert "boards " not in "\n".join(made(language=language)["notes"])
