# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Presigned URLs against the vectors that AWS publishes; the options that take the place of keys; secrets in what is kept and said."""

from __future__ import annotations

import datetime
import json
from urllib.parse import parse_qs, urlsplit

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints, measuring, presign, secret_options

# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
ACCESS, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
MAY_2013 = datetime.datetime(2013, 5, 24, tzinfo=datetime.timezone.utc)


def test_the_published_example():
    url = presign.presign("GET", "https://examplebucket.s3.amazonaws.com/test.txt", ACCESS, SECRET, "us-east-1", 86400, now=MAY_2013)
    assert url == (
        "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256"
        "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z"
        "&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")


@pytest.mark.parametrize("day, service, key", [
    ("20120215", "iam", "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d"),
    ("20150830", "iam", "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9")])
def test_the_published_signing_keys(day, service, key):
    assert presign.signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", day, "us-east-1", service).hex() == key


def test_a_session_token_is_signed_with_the_rest():
    url = presign.presign("PUT", "http://h:9000/b/k", ACCESS, SECRET, "r", 60, "to/ken==", MAY_2013)
    assert "&X-Amz-Security-Token=to%2Fken%3D%3D&X-Amz-SignedHeaders=host&" in url
    assert url != presign.presign("PUT", "http://h:9000/b/k", ACCESS, SECRET, "r", 60, None, MAY_2013)


@pytest.mark.parametrize("url, same", [
    ("https://h:443/k", "https://h/k"), ("http://h:80/k", "http://h/k"), ("https://h/a%20b", "https://h/a b"), ("https://h", "https://h/"),
    ("https://h/k?b=2&a=1", "https://h/k?a=1&b=2")])
def test_what_is_the_same_is_signed_the_same(url, same):
    signed = [presign.presign("GET", each, ACCESS, SECRET, "r", 60, None, MAY_2013) for each in (url, same)]
    assert signed[0] == signed[1] and " " not in signed[0]


def test_names_are_encoded_once():
    url = presign.presign("GET", "https://h/b/a+b%2Bc%25/\u6570\u636e~", ACCESS, SECRET, "r", 60, None, MAY_2013)
    assert urlsplit(url).path == "/b/a%2Bb%2Bc%25/%E6%95%B0%E6%8D%AE~"


def test_a_signature_holds_at_most_a_week():
    url = presign.presign("GET", "https://h/k", ACCESS, SECRET, "r", 10 ** 9, None, MAY_2013)
    assert parse_qs(urlsplit(url).query)["X-Amz-Expires"] == ["604800"]


@pytest.mark.parametrize("arguments, url", [
    (("s3://b/k/x", "eu-west-1"), "https://b.s3.eu-west-1.amazonaws.com/k/x"), (("s3://b/k", "r", "https://h:9000"), "https://h:9000/b/k"),
    (("s3://b/k/", "r", "https://h/base/", "path"), "https://h/base/b/k/"), (("s3://b/k", "r", "https://h:9000", "virtual"), "https://b.h:9000/k"),
    (("s3://b/", "r", "http://h", "path"), "http://h/b/"), (("https://b.h/k", "r", "http://other"), "https://b.h/k")])
def test_where_an_object_lies(arguments, url):
    assert presign.object_url(*arguments) == url


@pytest.mark.parametrize("key, path", [
    ("a%41", "/b/a%2541"), ("a b+c", "/b/a%20b%2Bc"), ("\u6570/x", "/b/%E6%95%B0/x"), ("/x//y", "/b//x//y"), ("100%", "/b/100%25"), ("in/", "/b/in/")])
def test_a_key_is_taken_as_it_is(key, path):
    url = presign.object_url("s3://b/" + key, "r", "http://h:9000")
    assert urlsplit(url).path == path == urlsplit(presign.presign("GET", url, ACCESS, SECRET, "r", 60, None, MAY_2013)).path


@pytest.mark.parametrize("key", ["data#1.bin", "da?ta.bin", "?", "#"])
def test_a_key_that_no_announcement_would_name_is_refused(key):
    with pytest.raises(ValueError, match="with %3F for") as caught:
        presign.object_url("s3://b/" + key, "r", "http://h:9000")
    assert "对象键" in complaints.say(str(caught.value), "zh")


