# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The playbook plan as somebody runs it: without an inventory, from one file, in both languages, in check mode, with wrong input."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from playbook_site import ROOT, Site, recap

FORM = {"kind": "training", "input_sample_bytes": "32 KiB", "batch_size": 1, "hours_per_day": 20}
MODEL = {"parameters": "8.03B", "layers": 32, "hidden_size": 4096, "heads": 32, "kv_heads": 8, "ffn_size": 14336, "mlp_matrices": 3,
         "vocab_size": 128256, "sequence_length": 4096, "sharding": "fsdp", "gpus": 8}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return Site(tmp_path_factory.mktemp("plan"))


def play(site, *arguments, form=None, model=None, **changes):
    written = {"gpu_audit_workload": form or FORM, "gpu_audit_model": {**(model or MODEL), **changes}}
    (site.folder / "model.yml").write_text(yaml.safe_dump(written))
    return site.play("plan", "-e", "@model.yml", *arguments, inventory=False)


def test_it_shows_parts_bytes_boards_and_numbers(site):
    done = play(site)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^optimizer +11\.2 GiB +\d+ % +8\.03B x 12 B / 8$", done.stdout, re.MULTILINE)
    assert re.search(r"^80\.0 GiB +\S+ % +\+\S+ GiB +yes +8 +A800-SXM4-80GB, A800 80GB PCIe,", done.stdout, re.MULTILINE)
    assert "boards hold it below 80 % of their memory" in done.stdout
    assert recap(done.stdout)["localhost"]["changed"] == 0


def test_in_chinese(site):
    done = play(site, "-e", "gpu_audit_language=zh")
    assert done.returncode == 0 and re.search(r"^优化器状态 +11\.2 GiB", done.stdout, re.MULTILINE) and "单个 GPU 的显存构成" in done.stdout


@pytest.mark.parametrize(("arguments", "changes", "words"), [
    ((), {"heads": 31}, "hidden_size 4096 不是 heads 31 的整数倍"),
    (("-e", "gpu_audit_plan_file=/nonexistent/deep/plan.json"), {}, "gpu_audit_plan_file：目录 /nonexistent/deep 不存在"),
    (("-e", '{"gpu_audit_model": {}}'), {}, "缺少 gpu_audit_model"),
    (("-e", "vram_estimate_modle=x"), {}, "vram_estimate_modle 不是本审计的变量，不起任何作用（是否想写\u201cgpu_audit_model\u201d？）"),
])
def test_mistakes_are_said_in_chinese(site, arguments, changes, words):
    done = play(site, "-e", "gpu_audit_language=zh", *arguments, **changes)
    assert words in "".join(done.stdout.split("\n")) and "Traceback" not in done.stdout, done.stdout


def test_a_language_that_is_none_is_refused(site):
    done = play(site, "-e", "gpu_audit_language=de")
    assert done.returncode == 2 and "gpu_audit_language: 'de' is no language; use one of en, zh" in done.stdout, done.stdout


def test_files_beside_each_other_written_once(site):
    first = play(site, "-e", "gpu_audit_plan_file=./out.json")
    assert first.returncode == 0 and recap(first.stdout)["localhost"]["changed"] == 1, first.stdout
    written = json.loads((site.folder / "out.json").read_text())
    assert written["schema"] == "trainops.gpu_audit/plan/1" and written["sized"] and "A100-SXM4-80GB" in written["fit"]
    assert "| optimizer | 11.2 GiB |" in (site.folder / "out.md").read_text()
    assert recap(play(site, "-e", "gpu_audit_plan_file=./out.md").stdout)["localhost"]["changed"] == 0


def test_a_folder_takes_plan_json_and_plan_md(site):
    (site.folder / "plans").mkdir()
    assert play(site, "-e", "gpu_audit_plan_file=plans").returncode == 0
    assert sorted(path.name for path in (site.folder / "plans").iterdir()) == ["plan.json", "plan.md"]


