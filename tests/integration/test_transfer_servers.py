# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Transfers against real servers: nginx with WebDAV, an S3-compatible one, a paced one; known speeds; no secret left anywhere."""

from __future__ import annotations

import contextlib
import glob
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest
from playbook_site import LOCAL, Site, recap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit"))
import conftest as _unit_conftest  # noqa: E402,F401 puts the collection on the import path
import transfer_servers as servers  # noqa: E402
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer, transfer_stream  # noqa: E402
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import presign  # noqa: E402

MEGABYTE = 10 ** 6


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def run(url, direction, **options):
    return transfer.run(dict({"url": url, "direction": direction, "attempts": 1, "timeout_seconds": 60, "retries": 0}, **options))


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def await_port(port, process, seconds=30):
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        time.sleep(0.1)
    return False


# ---------------------------------------------------------------- known speeds


def test_a_download_of_a_megabyte_a_second():
    with servers.Server(servers.paced(b"x" * 10 * MEGABYTE, MEGABYTE)) as server:
        result = run(server.url, "download")
    assert result["bytes"] == 10 * MEGABYTE and result["bytes_per_second"] == pytest.approx(MEGABYTE, rel=0.03)
    assert result["peak_bytes_per_second"] == pytest.approx(MEGABYTE, rel=0.03)
    assert len(result["attempts"][0]["series"]) in (9, 10)


def test_an_upload_of_a_megabyte_a_second():
    with servers.Server(servers.takes(bytes_per_second=MEGABYTE), receive_buffer=16384) as server:
        result = run(server.url, "upload", bytes=10 * MEGABYTE)
    assert result["bytes_per_second"] == pytest.approx(MEGABYTE, rel=0.03)
    # What the other kernel took before its program read it is in the first second; it confirms in steps.
    series = result["attempts"][0]["series"]
    assert sum(series[1:9]) == pytest.approx(8 * MEGABYTE, rel=0.1) and min(series) > 0.5 * MEGABYTE


# ---------------------------------------------------------------------- nginx


NGINX = """
daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u;
  scgi_temp_path {folder}/s; client_max_body_size 100m;
  server {{
    listen 127.0.0.1:{port};
    root {folder}/files;
    location / {{ dav_methods PUT DELETE; create_full_put_path on; }}
    location /slow/ {{ limit_rate 1000000; }}
    location /small/ {{ dav_methods PUT; client_max_body_size 1k; }}
    location /closed/ {{ return 403; }}
    location /away/ {{ return 302 http://127.0.0.1:{port}/weights.bin; }}
  }}
}}
"""


