# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading policies: places in errors, merging, cycles, thresholds."""

from __future__ import annotations

import json

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge, policy

SHIPPED = ("base", "training", "finetuning", "inference", "rendering", "transcoding")


def write(folder, text, name="mine.yml"):
    path = folder / name
    if text.startswith("name:") and "schema" not in text:
        # Last, so that the lines of what is tested stay as they are.
        text += "schema: trainops.gpu_audit/policy/1\n"
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(folder, text):
    with pytest.raises(policy.PolicyError) as caught:
        policy.resolve(write(folder, text))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_policies_resolve_and_are_plain_json(name):
    resolved = policy.resolve(name)
    assert json.loads(json.dumps(resolved)) == resolved
    assert resolved["name"] == name and len(resolved["sha256"]) == 64
    for check in resolved["checks"].values():
        assert set(check["title"]) == {"en", "zh"} and check["title"]["en"] != check["title"]["zh"]
        if check["enabled"] and (check["warn"] or check["fail"]):
            assert check["advice"]["en"] and check["advice"]["zh"], check


def test_the_guides_limits_are_the_defaults():
    checks = policy.resolve("training")["checks"]
    assert checks["vram.peak_fraction"]["warn"] == {"at_least": 0.80} and checks["vram.peak_fraction"]["fail"] == {"at_least": 0.85}
    assert checks["compute.cores_per_gpu"]["warn"] == {"below": 4} and checks["compute.cores_per_gpu"]["fail"] == {"below": 2}
    ratio = checks["memory.ram_to_vram_ratio"]
    assert ratio["warn"] == {"below": 2} and ratio["fail"] == {"below": 1} and ratio["tolerance"] == 0.05
    assert ratio["satisfied_by"] == {"metric": "memory.usable_bytes", "at_least": round(1.7 * 2**40)}
    assert checks["storage.capacity_headroom_fraction"]["warn"] == {"below": 0.10}


def test_advice_on_ranges_says_that_they_are_policy_values():
    checks = policy.resolve("base")["checks"]
    for name in ("vram.peak_fraction", "compute.cores_per_gpu", "memory.ram_to_vram_ratio"):
        assert "policy value" in checks[name]["advice"]["en"] and "策略取值" in checks[name]["advice"]["zh"]


def test_policies_of_other_work_differ_from_training():
    digests = {json.dumps(policy.resolve(name)["checks"], sort_keys=True) for name in SHIPPED}
    assert len(digests) == len(SHIPPED)


def test_a_users_file_extends_and_merges_key_by_key(tmp_path):
    path = write(tmp_path, "name: mine\nextends: training\nchecks:\n  compute.cores_per_gpu:\n    warn: 6\n  gpu.kinds: {enabled: false}\n")
    mine, base = policy.resolve(path), policy.resolve("training")
    assert mine["checks"]["compute.cores_per_gpu"]["warn"] == {"below": 6}
    assert mine["checks"]["compute.cores_per_gpu"]["fail"] == {"below": 2}
    assert mine["checks"]["gpu.kinds"]["enabled"] is False
    assert mine["checks"]["gpu.lost"] == base["checks"]["gpu.lost"]
    assert mine["files"] == ["base", "training", path] and mine["leans_on"] == base["leans_on"] and mine["sha256"] != base["sha256"]


@pytest.mark.parametrize("text, said", [
    ("name: x\nextends: base\n", "schema: trainops.gpu_audit/policy/1"),
    ("schema: trainops.gpu_audit/policy/1\nextends: base\n", "needs a name"),
    ("schema: trainops.gpu_audit/policy/1\nname: x\n", "extends: training"),
    ("schema: trainops.gpu_audit/policy/1\nname: x\nchecks: {}\n", "extends: training"),
])
def test_what_a_policy_cannot_do_without(tmp_path, text, said):
    (tmp_path / "mine.yml").write_text(text)
    with pytest.raises(policy.PolicyError, match=said):
        policy.resolve(str(tmp_path / "mine.yml"))


