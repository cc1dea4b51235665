# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""fio's output: every version at hand, noise around it, repeated keys, options given once, latencies of 0, text that is none."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.trainops.gpu_audit.plugins.filter.fio_facts import FilterModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.fio_output import DIRECTIONS, parse_fio, parse_size

FIELDS = {"bytes_per_second", "iops", "latency_mean_seconds", "latency_p50_seconds", "latency_p95_seconds", "latency_p99_seconds",
          "latency_kind", "bytes", "runtime_seconds"}


def fio_facts(text):
    return FilterModule().filters()["fio_facts"](text)


def moved(io_bytes=4096, **more):
    return dict({"io_bytes": io_bytes, "bw_bytes": 8192, "iops": 2.0, "runtime": 500, "total_ios": 1,
                 "lat_ns": {"mean": 0.0, "N": 0}, "clat_ns": {"mean": 2000.0, "N": 1, "percentile": {"99.000000": 3000}}}, **more)


def result(*jobs, **more):
    return dict({"fio version": "fio-3.33", "jobs": list(jobs)}, **more)


def job(name="j", **more):
    return dict({"jobname": name, "groupid": 0, "error": 0, "job options": {"name": name}, "read": moved(), "write": moved(0, total_ios=0)},
                **more)


def test_every_capture_is_read_or_says_why_not(captures):
    seen = 0
    for path in sorted((captures / "fio-json").glob("*.json")):
        text = path.read_text()
        facts = fio_facts(text)
        seen += 1
        assert set(facts) == {"fio_version", "jobs", "errors", "notes"}
        if '"fio version"' not in text:
            assert facts["jobs"] == [] and facts["errors"], path.name
            continue
        assert facts["fio_version"] and facts["fio_version"] in text and facts["jobs"], path.name
        # Only the two runs that failed have errors.
        assert bool(facts["errors"]) == any(word in path.name for word in ("enospc", "permission")), (path.name, facts["errors"])
        raw = json.loads(text[text.index("{\n"):text.rindex("\n}") + 2])["jobs"]
        for parsed, given_job in zip(facts["jobs"], raw):
            for name in ("read", "write"):
                direction = parsed[name]
                assert (direction is None) == (not given_job[name]["io_bytes"]), path.name
                if direction:
                    assert set(direction) == FIELDS
                    assert direction["runtime_seconds"] == given_job[name]["runtime"] / 1000
                    assert direction["latency_mean_seconds"] > 0 and direction["latency_p99_seconds"] > 0
                    if not facts["fio_version"].startswith("2."):
                        assert direction["bytes"] == given_job[name]["io_bytes"]
                        assert direction["bytes_per_second"] == given_job[name]["bw_bytes"]
                        assert direction["latency_mean_seconds"] == pytest.approx(given_job[name]["clat_ns"]["mean"] / 1e9)
    assert seen > 20


def test_the_words_of_a_run_that_failed(captures):
    folder = captures / "fio-json"
    full = fio_facts((folder / "own-fio3.33-enospc.json").read_text())
    assert "full: No space left on device (error 28)" in full["errors"] and full["jobs"][0]["error"] == 28
    quota = (folder / "own-fio3.33-enospc.json").read_text().replace('"error" : 28', '"error" : 122')
    assert "full: Disk quota exceeded (error 122)" in fio_facts(quota)["errors"]
    closed = fio_facts((folder / "own-fio3.33-permission.json").read_text())
    assert closed["errors"] == ["p: Permission denied (error 13)"] and closed["jobs"][0]["write"] is None


def test_units_of_fio_2_are_converted_with_a_note(captures):
    facts = fio_facts((captures / "fio-json" / "pkb-fio-parser-sample-result.json").read_text())
    write = facts["jobs"][0]["write"]
    assert write["bytes"] == 361984 * 1024 and write["bytes_per_second"] == 68118 * 1024
    assert write["latency_mean_seconds"] == pytest.approx(0.47773484)
    assert any("2.1.4" in note for note in facts["notes"])


