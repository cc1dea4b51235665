# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Which options of measuring modules are secret, what of them may be stored, and taking them out of what is said: the one place."""

from __future__ import annotations

from urllib.parse import parse_qsl, unquote, urlsplit

from ..module_utils.measure.http_errors import endpoint, unclear, unclear_parts

# Nothing of these is kept.
KEYS = ("access_key", "secret_key", "session_token", "token", "password")
# Of these only the names are kept, of a payload its size.
NAMED = ("headers", "environment")
PAYLOADS = ("payload",)
# May hold a name and password, or a query that is one; so may any text with :// in it.
URLS = ("url", "read_url", "upload_urls", "delete_urls", "proxy", "s3_endpoint")
HIDDEN = "***"
# Shorter ones would be found everywhere.
_LEAST_LETTERS = 6


def kept(name, value):
    """What a measurement stores of an option."""
    if value is None:
        return None
    if name in KEYS:
        return HIDDEN
    if name in NAMED:
        return sorted(str(key) for key in value) if isinstance(value, dict) else HIDDEN
    if name in PAYLOADS:
        return {"bytes": len(str(value).encode("utf-8", "replace"))}
    return _without_secrets(value, name in URLS)


def _without_secrets(value, url):
    if isinstance(value, dict):
        return {key: _without_secrets(item, url) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item, url) for item in value]
    return endpoint(value) if isinstance(value, str) and (url or "://" in value) else value


def texts(arguments):
    """The secret texts of a task's options, longest first."""
    found = set()
    for name, value in arguments.items():
        if name in KEYS:
            found.update(_leaves(value))
        elif name in NAMED and isinstance(value, dict):
            for text in _leaves(value):
                # "Bearer <token>": the token may be said by itself.
                found.update([text, *text.split()])
        else:
            for text in _leaves(value):
                if name in URLS or "://" in text:
                    found.update(_of_url(text))
    return sorted((text for text in found if len(text) >= _LEAST_LETTERS), key=lambda text: (-len(text), text))


def _leaves(value):
    if isinstance(value, dict):
        return [text for item in value.values() for text in _leaves(item)]
    if isinstance(value, list):
        return [text for item in value for text in _leaves(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def _of_url(text):
    if unclear(text):
        # Where its password ends nobody can say. Of a text that only mentions a URL the words aren't secret.
        if text.split() != [text]:
            return [text]
        return [part for part in (text, *unclear_parts(text), *(unquote(part) for part in unclear_parts(text))) if part]
    try:
        parts = urlsplit(text)
        userinfo = parts.netloc.rpartition("@")[0]
        password = parts.password or ""
    except ValueError:
        return [text]
    # As they stand, too: a server says them either way.
    values = [value for _name, value in parse_qsl(parts.query)] + [pair.partition("=")[2] for pair in parts.query.split("&")]
    return [part for part in (parts.query, userinfo, password, unquote(password), *values) if part]


def scrub(value, secrets):
    """The same JSON value with each of these texts replaced by ***."""
    if not secrets:
        return value
    if isinstance(value, str):
        for text in secrets:
            value = value.replace(text, HIDDEN)
        return value
    if isinstance(value, dict):
        return {scrub(key, secrets): scrub(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub(item, secrets) for item in value]
    return value
