# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A session of link tests on disk, and what each host of it gets."""

from __future__ import annotations

import json
import os
import re

import pytest

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    complaints,
    link_path,
    link_plan,
    link_reading,
    link_rounds,
    link_store,
    measurement_store,
    run_directory,
)

FAST = 1.18e9
NAMES = ["gpu1", "gpu2", "gpu3", "gpu4"]
FIELDS = {
    "bytes_per_second",
    "send_bytes_per_second",
    "receive_bytes_per_second",
    "line_rate_bits_per_second",
    "fraction_of_line_rate",
    "group_median_bytes_per_second",
    "fraction_of_group_median",
    "judged_by",
    "undecided_with",
    "pairs",
    "jitter_seconds",
    "lost_fraction",
    "path_mtu_bytes",
    "counters_growth",
    "hosts",
    "rounds",
    "tool_version",
    "local_time",
    "notes",
}


def place(number, **more):
    return {
        "address": "192.0.2.%d" % number,
        "interface": "eth1",
        "machine_id": "%032x" % number,
        "gpu_uuids": [],
        "link_kind": "physical",
        "line_rate_bits_per_second": 10_000_000_000,
        "mtu_bytes": 9000,
        "iperf3_version": "3.12",
        "iperf3": "/usr/bin/iperf3",
        "counters": {"eth1.rx_errors": 5, "eth1.carrier_changes": 2},
        "local_time": "2026-11-30T17:00:00+08:00",
        **more,
    }


def result(send=FAST, receive=FAST, **more):
    return {
        "send": {"bytes_per_second": send, "retransmits": 3, "seconds": 10.0, "streams": 1},
        "receive": {"bytes_per_second": receive, "retransmits": 7, "seconds": 10.0, "streams": 1},
        "udp": {"bytes_per_second": 1e6, "jitter_seconds": 1e-5, "lost_fraction": 0.0},
        "rtt_seconds": 1e-4,
        "path_mtu_bytes": 9000,
        "black_hole": False,
        "parallel": 1,
        "error": None,
        "local_time": "2026-11-30T17:04:00+08:00",
        "notes": [],
        **more,
    }


@pytest.fixture
def session(tmp_path):
    hosts = {name: place(number + 1) for number, name in enumerate(NAMES)}
    made = link_store.begin(
        str(tmp_path), hosts, {"gpu9": "no route"}, link_rounds.rounds(NAMES), "mesh", {"seconds": 10, "ports": "5201-5300"}
    )
    return link_store.load(str(tmp_path), made.data["id"])


def keep_all(session, **odd):
    """Every pair with `result`, those named "gpu1-gpu2" with what is given."""
    for pairs in session.data["rounds"]:
        for pair in pairs:
            given = odd.get("_".join(sorted((pair["client"], pair["server"]))))
            session.keep_pair(
                pair, {"measurement": given or result()} if not (given and "kind" in given) else {"error": given}, "2026-11-30T09:04:00Z"
            )


def test_each_host_has_its_measurement_where_audits_look(session, tmp_path):
    keep_all(session, gpu1_gpu2={"kind": "timeout", "message": "a firewall drops it"})
    session.note("after", "gpu1", {"counters": {"eth1.rx_errors": 9, "eth1.carrier_changes": 2}})
    kept = session.finish()
    assert set(kept) == set(NAMES)
    for name in NAMES:
        found, broken = measurement_store.read_all(str(tmp_path), name)
        assert broken == [] and len(found) == 1
        measurement = found[0]
        assert (measurement["module"], measurement["target"], measurement["name"]) == ("link_benchmark", "links", name)
        assert measurement["machine_id"] == session.host(name)["machine_id"] and measurement["options"]["session"] == session.data["id"]
        assert set(measurement["result"]) >= FIELDS
    own = kept["gpu1"][1]["result"]
    assert own["counters_growth"] == {"eth1.rx_errors": 4} and kept["gpu2"][1]["result"]["counters_growth"] is None
    assert {pair["peer"]: pair["error"] and pair["error"]["kind"] for pair in own["pairs"]} == {
        "gpu2": "timeout",
        "gpu3": None,
        "gpu4": None,
    }
    assert own["pairs_failed"] == 1 and "1 of 3 pairs failed" in own["notes"] and "with gpu2: a firewall drops it" in own["notes"]
    assert own["fraction_of_line_rate"] == pytest.approx(0.944) and own["judged_by"] == "line_rate"
    assert (own["hosts"], own["rounds"], own["tool_version"], own["path_mtu_bytes"], own["interface_mtu_bytes"]) == (
        4,
        3,
        "3.12",
        9000,
        9000,
    )
    json.dumps(own, allow_nan=False)