@pytest.mark.parametrize("url, endpoint", [("s3:///k", None), ("s3://u:pa55@b/k", None), ("s3://b/k", "h:9000"), ("s3://b/k", "https://u:pa55@h")])
def test_what_names_no_object(url, endpoint):
    with pytest.raises(ValueError) as caught:
        presign.object_url(url, "r", endpoint)
    assert "pa55" not in str(caught.value)


# ----------------------------------------------------------------- the action


@pytest.fixture
def presigned():
    pytest.importorskip("ansible.plugins.action")
    from ansible_collections.trainops.gpu_audit.plugins.action import transfer_benchmark

    return transfer_benchmark._presigned


def test_keys_become_urls(presigned):
    given = {"url": "s3://b/in/", "s3_endpoint": "http://h:9000", "access_key": ACCESS, "secret_key": SECRET, "direction": "upload", "streams": 2,
             "attempts": 2, "timeout_seconds": 100}
    made = presigned(given)
    assert made["url"] == "http://h:9000/b/in/" and made["storage"] == "s3" and SECRET not in json.dumps(made)
    assert len(made["upload_urls"]) == len(made["delete_urls"]) == 2
    paths = [urlsplit(url).path for url in made["upload_urls"]]
    assert len(set(paths)) == 2 and all(path.startswith("/b/in/gpu-audit-transfer-") for path in paths)
    assert [urlsplit(url).path for url in made["delete_urls"]] == paths and urlsplit(made["read_url"]).path == paths[0]
    assert parse_qs(urlsplit(made["read_url"]).query)["X-Amz-Expires"] == ["2000"]
    assert len({parse_qs(urlsplit(url).query)["X-Amz-Signature"][0] for url in [*made["upload_urls"], *made["delete_urls"], made["read_url"]]}) == 5
    down = presigned(dict(given, url="s3://b/weights", direction="download"))
    assert set(down) == {"url", "storage"} and urlsplit(down["url"]).path == "/b/weights"


@pytest.mark.parametrize("arguments, message", [
    ({"url": "s3://b/k", "direction": "download"}, "needs access_key"), ({"url": "s3://b/k", "access_key": "a"}, "belong together"),
    ({"url": "s3://b/k", "access_key": "a", "secret_key": "b", "direction": "upload"}, "end the URL in /"),
    ({"url": "http://h/", "access_key": "a", "secret_key": "b", "storage": "peer"}, "S3-compatible")])
def test_keys_that_can_not_be_used(presigned, arguments, message):
    with pytest.raises(ValueError, match=message):
        presigned(arguments)


@pytest.mark.parametrize("given, message", [
    ({"s3_endpoint": "http://h:99999"}, "s3_endpoint is no http"), ({"s3_endpoint": "http://[h"}, "s3_endpoint is no http"),
    ({"s3_endpoint": "http://h:0"}, "s3_endpoint is no http"), ({"s3_endpoint": 7}, "s3_endpoint is no http"),
    ({"url": "https://h:99999/in/"}, "url is no http"), ({"url": ["s3://b/"]}, "url must be text"), ({"session_token": {"a": 1}}, "session_token must be"),
    ({"secret_key": [1]}, "secret_key must be text"), ({"s3_endpoint": {}, "region": ["x"]}, "region must be text"),
    ({"s3_addressing": "both"}, "s3_addressing: 'both' is none of path, virtual"), ({"streams": [1]}, "streams is no number"),
    ({"streams": "many"}, "streams is no number"), ({"streams": float("inf")}, "streams is no number")], ids=str)
def test_an_option_that_can_not_be_used_is_named(presigned, given, message):
    whole = {"url": "s3://b/in/", "s3_endpoint": "http://h", "access_key": ACCESS, "secret_key": SECRET, "direction": "upload"}
    with pytest.raises(ValueError, match="^" + message) as caught:
        presigned({**whole, **given})
    assert complaints.say(str(caught.value), "zh") != str(caught.value)


@pytest.mark.parametrize("given", [{"timeout_seconds": float("nan")}, {"attempts": float("inf"), "timeout_seconds": "x"}, {"attempts": [3]}, {"attempts": -9}])
def test_a_number_that_is_none_is_left_to_the_module(presigned, given):
    made = presigned({"url": "s3://b/k", "access_key": ACCESS, "secret_key": SECRET, "direction": "download", **given})
    assert parse_qs(urlsplit(made["url"]).query)["X-Amz-Expires"] == ["1800"]


