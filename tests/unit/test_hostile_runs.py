# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A stored run with anything in its files is judged and rendered to every format, and no host of it is lost."""

from __future__ import annotations

import copy
import csv
import json
import os
import random
import xml.dom.minidom

import fleet_maker
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import auditing, policy, report, run_directory, verdict_table

ODD = [None, True, 0, -1, 2**64, 10**30, 1e308, 0.5, "", "x", "\x1b[31m", "<script>alert(1)</script>", "=cmd()", "{{ 7*7 }}", "x" * 3000,
       "\ud800", [], {}, [[]], [{}], [None], {"error": "boom"}, {"a": {"b": [1]}}, [1, None, "x"], "2026-13-45", {"en": 1}, "%s %(x)s {x}",
       "\u202e", "\0"]
KEYS = ["__proto__", "<b>", "\n", "é", "", "x" * 300]


def damaged(document, changes, chance):
    """A copy with so many random places replaced, removed or added."""
    document = copy.deepcopy(document)
    for _change in range(changes):
        places = list(_places(document))
        if not places:
            break
        container, key = chance.choice(places)
        kind = chance.random()
        if kind < 0.75 or isinstance(container, list):
            container[key] = copy.deepcopy(chance.choice(ODD))
        elif kind < 0.9:
            del container[key]
        else:
            container[chance.choice(KEYS)] = copy.deepcopy(chance.choice(ODD))
    return document


def _places(value):
    for key, child in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(child, (dict, list)):
            yield from _places(child)


def write(path, value):
    with open(path, "w", encoding="ascii") as stream:
        json.dump(value, stream)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_a_runs_files_hold_it_is_judged_and_rendered(tmp_path, seed):
    chance, run = random.Random(seed), str(tmp_path)
    run_directory.make_run_directory(run)
    manifest = fleet_maker.make_run(["asked"], {"training": policy.resolve("training")})
    manifest["schema"] = run_directory.RUN_SCHEMA
    write(run_directory.manifest_path(run), damaged(manifest, seed % 4, chance))
    names = set()
    for inputs, document in chance.sample(list(fleet_maker.make_documents(20, seed=seed)), 3):
        name = inputs["name"]
        names.add(name)
        write(run_directory.inputs_path(run, name), damaged(inputs, seed % 3, chance))
        if document is not None:
            write(run_directory.host_path(run, name), damaged(document, chance.choice([1, 3, 30]), chance))
    auditing.judge_stored(run, language=chance.choice(["en", "zh"]))
    judged = auditing.read_report(run)
    written = auditing.render_stored(run, auditing.Judged(judged, run, ()), "en", report.ALL, True, seed % 2 == 0)
    assert names <= {host["name"] for host in judged["hosts"]}
    xml.dom.minidom.parse(written["junit"])
    with open(written["csv"], encoding="utf-8", newline="") as stream:
        assert names <= {row[0] for row in csv.reader(stream)}
    with open(written["html"], encoding="utf-8") as stream:
        assert "<script>alert" not in stream.read()
    shown = "\n".join(verdict_table.lines(judged, "zh", 80))
    for host in judged["hosts"]:
        shown += verdict_table.gate(host["name"], verdict_table.gate_entry(host, judged["checks"]), "fail", "en")[1]
    assert "\x1b" not in shown and "\u202e" not in shown


def test_files_that_are_no_documents_neither_block_nor_hide_anybody(tmp_path):
    run = str(tmp_path)
    run_directory.make_run_directory(run)
    os.mkfifo(run_directory.host_path(run, "fifo"))
    os.mkfifo(run_directory.inputs_path(run, "fifo"))
    os.mkdir(run_directory.host_path(run, "folder"))
    os.symlink("/etc/passwd", run_directory.host_path(run, "link"))
    for name, text in {"empty": "", "cut": '{"schema": "', "nan": '{"x": NaN}', "list": "[]", "deep": "[" * 100000,
                       "digits": '{"x": %s}' % ("9" * 5000), "infinite": '{"x": 1e999}',
                       "nested": '{"schema": %s}' % ("[" * 500 + "]" * 500)}.items():
        with open(run_directory.host_path(run, name), "w", encoding="ascii") as stream:
            stream.write(text)
    with open(run_directory.host_path(run, "large"), "wb") as stream:
        stream.truncate(200 * 1024 * 1024)
    judged = auditing.judge_stored(run)
    assert {host["name"]: host["verdict"] for host in judged.report["hosts"]} == dict.fromkeys(
        ("fifo", "folder", "link", "empty", "cut", "nan", "list", "deep", "digits", "infinite", "nested", "large"), "error")
    assert any("run.json" in problem for problem in judged.problems)
    assert all(host["errors"] for host in judged.report["hosts"])