@pytest.mark.parametrize("name, before, after", [
    ("B65-tausworthe-noise.json", "tausworthe", None), ("B65-note-braces-noise.json", "{weird}", "terminating on signal 15"),
    ("B67-duplicate-keys.json", None, None)])
def test_noise_around_the_result_is_kept_as_notes(traps, name, before, after):
    facts = fio_facts((traps / "inputs" / name).read_text())
    read = facts["jobs"][0]["read"]
    assert read["bytes_per_second"] == 409600 and read["iops"] == 100.0 and read["bytes"] == 409600 and read["runtime_seconds"] == 1.0
    # The total latency is 0 there, as it is where fio was told not to measure it.
    assert read["latency_mean_seconds"] == pytest.approx(0.00012) and read["latency_p99_seconds"] == pytest.approx(0.00021)
    assert read["latency_p95_seconds"] is None and read["latency_kind"] == "completion"
    assert facts["errors"] == [] and facts["jobs"][0]["write"] is None
    for words in (before, after):
        assert words is None or any(words in note for note in facts["notes"])


def test_a_repeated_option_loses_nothing(traps):
    facts = fio_facts((traps / "inputs" / "B67-duplicate-keys.json").read_text())
    assert facts["jobs"][0]["options"]["filename"] == ["/dev/test0", "/dev/test1"]
    assert any("'filename'" in note for note in facts["notes"])


def test_a_repeated_percentile_and_figure_count_once():
    text = '{"fio version": "fio-3.1", "jobs": [{"jobname": "a", "read": {"io_bytes": 5, "io_bytes": 5, "runtime": 1000, "bw_bytes": 5, ' \
           '"clat_ns": {"mean": 7.0, "percentile": {"99.000000": 9, "99.000000": 9, "0.00": 0, "0.00": 0}}}}]}'
    read = fio_facts(text)["jobs"][0]["read"]
    assert read["bytes"] == 5 and read["latency_p99_seconds"] == pytest.approx(9e-9)


def test_direct_io_that_was_refused_is_an_error_without_figures(traps):
    facts = fio_facts((traps / "inputs" / "B74-direct-einval.txt").read_text())
    assert facts["jobs"] == [] and any("err=22" in error for error in facts["errors"])
    assert any("O_DIRECT" in note for note in facts["notes"])


def test_options_of_all_jobs_are_merged_and_defaults_known():
    facts = fio_facts(json.dumps(result(
        job("a", **{"job options": {"name": "a", "bs": "1M"}}), job("b"),
        **{"global options": {"iodepth": "32", "bs": "4k", "ioengine": "libaio", "direct": "1"}})))
    first, second = facts["jobs"]
    assert (first["block_size_bytes"], first["queue_depth"], first["engine"], first["direct"]) == (1 << 20, 32, "libaio", True)
    assert second["block_size_bytes"] == 4096 and second["options"]["iodepth"] == "32"
    plain = fio_facts(json.dumps(result(job())))["jobs"][0]
    assert (plain["queue_depth"], plain["engine"], plain["direct"]) == (1, "psync", False)


def test_a_synchronous_engine_has_no_queue(captures):
    facts = fio_facts((captures / "fio-json" / "own-fio3.33-iodepth-note.json").read_text())
    assert facts["jobs"][0]["queue_depth"] == 1 and facts["jobs"][0]["options"]["iodepth"] == "32"
    assert any("not 32" in note for note in facts["notes"])


def test_percentiles_are_those_fio_gave_and_say_of_which_latency():
    total = moved(lat_ns={"mean": 5000.0, "N": 1, "percentile": {"50.000000": 4000, "95.000000": 6000, "99.000000": 9000}},
                  clat_ns={"mean": 2000.0, "N": 1})
    read = fio_facts(json.dumps(result(job(read=total))))["jobs"][0]["read"]
    assert read["latency_kind"] == "total"
    assert [read["latency_%s_seconds" % name] for name in ("mean", "p50", "p95", "p99")] == pytest.approx([5e-6, 4e-6, 6e-6, 9e-6])


