# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""URLs presigned with AWS Signature Version 4, so that keys of an S3-compatible storage stay on the controller.

The algorithm: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from ..module_utils.measure.http_errors import CONTROLS

LONGEST_SECONDS = 7 * 86400
ADDRESSINGS = ("path", "virtual")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_BUCKET = re.compile(r"\A[\w.-]{1,63}\Z", re.ASCII)


def object_url(url, region, endpoint=None, addressing=None):
    """The http(s) URL of an s3://bucket/key, or `url` as it is. `addressing`: "path" or "virtual" (bucket in the host's name).

    >>> object_url("s3://b/k/x.bin", "eu-central-1"), object_url("s3://b/k", "r", "http://h:9000")
    ('https://b.s3.eu-central-1.amazonaws.com/k/x.bin', 'http://h:9000/b/k')
    """
    if not url.lower().startswith("s3://"):
        _split("url", url)
        return url
    bucket, _slash, key = url[len("s3://"):].partition("/")
    if not _BUCKET.match(bucket):
        raise ValueError("url: an s3:// URL names a bucket and a key, as in s3://bucket/key")
    if set(key) & set("?#"):
        # What is announced and kept of a URL ends there.
        raise ValueError("url: a key with ? or # can't be given as s3://; give the http or https URL of the object, with %3F for ? and %23 for #")
    base = _split("s3_endpoint", endpoint or "https://s3.%s.amazonaws.com" % region)
    if base.scheme not in _DEFAULT_PORTS or not base.hostname or "@" in base.netloc:
        raise ValueError("s3_endpoint is no http or https URL")
    # The key as it is: a % in it is one.
    key = _encoded(key, "/")
    if (addressing or ("path" if endpoint else "virtual")) == "path":
        return "%s://%s%s/%s/%s" % (base.scheme, base.netloc, base.path.rstrip("/"), bucket, key)
    return "%s://%s.%s%s/%s" % (base.scheme, bucket, base.netloc, base.path.rstrip("/"), key)


def _split(option, url):
    """The parts of an option's URL; ValueError that names the option where it has no parts, or no port that is one."""
    if CONTROLS.search(url):
        raise ValueError("%s holds a control character, such as a newline: take it out" % option)
    try:
        parts = urlsplit(url)
        good = parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise ValueError("%s is no http or https URL" % option)
    return parts


def presign(method, url, access_key, secret_key, region, seconds, session_token=None, now=None):
    """`url` with a signature that lets anyone make this one request for so many seconds (at most 7 days). `now`: aware datetime."""
    parts = urlsplit(url)
    moment = (now or datetime.datetime.now(datetime.timezone.utc)).astimezone(datetime.timezone.utc)
    stamp, day = moment.strftime("%Y%m%dT%H%M%SZ"), moment.strftime("%Y%m%d")
    scope = "%s/%s/s3/aws4_request" % (day, region)
    host = parts.netloc.rpartition("@")[2]
    if parts.port == _DEFAULT_PORTS.get(parts.scheme):
        host = host.rpartition(":")[0]
    path = _encoded(unquote(parts.path), "/") or "/"
    query = parse_qsl(parts.query, keep_blank_values=True)
    query += [("X-Amz-Algorithm", "AWS4-HMAC-SHA256"), ("X-Amz-Credential", "%s/%s" % (access_key, scope)), ("X-Amz-Date", stamp),
              ("X-Amz-Expires", str(max(1, min(LONGEST_SECONDS, int(seconds))))), ("X-Amz-SignedHeaders", "host")]
    if session_token:
        query.append(("X-Amz-Security-Token", session_token))
    canonical_query = "&".join("%s=%s" % pair for pair in sorted((_encoded(name), _encoded(value)) for name, value in query))
    canonical = "\n".join([method, path, canonical_query, "host:" + host.lower(), "", "host", "UNSIGNED-PAYLOAD"])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode("utf-8")).hexdigest()])
    signature = hmac.new(signing_key(secret_key, day, region), text.encode("utf-8"), hashlib.sha256).hexdigest()
    return "%s://%s%s?%s&X-Amz-Signature=%s" % (parts.scheme, host, path, canonical_query, signature)


def signing_key(secret_key, day, region, service="s3"):
    """The key of a day, region and service."""
    key = ("AWS4" + secret_key).encode("utf-8")
    for text in (day, region, service, "aws4_request"):
        key = hmac.new(key, text.encode("utf-8"), hashlib.sha256).digest()
    return key


def _encoded(text, safe=""):
    """Percent-encoded as the signature wants it: all but letters, digits and -._~"""
    return quote(text, safe=safe + "-_.~")
