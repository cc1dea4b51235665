# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Redirects of uploads: nothing is replaced that wasn't looked at, nothing deleted that isn't the test's own, no secret told."""

from __future__ import annotations

import json
import re

import pytest
import transfer_servers as servers
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import transfer
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints
from transfer_runs import counted, kinds, run

pytestmark = pytest.mark.usefixtures("no_proxies")

SIGNED = "?X-Amz-Signature=abcdef"


def leads(to, *methods, otherwise=None):
    """Redirects these methods to `to`; %s of it is the path that was asked for, without its first /."""
    def behave(connection, request):
        if request.method not in methods:
            return (otherwise or servers.refuses(404))(connection, request)
        servers.read_body(connection, request)
        place = to % request.path[1:] if "%s" in to else to
        return connection.sendall(servers.answer(307, b"", [("Location", place)]))
    return behave


def asked(server):
    return [(request.method, request.path) for request in server.requests]


@pytest.mark.parametrize("methods", [("PUT",), ("PUT", "DELETE")])
@pytest.mark.parametrize("path", ["up.bin", "dir/"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_an_upload_replaces_and_deletes_nothing_where_a_server_leads_it(methods, path, overwrite):
    store = {"/precious.bin": b"old"}
    with servers.Server(servers.keeps(store)) as other, servers.Server(leads(other.url + "precious.bin", *methods)) as server:
        with pytest.raises(transfer.Refused, match="something lies there") as refused:
            run(server.url + path, "upload", overwrite=overwrite)
        assert asked(other) == [("HEAD", "/precious.bin")] and store == {"/precious.bin": b"old"}
        assert [method for method, _path in asked(server)] == (["PUT"] if overwrite or path == "dir/" else ["HEAD", "PUT"])
    assert re.search("[\u4e00-\u9fff]", complaints.say(str(refused.value), "zh")) and "precious" not in str(refused.value)


@pytest.mark.parametrize("status", [401, 403, 405])
def test_what_may_lie_where_a_server_leads_is_not_replaced(status):
    with servers.Server(servers.refuses(status)) as other, servers.Server(leads(other.url + "theirs", "PUT")) as server:
        with pytest.raises(transfer.Refused, match="HTTP %d" % status):
            run(server.url, "upload")
        assert asked(other) == [("HEAD", "/theirs")]


def test_where_nothing_lies_an_upload_is_led_to_and_deleted():
    store = {}
    with servers.Server(servers.keeps(store)) as other, servers.Server(leads(other.url + "free.bin", "PUT")) as server:
        result = run(server.url + "up.bin", "upload", attempts=2)
        assert counted(result) == (2, 0, 0) and store == {} and result["checksum"]["verified"] is True
        methods = [request.method for request in other.requests]
        assert methods == ["HEAD", "PUT", "PUT", "GET", "DELETE"] and ["if-none-match" in put.headers for put in other.requests[1:3]] == [True, False]
        # Nothing of ours lies where the first one was sent.
        assert "DELETE" not in [method for method, _path in asked(server)]
    assert "what was uploaded to %sup.bin -> %s was deleted afterwards" % (server.url, other.url[:-1]) in result["notes"]


def test_a_server_that_something_was_stored_with_meanwhile_keeps_it():
    with servers.Server(servers.refuses(404), servers.refuses(412)) as other, servers.Server(leads(other.url + "free.bin", "PUT")) as server:
        with pytest.raises(transfer.Refused, match="replaces nothing"):
            run(server.url, "upload")
        assert [method for method, _path in asked(other)] == ["HEAD", "PUT"]


def test_a_name_of_the_test_s_own_is_led_anywhere():
    store = {}
    with servers.Server(servers.keeps(store)) as other, servers.Server(leads(other.url + "far/%s", "PUT")) as server:
        result = run(server.url + "in/", "upload", streams=2)
        assert counted(result) == (1, 0, 0) and result["streams"] == 2 and store == {}
        paths = {path for method, path in asked(other) if method == "PUT"}
        assert len(paths) == 2 and all(re.match(r"/far/in/gpu-audit-transfer-[0-9a-f]{12}\.bin\Z", path) for path in paths)
        assert {method for method, _path in asked(other)} == {"PUT", "DELETE"} and "HEAD" not in [method for method, _path in asked(server)]


def test_another_test_s_name_is_not_the_test_s_own():
    store = {"/gpu-audit-transfer-0123456789ab.bin": b"theirs"}
    with servers.Server(servers.keeps(store)) as other, servers.Server(leads(other.url + "gpu-audit-transfer-0123456789ab.bin", "PUT")) as server:
        with pytest.raises(transfer.Refused, match="something lies there"):
            run(server.url, "upload")
    assert store == {"/gpu-audit-transfer-0123456789ab.bin": b"theirs"}


def test_what_only_the_server_that_redirects_can_delete_is_deleted_by_it():
    def only_signed(connection, request):
        servers.read_body(connection, request)
        connection.sendall(servers.answer(403 if request.method == "DELETE" and "Signature" not in request.path else 204))
    with servers.Server(only_signed) as other, servers.Server(leads(other.url + "%s" + SIGNED, "PUT", "DELETE")) as server:
        result = run(server.url, "upload")
        assert [method for method, _path in asked(other)] == ["PUT", "DELETE"] and "Signature" in other.requests[1].path
    assert counted(result) == (1, 0, 0) and any("was deleted afterwards" in note for note in result["notes"])


@pytest.mark.parametrize("path", ["up.bin", "dir/"])
def test_a_delete_is_led_to_nothing_else(path):
    store = {"/up.bin": b"theirs", "/precious.bin": b"theirs"}
    with servers.Server(servers.keeps(store)) as other:
        for to in ("precious.bin", "up.bin"):
            def behave(connection, request, to=to):
                if request.method == "PUT":
                    return servers.takes()(connection, request)
                return leads(other.url + to, "DELETE")(connection, request)
            with servers.Server(behave) as server:
                result = run(server.url + path, "upload")
            assert counted(result) == (1, 0, 0) and len(store) == 2 and other.requests == []
            assert any("couldn't be deleted (redirected to %s): delete it by hand" % other.url[:-1] in note for note in result["notes"])


def test_that_another_object_is_absent_says_nothing():
    with servers.Server(servers.refuses(404)) as other, servers.Server(leads(other.url + "else", "HEAD", otherwise=servers.takes())) as server:
        with pytest.raises(transfer.Refused, match=r"doesn't say whether something lies at .*\(redirected to "):
            run(server.url + "theirs", "upload")
        assert asked(server) == [("HEAD", "/theirs")] and other.requests == []


def test_overwrite_holds_for_the_same_object_with_another_server():
    with servers.Server(servers.takes()) as other, servers.Server(leads(other.url + "%s", "PUT")) as server:
        result = run(server.url + "k?a=1", "upload", overwrite=True)
        assert counted(result) == (1, 0, 0) and asked(other) == [("PUT", "/k?a=1")]
        assert any("stays at" in note for note in result["notes"])


@pytest.mark.parametrize(("key", "allowed"), [("k", True), ("other", False)])
def test_a_presigned_upload_is_led_to_the_key_that_was_looked_at(key, allowed):
    with servers.Server(servers.takes()) as other:
        with servers.Server(leads(other.url + key + SIGNED + "far", "PUT")) as server:
            def go():
                return run(server.url + "k" + SIGNED, "upload", read_url=server.url + "k" + SIGNED, delete_urls=[server.url + "k" + SIGNED])
            if allowed:
                assert counted(go()) == (1, 0, 0)
                assert [request.method for request in server.requests] == ["GET", "PUT", "GET", "GET", "DELETE"]
                assert other.requests[0].headers["if-none-match"] == "*"
            else:
                with pytest.raises(transfer.Refused, match="signed for one method"):
                    go()
                assert other.requests == []


def test_a_peer_never_redirects():
    with servers.Server(servers.takes()) as other, servers.Server(leads(other.url + "sink", "PUT")) as server:
        result = run(server.url, "upload", storage="peer", token="t0ken")
        assert kinds(result) == [([], "protocol")] and other.requests == []


@pytest.mark.parametrize("direction", ["upload", "download"])
def test_what_a_server_puts_into_a_redirect_is_not_told(direction):
    secret = "SuperSecretToken12345"
    with servers.Server(servers.gives(b"x" * 1000)) as other:
        def echoes(connection, request):
            given = request.headers["authorization"].split()[1]
            leads(other.url + "got/" + given + "/%%53" + given[1:], "GET", "PUT", "DELETE")(connection, request)
        with servers.Server(echoes) as server:
            try:
                said = json.dumps(run(server.url + "in/x", direction, headers={"Authorization": "Bearer " + secret}, overwrite=True))
            except transfer.Refused as refused:
                said = str(refused)
    assert "redirected to %s" % other.url[:-1] in said and secret[1:] not in said


def test_a_token_alone_is_secret_too():
    found = transfer.secrets({"url": "http://h/x?key=Abcdefghijklmnop1&n=5", "headers": {
        "Authorization": "Bearer SuperSecretToken12345", "Accept": "text/html; q=0.5", "X": "a b c"}})
    assert {"SuperSecretToken12345", "supersecrettoken12345", "Abcdefghijklmnop1", "abcdefghijklmnop1"} <= set(found)
    assert not {"Bearer", "bearer", "q=0.5", "5"} & set(found)
    # Read before anybody has looked at them.
    assert transfer.secrets({"url": "http://[x?key=Abcdefghijklmnop1"})
