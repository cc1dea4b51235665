# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a transfer says of its checksum: given, stated by the server, or none; wrong bytes have no speed."""

from __future__ import annotations

import base64
import hashlib

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer
from transfer_runs import BODY, GOOD, SHA256, counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")


@pytest.mark.parametrize("headers", [[("X-Checksum-Sha256", SHA256)], [("Repr-Digest", "sha-256=:%s:")], [("Digest", "SHA-256=%s")],
                                     [("x-amz-checksum-sha256", "%s")]])
@pytest.mark.parametrize("good", [True, False])
def test_a_checksum_that_the_server_states_is_compared(headers, good):
    stated = [(name, value % base64.b64encode(bytes.fromhex(SHA256)).decode() if "%s" in value else value) for name, value in headers]
    with servers.Server(servers.gives(BODY if good else BODY[:-1] + b"?", stated)) as server:
        result = run(server.url, attempts=2)
    assert result["checksum"] == {"algorithm": "sha256", "verified": good, "how": headers[0][0]}
    # Wrong bytes don't become right by asking again, and have no speed.
    assert kinds(result) == [([], None if good else "checksum")] * 2 and (result["bytes_per_second"] is None) is not good


def test_a_given_checksum_goes_before_the_server_s():
    with servers.Server(servers.gives(BODY, [("X-Checksum-Sha256", "0" * 64)])) as server:
        assert run(server.url, checksum="sha256:" + SHA256)["checksum"]["verified"] is True
        assert kinds(run(server.url, checksum="sha256:" + "0" * 64)) == [([], "checksum")]


def both(body, length):
    """A chunked answer that has a Content-Length beside."""
    def behave(connection, request):
        connection.sendall(servers.answer(200, b"", [("Transfer-Encoding", "chunked"), ("Content-Length", length)], length=False))
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    return behave


def test_a_given_checksum_is_compared_or_the_attempt_failed():
    with servers.Server(both(BODY[:-1] + b"?", "99999999999"), both(BODY, "99999999999")) as server:
        assert kinds(run(server.url, checksum="sha256:" + SHA256)) == [([], "checksum")]
        assert run(server.url, checksum="sha256:" + SHA256)["checksum"]["verified"] is True
    with servers.Server(GOOD) as server:
        result = run(server.url, bytes=50000, checksum="sha256:" + SHA256)
    assert kinds(result) == [([], "checksum")] and "limit of bytes" in result["attempts"][0]["error"]["message"]
    assert result["bytes_per_second"] is None and result["checksum"]["verified"] is None
    with pytest.raises(ValueError, match="take one stream"):
        transfer.plan({"url": "http://h/", "direction": "download", "checksum": "sha256:" + SHA256, "streams": 2})


def test_a_checksum_that_this_host_can_not_compute_is_refused(monkeypatch):
    monkeypatch.setattr(hashlib, "algorithms_available", {"sha256"})
    with pytest.raises(ValueError, match="can't compute md5"):
        transfer.plan({"url": "http://h/", "direction": "download", "checksum": "md5:" + "0" * 32})


def test_an_etag_that_is_no_md5_says_nothing():
    with servers.Server(servers.gives(BODY, [("ETag", '"%s"' % hashlib.md5(BODY).hexdigest())]),
                        servers.gives(BODY, [("ETag", '"%s"' % ("0" * 32))])) as server:
        assert run(server.url, storage="s3")["checksum"]["verified"] is True
        other = run(server.url, storage="s3")
    assert other["checksum"]["verified"] is None and counted(other) == (1, 0, 0)
