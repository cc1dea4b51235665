# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network measured by the playbook: against the collection's peer and servers of one's own, refused, failed, kept, judged, reported; no secret
anywhere and nothing left running."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys
import time

import pytest
from playbook_site import DEAD, LOCAL, Site, recap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit"))
import conftest as _unit_conftest  # noqa: E402,F401 puts the collection on the import path
import transfer_servers as servers  # noqa: E402

SMALL = {"measure_network_upload_bytes": "8 MiB", "measure_network_download_bytes": "8 MiB", "measure_network_request_count": 100,
         "measure_network_request_duration_seconds": 5, "measure_network_peer_ports": "47600-47699"}
PEER = {"measure_network_peer": "controller", "measure_network_peer_address": "127.0.0.1"}
FORM = {"kind": "inference", "mode": "online", "weights_bytes": "15 GiB", "dataset_bytes": "1 TiB", "upload_hours_allowed": 24,
        "download_minutes_allowed": 60, "latency_seconds": 2, "concurrency": 32, "input_sample_bytes": "150 KB", "busy_hours": "00:00-24:00"}
LATENCY = {"kind": "inference", "leans_on": ["throughput", "latency"]}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    made.before = listening()
    made.inventory({"a": LOCAL}, dict(SMALL, **PEER, gpu_audit_policy="inference", gpu_audit_workload={**FORM, **LATENCY}))
    return made


def measurements(site, name="a"):
    """{(module, direction or None): content} of the newest of each."""
    found = [json.loads(path.read_text()) for path in sorted(site.output.glob("measurements/%s/*.json" % name))]
    found.sort(key=lambda entry: entry["finished"])
    return {(entry["module"], (entry.get("result") or entry["options"]).get("direction")): entry for entry in found}


def listening():
    said = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r":(476\d\d)\s", said))


def peers(site):
    """The ports of peer servers that a test left behind."""
    return sorted(listening() - site.before)


def kinds(found):
    return sorted((module, direction or "") for module, direction in found)


ALL = [("request_benchmark", ""), ("transfer_benchmark", "download"), ("transfer_benchmark", "upload")]


def test_measured_against_the_controller_then_judged_and_reported_in_both_languages(site):
    done = site.play("measure")
    assert done.returncode == 0 and recap(done.stdout)["a"]["changed"] == 0, done.stdout
    assert re.search(r"a: transfer_benchmark of http://127.0.0.1:476\d\d \(upload\): at most .*sends 8.00 MiB in each attempt", done.stdout), done.stdout
    found = measurements(site)
    assert kinds(found) == ALL and peers(site) == []
    for direction in ("upload", "download"):
        result = found["transfer_benchmark", direction]["result"]
        assert result["bytes"] == 3 * 8 * 2**20 and result["storage"] == "peer" and result["checksum"]["verified"] is True, result
        assert result["attempts_failed"] == 0 and result["bytes_per_second"] > 0
    result = found["request_benchmark", None]["result"]
    # The form's own concurrency and latency are tried, its sample is sent.
    assert [step["concurrency"] for step in result["steps"]] == [1, 10, 32, 50, 100]
    assert result["payload_bytes"] == 150000 and result["latency_slo_seconds"] == 2 and result["knee_concurrency"] == 100 and result["stand_in"] is True
    assert site.play("audit").returncode == 0
    entry = site.report()["hosts"][0]
    # The host is the controller: it talked to itself.
    assert entry["checklist"]["network"] == "unknown", entry["findings"]
    told = {finding["check"]: finding for finding in entry["findings"]}
    for check in ("network.download_ratio", "network.concurrency_ratio"):
        said = told[check].get("message") or entry["absent"][check]
        assert told[check]["status"] == "unknown" and "127.0.0.1, an address of this host itself" in said, told[check]
    assert entry["metrics"]["network.concurrency_within_latency"] == 100 and "peer" in told["network.concurrency_within_latency"]["message"]
    page = (site.latest / "report.html").read_text()
    assert "transfer_benchmark" in page and "request_benchmark" in page
    assert site.play("rejudge", "-e", "gpu_audit_language=zh gpu_audit_output_dir=%s" % site.output, inventory=False).returncode == 0
    assert "对端" in (site.latest / "report.html").read_text()


def test_check_starts_nothing_and_only_announces(site):
    done = site.play("measure", "--check", "-e", "gpu_audit_language=zh")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("a：transfer_benchmark") == 2 and done.stdout.count("a：request_benchmark") == 1, done.stdout
    assert "保存在" not in done.stdout and measurements(site) == {} and peers(site) == []


def test_what_was_not_asked_for_is_not_run(site):
    assert site.play("measure", "-e", "measure_network_peer_tests=download").returncode == 0
    assert kinds(measurements(site)) == [("transfer_benchmark", "download")]


