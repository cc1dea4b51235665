# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is wrong with variables, forms, policies and documents, in Chinese.

Such a sentence is written in English where the mistake is found, and stored so: the run may be judged again in another language. It is said
in Chinese here, when somebody reads it. A test holds that each one has its line in complaint_texts*.py; the words of hosts and tools stay.
"""

from __future__ import annotations

import functools
import re

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)(\*?)\}")
_NEAR = re.compile(r' \(did you mean "(.*)"\?\)')
# A place before a sentence: "file, line 3: ", "gpu_audit_expected: ", "compute.cores_per_gpu: ".
_LINE = re.compile(r"(?P<where>.{1,500}?), line (?P<line>\d+): (?P<rest>.+)", re.DOTALL)
_PLACES = {"top level": "顶层", "send": "发送方向", "receive": "接收方向"}
_KEY = re.compile(r"(?P<where>top level|\S{1,500}?): (?P<rest>.+)", re.DOTALL)


def table():
    """((English, Chinese) ...): read only where something is said in Chinese, because every process of an audit imports this file."""
    from . import (
        complaint_texts,
        complaint_texts_fabric,
        complaint_texts_links,
        complaint_texts_measuring,
        complaint_texts_requests,
        complaint_texts_transfer,
    )

    measuring = complaint_texts_measuring.TABLE + complaint_texts_requests.TABLE + complaint_texts_transfer.TABLE
    # Links before the others: theirs have a sentence that takes in any name.
    return complaint_texts.TABLE + complaint_texts_links.TABLE + measuring + complaint_texts_fabric.TABLE


@functools.lru_cache(maxsize=1)
def _rules():
    return [(_pattern(english), {name for name, nested in _names(english) if nested}, chinese) for english, chinese in table()]


def _names(english):
    return [(name, bool(nested)) for name, nested in _PLACEHOLDER.findall(english) if name]


def _pattern(english):
    """The pattern of a sentence; a placeholder takes as little as it can."""
    parts, end = [], 0
    for found in _PLACEHOLDER.finditer(english):
        parts.append(re.escape(english[end:found.start()]))
        end = found.end()
        if found.group(1) == "near":
            parts.append(r'(?P<near>(?: \(did you mean "[^"]*"\?\))?)')
        else:
            parts.append("(?P<%s>.+?)" % found.group(1) if found.group(1) else re.escape(found.group(0)[0]))
    return re.compile("".join(parts) + re.escape(english[end:]), re.DOTALL)


def say(sentence, language):
    """An English complaint in a language; what is no complaint of ours (a tool's words, other text) stays as it is."""
    return (_chinese(str(sentence)) or str(sentence)) if language == "zh" else str(sentence)


@functools.lru_cache(maxsize=4096)
def _chinese(sentence):
    """The Chinese sentence, None for one that isn't in the table."""
    if len(sentence) > 4000:
        return None
    # Whole sentences last: what stands for anything in one would take in a place before it or another one behind it.
    return _several(sentence) or _placed(sentence) or _whole(sentence)


def _whole(sentence):
    for pattern, nested, chinese in _rules():
        found = pattern.fullmatch(sentence)
        if not found:
            continue
        words = found.groupdict()
        inner = {name: _chinese(words[name]) for name in nested}
        if None in inner.values():
            continue
        near = _NEAR.fullmatch(words.get("near") or "")
        return chinese.format(**{**words, **inner, "near": "（是否想写\u201c%s\u201d？）" % near.group(1) if near else ""})
    return None


def _placed(sentence):
    for pattern, chinese in ((_LINE, "{where} 第 {line} 行：{rest}"), (_KEY, "{where}：{rest}")):
        found = pattern.fullmatch(sentence)
        rest = _chinese(found.group("rest")) if found else None
        if rest:
            where = _PLACES.get(found.group("where"), found.group("where"))
            return chinese.format(**{**found.groupdict(), "where": where, "rest": rest})
    return None


def _several(sentence):
    """Complaints joined with semicolons; None unless each is one."""
    parts = sentence.split("; ")
    said = [_placed(part) or _whole(part) for part in parts] if 1 < len(parts) <= 50 else [None]
    return None if None in said else "；".join(said)