def test_without_a_title_it_is_called_by_its_own_name_and_not_by_its_parents_title(tmp_path):
    assert policy.resolve(write(tmp_path, "name: mine\nextends: training\n"))["title"] == {"en": "mine", "zh": "mine"}


def test_the_digest_does_not_depend_on_where_the_file_lies(tmp_path):
    text = "name: mine\nextends: base\n"
    first, second = write(tmp_path, text, "a.yml"), write(tmp_path, text, "b.yml")
    assert policy.resolve(first)["sha256"] == policy.resolve(second)["sha256"]


def test_files_extend_files_beside_them(tmp_path):
    write(tmp_path, "name: site\nextends: base\nchecks:\n  compute.cores_per_gpu: {warn: 5}\n", "site.yml")
    path = write(tmp_path, "name: rack\nextends: site.yml\nchecks:\n  compute.cores_per_gpu: {fail: null}\n", "rack.yml")
    check = policy.resolve(path)["checks"]["compute.cores_per_gpu"]
    assert check["warn"] == {"below": 5} and check["fail"] is None


def test_a_circle_is_refused(tmp_path):
    write(tmp_path, "name: a\nextends: b.yml\n", "a.yml")
    write(tmp_path, "name: b\nextends: a.yml\n", "b.yml")
    with pytest.raises(policy.PolicyError, match=r"circle: a\.yml -> b\.yml -> a\.yml"):
        policy.resolve(str(tmp_path / "a.yml"))


@pytest.mark.parametrize(
    "text, line, words",
    [
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpus: {warn: 6}\n", 4, "compute.cores_per_gpu"),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    wran: 6\n", 5, '"warn"'),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    warn: {bellow: 6}\n", 5, '"below"'),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    warn: {below: six}\n", 5, "needs a number"),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    warn: {below: true}\n", 5, "needs a number"),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    warn: {below: .nan}\n", 5, "needs a number"),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    item: computer\n", 5, '"compute"'),
        ("name: x\nextends: base\nchecks:\n  compute.cores_per_gpu:\n    answers: [computing]\n", 5, '"compute"'),
        ("name: x\nextend: base\n", 2, '"extends"'),
        ("name: x\nextends: trainin\n", 2, '"training"'),
        ("name: x\nextends: base\nchecks:\n  gpu.count: {}\n  gpu.count: {}\n", 5, "given twice"),
        ("name: x\nname: y\n", 2, "given twice"),
        ("name: x\nchecks: [1]\n", 2, "map"),
        ("name: x\nchecks:\n  gpu.count: 3\n", 3, "map"),
        ("name: x\nchecks:\n  gpu.count: {fail: {below: 1}}\n", 3, "item"),
        ("name: x\nextends: base\nchecks:\n  mine.own: {item: health, value: 'metrics['}\n", 4, "valid expression"),
        ("name: x\nextends: base\nchecks:\n  mine.own: {item: health, metric: gpu.counts}\n", 4, '"gpu.count"'),
        ("name: [x\n", 2, "not valid YAML"),
        ("", None, "empty"),
        ("- a\n", 1, "map"),
        ("schema: other/1\nname: x\n", 1, "trainops.gpu_audit/policy/1"),
        ("name: !!python/object/apply:os.system [id]\n", 1, "must be text"),
        ("name: x\ntitle: !!python/name:os.system ''\n", 2, "a value can't be read"),
        ("name: x\nchecks:\n  gpu.lost: {warn: !foo 3}\n", 3, "gpu.lost: warn: a value can't be read"),
        ("name: x\nchecks:\n  gpu.lost: {warn: !!int many}\n", 3, "a value can't be read"),
        ("name: x\nchecks:\n  gpu.lost: {warn: !!timestamp soon}\n", 3, "a value can't be read"),
        ("name: x\nchecks:\n  gpu.lost: {warn: 0b_}\n", 3, "a value can't be read"),
        ("name: x\nchecks:\n  gpu.lost: {warn: %s}\n" % ("9" * 5000), 3, "a value can't be read"),
        ("name: x\nchecks:\n  mine: {item: vram, metric: [gpu.count]}\n", 3, "is no metric"),
        ("name: x\nchecks:\n  mine: {item: vram, metric: {a: b}}\n", 3, "is no metric"),
        ("name: x\nchecks:\n  gpu.lost: {satisfied_by: {metric: [a], below: 1}}\n", 3, "is no metric"),
        ('"\\e[31mred\\u202e": 1\n', 1, "\\x1b[31mred\\u202e: is no key of a policy"),
        ('name: x\nextends: "\\e]0;title\\a"\n', 2, "\\x1b]0;title\\x07"),
    ],
)
def test_errors_name_file_line_key_and_the_nearest_name(tmp_path, text, line, words):
    message = refused(tmp_path, text)
    assert "mine.yml" in message and words in message
    if line is not None:
        assert "line %d" % line in message