@pytest.mark.parametrize("language, words", [("en", "until {when} at the latest; to end it then: "), ("zh", "它最迟监听到 {when}；届时要立即关闭，请执行：")])
def test_where_the_peer_listens_and_how_to_end_it_is_said_before(site, language, words):
    done = site.play("measure", "-e", json.dumps({"measure_network_peer_tests": ["download"], "gpu_audit_language": language,
                                                  "measure_network_peer_lifetime_seconds": 3600}))
    said = " ".join(done.stdout.split())
    pattern = re.escape(words).replace(re.escape("{when}"), r"(\d{4}-\d\d-\d\d \d\d:\d\d) UTC") + (
        r"ansible localhost -m trainops.gpu_audit.network_peer -a 'state=stopped port=476\d\d'")
    found = re.search(pattern, said)
    assert done.returncode == 0 and found, done.stdout
    until = datetime.datetime.strptime(found.group(1), "%Y-%m-%d %H:%M").replace(tzinfo=datetime.timezone.utc)
    assert abs((until - datetime.datetime.now(datetime.timezone.utc)).total_seconds() - 3600) < 200


def slow_peer(site, language):
    """A play whose requests to the peer take some seconds; the process and what its standard error says go on."""
    site.inventory({"a": LOCAL}, dict(SMALL, **PEER, measure_network_peer_tests=["requests"], measure_network_peer_answer_seconds=0.5,
                                      measure_network_request_duration_seconds=30, gpu_audit_language=language))
    run = subprocess.Popen(site.command("measure"), cwd=site.folder, env=site.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while not list(site.output.glob("measurements/a/.pending*")):
        assert run.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    return run


@pytest.mark.parametrize("language, words", [("en", r"a: interrupted: the peer at http://127.0.0.1:476\d\d was ended"),
                                             ("zh", r"a：已中断：位于 http://127.0.0.1:476\d\d 的对端服务已关闭")])
def test_ctrl_c_during_a_test_ends_the_peer_too(site, language, words):
    with slow_peer(site, language) as run:
        assert len(peers(site)) == 1
        os.killpg(run.pid, signal.SIGINT)
        output = run.communicate(timeout=90)[0]
    assert re.search(words, output), output
    assert peers(site) == []


def test_a_peer_that_can_not_be_ended_then_is_told_with_its_end_and_the_command(site):
    with slow_peer(site, "en") as run:
        (port,) = peers(site)
        # It doesn't answer any more.
        said = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
        pid = int(re.search(r":%s .*pid=(\d+)" % port, said)[1])
        os.kill(pid, signal.SIGSTOP)
        try:
            os.killpg(run.pid, signal.SIGINT)
            output = " ".join(run.communicate(timeout=90)[0].split())
        finally:
            os.kill(pid, signal.SIGCONT)
    told = re.search(r"the peer at http://127.0.0.1:%s couldn't be ended \(no answer in time\). It listens there until (\S+ \S+) UTC at the latest; "
                     r"to end it now: (ansible localhost -m trainops.gpu_audit.network_peer -a 'state=stopped port=%s')" % (port, port), output)
    assert told, output
    until = datetime.datetime.strptime(told[1], "%Y-%m-%d %H:%M").replace(tzinfo=datetime.timezone.utc)
    assert 2000 < (until - datetime.datetime.now(datetime.timezone.utc)).total_seconds() <= 2400
    done = subprocess.run([str(pathlib.Path(sys.executable).parent / "ansible"), *shlex.split(told[2])[1:]], cwd=site.folder, env=site.environment(),
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and peers(site) == [], done.stdout


def test_nothing_set_says_what_to_set(site):
    site.inventory({"a": LOCAL}, {"measure_network_uplaod_url": "http://127.0.0.1:1/"})
    done = site.play("measure")
    assert done.returncode == 2 and "measure_network_upload_url" in done.stdout and "measure_network_peer" in done.stdout, done.stdout
    assert 'did you mean \\"measure_network_upload_url\\"' in done.stdout
    site.inventory({"a": LOCAL}, {})
    done = site.play("measure", "-e", "gpu_audit_language=zh")
    assert done.returncode == 0 and "测量网络请设" in done.stdout, done.stdout
    own = site.own_play("- hosts: all\n  gather_facts: false\n  roles: [trainops.gpu_audit.measure_network]\n")
    done = site.play(own)
    assert done.returncode == 2 and "Nothing to measure. Set measure_network_upload_url" in done.stdout, done.stdout
    assert "没有要测量的内容" in site.play(own, "-e", "gpu_audit_language=zh").stdout and measurements(site) == {}


@pytest.mark.parametrize("variables, said, zh", [
    ({"measure_network_peer": "nobody"}, "measure_network_peer: nobody is no host of the inventory", "清单中没有主机 nobody"),
    ({"measure_network_peer_address": ""}, "measure_network_peer_address is empty. Set it to the address at which the hosts reach the controller",
     "请设为各主机访问控制机所用的地址"),
    ({"measure_network_peer_address": "0.0.0.0"}, "give the address that the other hosts reach", ""),
    ({"measure_network_peer_address": "203.0.113.9"}, "measure_network_peer_address: 203.0.113.9 is no address of this host. It has: ",
     "measure_network_peer_address：203.0.113.9 不是该主机的地址"),
    ({"measure_network_peer": "a", "measure_network_peer_address": "127.0.0.1"}, "a is the peer (measure_network_peer) and the only host",
     "又是本次唯一的主机"),
    ({"gpu_audit_workload": {"kind": "inference", "latency": 2}}, "The peer on controller (measure_network_peer) can't be started: gpu_audit_workload: ",
     "上启动对端服务：gpu_audit_workload"),
    ({"measure_network_attempts": 5000}, "attempts must be between", "attempts"),
    ({"measure_network_upload_bytes": "much"}, "'much' is no size", ""),
    ({"measure_network_request_concurrency": [5000]}, "concurrency", ""),
])
def test_what_is_refused_ends_the_play_with_its_reason_and_no_peer_is_left(site, variables, said, zh):
    site.inventory({"a": LOCAL}, dict(SMALL, **{**PEER, **variables}))
    done = site.play("measure")
    assert done.returncode == 2 and said in " ".join(done.stdout.split()), done.stdout
    assert recap(done.stdout)["a"]["failed"] == 1 and peers(site) == []
    if zh:
        assert zh in site.play("measure", "-e", "gpu_audit_language=zh").stdout


def test_a_unit_that_the_command_line_lost_is_refused(site):
    done = site.play("measure", "-e", "measure_network_upload_bytes=900 TiB")
    said = "so that this is 900 and not 900 TiB. Leave the space out (-e measure_network_upload_bytes=900TiB)"
    assert done.returncode == 2 and said in done.stdout, done.stdout
    assert measurements(site) == {} and peers(site) == []


def test_a_failed_test_is_kept_and_the_next_one_is_taken(site):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = "http://127.0.0.1:%d/" % closed.getsockname()[1]
        site.inventory({"a": LOCAL}, dict(SMALL, **PEER, measure_network_upload_url=url, measure_network_retries=0, measure_network_attempts=1))
        done = site.play("measure")
    assert done.returncode == 0, done.stdout
    found = measurements(site)
    assert kinds(found) == ALL and found["transfer_benchmark", "upload"]["result"]["attempts_failed"] == 1
    assert found["transfer_benchmark", "upload"]["result"]["attempts"][0]["error"]["kind"] == "refused"
    assert found["transfer_benchmark", "download"]["result"]["attempts_failed"] == 0


def test_a_transfer_of_which_nothing_got_through_reads_failed_and_what_is_refused_on_the_way_ends_the_play(site):
    with servers.Server(servers.refuses(404)) as server:
        site.inventory({"a": LOCAL}, dict(SMALL, measure_network_download_url=server.url + "model", measure_network_attempts=2))
        done = site.play("measure")
        assert done.returncode == 0 and "a: transfer_benchmark: download failed: HTTP 404" in done.stdout, done.stdout
        assert "attempts failed" not in done.stdout and "attempt 1" not in done.stdout
    store = {"/theirs": b"data"}
    with servers.Server(servers.keeps(store)) as server:
        site.inventory({"a": LOCAL}, dict(SMALL, measure_network_upload_url=server.url + "theirs"))
        done = site.play("measure")
        assert done.returncode == 2 and recap(done.stdout)["a"]["failed"] == 1, done.stdout
        assert "something lies at %stheirs already, and a test replaces nothing" % server.url in done.stdout and store == {"/theirs": b"data"}
    assert kinds(measurements(site)) == [("transfer_benchmark", "download")]


def test_each_host_has_its_own_variables_and_several_share_one_peer_and_download_at_once(site):
    hosts = {name: dict(LOCAL, measure_network_download_bytes="%d MiB" % size) for name, size in (("a", 8), ("b", 16), ("c", 24))}
    hosts["d"] = dict(LOCAL, measure_network_peer="")
    site.inventory(hosts, dict(SMALL, **PEER, measure_network_peer_tests=["download"], measure_network_together=True, measure_network_attempts=1,
                               measure_network_together_delay_seconds=12))
    # Check mode says all that would be done, and starts nothing.
    done = site.play("measure", "--check")
    for name in "abc":
        assert len(re.findall(r"^%s: transfer_benchmark of \S+ \(download\): at most .*; receives up to " % name, done.stdout, re.M)) == 2, done.stdout
    assert done.returncode == 0 and done.stdout.count("; begins at the same moment on 3 hosts") == 3 and measurements(site) == {}
    done = site.play("measure", "-f", "2")
    assert done.returncode == 2 and "Add -f 3." in done.stdout and peers(site) == [], done.stdout
    done = site.play("measure")
    assert done.returncode == 0 and done.stdout.count("changed: [") == 0, done.stdout
    assert re.search(r"Slowest of 3 hosts that downloaded at once: ([abc]), [0-9.]+ MiB/s, \d+ % of what it reached alone", " ".join(done.stdout.split()))
    for name, size in (("a", 8), ("b", 16), ("c", 24)):
        result = measurements(site, name)["transfer_benchmark", "download"]["result"]
        assert result["bytes"] == size * 2**20 and result["hosts_at_once"] == 3 and result["alone_bytes_per_second"] > 0
    assert measurements(site, "d") == {} and peers(site) == []


def test_another_host_is_the_peer_and_is_not_measured_against_itself(site):
    site.inventory({"a": LOCAL, "b": LOCAL}, dict(SMALL, measure_network_peer="b", measure_network_peer_address="127.0.0.1",
                                                  measure_network_peer_tests=["upload", "requests"]))
    done = site.play("measure")
    assert done.returncode == 0 and "b is the peer of the others and isn't measured against itself" in done.stdout, done.stdout
    assert kinds(measurements(site)) == [("request_benchmark", ""), ("transfer_benchmark", "upload")] and measurements(site, "b") == {}
    assert peers(site) == []


def test_a_peer_that_can_not_be_reached_ends_the_play_of_those_who_need_it_with_its_reason(site):
    wanted = dict(SMALL, measure_network_peer="dead", measure_network_peer_address="127.0.0.1", measure_network_peer_tests=["download"])
    site.inventory({"a": LOCAL, "b": dict(LOCAL, **PEER), "dead": DEAD}, wanted)
    done = site.play("measure", "--limit", "a,b")
    words = r"The peer on dead \(measure_network_peer\) can't be started: .*(refused|Failed to connect)"
    assert done.returncode == 2 and re.search(words, done.stdout), done.stdout
    assert recap(done.stdout)["a"]["failed"] == 1 and measurements(site) == {}
    # The other one has a peer of its own.
    assert recap(done.stdout)["b"]["failed"] == 0 and kinds(measurements(site, "b")) == [("transfer_benchmark", "download")] and peers(site) == []


def test_a_mistyped_interface_of_a_peer_is_told_with_what_there_is_and_nothing_else_failed_before(site):
    site.inventory({"a": LOCAL, "b": LOCAL}, dict(SMALL, measure_network_peer="b", measure_network_peer_address="eth99"))
    done = site.play("measure")
    said = "The peer on b (measure_network_peer) can't be started: measure_network_peer_address: 'eth99' is neither an address nor an interface"
    assert done.returncode == 2 and said in done.stdout and "ignored)" not in done.stdout, done.stdout
    said = "无法在 b（measure_network_peer）上启动对端服务：measure_network_peer_address：'eth99' 既不是该主机的地址，也不是其网口"
    assert said in site.play("measure", "-e", "gpu_audit_language=zh").stdout


def test_no_secret_is_shown_kept_or_cached(site):
    header, word, key = "hEaDeR-0815-secret", "pAsSwOrD-0815", "qUeRy-0815-secret"
    with servers.Server(servers.takes()) as server:
        url = server.url.replace("http://", "http://user:%s@" % word) + "?sig=" + key
        secret = {"measure_network_upload_url": url, "measure_network_request_url": url, "measure_network_headers": {"Authorization": "Bearer " + header},
                  "measure_network_request_headers": {"X-Key": header}, "measure_network_request_payload": {"text": header},
                  "measure_network_access_key": ""}
        site.inventory({"a": LOCAL}, dict(SMALL, **PEER, **secret))
        done = site.play("measure", "-vvv", ANSIBLE_CACHE_PLUGIN="jsonfile", ANSIBLE_CACHE_PLUGIN_CONNECTION=str(site.folder / "cache"),
                         ANSIBLE_LOG_PATH=str(site.folder / "log"))
    assert done.returncode == 0, done.stdout
    assert kinds(measurements(site)) == ALL
    kept = [path.read_text(errors="replace") for path in [*site.output.rglob("*"), *(site.folder / "cache").rglob("*"), site.folder / "log"] if path.is_file()]
    for secret in (header, word, key):
        assert secret not in done.stdout and not any(secret in text for text in kept)
    assert "a: transfer_benchmark of http" in done.stdout
    # The peer's own token is as long as its 24 random bytes are in base64.
    assert not re.search(r"Bearer [A-Za-z0-9_-]{16,}", done.stdout + "".join(kept))