@pytest.fixture(scope="module")
def nginx(tmp_path_factory):
    """(folder of its files, URL) of an nginx of our own."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if program is None:
        pytest.skip("no nginx")
    if "http_dav_module" not in subprocess.run([program, "-V"], capture_output=True, text=True, check=False).stderr:
        pytest.skip("nginx without its WebDAV module")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    files = folder / "files"
    (files / "slow").mkdir(parents=True)
    (files / "weights.bin").write_bytes(os.urandom(3 * MEGABYTE))
    (files / "slow" / "weights.bin").write_bytes(os.urandom(10 * MEGABYTE))
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, user="user root;" if os.geteuid() == 0 else ""))
    process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-p", str(folder), "-c", str(folder / "nginx.conf")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        if not await_port(port, process):
            pytest.skip("nginx doesn't start: %s" % process.stderr.read().decode()[-300:])
        yield files, "http://127.0.0.1:%d/" % port
    finally:
        process.terminate()
        process.wait(10)


def test_webdav_uploads_are_verified_and_deleted(nginx):
    files, url = nginx
    result = run(url + "in/", "upload", bytes=20 * MEGABYTE, attempts=3)
    assert result["attempts_failed"] == 0 and result["bytes"] == 60 * MEGABYTE and result["retries_count"] == 0
    assert [attempt["status"] for attempt in result["attempts"]] == [201, 204, 204]
    assert result["checksum"] == {"algorithm": "sha256", "verified": True, "how": "reading it back"}
    assert list((files / "in").iterdir()) == [] and any("was deleted afterwards" in note for note in result["notes"])


def test_webdav_with_streams_and_a_name_of_the_user_s(nginx):
    files, url = nginx
    result = run(url + "in/", "upload", bytes=20 * MEGABYTE, streams=4)
    assert result["streams"] == 4 and result["bytes"] == 20 * MEGABYTE and list((files / "in").iterdir()) == []
    assert run(url + "in/mine.bin", "upload", bytes=MEGABYTE)["checksum"]["verified"] is True and list((files / "in").iterdir()) == []
    with pytest.raises(transfer.Refused, match="replaces nothing"):
        run(url + "weights.bin", "upload", bytes=MEGABYTE)
    assert (files / "weights.bin").stat().st_size == 3 * MEGABYTE


def test_a_download_from_nginx(nginx):
    import hashlib
    files, url = nginx
    wanted = "sha256:" + hashlib.sha256((files / "weights.bin").read_bytes()).hexdigest()
    result = run(url + "weights.bin", "download", attempts=3, checksum=wanted)
    assert result["checksum"]["verified"] is True and result["bytes"] == 9 * MEGABYTE
    assert run(url + "weights.bin", "download", streams=3)["bytes"] == 3 * MEGABYTE
    away = run(url + "away/", "download", checksum=wanted)
    assert away["checksum"]["verified"] is True and "redirected to %s" % url[:-1] in away["notes"]
    slow = run(url + "slow/weights.bin", "download")
    assert slow["bytes_per_second"] == pytest.approx(MEGABYTE, rel=0.05)


@pytest.mark.parametrize("path, direction, kind, words", [
    ("none.bin", "download", "http_4xx", "HTTP 404 Not Found"), ("closed/x", "download", "http_4xx", "HTTP 403 Forbidden"),
    ("small/", "upload", "http_4xx", "HTTP 413 %s" % http.client.responses[413]), ("slow/", "upload", "http_4xx", "HTTP 405 Method Not Allowed")])
def test_what_nginx_refuses(nginx, path, direction, kind, words):
    _files, url = nginx
    result = run(url + path, direction, bytes=MEGABYTE, retries=2)
    assert result["attempts"][0]["error"] == {"kind": kind, "message": words} and result["retries_count"] == 0


# ------------------------------------------------------- an S3-compatible server

KEYS = {"access_key": "AKIAIOSFODNN7EXAMPLE", "secret_key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}


@pytest.fixture(scope="module")
def moto():
    """URL of a moto server with a bucket `data` in it."""
    program = os.environ.get("GPU_AUDIT_MOTO_SERVER") or shutil.which("moto_server")
    if program is None:
        pytest.skip("no moto_server: `make test` makes one from requirements/s3-server.txt, or name it in GPU_AUDIT_MOTO_SERVER")
    port = free_port()
    process = subprocess.Popen([program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if not await_port(port, process, 60):
            pytest.skip("moto's server doesn't start")
        url = "http://127.0.0.1:%d" % port
        signed = presign.presign("PUT", url + "/data", KEYS["access_key"], KEYS["secret_key"], "us-east-1", 60)
        urllib.request.urlopen(urllib.request.Request(signed, method="PUT", data=b""), timeout=30).close()
        yield url
    finally:
        process.terminate()
        process.wait(10)


def test_presigned_urls_of_object_storage(moto):
    def signed(method, key):
        return presign.presign(method, "%s/data/%s" % (moto, key), KEYS["access_key"], KEYS["secret_key"], "us-east-1", 600)
    result = run(signed("PUT", "a.bin"), "upload", bytes=5 * MEGABYTE, attempts=3, read_url=signed("GET", "a.bin"))
    assert result["storage"] == "s3" and result["attempts_failed"] == 0 and result["endpoint"] == moto + "/data/a.bin"
    assert result["checksum"] == {"algorithm": "md5", "verified": True, "how": "ETag"}
    assert any("there is nothing to delete it with" in note for note in result["notes"])
    down = run(signed("GET", "a.bin"), "download", attempts=2)
    assert down["bytes"] == 10 * MEGABYTE and down["checksum"] == {"algorithm": "md5", "verified": True, "how": "ETag"}
    assert run(signed("GET", "a.bin"), "download", streams=2)["bytes"] == 5 * MEGABYTE
    missing = run(signed("GET", "none"), "download")
    assert missing["attempts"][0]["error"] == {"kind": "http_4xx", "message": "HTTP 404 Not Found (NoSuchKey)"}
    for known in ({}, {"read_url": signed("GET", "a.bin")}):
        with pytest.raises(transfer.Refused):
            run(signed("PUT", "a.bin"), "upload", bytes=MEGABYTE, **known)
    assert run(signed("PUT", "a.bin"), "upload", bytes=MEGABYTE, overwrite=True, delete_urls=[signed("DELETE", "a.bin")])["attempts_failed"] == 0
    assert run(signed("GET", "a.bin"), "download")["attempts"][0]["status"] is None
    for document in (result, down, missing):
        assert "Amz" not in json.dumps(document) and KEYS["access_key"] not in json.dumps(document)


# ------------------------------------------------------------------ the action

SECRETS = {"user": "us3rname", "password": "pa55word0fmine", "query": "s1gnature0fmine", "header": "t0ken0fmine", **KEYS}


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    made.inventory({"a": dict(LOCAL)})
    return made


def task(**options):
    return json.dumps([{"hosts": "all", "gather_facts": False, "tasks": [{"trainops.gpu_audit.transfer_benchmark": options}]}])


class Watch(threading.Thread):
    """Reads the command lines and environments of all processes again and again, and keeps those with a secret."""

    def __init__(self, secrets, own):
        super().__init__(daemon=True)
        self.secrets, self.own, self.found, self.looks, self.ended = [secret.encode() for secret in secrets], own, [], 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            self.looks += 1
            for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
                with contextlib.suppress(OSError), open(path, "rb") as stream:
                    text = stream.read()
                    if any(secret in text for secret in self.secrets):
                        self.found.append((path, text))


def files_with(folder, secrets, but):
    """Files below a folder that hold one of these texts."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.name not in but:
            text = path.read_bytes()
            found += ["%s: %s" % (path, secret) for secret in secrets if secret.encode() in text]
    return found