def test_without_keys_nothing_is_signed(presigned):
    assert presigned({"url": "https://h/x?X-Amz-Signature=1", "direction": "download"}) == {}


# --------------------------------------------------------------------- secrets

ARGUMENTS = {
    "url": "https://user:pa55word@h/b/k?X-Amz-Signature=s1gnature&X-Amz-Security-Token=abcdefghijklmnopqrst", "direction": "upload",
    "bytes": "1 GiB", "headers": {"Authorization": "Bearer t0kent0ken", "X-N": 12345678}, "access_key": ACCESS, "secret_key": SECRET,
    "session_token": "sess10n", "token": "p33rtoken", "proxy": "http://me:pr0xypass@proxy:3128", "delete_urls": ["https://h/b/k?sig=d3lete"],
    "payload": "pr1vate prompt", "some": {"other": ["http://x:h1ddenpass@h/?y=n3vershown"]}, "attempts": 3}
SECRETS = ["pa55word", "s1gnature", "abcdefghijklmnopqrst", "t0kent0ken", "12345678", ACCESS, SECRET, "sess10n", "p33rtoken", "pr0xypass",
           "d3lete", "pr1vate", "h1ddenpass", "n3vershown"]


def found(text):
    return [secret for secret in SECRETS if secret in text]


def test_what_is_kept_holds_no_secret():
    answer = {"measurement": {"notes": ["x"]}, "machine_id": "m"}
    kept = measuring.document("h", "transfer_benchmark", ARGUMENTS, answer, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    assert not found(json.dumps(kept))
    assert kept["options"] == {
        "url": "https://h/b/k", "direction": "upload", "bytes": "1 GiB", "headers": ["Authorization", "X-N"], "access_key": "***",
        "secret_key": "***", "session_token": "***", "token": "***", "proxy": "http://proxy:3128", "delete_urls": ["https://h/b/k"],
        "payload": {"bytes": 14}, "some": {"other": ["http://h/"]}, "attempts": 3}
    assert kept["target"] == "https://h/b/k (upload)"


@pytest.mark.parametrize("secret", [secret for secret in SECRETS if secret != "pr1vate"])
def test_what_a_broken_module_says_of_its_secrets_is_taken_out(secret):
    failure = {"failed": True, "msg": "MODULE FAILURE near '%s'" % secret}
    kept = measuring.document("h", "m", ARGUMENTS, failure, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    assert not found(json.dumps(kept)) and "near '***" in kept["error"]


def test_a_pending_note_holds_no_secret(tmp_path):
    measuring.remember(str(tmp_path), "h", "transfer_benchmark", ARGUMENTS, {"jid": "j", "started": "2026-11-30T12:00:00Z", "seconds": 5})
    (note,) = tmp_path.glob("measurements/h/.pending-*")
    assert not found(note.read_text() + note.name)
    assert measuring.same_request(json.loads(note.read_text()), ARGUMENTS)


@pytest.mark.parametrize("url", ["https://user:HashSecret#more@h/x", "https://user:4711/HashSecret@h/x", "https://user:HashSecret?more@h"])
@pytest.mark.parametrize("option", ["url", "proxy"])
def test_a_password_that_can_not_be_told_from_the_rest_is_neither_kept_nor_said(url, option):
    arguments = {"direction": "download", option: url}
    failure = {"failed": True, "msg": "HashSecret is no URL"}
    kept = measuring.document("h", "transfer_benchmark", arguments, failure, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    assert "HashSecret" not in json.dumps(kept) and kept["options"][option] == "https://***"


def test_a_query_s_values_are_taken_out_as_they_stand_and_decoded():
    secrets = secret_options.texts({"url": "https://h/x?sig=ab%2Fcdef%3D"})
    assert secret_options.scrub(["sig ab%2Fcdef%3D", "sig ab/cdef="], secrets) == ["sig ***"] * 2


def test_only_secrets_are_taken_out():
    said = {"a": ["upload of https://h/b/k", 5, None]}
    assert secret_options.scrub(said, secret_options.texts(ARGUMENTS)) == said
    assert secret_options.texts({"url": "http://h/x", "headers": {"A": "b"}, "path": "/data", "argv": ["x"]}) == []
