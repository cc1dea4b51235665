# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Hosts whose words are orders: to the terminal, to Jinja2, to a browser. They are told, and obeyed nowhere."""

from __future__ import annotations

import base64
import json
import zlib

import pytest
from playbook_site import LOCAL, Site

WORDS = "\x1b[31mred \x1b]0;title\x07 {{ lookup('pipe', 'touch RAN') }} {% for %} \u202eevil <script>alert(1)</script>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    site = Site(folder)
    words = WORDS.replace("RAN", str(folder / "ran"))
    (folder / "words").write_text(words + "\nline 2\n")
    facts = {"schema": "trainops.gpu_audit/facts/1", "platform": {"machine_id": "../../x"},
             "gpu": {"state": "ok", "error": words, "gpus": [{"status": "ok", "index": 0, "name": words, "uuid": words}]}}
    answers = {"facts": {"packed_facts": _packed(json.dumps(facts)), "changed": True,
                         "ansible_facts": {"gpu_audit_gate": "{{ lookup('pipe', 'touch %s') }}" % (folder / "ran")}},
               "deep": {"packed_facts": _packed('{"schema": "trainops.gpu_audit/facts/1", "gpu": %s}' % ("[" * 900 + "]" * 900))},
               "failure": {"failed": True, "msg": words}}
    for name, answer in answers.items():
        (folder / (name + ".json")).write_text(json.dumps(answer))
    programs = {name: "cat %s.json" % (folder / name) for name in answers}
    programs.update(banner="cat %s >&2; exit 255" % (folder / "words"), noise="cat %s >&2; exit 1" % (folder / "words"))
    for name, line in programs.items():
        (folder / name).write_text("#!/bin/sh\n%s\n" % line)
        (folder / name).chmod(0o755)
    hosts = {name: dict(LOCAL, ansible_python_interpreter=str(folder / name)) for name in ("facts", "deep", "failure", "noise")}
    hosts["banner"] = {"ansible_connection": "ssh", "ansible_ssh_executable": str(folder / "banner")}
    site.inventory(hosts)
    return site


def _packed(text):
    return base64.b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize("callback", ["default", "trainops.gpu_audit.progress"])
def test_a_hosts_words_are_shown_and_obeyed_nowhere(hostile, callback):
    done = hostile.play("gate", ANSIBLE_STDOUT_CALLBACK=callback)
    assert done.returncode == 2, done.stdout
    assert "\x1b" not in done.stdout and "\u202e" not in done.stdout
    assert "Traceback" not in done.stdout
    assert not (hostile.folder / "ran").exists()
    refused = dict.fromkeys(("deep", "failure", "noise"), "error")
    assert hostile.verdicts() == {"facts": "unproven", "banner": "unreachable", **refused}
    assert "lookup('pipe'" in hostile.document("banner")["errors"][0]["message"]
    assert "lookup('pipe'" in hostile.document("facts")["facts"]["gpu"]["gpus"][0]["name"]
    assert "nested too deeply" in hostile.document("deep")["errors"][0]["message"]