@pytest.mark.parametrize("pipelining", ["true", "false"])
def test_no_secret_is_left_of_a_download(site, pipelining):
    with servers.Server(servers.paced(b"x" * 2 * MEGABYTE, MEGABYTE)) as server:
        url = server.url.replace("://", "://%s:%s@" % (SECRETS["user"], SECRETS["password"])) + "weights.bin?X-Amz-Signature=" + SECRETS["query"]
        site.own_play(task(url=url, direction="download", attempts=1, headers={"X-Token": SECRETS["header"]}))
        watch = Watch(SECRETS.values(), os.getpid())
        watch.start()
        done = site.play("own.yml", "-vvv", ANSIBLE_PIPELINING=pipelining)
        watch.ended.set()
        watch.join()
        (request,) = server.requests
    assert done.returncode == 0, done.stdout
    # They did reach the server.
    assert SECRETS["query"] in request.path and request.headers["x-token"] == SECRETS["header"] and "authorization" in request.headers
    assert watch.looks > 20 and not watch.found
    assert not [secret for secret in SECRETS.values() if secret in done.stdout]
    assert not files_with(site.folder, SECRETS.values(), {"own.yml"})
    (path,) = site.output.glob("measurements/a/transfer_benchmark-*.json")
    kept = json.loads(path.read_text())
    assert kept["target"] == server.url + "weights.bin (download)" and kept["options"]["url"] == server.url + "weights.bin"
    assert kept["result"]["bytes_per_second"] == pytest.approx(MEGABYTE, rel=0.05) and kept["result"]["retries_count"] == 0


