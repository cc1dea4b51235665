# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a link test says of addresses, iperf3 and pairs can be said in Chinese: every sentence of ours has its line."""

from __future__ import annotations

import re

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_run, link, link_place
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    complaint_texts_links,
    complaints,
    link_judging,
    link_rounds,
    link_store,
)

KNOWN = [
    {"address": "127.0.0.1", "interface": "lo", "prefix": 8, "scope": "host"},
    {"address": "192.0.2.10", "interface": "eth0", "prefix": 24, "scope": "global"},
    {"address": "fe80::1", "interface": "eth9", "prefix": 64, "scope": "link"},
]


def chinese(sentence):
    said = complaints.say(str(sentence), "zh")
    assert re.search("[\u4e00-\u9fff]", said) and not re.search(
        r"\b(the|is|to be|with|can't|no answer)\b", said.replace("Connection refused", "")
    ), said
    return said


@pytest.mark.parametrize("wanted", ["", "192.0.2.99", "127.0.0.1", "eth7", "eth9", "management"])
def test_addresses(wanted, monkeypatch):
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    with pytest.raises(link_place.NoAddress) as caught:
        link_place.address_of(wanted, "203.0.113.1", KNOWN)
    assert "gpu_audit_link_address" in chinese(caught.value) and "eth0 192.0.2.10" in chinese(caught.value)


def test_settings_and_programs(tmp_path):
    for call in (
        lambda: iperf3_run.ports("x"),
        lambda: link_rounds.rounds(["a", "b"], "star"),
        lambda: iperf3_run.tool(str(tmp_path / "x")),
    ):
        with pytest.raises((ValueError, iperf3_run.NoTool)) as caught:
            call()
        chinese(caught.value)


@pytest.mark.parametrize("kind", sorted(iperf3_run._SAID))
def test_every_kind_of_fault(kind):
    said = iperf3_run._SAID[kind] % {"where": "192.0.2.11 port 5201", "said": "Connection refused"}
    for around in ("%s", "send: %s", "with gpu2: receive: %s", "no pair of 3 gave a figure; the first: send: %s"):
        assert "192.0.2.11 port 5201" in chinese(around % said) or kind == "local"


@pytest.mark.parametrize("around, said", [("send: %s", "发送方向："), ("with gpu2: receive: %s", "与 gpu2：接收方向：")])
def test_a_direction_is_a_word(around, said):
    words = chinese(around % (iperf3_run._SAID["refused"] % {"where": "192.0.2.11 port 5201", "said": "Connection refused"}))
    assert words.startswith(said + "192.0.2.11 port 5201 拒绝连接")


def test_a_client_that_hangs(tmp_path):
    (tmp_path / "x").write_text("#!/bin/sh\nsleep 9\n")
    (tmp_path / "x").chmod(0o755)
    for options in (frozenset(), frozenset(["--connect-timeout"])):
        tool = iperf3_run.Tool(str(tmp_path / "x"), "3.12", options)
        _facts, error = iperf3_run.client(tool, [tool.path], "192.0.2.11", 5201, 0.1, "unit-text")
        chinese(link._at("send", error, {"black_hole": True, "path_mtu_bytes": 9000})["message"])


def test_notes_of_a_host():
    place = {
        "address": "192.0.2.10",
        "interface": "eth0",
        "link_kind": "virtual",
        "line_rate_bits_per_second": None,
        "iperf3_version": "3.9",
    }
    pair = {
        "send": {"bytes_per_second": 1e9},
        "receive": {"bytes_per_second": 1e8},
        "error": None,
        "notes": link._mtu_notes({"error": None, "black_hole": True, "path_mtu_bytes": 9000}, 9000, "192.0.2.11")
        + link._mtu_notes({"error": None, "black_hole": False, "path_mtu_bytes": 1500}, 9000, "192.0.2.11"),
    }
    notes = link_store.of_one_pair("gpu1", "192.0.2.11", place, pair)["notes"]
    assert len(notes) == 5 and all(chinese(note) for note in notes)
    assert link_judging.LARGEST_JUDGED_BITS_PER_SECOND == 100e9


@pytest.mark.parametrize("english, translated", complaint_texts_links.TABLE)
def test_placeholders(english, translated):
    assert sorted(re.findall(r"\{(\w+)\*?\}", english)) == sorted(re.findall(r"\{(\w+)\}", translated))