def test_nothing_measured_is_null_and_never_zero():
    silent = moved(bw_bytes=0, iops=0.0, runtime=0, clat_ns={"mean": 0.0, "N": 0, "percentile": {"99.000000": 0}})
    facts = fio_facts(json.dumps(result(job(read=silent))))
    read = facts["jobs"][0]["read"]
    assert read["bytes"] == 4096
    assert all(read[key] is None for key in ("bytes_per_second", "iops", "latency_mean_seconds", "latency_p99_seconds", "latency_kind"))
    assert any("too short" in note for note in facts["notes"])


def test_client_mode_without_hosts_and_with_repeated_global_options():
    one = job("a", **{"global options": {"bs": "64k"}})
    facts = fio_facts(json.dumps({"fio version": "fio-3.36", "client_stats": [one, dict(job("All clients"), hostname="")]}))
    assert [each["name"] for each in facts["jobs"]] == ["a"] and facts["jobs"][0]["block_size_bytes"] == 65536


@pytest.mark.parametrize("text, words", [
    ("", "no result"), ("\n", "no result"), ("{}", "no result"), ("[]", "no result"), ('{"fio version": "fio-3.33", "jobs": [', "cut off"),
    ('{"fio version": "fio-3.33"}', "names no jobs"), ('{"jobs": 5, "fio version": null}', "names no jobs"), ("{" * 5000, "no result"),
    ('{"a":' * 100000, "no result"),
    ('{"a":\n' * 100000, "no result"), ('[{"a":[\n{"fio version":[1,' * 100000, "cut off")])
def test_text_that_is_no_result_says_so(text, words):
    facts = fio_facts(text)
    assert facts["jobs"] == [] and words in facts["errors"][0]


@pytest.mark.parametrize("text", [None, 5, {"jobs": []}])
def test_what_is_no_text_is_refused_with_what_to_do(text):
    with pytest.raises(AnsibleFilterError, match="fio_facts: expected the text.*ansible.builtin.file"):
        fio_facts(text)


def test_fios_banner_is_no_note():
    banner = "mixed_read: (g=0): rw=read, bs=(R) 1024KiB-1024KiB, ioengine=psync, iodepth=1\n...\nfio-3.33\nStarting 3 processes\n"
    facts = fio_facts(banner + "note: both iodepth >= 1\n" + json.dumps(result(job())))
    assert facts["notes"] == ["note: both iodepth >= 1"]


def test_every_capture_cut_anywhere_gives_an_error_and_no_number(captures):
    """Half a document is none; noise around a whole one changes no figure."""
    cuts = 0
    for path in sorted((captures / "fio-json").glob("*.json")):
        text = path.read_text()
        whole = fio_facts(text)
        noisy = fio_facts("warning: a line before {\n{odd}\n" + text + "\n} terminating on signal 15\n{\n")
        assert (noisy["jobs"], noisy["fio_version"], noisy["errors"]) == (whole["jobs"], whole["fio_version"], whole["errors"]), path.name
        if not whole["jobs"]:
            continue
        end = text.rindex("\n}") + 2
        for part in range(20):
            for around in ("", "noise {\n"):
                facts = fio_facts(around + text[:end * part // 20] + "\n" + around)
                assert facts["jobs"] == [] and facts["fio_version"] is None, (path.name, part)
                assert len([each for each in facts["errors"] if "cut off" in each or "no result" in each]) == 1, (path.name, part)
                cuts += 1
        # The head is gone.
        assert fio_facts(text[text.index("{") + 1:end])["jobs"] == [], path.name
    assert cuts > 400


def test_much_noise_is_cut():
    facts = fio_facts("noise\n" * 1000 + json.dumps(result(job())) + "\r\n" + "x" * 5000)
    assert facts["jobs"] and len(facts["notes"]) < 30 and max(map(len, facts["notes"])) <= 300


ODD = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                   lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
                       ["io_bytes", "bw_bytes", "runtime", "total_ios", "iops", "clat_ns", "mean", "percentile", "99.000000", "error",
                        "jobname", "job options", "bs", "iodepth", "read", "usr_cpu"]), inner, max_size=6), max_leaves=20)