def test_a_failure_keeps_its_secrets_too(site):
    url = "http://%s:%s@127.0.0.1:%d/x?sig=%s" % (SECRETS["user"], SECRETS["password"], free_port(), SECRETS["query"])
    site.own_play(task(url=url, direction="upload", attempts=2, retries=0, bytes="1 MB", proxy=url, headers={"X-Token": SECRETS["header"]}))
    done = site.play("own.yml", "-vvv")
    assert not [secret for secret in SECRETS.values() if secret in done.stdout] and not files_with(site.folder, SECRETS.values(), {"own.yml"})
    (path,) = site.output.glob("measurements/a/transfer_benchmark-*.json")
    kept = json.loads(path.read_text())["result"]
    assert kept["attempts_failed"] == 2 and kept["attempts"][0]["error"]["kind"] == "proxy" and "upload failed: the proxy: " in done.stdout
    site.own_play(task(url=url.replace("http:", "gopher:"), direction="upload"))
    refused = site.play("own.yml", "-vvv")
    assert refused.returncode == 2 and "no http or https URL" in refused.stdout
    assert not [secret for secret in SECRETS.values() if secret in refused.stdout]


def test_keys_stay_on_the_controller(site, moto):
    site.own_play(task(url="s3://data/in/", s3_endpoint=moto, direction="upload", bytes="3 MB", streams=2, attempts=2, **KEYS))
    watch = Watch(KEYS.values(), os.getpid())
    watch.start()
    done = site.play("own.yml", "-vvv")
    watch.ended.set()
    watch.join()
    assert done.returncode == 0 and recap(done.stdout)["a"]["ok"] == 1, done.stdout
    assert not watch.found and not [key for key in KEYS.values() if key in done.stdout]
    assert not files_with(site.folder, KEYS.values(), {"own.yml"})
    (path,) = site.output.glob("measurements/a/transfer_benchmark-*.json")
    kept = json.loads(path.read_text())
    assert kept["target"] == "s3://data/in/ (upload)" and kept["options"]["secret_key"] == "***" and kept["result"]["endpoint"] == moto + "/data/in/"
    assert kept["result"]["attempts_failed"] == 0 and kept["result"]["streams"] == 2 and kept["result"]["checksum"]["how"] == "ETag"
    assert any("deleted afterwards" in note for note in kept["result"]["notes"])


def test_check_mode_announces_and_asks_nobody(site):
    with servers.Server(servers.gives(b"x")) as server:
        site.own_play(task(url=server.url + "?sig=" + SECRETS["query"], direction="upload", bytes="1 GiB", attempts=2, timeout_seconds=60))
        done = site.play("own.yml", "--check")
        assert done.returncode == 0 and not server.requests
    assert "sends 1.00 GiB in each attempt, attempts: 2 of at most 60 s" in done.stdout and "6.00 GiB at the most" in done.stdout
    assert "at most 5 min" in done.stdout and SECRETS["query"] not in done.stdout and not list(site.output.glob("measurements/a/*.json"))


# ----------------------------------------------------------------------- ended

UPLOAD = """
import sys
sys.path.insert(0, {root!r})
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer
try:
    transfer.run({{"url": {url!r}, "direction": "upload", "bytes": 100000000, "attempts": 3}})
except transfer.Interrupted as interrupted:
    sys.exit(str(interrupted))
"""


def test_a_signal_ends_it_and_what_was_uploaded_is_deleted(tmp_path):
    started = threading.Event()

    def slow(connection, request):
        if request.method == "PUT":
            started.set()
            servers.read_body(connection, request, None, MEGABYTE)
        else:
            connection.sendall(servers.answer(204))
    root = next(path for path in sys.path if os.path.exists(os.path.join(path, "ansible_collections", "trainops", "gpu_audit")))
    with servers.Server(slow) as server:
        process = subprocess.Popen([sys.executable, "-c", UPLOAD.format(root=root, url=server.url)], stderr=subprocess.PIPE, text=True)
        assert started.wait(20)
        process.send_signal(signal.SIGTERM)
        _out, words = process.communicate(timeout=30)
        assert [request.method for request in server.requests] == ["PUT", "DELETE"]
    assert process.returncode == 1 and words.startswith("ended by SIGTERM; what was uploaded to http://127.0.0.1:")


def test_the_second_the_bytes_moved_in_is_theirs():
    moved = transfer_stream.Moved()
    moved.begin()
    moved.add(5)
    time.sleep(1.02)
    moved.add(7)
    assert moved.series() == [5] and moved.total == 12


