# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes any string that a host sent fit to be shown: nothing invisible, nothing endless, nothing that isn't Unicode text.

Every report format shows strings through `display`; escaping for the format (HTML, CSV, ...) comes after it.
"""

from __future__ import annotations

import functools
import hashlib
import html
import json
import re

from .. import numbers

NAME_LIMIT = 120
TEXT_LIMIT = 1000

# Controls, separators that break a line in some reader, bidirectional overrides (a name that reads backwards), zero-width
# characters, interlinear and tag characters, lone surrogates (bytes that weren't UTF-8) and the noncharacters XML forbids.
_ODD = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff\ud800-\udfff"
    "\U0001fffe\U0001ffff\U000e0000-\U000e007f]"
)


def display(value, limit=TEXT_LIMIT):
    """A string with every odd character spelt out (`‹U+202E›`) and cut at `limit` characters with a mark that says so."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    mark = ""
    if len(text) > limit:
        mark = f"… ({len(text)} characters, {fingerprint(text)})"
        text = text[:limit]
    if not (text.isascii() and text.isprintable()):
        text = _ODD.sub(lambda match: f"‹U+{ord(match.group()):04X}›", text)
    return text + mark


def brief(value, limit):
    """A sentence on one line, every odd character spelt out; a longer one ends at a word in "…", for readers and not to tell two apart."""
    text = " ".join(("" if value is None else str(value))[: 8 * limit].split())
    if len(text) > limit:
        text = text[:limit]
        # Chinese has no blanks: there the limit itself is the end.
        text = (text.rpartition(" ")[0] if text.rfind(" ") > limit // 2 else text).rstrip(" ,;:.，；：。") + "…"
    return display(text)


def natural(name):
    """Sorts gpu9 before gpu10."""
    return [(0, int(part), "") if part.isdecimal() and part.isascii() else (1, 0, part) for part in re.split(r"(\d{1,15})", name) if part]


def fingerprint(text):
    """Eight hexadecimal digits that tell two long or odd strings apart."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def display_names(names):
    """The shown name of each host, in order: all different, whatever the hosts are called."""
    shown, seen = [], set()
    for name in names:
        text = display(name, NAME_LIMIT)
        if not text.strip():
            text = f"‹{text}›"
        if text in seen:
            text = f"{text} #{fingerprint(name if isinstance(name, str) else repr(name))}"
            number = 2
            while text in seen:
                text, number = f"{text} {number}", number + 1
        seen.add(text)
        shown.append(text)
    return shown


@functools.lru_cache(maxsize=8192)
def _escaped(text, limit):
    return html.escape(display(text, limit), quote=True)


def for_html(value, limit=TEXT_LIMIT):
    """Text for an HTML element or a quoted attribute."""
    text = value if isinstance(value, str) else "" if value is None else str(value)
    return _escaped(text, limit) if len(text) < 400 else html.escape(display(text, limit), quote=True)


_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGTPEk]i?[Bb]|B|[kMGT]?bit|ms|s)(?:/s)?(?![A-Za-z]))")


def unbroken(text):
    """A text in which a line never ends between a number and its unit."""
    return _BEFORE_UNIT.sub("\u00a0", text)


def breakable(html):
    """Long names of variables, metrics and playbooks may go on in the next line after an underscore or a dot."""
    return re.sub(r"[\w.]{24,}", lambda name: re.sub("([_.])", r"\1<wbr>", name[0]), html)


def json_for_script(value):
    """JSON that may stand inside a <script> element: no way to end the element, no line separators, no lone surrogates."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def pick(value, language):
    """A text that is a plain string or `{en, zh}`, in the language asked for, else in English, else whatever is there."""
    if isinstance(value, dict):
        return value.get(language) or value.get("en") or next((text for text in value.values() if text), "")
    return "" if value is None else value


def is_number(value):
    """Whether this is a number that can be reckoned with: finite, of sane size; a bool is none."""
    return numbers.is_number(value) and -numbers.LARGEST < value < numbers.LARGEST