ODD_JOB = st.dictionaries(st.sampled_from(["read", "write", "error", "job options", "jobname", "usr_cpu", "groupid"]), ODD)


@given(st.lists(ODD_JOB, max_size=3), ODD)
def test_no_result_however_odd_raises(jobs, options):
    facts = parse_fio(json.dumps({"fio version": "fio-3.33", "jobs": jobs, "global options": options}))
    for each in facts["jobs"]:
        assert set(DIRECTIONS) < set(each)


def test_options_that_are_no_numbers_or_no_text_stay_plain():
    facts = fio_facts('{"fio version": "fio-3.33", "jobs": [{"jobname": "a\n\tb", "groupid": NaN, '
                      '"job options": {"iodepth": "%s", "x": NaN}}]}'
                      % ("9" * 5000))
    assert json.dumps(facts, allow_nan=False)
    assert facts["jobs"][0]["name"] == "a\n\tb" and facts["jobs"][0]["queue_depth"] == 1


@pytest.mark.parametrize("value", [float("inf"), float("nan"), True, "5", [], {}])
def test_a_figure_that_is_none_is_null(value):
    facts = fio_facts(json.dumps(result(job(error=value, usr_cpu=value, read=moved(bw_bytes=value, iops=value, runtime=value)))))
    assert set(facts["jobs"][0]["read"]) == FIELDS


@pytest.mark.parametrize("key", ["io_bytes", "bw_bytes", "bw", "iops", "runtime", "total_ios"])
@pytest.mark.parametrize("value", ["-1", "-1e3", "1e24", "1e999", "-1e999", "9" * 400, "9" * 5000])
def test_a_figure_that_no_storage_can_have_is_an_error_and_nothing_is_taken(key, value):
    text = json.dumps(result(job(read=moved(**{key: "figure"}), write=moved()))).replace('"figure"', value)
    facts = fio_facts(text)
    assert facts["jobs"][0]["read"] is None and facts["jobs"][0]["write"]["bytes"] == 4096
    assert facts["errors"] == ["j: fio says %s %.4g, which no storage can have; nothing is taken from it" % (key, float(value))]


def test_latencies_and_shares_that_cannot_be_are_null():
    facts = fio_facts(json.dumps(result(job(usr_cpu=-1, sys_cpu=1e20, read=moved(
        clat_ns={"mean": 5.0, "percentile": {"50.000000": -5, "95.000000": 1e22, "99.000000": 7}})))))
    read = facts["jobs"][0]["read"]
    assert (read["latency_p50_seconds"], read["latency_p95_seconds"], read["latency_p99_seconds"]) == (None, None, pytest.approx(7e-9))
    assert facts["jobs"][0]["cpu_user_fraction"] is None and facts["jobs"][0]["cpu_system_fraction"] is None and not facts["errors"]


@pytest.mark.parametrize("number", [-22, 1e999, 10 ** 400, 99999])
def test_an_error_number_that_nobody_knows_is_an_error(number):
    text = json.dumps(result(job(error=number))).replace("Infinity", "1e999")
    assert "an error that this system doesn't know" in fio_facts(text)["errors"][0]


DEEP = "[" * 300 + "]" * 300


@pytest.mark.parametrize("value, kept", [
    ("1e999", None), ("-1e999", None), ("9" * 5000, None), (DEEP, [None]), ('{"a":' * 300 + "1" + "}" * 300, None), ('"\\ud800x"', "?x"),
    ('"%s"' % ("x" * 100000), "x" * 1024), ("5", 5), ("true", True), ('["a", 1e999]', ["a", None])], ids=repr)