def test_a_pair_is_seen_from_both_ends(session):
    keep_all(session, gpu1_gpu3=result(send=1e9, receive=0.5e9))
    kept = session.finish()
    pair, result_of = next((pair, made) for pair, made in session.pairs() if {pair["client"], pair["server"]} == {"gpu1", "gpu3"})
    client, server = (
        next(entry for entry in kept[name][1]["result"]["pairs"] if entry["peer"] == peer)
        for name, peer in ((pair["client"], pair["server"]), (pair["server"], pair["client"]))
    )
    assert (client["send_bytes_per_second"], client["receive_bytes_per_second"], client["retransmits"]) == (1e9, 0.5e9, 3)
    assert (server["send_bytes_per_second"], server["receive_bytes_per_second"], server["retransmits"]) == (0.5e9, 1e9, 7)
    assert result_of["round"] == pair["round"]


def test_the_summary_has_every_pair_and_the_notes_of_the_work_are_gone(session, tmp_path):
    keep_all(session)
    session.note("server", 1, {"port": 5201})
    assert session.noted("server", 1) == {"port": 5201} and session.noted("server", 2) is None
    session.finish()
    folder = tmp_path / "measurements" / "_links" / session.data["id"]
    assert sorted(os.listdir(folder)) == sorted(["%d.json" % number for number in range(1, 7)] + ["session.json", "summary.json"])
    summary = json.loads((folder / "summary.json").read_text())
    assert len(summary["pairs"]) == 6 and summary["left_out"] == {"gpu9": "no route"} and set(summary["hosts"]) == set(NAMES)
    assert json.loads((folder / "1.json").read_text())["schema"] == measurement_store.MEASUREMENT_SCHEMA


def test_a_play_that_ended_early_keeps_what_there_is(session):
    first = session.data["rounds"][0]
    session.keep_pair(first[0], {"measurement": result()}, "2026-11-30T09:04:00Z")
    kept = session.finish()
    measured = {first[0]["client"], first[0]["server"]}
    for name in NAMES:
        assert ("result" in kept[name][1]) == (name in measured)
        if name not in measured:
            assert kept[name][1]["error"] == "no pair of 3 gave a figure; the first: the play ended before this pair's turn"


def test_a_host_with_a_black_hole_and_not_its_partners(session):
    for pairs in session.data["rounds"]:
        for pair in pairs:
            hole = pair["client"] == "gpu1"
            session.keep_pair(
                pair, {"measurement": result(black_hole=hole, notes=["MTU black hole: x"] if hole else [])}, "2026-11-30T09:04:00Z"
            )
    kept = session.finish()
    assert [kept[name][1]["result"]["black_hole"] for name in NAMES].count(True) == 1 and kept["gpu1"][1]["result"]["black_hole"]
    assert any("MTU black hole" in note for note in kept["gpu1"][1]["result"]["notes"])


@pytest.mark.parametrize("change, value, why", [
    ({}, 9000, None), ({"black_hole": True}, None, "the server of all its pairs"), ({"black_hole": None}, None, "the server of all its pairs"),
])
def test_a_host_that_only_served_has_a_path_mtu_or_the_reason(tmp_path, change, value, why):
    hosts = {name: place(number + 1) for number, name in enumerate(NAMES[:3])}
    session = link_store.begin(str(tmp_path), hosts, {}, [[("gpu1", "gpu2")], [("gpu1", "gpu3")], [("gpu2", "gpu3")]], "mesh", {})
    for pairs in session.data["rounds"]:
        for pair in pairs:
            session.keep_pair(pair, {"measurement": result(**(change if pair["server"] == "gpu3" else {}))}, "2026-11-30T09:04:00Z")
    found = {name: document["result"] for name, (_path, document) in session.finish().items()}
    assert [found[name]["path_mtu_bytes"] for name in NAMES[:3]] == [9000, 9000, value]
    said = [note for name in NAMES[:3] for note in found[name]["notes"] if "path MTU not found" in note]
    assert len(said) == (1 if why else 0) and all(why in note and complaints.say(note, "zh") != note for note in said)


