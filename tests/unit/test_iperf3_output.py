# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""iperf3's output: every version at hand, both directions, UDP as received, repeated keys, errors with status 0, cut text."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.trainops.gpu_audit.plugins.filter.iperf3_facts import FilterModule

REFUSED = "unable to connect to server"
# file -> (version, bits/s received client to server, server to client, retransmits, jitter in ms, lost share, how the error begins);
# read out of the files by eye: sum_received, of old UDP sum x (1 - lost / packets).
EXPECTED = {
    "go-iperf-sample.json": ("3.1.3", 13283900000.0, None, None, None, None, None),
    "iperf3-python-results.json": ("3.0.11", 934268000.0, None, 0, None, None, None),
    "iperf3_plotter-my_test.json": ("3.6", 17535714055.21963, None, 2, None, None, None),
    "own-3.1.3-tcp.json": ("3.1.3", 17004510000.0, None, 1, None, None, None),
    "own-3.1.3-omit.json": ("3.1.3", 3404736000.0, None, 1, None, None, None),
    "own-3.1.3-get-server-output.json": ("3.1.3", 8641837000.0, None, 2, None, None, None),
    "own-3.1.3-tcp-reverse-P4.json": ("3.1.3", None, 3133669000.0, 196, None, None, None),
    "own-3.1.3-udp-reverse.json": ("3.1.3", None, 49939109.378908 * (1472 - 667) / 1472, None, 0.028738, 667 / 1472, None),
    "own-3.1.3-busy.json": ("3.1.3", None, None, None, None, None, "the server is busy running a test"),
    "own-3.1.3-dns-fail.json": ("3.1.3", None, None, None, None, None, REFUSED),
    "own-3.1.3-refused.json": ("3.1.3", None, None, None, None, None, REFUSED + ": Connection refused"),
    "own-3.1.3-server-killed.json": ("3.1.3", None, None, None, None, None, "unable to write to stream socket: Connection reset by peer"),
    "own-3.7-tcp.json": ("3.7", 1763283555.3624327, None, 39, None, None, None),
    "own-3.7-bidir.json": ("3.7", 1197329256.2225363, 1174121150.2690046, 2 + 3, None, None, None),
    "own-3.7-get-server-output.json": ("3.7", 2946298131.6917815, None, 11, None, None, None),
    "own-3.7-udp-reverse.json": ("3.7", None, 50077347.52506044 * 388 / 390, None, 0.23673545654918984, 2 / 390, None),
    "own-3.9-get-server-output.json": ("3.9", 1722190817.2024715, None, 9, None, None, None),
    "own-3.9-tcp-reverse-P4.json": ("3.9", None, 2795420549.994706, 88, None, None, None),
    "own-3.9-udp.json": ("3.9", 50067751.628693, None, None, 0.1832761417284372, 0.0, None),
    "own-3.9-udp-reverse.json": ("3.9", None, 50064598.56563772 * 388 / 391, None, 0.0068363428823305, 3 / 391, None),
    "own-3.9-refused.json": ("3.9", None, None, None, None, None, "iperf3 ended without a result"),
    "own-3.12-tcp.json": ("3.12", 5145449226.75006, None, 6, None, None, None),
    "own-3.12-omit.json": ("3.12", 8530337087.542272, None, 3, None, None, None),
    "own-3.12-bidir.json": ("3.12", 2721338044.889816, 3275935886.4768314, 10 + 6, None, None, None),
    "own-3.12-udp.json": ("3.12", 50034954.86366664, None, None, 0.04585761616105893, 0.0, None),
    "own-3.12-udp-reverse.json": ("3.12", None, 49935910.23653306, None, 0.011803614464446652, 3 / 384, None),
    "own-3.12-busy.json": ("3.12", None, None, None, None, None, "the server is busy running a test"),
    "own-3.12-dns-fail.json": ("3.12", None, None, None, None, None, REFUSED + ": Name or service not known"),
    "own-3.12-refused.json": ("3.12", None, None, None, None, None, REFUSED + ": Connection refused"),
    "own-3.12-server-killed.json": ("3.12", None, None, None, None, None, "unable to write to stream socket: Connection reset by peer"),
    "own-3.16-tcp.json": ("3.16", 1500360987.147028, None, 5, None, None, None),
    "own-3.16-omit.json": ("3.16", 8982037041.081837, None, 3, None, None, None),
    "own-3.16-bytes-short.json": ("3.16", 132762649.3629817, None, 0, None, None, None),
    "own-3.16-get-server-output.json": ("3.16", 1979183640.1329453, None, 7, None, None, None),
    "own-3.16-tcp-reverse-P4.json": ("3.16", None, 2565602341.46108, 126, None, None, None),
    "own-3.16-udp-reverse.json": ("3.16", None, 44265462.86942976, None, 3.4599564776024274, 37 / 375, None),
    "own-3.16-dns-fail.json": ("3.16", None, None, None, None, None, REFUSED),
    "own-3.16-refused.json": ("3.16", None, None, None, None, None, REFUSED),
    "own-3.16-server-killed.json": ("3.16", None, None, None, None, None, "control socket has closed unexpectedly"),
    "own-3.17.1-tcp.json": ("3.17.1", 348023587.1253525 * 8, None, 53, None, None, None),
    "own-3.17.1-bytes-short.json": ("3.17.1", 133140092.09458642, None, 3, None, None, None),
    "own-3.17.1-get-server-output.json": ("3.17.1", 427198465.1235108 * 8, None, 7, None, None, None),
    "own-3.17.1-tcp-reverse-P4.json": ("3.17.1", None, 631792457.1789691 * 8, 127, None, None, None),
    "own-3.17.1-udp.json": ("3.17.1", 6200063.30145311 * 8, None, None, 1.0027440807110336, 0.0, None),
    "own-3.17.1-dns-fail.json": ("3.17.1", None, None, None, None, None, REFUSED),
    "own-3.17.1-refused.json": ("3.17.1", None, None, None, None, None, REFUSED),
    "own-3.17.1-server-killed.json": ("3.17.1", None, None, None, None, None, "control socket has closed unexpectedly"),
    "own-3.17.1-json-stream-refused.ndjson": (None, None, None, None, None, None, REFUSED),
    "own-3.19.1-tcp.json": ("3.19.1", 3868067248.871987, None, 9, None, None, None),
    "own-3.19.1-omit.json": ("3.19.1", 1312067925.3571892 * 8, None, 4, None, None, None),
    "own-3.19.1-bytes-short.json": ("3.19.1", 16575295.747207519 * 8, None, 2, None, None, None),
    "own-3.19.1-tcp-reverse-P4.json": ("3.19.1", None, 776479283.5874094 * 8, 188, None, None, None),
    "own-3.19.1-udp.json": ("3.19.1", 49940831.44777481, None, None, 0.03919923898218574, 0.0, None),
    "own-3.19.1-busy.json": ("3.19.1", None, None, None, None, None, "the server is busy running a test"),
    "own-3.19.1-dns-fail.json": ("3.19.1", None, None, None, None, None, REFUSED),
    "own-3.19.1-refused.json": ("3.19.1", None, None, None, None, None, REFUSED),
    "own-3.20-omit.json": ("3.20", 4549369755.254806, None, 27, None, None, None),
    "own-3.20-bidir.json": ("3.20", 3192035822.7412376, 2370205704.19965, 10 + 42, None, None, None),
    "own-3.20-bytes-short.json": ("3.20", 133558084.62006152, None, 1, None, None, None),
    "own-3.20-get-server-output.json": ("3.20", 11312317371.985462, None, 7, None, None, None),
    "own-3.20-json-stream.ndjson": ("3.20", 5060297858.0927544, None, 14, None, None, None),
    "own-3.20-udp.json": ("3.20", 49536273.72232385, None, None, 0.42765521805055645, 0.0, None),
    "own-3.20-udp-reverse.json": ("3.20", None, 49255685.8386737, None, 0.15467644025382224, 6 / 382, None),
    "own-3.20-dns-fail.json": ("3.20", None, None, None, None, None, REFUSED),
    "own-3.20-refused.json": ("3.20", None, None, None, None, None, REFUSED),
    **{
        "own-%s-badflag.json" % version: (None, None, None, None, None, None, "no result of iperf3 in this text")
        for version in ("3.9", "3.12", "3.16", "3.17.1", "3.19.1", "3.20")
    },
}
NOTHING = {"send": None, "receive": None}


