# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Server-sent events (WHATWG HTML, 9.2) and the OpenAI-compatible streams made of them: when tokens came, and how many."""

from __future__ import annotations

import array
import json
import re

from .http_errors import Failure

MAX_EVENT_BYTES = 4 << 20
# Gaps between tokens that one request keeps.
MAX_GAPS = 16384
# Far more than any model answers with at once; what a server says beyond that is no count.
MAX_ANSWER_TOKENS = 1000000
# Nothing that is meant goes so deep, and a reader of JSON has no endless stack.
MAX_DEPTH = 100
_NESTING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


def first_digits(digits):
    """A whole number of a stranger: Python before 3.11 works for minutes on a million digits, later ones refuse them."""
    return int(digits[:20])


def read_json(text, parse_int=first_digits):
    """What a JSON text of a stranger says; ValueError for none, for one deeper than MAX_DEPTH too. `parse_int`: of a whole number's digits.

    >>> read_json('{"a": [1]}')
    {'a': [1]}
    """
    if text.count("[") + text.count("{") > MAX_DEPTH:
        depth = 0
        for found in _NESTING.finditer(text):
            letter = found.group()[0]
            depth += 1 if letter in "[{" else -1 if letter in "]}" else 0
            if depth > MAX_DEPTH:
                raise ValueError
    return json.loads(text, parse_int=parse_int)


class Events(object):
    """Bytes in, texts of `data` out; lines may end in CR, LF or CRLF and may be cut anywhere."""

    def __init__(self):
        self._rest = b""
        self._data = []
        self._size = 0
        self._first = True

    def feed(self, data, last=False):
        """The data of the events that these bytes complete. `last`: nothing follows, an event without its empty line counts as well.

        >>> Events().feed(b": a comment\\r\\ndata: 1\\r\\ndata: 2\\r\\n\\r\\n")
        ['1\\n2']
        """
        self._rest += data
        if self._first and (len(self._rest) >= 3 or last):
            self._first = False
            if self._rest.startswith(b"\xef\xbb\xbf"):
                self._rest = self._rest[3:]
        # A CR at the end may be the first half of a CRLF.
        held = b"\r" if self._rest.endswith(b"\r") and not last else b""
        text = self._rest[:len(self._rest) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        self._rest = (b"" if last else lines.pop()) + held
        found = []
        for line in lines:
            self._line(line, found)
        if last:
            self._line(b"", found)
        if len(self._rest) + self._size > MAX_EVENT_BYTES:
            raise Failure("protocol", "an event of the stream is longer than %d bytes" % MAX_EVENT_BYTES)
        return found

    def _line(self, line, found):
        if not line:
            if self._data:
                found.append(b"\n".join(self._data).decode("utf-8", "replace"))
                self._data, self._size = [], 0
            return
        name, colon, value = line.partition(b":")
        if name == b"data":
            value = value[1:] if value.startswith(b" ") else value
            self._data.append(value)
            self._size += len(value) + 1


def most_tokens(body):
    """How many tokens a server may count of the answer to this body, all its choices together; null where the body doesn't say. Some count
    the token that ends a choice too.

    >>> most_tokens(b'{"max_tokens": 128, "n": 2}')
    258
    """
    try:
        asked = read_json(body.decode("utf-8", "surrogateescape"))
    except ValueError:
        return None
    limits, times = ([asked[name] for name in names if _is_count(asked.get(name))] if isinstance(asked, dict) else []
                     for names in (("max_tokens", "max_completion_tokens"), ("n", "best_of")))
    return (max(limits) + 1) * max(times + [1]) if limits else None


class Answer(object):
    """One streamed answer: feed it bytes with the moment they came, then end() it.

    first, last: moments of its first and last piece of text (null before); chunks: pieces of text; tokens: usage.completion_tokens, null
    where the server doesn't say; gaps: seconds between pieces; done: [DONE] has come. `most`: tokens that it may have (null: any number);
    miscounted: the server said more, or none of a text, and `tokens` is null.
    """

    def __init__(self, most=None):
        self._events = Events()
        self._most = most
        self.done = self._finished = self.miscounted = False
        self.first = self.last = self.tokens = None
        self.chunks = 0
        self.gaps = array.array("d")

    def feed(self, data, moment, last=False):
        """Failure for an event that says that the answer failed, or that is no JSON object."""
        for text in self._events.feed(data, last):
            text = text.strip()
            if text == "[DONE]":
                self.done = True
            elif text and not self.done:
                self._event(text, moment)

    def _event(self, text, moment):
        try:
            event = read_json(text)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            raise Failure("protocol", "an event of the stream is no JSON object")
        if event.get("error"):
            raise _failed(event["error"])
        usage = event.get("usage")
        if isinstance(usage, dict) and _is_count(usage.get("completion_tokens")):
            self.tokens = usage["completion_tokens"]
            if self.tokens > MAX_ANSWER_TOKENS:
                raise Failure("protocol", "the server says that one answer has more than %d tokens" % MAX_ANSWER_TOKENS)
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            if isinstance(choice, dict):
                self._finished = self._finished or bool(choice.get("finish_reason"))
                if _says_something(choice):
                    self._piece(moment)

    def _piece(self, moment):
        self.chunks += 1
        if self.first is None:
            self.first = moment
        elif len(self.gaps) < MAX_GAPS:
            self.gaps.append(moment - self.last)
        self.last = moment

    def end(self, moment):
        """Nothing follows. Failure where the answer isn't whole: neither [DONE] nor a finish_reason came, or no text at all."""
        self.feed(b"", moment, last=True)
        if not self.done and not self._finished:
            raise Failure("short_body", "the stream ended without [DONE] or a finish_reason")
        if self.first is None:
            raise Failure("protocol", "the stream has no text")
        if self.tokens is not None and not 0 < self.tokens <= (self._most or self.tokens):
            self.tokens, self.miscounted = None, True


def _is_count(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _says_something(choice):
    """Whether a choice of a chunk has a piece of the answer: text, reasoning, or a part of a tool call."""
    delta = choice.get("delta")
    if isinstance(delta, dict):
        return any(delta.get(key) for key in ("content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"))
    return bool(choice.get("text"))


def _failed(error):
    """The Failure that an error event stands for. Its own words may repeat the prompt: they aren't kept."""
    code = error.get("code", error.get("status")) if isinstance(error, dict) else None
    code = int(code) if isinstance(code, (int, str)) and re.match(r"[45][0-9]{2}\Z", str(code)) else None
    if code is not None:
        return Failure("http_5xx" if code >= 500 else "http_4xx", "the stream ended with an error event, code %d" % code, code)
    return Failure("protocol", "the stream ended with an error event")