def test_a_missing_policy_names_the_nearest():
    with pytest.raises(policy.PolicyError, match='"finetuning"'):
        policy.resolve("fine-tuning")


def test_unreadable_and_undecodable_files(tmp_path):
    with pytest.raises(policy.PolicyError, match="neither a file nor a shipped policy"):
        policy.resolve(str(tmp_path / "none.yml"))
    path = tmp_path / "latin.yml"
    path.write_bytes(b"name: \xff\xfe\n")
    with pytest.raises(policy.PolicyError, match="UTF-8"):
        policy.resolve(str(path))


def test_spending_never_rises_above_warn(tmp_path):
    path = write(
        tmp_path,
        "name: x\nextends: base\nchecks:\n  power.limit_fraction: {fail: {below: 0.5}}\n"
        "  site.cost: {item: cost, metric: gpu.count, title: Cost, fail: {above: 8}}\n",
    )
    checks = policy.resolve(path)["checks"]
    assert checks["site.cost"]["max_status"] == "warn"
    assert checks["power.limit_fraction"]["max_status"] == "fail"


def test_text_and_language_maps_for_titles(tmp_path):
    path = write(tmp_path, "name: x\ntitle: Ours\nextends: base\nchecks:\n  gpu.count: {title: Cards}\n  gpu.lost: {title: {zh: 掉卡}}\n")
    resolved = policy.resolve(path)
    assert resolved["title"] == {"en": "Ours", "zh": "Ours"}
    assert resolved["checks"]["gpu.count"]["title"] == {"en": "Cards", "zh": "Cards"}
    assert resolved["checks"]["gpu.lost"]["title"]["en"] == "掉卡"