def iperf3_facts(text):
    return FilterModule().filters()["iperf3_facts"](text)


def figures(facts):
    return [facts[key] for key in ("retransmits", "jitter_seconds", "lost_fraction", "rtt_seconds")] + list(
        facts["bytes_per_second"].values()
    )


def test_every_capture_gives_what_stands_in_it(captures):
    files = [path for path in sorted((captures / "iperf3").iterdir()) if path.suffix in (".json", ".ndjson")]
    assert {path.name for path in files} == set(EXPECTED)
    for path in files:
        version, send, receive, retransmits, jitter, lost, error = EXPECTED[path.name]
        facts = iperf3_facts(path.read_text())
        said = facts["bytes_per_second"]
        assert facts["iperf3_version"] == version and facts["retransmits"] == retransmits, path.name
        assert said["send"] == (None if send is None else pytest.approx(send / 8)), path.name
        assert said["receive"] == (None if receive is None else pytest.approx(receive / 8)), path.name
        assert facts["jitter_seconds"] == (None if jitter is None else pytest.approx(jitter / 1000)), path.name
        assert facts["lost_fraction"] == (None if lost is None else pytest.approx(lost)), path.name
        assert (facts["error"] is None) == (error is None) and (facts["error"] or "").startswith(error or ""), (path.name, facts["error"])
        if error:
            assert not any(value is not None for value in figures(facts)), path.name