@pytest.mark.parametrize("pipelining", ["true", "false"])
def test_the_role_measures_object_storage_with_keys_that_stay_on_the_controller(site, moto, pipelining):
    body, keys = os.urandom(3 * MEGABYTE), {**KEYS, "session_token": "s3ss10nt0ken0fmine"}
    signed = presign.presign("PUT", moto + "/data/llm/weights.bin", KEYS["access_key"], KEYS["secret_key"], "us-east-1", 60)
    # Of another type moto looks for a form in it.
    put = urllib.request.Request(signed, data=body, method="PUT", headers={"Content-Type": "application/octet-stream"})
    urllib.request.urlopen(put, timeout=30).close()
    site.inventory({"a": dict(LOCAL)}, {
        "measure_network_upload_url": "s3://data/in/", "measure_network_download_url": "s3://data/llm/weights.bin", "measure_network_s3_endpoint": moto,
        "measure_network_upload_bytes": "2 MB", "measure_network_attempts": 2, "measure_network_streams": 1,
        **{"measure_network_" + name: value for name, value in keys.items()}})
    said = site.play("measure", "--check", "-vvv", ANSIBLE_PIPELINING=pipelining)
    assert said.returncode == 0 and "a: transfer_benchmark of s3://data/llm/weights.bin (download): at most" in said.stdout, said.stdout
    watch = Watch(keys.values(), os.getpid())
    watch.start()
    log = site.folder / "ansible.log"
    done = site.play("measure", "-vvv", ANSIBLE_PIPELINING=pipelining, ANSIBLE_LOG_PATH=str(log), ANSIBLE_CACHE_PLUGIN="jsonfile",
                     ANSIBLE_CACHE_PLUGIN_CONNECTION=str(site.folder / "facts"))
    watch.ended.set()
    watch.join()
    assert done.returncode == 0 and recap(done.stdout)["a"]["failed"] == 0, done.stdout
    # Neither keys nor what they signed are anywhere but in the inventory.
    secrets = [*keys.values(), "X-Amz-Signature"]
    assert watch.looks > 20 and not watch.found and log.stat().st_size
    assert not [text for text in secrets if text in done.stdout + said.stdout]
    assert not files_with(site.folder, secrets, {"hosts.json"})
    found = [json.loads(path.read_text()) for path in site.output.glob("measurements/a/transfer_benchmark-*.json")]
    up, down = sorted(found, key=lambda kept: kept["result"]["direction"], reverse=True)
    assert (up["target"], down["target"]) == ("s3://data/in/ (upload)", "s3://data/llm/weights.bin (download)")
    for kept, size in ((up, 2 * MEGABYTE), (down, len(body))):
        result = kept["result"]
        assert result["storage"] == "s3" and result["attempts_failed"] == 0 and result["bytes"] == 2 * size and result["bytes_per_second"] > 0
        assert result["checksum"] == {"algorithm": "md5", "verified": True, "how": "ETag"} and result["own_address"] is True
        assert kept["options"]["secret_key"] == kept["options"]["access_key"] == kept["options"]["session_token"] == "***"
    assert any("deleted afterwards" in note for note in up["result"]["notes"])
    with urllib.request.urlopen(moto + "/data?list-type=2", timeout=30) as answer:
        listed = answer.read().decode()
    assert "llm/weights.bin" in listed and "gpu-audit-transfer" not in listed


@pytest.mark.parametrize(("variables", "words"), [
    ({"measure_network_secret_key": ""}, "measure_network_access_key and measure_network_secret_key belong together"),
    ({"measure_network_upload_url": "s3://data/in/x.bin"}, "end the URL in /"),
    ({"measure_network_access_key": "", "measure_network_secret_key": ""}, "s3:// needs measure_network_access_key and measure_network_secret_key"),
])
def test_what_the_role_can_not_sign_is_refused_without_the_keys(site, variables, words):
    given = {"measure_network_upload_url": "s3://data/in/", **{"measure_network_" + name: value for name, value in KEYS.items()}, **variables}
    site.inventory({"a": dict(LOCAL)}, given)
    done = site.play("measure", "-vvv")
    assert done.returncode == 2 and words in done.stdout, done.stdout
    assert not [key for key in KEYS.values() if key in done.stdout] and not files_with(site.folder, KEYS.values(), {"hosts.json"})