@pytest.mark.parametrize("notes, error, why", [
    ([], None, "nobody answered"), ([], {"kind": "refused", "message": "send: no way"}, "send: no way"),
    (["path MTU to 192.0.2.2: Operation not permitted"], None, None),
])
def test_a_client_without_a_path_mtu_says_why(notes, error, why):
    pair = dict(result(path_mtu_bytes=None, black_hole=None, notes=notes, error=error), client="gpu1", server="gpu2")
    said = link_path.unknown("gpu1", [pair])
    assert said is None if why is None else why in said


def test_one_pair_by_itself_has_the_form_of_a_group():
    found = link_store.of_one_pair("gpu1", "192.0.2.2", place(1), dict(result(), counters={"eth1.rx_errors": 1}))
    assert set(found) >= FIELDS and found["undecided_with"] == "192.0.2.2" and found["fraction_of_line_rate"] == pytest.approx(0.944)
    assert found["counters_growth"] == {"eth1.rx_errors": 1}


@pytest.mark.parametrize("session_id", [None, "", "../../etc", "20261130T090000Z-zzzzzz", "20261130T090000Z-abcdef"])
def test_sessions_that_are_none(tmp_path, session_id):
    with pytest.raises(ValueError, match="session"):
        link_store.load(str(tmp_path), session_id)


def test_a_folder_that_can_t_be_made(tmp_path):
    (tmp_path / "measurements").write_text("")
    with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
        link_store.begin(str(tmp_path), {}, {}, [], "mesh", {})


# ------------------------------------------------------------------ what somebody changed, or no link can have


def chinese(sentence):
    said = complaints.say(sentence, "zh")
    assert re.search("无法读取|JSON|文件为空", said) and not re.search(r"\b(is no|can't|the)\b", said), said


CHANGES = [
    ("hosts", []), ("hosts", {"gpu1": 5}), ("hosts", {"gpu1": {}}), ("rounds", {}), ("rounds", [5]), ("rounds", [[[]]]), ("rounds", [[{"n": "x"}]]),
    ("rounds", [[{"n": 1, "round": 1, "client": "gpu1", "server": "elsewhere"}]]), ("rounds", [[{"n": 1.5, "round": 1, "client": "gpu1", "server": "gpu2"}]]),
    ("settings", None), ("settings", {"ports": 5}), ("settings", {"ports": "5201", "seconds": "x"}), ("settings", {"ports": "5201", "seconds": [1]}),
    ("id", 5), ("started", None), ("mode", []), ("left_out", []),
]


@pytest.mark.parametrize(("key", "value"), CHANGES)
def test_a_session_that_was_changed_says_so(session, tmp_path, key, value):
    path = os.path.join(session.folder, "session.json")
    run_directory.write_json(path, dict(session.data, **{key: value}))
    with pytest.raises(ValueError, match="the session %s can't be read: %s" % (session.id, key)) as caught:
        link_store.load(str(tmp_path), session.id).finish()
    chinese(str(caught.value))


@pytest.mark.parametrize("key", ["hosts", "rounds", "settings", "id", "started", "mode", "left_out"])
def test_a_session_that_lacks_something_says_so(session, tmp_path, key):
    run_directory.write_json(os.path.join(session.folder, "session.json"), {name: value for name, value in session.data.items() if name != key})
    with pytest.raises(ValueError, match="can't be read: %s" % key):
        link_store.load(str(tmp_path), session.id).finish()


@pytest.mark.parametrize("setting", [{"omit_seconds": []}, {"seconds": 1e17}, {"seconds": "ten"}, {"grace_seconds": -1}, {"udp_bits_per_second": True}])
def test_settings_that_were_changed_are_said_so(session, tmp_path, setting):
    run_directory.write_json(os.path.join(session.folder, "session.json"), dict(session.data, settings=dict(session.data["settings"], **setting)))
    with pytest.raises(ValueError, match="can't be read: settings.%s" % next(iter(setting))) as caught:
        link_store.load(str(tmp_path), session.id).finish()
    chinese(str(caught.value))