def test_check_mode_shows_the_same_and_writes_nothing(site):
    done = play(site, "--check", "-e", "gpu_audit_plan_file=./checked.json")
    assert done.returncode == 0 and "11.2 GiB" in done.stdout and recap(done.stdout)["localhost"]["changed"] == 1
    assert not (site.folder / "checked.json").exists() and not (site.folder / "checked.md").exists()


def test_without_base_figures_nothing_is_sized_and_nothing_fails(site):
    done = play(site, "-e", "gpu_audit_plan_file=./empty.json", form={"kind": "training"})
    assert done.returncode == 0 and "GiB" not in done.stdout
    assert "Nothing is sized: the workload form lacks input_sample_bytes, batch_size, hours_per_day" in done.stdout
    assert json.loads((site.folder / "empty.json").read_text())["parts"] == []


@pytest.mark.parametrize(("changes", "words"), [
    ({"parameters": "-8B"}, "parameters must be a whole number of at least 1000"),
    ({"heads": 31}, "hidden_size 4096 is no multiple of heads 31"),
    ({"sequence_lenght": 10}, "did you mean"),
])
def test_impossible_input_fails_in_words(site, changes, words):
    done = play(site, **changes)
    assert done.returncode == 2 and words in done.stdout and "Traceback" not in done.stdout, done.stdout


def test_every_mistake_at_once_in_chinese(site):
    wrong = {"optimizer": "adam_w", "sequence_length": "2k", "heads": 31, "sharding": "zero2", "pipeline_parallel": 2, "colour": 1}
    done = play(site, "-e", "gpu_audit_language=zh", **wrong)
    assert done.returncode == 2, done.stdout
    for words in ("optimizer 必须是下列之一", "是否想写\u201cadamw\u201d", "2k 可能指 2000 或 2048", "hidden_size 4096 不是 heads 31 的整数倍",
                  "sharding zero2 不能与 pipeline_parallel 同用", "colour 不是模型的字段"):
        assert words in done.stdout, words
    assert "must be" not in done.stdout and "Traceback" not in done.stdout


def test_without_a_model_it_says_what_to_give(site):
    done = site.play("plan", inventory=False)
    assert done.returncode == 2 and "gpu_audit_model is missing" in done.stdout and "Traceback" not in done.stdout


def test_a_folder_that_is_not_there_is_named(site):
    done = play(site, "-e", "gpu_audit_plan_file=/nonexistent/deep/plan.json")
    assert done.returncode == 2 and "there is no folder /nonexistent/deep" in done.stdout and "Traceback" not in done.stdout


def test_the_filter_and_the_role_give_the_same_plan(site):
    own = site.own_play("""
- hosts: localhost
  connection: local
  gather_facts: false
  vars:
    estimate: "{{ gpu_audit_model | trainops.gpu_audit.vram_estimate(workload=gpu_audit_workload) }}"
  roles:
    - trainops.gpu_audit.vram_estimate
  tasks:
    - ansible.builtin.assert:
        that:
          - estimate == gpu_audit_plan.plan
          - estimate.bytes_per_gpu > 2 ** 34
    - ansible.builtin.debug:
        msg: "{{ {'parameters': 'x'} | trainops.gpu_audit.vram_estimate }}"
      ignore_errors: true
      register: wrong
    - ansible.builtin.assert:
        that: wrong is failed and wrong.msg.split('parameters must be') | length == 2
""")
    done = site.play(own, "-e", "@model.yml", inventory=False)
    assert done.returncode == 0, done.stdout


def test_the_documented_example_works(site):
    text = (ROOT / "docs" / "vram.md").read_text()
    shown = yaml.safe_load(re.search(r"```yaml\n(.*?)```", text, re.DOTALL).group(1))
    done = play(site, form=shown["gpu_audit_workload"], model=shown["gpu_audit_model"])
    assert done.returncode == 0 and "boards hold it" in done.stdout, done.stdout
