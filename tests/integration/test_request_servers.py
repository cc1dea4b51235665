# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Load tests against nginx (TLS, kept connections that end, refusals, a proxy), wrk beside them, queueing theory, and whole plays."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest
from playbook_site import LOCAL, Site

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit"))
import conftest as _unit_conftest  # noqa: E402,F401 puts the collection on the import path
import queueing_theory  # noqa: E402
from request_servers import TOKEN, load, peer, step  # noqa: E402

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import peer_process, request_load  # noqa: E402

NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s; keepalive_requests 20;
  limit_req_zone $binary_remote_addr zone=few:1m rate=1r/m;
  upstream peer {{ server {peer}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{tls} ssl; ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    location /v1/ {{ proxy_pass http://peer; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
    location /answer {{ proxy_pass http://peer; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    location /fixed {{ return 200 "a fixed answer"; }}
    location /few {{ limit_req zone=few burst=4 nodelay; try_files /none @fixed; }}
    location @fixed {{ return 200 "a fixed answer"; }}
    location /away {{ return 301 /fixed; }}
  }}
  server {{ listen 127.0.0.1:{forward}; location / {{ proxy_pass http://$http_host$request_uri; }} }}
}}
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        return [stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1] for _number in range(count)]


def certificates(folder):
    """ca.pem, and server.pem with server.key for 127.0.0.1."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=Lab CA", "-days", "2")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "server.key", "-out", "server.csr",
            "-subj", "/CN=lab")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", "server.pem", "-days", "2",
            "-extfile", "san")


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    """{"url": https, "ca": path, "forward": URL of a plain proxy, "peer": URL behind it}"""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None or not shutil.which("openssl"):
        pytest.skip("no nginx or no openssl")
    folder = tmp_path_factory.mktemp("nginx")
    certificates(folder)
    tls, forward = free_ports(2)
    with peer() as behind:
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, tls=tls, forward=forward, peer=behind[len("http://"):],
                                                        user="user root;" if os.geteuid() == 0 else ""))
        process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            until = time.monotonic() + 20
            while time.monotonic() < until and process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", tls), 1):
                    break
                time.sleep(0.05)
            else:
                pytest.skip("nginx doesn't start: %s" % process.stderr.read().decode()[-300:])
            yield {"url": "https://127.0.0.1:%d" % tls, "ca": str(folder / "ca.pem"), "forward": "http://127.0.0.1:%d" % forward,
                   "peer": behind}
        finally:
            process.terminate()
            process.wait(10)


def test_over_tls_with_the_facts_of_it(nginx):
    made = load(nginx["url"] + "/answer?delay_seconds=0.05&bytes=1000", ca_path=nginx["ca"], concurrency=[1, 20], requests=100,
                method="POST", payload_bytes=5000, warm_up=5)
    assert made["tls"]["version"].startswith("TLSv1.") and made["tls"]["issuer"] == "Lab CA" and made["tls"]["verified"] is True
    for found in made["steps"]:
        assert found["errors"] == {} and found["samples"] == 100 and 0.05 <= found["latency_p50_seconds"] < 0.1


def test_a_certificate_that_isnt_trusted_is_tls(nginx):
    found = step(nginx["url"] + "/fixed", requests=30)
    assert found["errors"] == {"tls": 20} and found["stopped"] == "errors"
    assert load(nginx["url"] + "/fixed", validate_certs=False, requests=5)["tls"]["verified"] is False


def test_connections_that_nginx_ends_after_twenty_requests_are_no_errors(nginx):
    # It says so with the twentieth answer (Connection: close).
    found = step(nginx["url"] + "/fixed", ca_path=nginx["ca"], requests=300, concurrency=[5], method="POST", payload_bytes=10)
    assert found["errors"] == {} and found["samples"] == 300 and found["reconnects"] == 0


def test_connecting_anew_each_time_takes_no_certificates_anew(nginx):
    found = step(nginx["url"] + "/fixed", ca_path=nginx["ca"], requests=100, concurrency=[10], keep_alive=False)
    assert found["errors"] == {} and found["latency_p50_seconds"] < 0.2


def test_refusals_of_a_busy_nginx_are_counted(nginx):
    # The first and a burst of four; of those so far more than half have failed with the 20th at the latest.
    found = step(nginx["url"] + "/few", ca_path=nginx["ca"], requests=100)
    assert found["samples"] == 5 and found["errors"] == {"http_5xx": 15} and found["stopped"] == "errors"


def test_a_stream_through_nginx(nginx):
    found = step(nginx["url"] + "/v1/chat/completions?first_token_seconds=0.1&tokens_per_second=50", ca_path=nginx["ca"],
                 streaming="openai", max_tokens=10, requests=10, concurrency=[5])
    assert found["errors"] == {} and found["tokens"] == 100 and 0.1 <= found["time_to_first_token_p50_seconds"] < 0.15


def test_through_a_proxy_of_the_environment(nginx, monkeypatch):
    monkeypatch.setenv("http_proxy", nginx["forward"].replace("//", "//name:s3cret@"))
    monkeypatch.delenv("no_proxy", raising=False)
    made = load(nginx["peer"] + "/answer", proxy="environment", requests=20)
    assert made["steps"][0]["errors"] == {} and made["address"] == nginx["forward"][len("http://"):]
    assert made["proxy"] == {"endpoint": nginx["forward"], "source": "environment", "tunnel": False} and "s3cret" not in json.dumps(made)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert load(nginx["peer"] + "/answer", proxy="environment", requests=2)["proxy"] is None


def test_wrk_measures_the_same():
    if not shutil.which("wrk"):
        pytest.skip("wrk isn't installed")
    with peer() as url:
        url += "/answer?delay_seconds=0.2"
        command = ["wrk", "-t1", "-c50", "-d3s", "--latency", "-H", "X-Peer-Token: " + TOKEN, url]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
        found = step(url, concurrency=[50], requests=750)
    theirs = float(re.search(r"50%\s+([\d.]+)ms", text).group(1)) / 1000
    assert found["latency_p50_seconds"] == pytest.approx(theirs, rel=0.03)


# ----------------------------------------------------------------------- queueing


def test_an_open_loop_measures_what_queueing_theory_expects():
    service, rate, count = 0.010, 55.0, 900
    with peer(slots=1) as url:
        found = step(url + "/answer?delay_seconds=%g" % service, arrival_rate_per_second=rate, arrivals="irregular", requests=count,
                     concurrency=[40], method="POST", duration_seconds=60.0)
    # What it takes with the machine's own share of each answer, from the requests that hardly waited.
    due, waits, free = request_load.due_moments(count, rate, irregular=True), [], 0.0
    for moment in due:
        begin = max(free, moment)
        waits.append(begin - moment)
        free = begin + service
    exact = sum(waits) / count + service
    assert found["errors"] == {} and found["queue_grows"] is False and found["samples"] == count
    # The same arrivals at an ideal server, and no more than a busy machine adds.
    assert exact * 0.98 <= found["latency_mean_seconds"] <= exact * 1.6
    # M/D/1, of which these arrivals are one draw.
    expected = (1 + queueing_theory.mg1_wait(rate * service, 0)) * service
    assert found["latency_mean_seconds"] == pytest.approx(expected, rel=0.5)


# ------------------------------------------------------------------- whole plays

PLAY = """
- hosts: all
  gather_facts: false
  tasks:
    - trainops.gpu_audit.network_peer: {{address: 127.0.0.1, port_range: 47700-47799, lifetime_seconds: 300, token: "{{{{ token }}}}"}}
      register: peer
    - trainops.gpu_audit.request_benchmark:
        url: "{{{{ peer.url | replace('//', '//name:s3cret-password@') }}}}/answer?delay_seconds={delay}&signature=s3cret-query"
        headers: {{X-Peer-Token: "{{{{ token }}}}"}}
        payload: "s3cret-prompt"
        concurrency: [1, 5]
        requests: {requests}
        warm_up: 1
        timeout_seconds: 4
        latency_slo_seconds: 1
        proxy: none
      register: measured
    - trainops.gpu_audit.network_peer: {{state: stopped, port: "{{{{ peer.port }}}}"}}
"""


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    made.inventory({"a": LOCAL, "b": LOCAL}, {"token": "s3cret-token-of-the-play"})
    yield made
    assert [note for note in peer_process.running() if 47700 <= note["port"] <= 47799] == []


def kept(site, name):
    files = sorted((site.output / "measurements" / name).glob("request_benchmark-*.json"))
    assert len(files) == 1
    return json.loads(files[0].read_text())


def processes():
    """The command lines and environments of all processes."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):
                found.append((folder / name).read_bytes())
    return b"\n".join(found)


def test_a_play_measures_keeps_and_shows_no_secret(site):
    site.own_play(PLAY.format(delay=0.1, requests=30))
    seen, ended = [], threading.Event()

    def watch():
        while not ended.wait(0.1):
            seen.append(b"s3cret" in processes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = site.play("own.yml", "-vvv")
    ended.set()
    watcher.join()
    assert done.returncode == 0, done.stdout
    assert "s3cret" not in done.stdout and len(seen) > 10 and not any(seen)
    for name in "ab":
        document = kept(site, name)
        assert document["result"]["knee_concurrency"] == 5 and document["result"]["steps"][1]["samples"] == 30
        assert document["target"] == document["options"]["url"] == document["result"]["endpoint"]
        assert "s3cret" not in json.dumps(document)
    assert "%s: request_benchmark" % "a" in done.stdout and "up to 61 requests of 13 B each" in done.stdout


def test_check_mode_of_a_play_sends_nothing(site):
    site.own_play("""
- hosts: a
  gather_facts: false
  tasks: [{trainops.gpu_audit.request_benchmark: {url: "http://127.0.0.1:1/", payload_bytes: 1 MiB, concurrency: [2]}}]
""")
    done = site.play("own.yml", "--check")
    assert done.returncode == 0 and "up to 210 requests of 1.00 MiB each, 2 at once" in done.stdout
    assert not (site.output / "measurements").exists()


def test_a_server_that_dies_half_way_ends_the_test_in_time_with_its_errors(site):
    site.own_play(PLAY.format(delay=0.1, requests=60))

    def kill():
        until = time.monotonic() + 60
        while time.monotonic() < until:
            notes = [note for note in peer_process.running() if 47700 <= note["port"] <= 47799]
            if notes:
                time.sleep(6)
                os.kill(notes[0]["pid"], signal.SIGKILL)
                return
            time.sleep(0.1)

    killer = threading.Thread(target=kill)
    killer.start()
    begun = time.monotonic()
    done = site.play("own.yml", "--limit", "a")
    killer.join()
    assert time.monotonic() - begun < 90
    result = kept(site, "a")["result"]
    errors = {kind for found in result["steps"] for kind in found["errors"]}
    assert done.returncode == 0 and "refused" in errors and errors <= {"refused", "reset"}, done.stdout
    assert any("refused" in note for note in result["notes"])