def test_options_are_only_what_can_be_stored(value, kept):
    text = json.dumps(result(job(**{"job options": {"x": "value"}}), **{"global options": {"y": "value"}})).replace('"value"', value)
    options = fio_facts(text)["jobs"][0]["options"]
    assert options == {"x": kept, "y": kept}


def test_names_and_versions_are_only_what_can_be_stored():
    odd = '"\\ud800%s"' % ("n" * 5000)
    text = '{"fio version": "fio-3.1\\udc80%s", "jobs": [{"jobname": %s, "groupid": %s, "error": 5, "job options": {%s: "1", %s: "2"}, ' \
           '"read": {"io_bytes": 5}}, {"jobname": %s}, {"jobname": [[]]}]}' % ("v" * 5000, odd, DEEP, odd, odd, "[" * 900 + "]" * 900)
    facts = fio_facts(text)
    said = json.dumps(facts, allow_nan=False, ensure_ascii=False)
    assert len(said.encode("utf-8")) < 5000
    assert facts["jobs"][0]["name"].startswith("?nnn") and facts["jobs"][0]["group"] is None
    assert facts["jobs"][1]["name"] == "" == facts["jobs"][2]["name"]
    assert json.dumps(fio_facts("warning \udc80 error=\ud800\n" + json.dumps(result(job()))), ensure_ascii=False).encode("utf-8")


def test_remarks_and_options_are_bounded():
    jobs = [job("j%d" % number, error=5, read=moved(runtime=5)) for number in range(500)]
    text = "".join("error=%d\n" % number for number in range(5000)) + json.dumps(result(
        *jobs, **{"global options": {"o%d" % number: "1" for number in range(5000)}}))
    facts = fio_facts(text)
    assert (len(facts["jobs"]), len(facts["errors"]), len(facts["notes"]), len(facts["jobs"][0]["options"])) == (500, 101, 101, 512)
    assert facts["errors"][100] == "420 more of these were left out"


class Counting(json.JSONDecoder):
    """Counts the characters of failed and other attempts, each up to where it ended."""

    read = 0

    def raw_decode(self, s, idx=0):
        try:
            document, end = super().raw_decode(s, idx)
        except json.JSONDecodeError as error:
            Counting.read += error.pos - idx
            raise
        Counting.read += end - idx
        return document, end


@pytest.mark.parametrize("junk", ['{"k": [\n' * 300 + "1," * 200000, '{"fio version": [\n' * 300 + "1," * 200000,
                                  '{"k":\n' * 300 + "[" + "1," * 200000 + "1]" + "}" * 300])
def test_junk_is_read_a_few_times_at_most_and_hides_no_result(monkeypatch, junk):
    monkeypatch.setattr(json, "JSONDecoder", Counting)
    Counting.read = 0
    assert fio_facts(junk)["jobs"] == []
    assert 0 < Counting.read < 6 * len(junk)
    Counting.read = 0
    if "fio version" not in junk:
        assert fio_facts(junk + "\n" + json.dumps(result(job())))["jobs"]
        assert Counting.read < len(junk)


def test_a_key_that_is_repeated_very_often_is_read_in_one_go():
    text = '{"fio version": "fio-3.1", "jobs": [{"jobname": "a", "job options": {%s"x": "1"}}]}' % ('"x": "1", ' * 200000)
    assert len(fio_facts(text)["jobs"][0]["options"]["x"]) == 100


@pytest.mark.parametrize("text, size", [("4k", 4096), ("1M", 1 << 20), ("4G", 4 << 30), ("64KiB", 65536), ("512", 512), ("4k,8k", 4096),
                                        ("4k-8k", 4096), ("", None), (None, None), ("big", None), ("9" * 5000, None)])
def test_sizes_as_fio_writes_them(text, size):
    assert parse_size(text) == size