class TestThresholds:
    base = policy.resolve("training")

    def apply(self, values, variable="gpu_audit_thresholds_rack"):
        return policy.apply_thresholds(self.base, [{"variable": variable, "values": values}])["checks"]

    def test_a_bare_value_keeps_the_comparison(self):
        assert self.apply({"compute.cores_per_gpu": {"warn": 6}})["compute.cores_per_gpu"]["warn"] == {"below": 6}

    def test_a_map_replaces_it_and_null_switches_off(self):
        check = self.apply({"compute.cores_per_gpu": {"warn": {"at_most": 3}, "fail": None}})["compute.cores_per_gpu"]
        assert check["warn"] == {"at_most": 3} and check["fail"] is None

    def test_the_comparison_of_the_other_limit_serves_where_there_was_none(self):
        assert self.apply({"gpu.lost": {"warn": 0}})["gpu.lost"]["warn"] == {"above": 0}

    def test_later_variables_win_key_by_key(self):
        merged = policy.apply_thresholds(
            self.base,
            [
                {"variable": "gpu_audit_thresholds_a", "values": {"compute.cores_per_gpu": {"warn": 6, "fail": 3}}},
                {"variable": "gpu_audit_thresholds_b", "values": {"compute.cores_per_gpu": {"warn": 8}}},
            ],
        )["checks"]["compute.cores_per_gpu"]
        assert merged["warn"] == {"below": 8} and merged["fail"] == {"below": 3}

    def test_the_policy_itself_is_not_changed_and_unchanged_checks_are_shared(self):
        before = json.dumps(self.base, sort_keys=True)
        checks = self.apply({"compute.cores_per_gpu": {"enabled": False}})
        assert json.dumps(self.base, sort_keys=True) == before
        assert checks["gpu.lost"] is self.base["checks"]["gpu.lost"]

    def test_applying_twice_changes_nothing_more(self):
        thresholds = [{"variable": "gpu_audit_thresholds", "values": {"vram.peak_fraction": {"warn": 0.7}}}]
        once = policy.apply_thresholds(self.base, thresholds)
        assert policy.apply_thresholds(once, thresholds) == once

    @pytest.mark.parametrize(
        "values, words",
        [
            ({"compute.core_per_gpu": {"warn": 6}}, '"compute.cores_per_gpu"'),
            ({"compute.cores_per_gpu": {"warning": 6}}, '"warn"'),
            ({"compute.cores_per_gpu": {"item": "vram"}}, "no key"),
            ({"compute.cores_per_gpu": 6}, "map"),
            ({"compute.cores_per_gpu": {"enabled": "no"}}, "true or false"),
            ({"compute.cores_per_gpu": {"warn": "many"}}, "needs a number"),
            ({"compute.cores_per_gpu": {"warn": 10**400}}, "needs a number"),
            ([], "map"),
        ],
    )
    def test_errors_name_the_variable_and_the_nearest_name(self, values, words):
        with pytest.raises(policy.PolicyError) as caught:
            self.apply(values)
        assert "gpu_audit_thresholds_rack" in str(caught.value) and words in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: stored.pop("checks"),
        lambda stored: stored["checks"].update({"gpu.lost": 3}),
        lambda stored: stored["checks"]["gpu.lost"].pop("title"),
        lambda stored: stored["checks"]["gpu.lost"].update(metric="no.such"),
        lambda stored: stored["checks"]["gpu.lost"].update(fail={"above": 0, "below": 1}),
        lambda stored: stored["checks"]["gpu.lost"].update(item="luck"),
        lambda stored: stored["checks"]["gpu.lost"].update(title={"en": 3}),
        lambda stored: stored["checks"]["gpu.lost"].update(advice={"en": [1], "zh": "x"}),
        lambda stored: stored["checks"]["gpu.lost"].update(fail={"above": "many"}),
        lambda stored: stored["checks"]["gpu.lost"].update(fail={"one_of": 3}),
        lambda stored: stored["checks"]["gpu.lost"].update(tolerance=[]),
        lambda stored: stored["checks"]["gpu.lost"].update(max_status="ruin"),
        lambda stored: stored["checks"]["gpu.lost"].update(metric=["gpu.lost"]),
        lambda stored: stored["checks"]["gpu.lost"].update(satisfied_by={"metric": "gpu.count"}),
        lambda stored: stored["checks"]["gpu.lost"].update(when="{% for"),
        lambda stored: stored["checks"]["gpu.lost"].update(answers=["luck"]),
        lambda stored: stored.update(leans_on="vram"),
    ],
)
def test_a_damaged_stored_policy_is_refused_and_reported_without_a_crash(damage):
    stored = json.loads(json.dumps(policy.resolve("training")))
    assert policy.is_resolved(stored)
    damage(stored)
    with pytest.raises(policy.PolicyError, match="damaged"):
        policy.apply_thresholds(stored, [])
    document, inputs = judging.host()
    entry = judge.judge_host(document, inputs, stored, judging.NOW, "en")
    assert entry["verdict"] == "error" and "damaged" in entry["reason"]
    assert judge.judge_run([entry], {"training": stored}, {}, "en")["summary"]["error"] == 1


def test_aliases_can_not_blow_a_policy_up(tmp_path):
    lines = ["name: x", "a: &a [1,1,1,1,1,1,1,1,1,1]"]
    lines += ["%s: &%s [%s]" % (new, new, ",".join(["*" + old] * 10)) for old, new in zip("abcdefgh", "bcdefghi")]
    assert "too many entries" in refused(tmp_path, "\n".join(lines) + "\n")