def test_text_cut_anywhere_gives_no_figure_and_no_traceback(captures):
    whole = 0
    for path in sorted((captures / "iperf3").iterdir()):
        if path.suffix not in (".json", ".ndjson"):
            continue
        text = path.read_text().rstrip()
        for end in range(0, len(text), 50 if len(text) < 20000 else 2500):
            for cut in (text[:end], text[end:] if end else "", "warning: noise {\n" + text[:end]):
                facts = iperf3_facts(cut)
                assert facts["error"] and not any(value is not None for value in figures(facts)), (path.name, end)
        whole += 1
    assert whole > 50


def test_lines_around_a_result_are_noise_and_noted(captures):
    text = (captures / "iperf3" / "own-3.12-tcp.json").read_text()
    facts = iperf3_facts("warning: JSON data length overflow\nWarning: Permanently added 'x'\n" + text + "\nlogout\n")
    assert facts["bytes_per_second"]["send"] == pytest.approx(5145449226.75006 / 8) and facts["error"] is None
    assert facts["notes"] == ["warning: JSON data length overflow", "Warning: Permanently added 'x'", "logout"]
    refused = (captures / "iperf3" / "own-3.9-refused.json").read_text() + (captures / "iperf3" / "own-3.9-refused.stderr").read_text()
    assert iperf3_facts(refused)["error"] == "unable to send control message: Bad file descriptor"
    flag = iperf3_facts((captures / "iperf3" / "own-3.20-badflag.stderr").read_text())
    assert "unrecognized option '--nosuchflag'" in flag["error"]


def test_traps(traps):
    def facts(name):
        return iperf3_facts((traps / "inputs" / name).read_text())

    assert "busy" in facts("B81-busy-rc0.json")["error"]
    assert facts("B83-overflow-warning.json")["error"] == "unable to receive results"
    assert facts("B86-bidir-duplicate-sums.json")["bytes_per_second"] == {"send": 9.3e9 / 8, "receive": 1.1e9 / 8}
    udp = facts("B86-udp-sent-not-received.json")
    assert udp["bytes_per_second"] == {"send": None, "receive": 956e6 / 8} and udp["lost_fraction"] == pytest.approx(0.6649)
    assert udp["directions"]["receive"]["sent_bytes_per_second"] == pytest.approx(2858356221.9 / 8)
    sentinel = facts("B89-retransmits-sentinel.json")
    assert sentinel["retransmits"] is None and sentinel["bytes_per_second"]["send"] == 7.9e9 / 8
    assert "cut off" in facts("B91-truncated.json")["error"]


def test_a_short_transfer_says_that_it_is_no_rate(captures):
    short = iperf3_facts((captures / "iperf3" / "own-3.16-bytes-short.json").read_text())
    assert any("no rate of the link" in note for note in short["notes"])
    assert iperf3_facts((captures / "iperf3" / "own-3.16-tcp.json").read_text())["notes"] == []


def test_latency_and_path_of_the_sending_side_only(captures):
    sent = iperf3_facts((captures / "iperf3" / "own-3.12-tcp.json").read_text())
    assert (sent["rtt_seconds"], sent["rtt_loaded_seconds"], sent["path_mtu_bytes"]) == (0.000407, 0.00132, 65535)
    assert sent["cpu_fraction"] == {"client": pytest.approx(0.1449295), "server": pytest.approx(0.1417903)}
    received = iperf3_facts((captures / "iperf3" / "own-3.16-tcp-reverse-P4.json").read_text())
    assert received["rtt_seconds"] is None and received["streams"] == 4


def document(**end):
    return json.dumps({"start": {"version": "iperf 3.12", "test_start": {"protocol": "TCP", "reverse": 0}}, "intervals": [], "end": end})


def test_what_was_sent_is_not_what_arrived():
    facts = iperf3_facts(document(sum_sent={"bits_per_second": 8e9, "retransmits": 0}, sum_received={"bits_per_second": 0}))
    assert facts["bytes_per_second"] == NOTHING and "no byte that arrived" in facts["error"]
    udp = {
        "start": {"version": "iperf 3.12", "test_start": {"protocol": "UDP", "reverse": 0}},
        "intervals": [],
        "end": {
            "sum": {"bits_per_second": 1e6, "packets": 100, "lost_percent": 0},
            "sum_received": {"bits_per_second": 0, "packets": 0, "lost_packets": 0, "jitter_ms": 0},
        },
    }
    facts = iperf3_facts(json.dumps(udp))
    assert (facts["lost_fraction"], facts["bytes_per_second"]["send"], facts["jitter_seconds"]) == (1.0, 0.0, None)