def test_a_setting_that_is_null_is_as_one_that_is_not_there():
    nulls = dict.fromkeys(("seconds", "omit_seconds", "parallel", "udp_bits_per_second", "grace_seconds", "udp"))
    assert link_reading.settings_problem(dict(nulls, ports="1")) is None and link_plan.options(nulls) == link_plan.options({})
    assert link_plan.grace(nulls) == link_plan.grace({}) == 60


BROKEN_RESULTS = [
    None, 5, {"send": 5}, {"send": {"bytes_per_second": "fast"}}, {"receive": {"bytes_per_second": -1}}, {"send": {"bytes_per_second": 10**400}},
    {"udp": []}, {"udp": {"jitter_seconds": "x"}}, {"error": "down"}, {"error": {"kind": "x"}}, {"notes": 5}, {"notes": [5]}, {"rtt_seconds": []},
    {"path_mtu_bytes": "1500"}, {"parallel": {}}, {"black_hole": "no"}, {"local_time": 5}, {"counters": {"x": "y"}}, {"send": {"retransmits": True}},
]


@pytest.mark.parametrize("broken", BROKEN_RESULTS)
def test_a_pair_that_was_changed_is_an_error_and_spoils_no_other(session, broken):
    keep_all(session)
    path = os.path.join(session.folder, "1.json")
    document = json.loads(open(path).read())
    document["result"] = dict(result(), **broken) if isinstance(broken, dict) else broken
    with open(path, "w") as file:
        file.write(json.dumps(document))
    kept = session.finish()
    own = next(made for pair, made in session.pairs() if pair["n"] == 1)
    assert own["error"]["kind"] == "local" and "the result of this pair can't be read" in own["error"]["message"]
    chinese(own["error"]["message"])
    assert all("result" in document for _path, document in kept.values())
    assert sum(document["result"]["pairs_failed"] for _path, document in kept.values()) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"'])
def test_files_that_are_no_documents(session, tmp_path, text):
    keep_all(session)
    with open(os.path.join(session.folder, "1.json"), "w") as file:
        file.write(text)
    assert "can't be read" in next(made for pair, made in session.pairs() if pair["n"] == 1)["error"]["message"]
    with open(os.path.join(session.folder, "session.json"), "w") as file:
        file.write(text)
    with pytest.raises(ValueError, match="can't be read"):
        link_store.load(str(tmp_path), session.id).finish()


@pytest.mark.parametrize(
    ("kind", "content"),
    [("job", {}), ("job", {"jid": 5, "started": "x", "seconds": 1}), ("server", {"port": "x"}), ("server", {"error": "x"}), ("server", {}), ("lost", {}),
     ("after", {"counters": {"x": []}})],
)
def test_notes_that_were_changed(session, kind, content):
    session.note(kind, 1, content)
    with pytest.raises(ValueError, match="can't be read: %s-1.json" % kind) as caught:
        session.noted(kind, 1)
    chinese(str(caught.value))
    session.note("after", "gpu1", {"counters": []})
    assert session.finish()["gpu1"]


@pytest.mark.parametrize("number", [99, -1, None, "first"])
def test_a_round_that_there_is_not(session, number):
    with pytest.raises(ValueError, match="has no round"):
        session.round(number)


def test_a_figure_that_a_link_can_t_have_is_none(session):
    keep_all(session, gpu1_gpu2=result(send=1e17 / 8, receive=FAST))
    kept = session.finish()
    pair, own = next((pair, made) for pair, made in session.pairs() if {pair["client"], pair["server"]} == {"gpu1", "gpu2"})
    assert own["send"] is None and own["receive"]["bytes_per_second"] == FAST and own["error"]["kind"] == "protocol"
    assert "more than the link of %s carries" % pair["client"] in own["error"]["message"]
    assert "超过了" in complaints.say(own["error"]["message"], "zh")
    assert kept["gpu1"][1]["result"]["fraction_of_line_rate"] == pytest.approx(0.944)
    alone = link_store.of_one_pair("gpu1", "192.0.2.2", place(1), result(send=1e17 / 8, receive=1e17 / 8))
    assert alone["bytes_per_second"] is None and alone["pairs"][0]["error"]["kind"] == "protocol"
    # Short tests are a little faster than the line.
    assert link_store.of_one_pair("gpu1", "192.0.2.2", place(1), result(send=1.5e9))["pairs"][0]["error"] is None