def test_a_text_that_begins_an_object_in_every_line_is_not_read_to_its_end_for_each(monkeypatch):
    read, decode = [], json.JSONDecoder.raw_decode

    def counted(self, text, at=0):
        read.append(at)
        return decode(self, text, at)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    for start in ("", '{"event":"interval","data":{}}\n', '{"x": "\n'):
        del read[:]
        assert iperf3_facts(start + '{"x":"y' + '\n{"x":"y' * 100000)["error"]
        assert len(read) < 20000, (start, len(read))
    # Much noise before a result still is noise.
    facts = iperf3_facts('{"x":"y\n' * 500 + document(sum_received={"bits_per_second": 8e9}))
    assert facts["error"] is None and facts["bytes_per_second"]["send"] == 1e9


@pytest.mark.parametrize(("seen", "gaps", "fraction"), [
    (41, 0, 3084 / 3125), (1500, 25, 1650 / 3125), (3125, 25, 25 / 3125),
    # Still under way when the test ended: 0.1 s of 3 s.
    (3021, 0, 0.0),
])
def test_packets_lost_at_the_end_count_as_lost(seen, gaps, fraction):
    sums = {"sum": {"bits_per_second": 1e7, "packets": 3125, "lost_packets": gaps, "lost_percent": 0, "seconds": 3.0},
            "sum_received": {"bits_per_second": 1e5, "packets": seen, "lost_packets": gaps, "seconds": 3.0, "jitter_ms": 0.01}}
    text = json.dumps({"start": {"version": "iperf 3.12", "test_start": {"protocol": "UDP", "reverse": 0}}, "end": sums})
    assert iperf3_facts(text)["lost_fraction"] == pytest.approx(fraction)
    sums["sum_sent"] = sums.pop("sum")
    text = json.dumps({"start": {"version": "iperf 3.16", "test_start": {"protocol": "UDP", "reverse": 0}}, "end": sums})
    assert iperf3_facts(text)["lost_fraction"] == pytest.approx(fraction)


def test_a_jitter_that_no_packet_has_is_none():
    sums = {"sum_received": {"bits_per_second": 1e7, "packets": 10, "lost_packets": 0, "seconds": 3.0, "jitter_ms": 1e17}}
    text = json.dumps({"start": {"version": "iperf 3.12", "test_start": {"protocol": "UDP", "reverse": 0}}, "end": sums})
    assert iperf3_facts(text)["jitter_seconds"] is None


def test_an_error_beside_figures_gives_none_of_them():
    text = json.dumps(
        dict(json.loads(document(sum_sent={"bits_per_second": 8e9}, sum_received={"bits_per_second": 8e9})), error="interrupt")
    )
    facts = iperf3_facts(text)
    assert facts["error"] == "interrupt" and facts["bytes_per_second"] == NOTHING


def test_of_several_results_the_last_counts_unless_it_is_cut():
    first = document(sum_sent={"bits_per_second": 8e9}, sum_received={"bits_per_second": 8e9})
    second = document(sum_sent={"bits_per_second": 16e9}, sum_received={"bits_per_second": 16e9})
    facts = iperf3_facts(first + "\n" + second)
    assert facts["bytes_per_second"]["send"] == 2e9 and facts["notes"] == ["2 results in this text; the last one was taken"]
    assert iperf3_facts(first + "\n" + second[:-20])["error"]


@pytest.mark.parametrize("value", [None, {"end": {}}, 5, ["x"]])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(AnsibleFilterError, match="expected the text that"):
        iperf3_facts(value)


NUMBERS = st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), st.text(max_size=5), st.lists(st.integers(), max_size=2))
SUM = st.one_of(
    NUMBERS,
    st.dictionaries(
        st.sampled_from(
            ["bits_per_second", "retransmits", "sender", "packets", "lost_packets", "lost_percent", "jitter_ms", "seconds", "bytes"]
        ),
        NUMBERS,
    ),
)
ENDS = st.dictionaries(
    st.sampled_from(["sum", "sum_sent", "sum_received", "sum_received_bidir_reverse", "streams", "cpu_utilization_percent"]), SUM
)


@given(
    st.fixed_dictionaries(
        {
            "start": st.one_of(NUMBERS, st.dictionaries(st.sampled_from(["version", "test_start"]), SUM)),
            "end": st.one_of(NUMBERS, ENDS),
            "intervals": SUM,
        },
        optional={"error": NUMBERS},
    )
)
def test_no_document_raises_or_gives_a_figure_that_is_none(value):
    facts = iperf3_facts(json.dumps(value))
    for number in figures(facts):
        assert number is None or 0 <= number < 1e19
    assert all(isinstance(note, str) for note in facts["notes"])


@given(st.text())
def test_no_text_raises(text):
    assert iperf3_facts(text)["error"]
