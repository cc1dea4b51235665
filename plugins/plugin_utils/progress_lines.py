# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lines of the progress callback: a host that finished, the bar, what a user's own task has to say. Pure."""

from __future__ import annotations

from . import verdict_table
from .collecting import own_words
from .verdict_table import clean, cut, pad, width


def message(data):
    """What a result says, in one line."""
    found = data.get("msg") or data.get("module_stderr") or data.get("stderr") or data.get("reason") or ""
    return clean(own_words(found) if isinstance(found, str) else str(found), 600)


def host_line(name, status, data, seconds, columns, language):
    """(line, kind of colour) for a host whose collecting ended as `collected`, `error` or `unreachable`."""
    took = "%5.1f %s" % (seconds, verdict_table.text(language, "seconds"))
    words = {key: verdict_table.text(language, key) for key in ("collected", "error", "unreachable")}
    state = pad(words[status], max(width(word) for word in words.values()))
    if status == "collected":
        said = verdict_table.describe_gpus(data.get("gpu_count"), data.get("gpu_name"), data.get("gpu_state"), language)
        kind = "good" if data.get("gpu_state") == "ok" else "warn"
    else:
        said = message(data)
        kind = "lost" if status == "unreachable" else "bad"
    return "%s  %s  %s  %s" % (pad(cut(clean(name, 80), columns), columns), state, took, said), kind


def progress_bar(done, total, seconds, columns, language):
    """'[#####-----] 5/10 hosts, 1 unreachable, 0 errors, 12 s' in at most `columns` columns."""
    statuses = list(done.values())
    total = max(total, len(statuses))
    tail = " %d/%d %s" % (len(statuses), total, verdict_table.text(language, "hosts"))
    for status in ("unreachable", "error"):
        if status in statuses:
            tail += ", %d %s" % (statuses.count(status), verdict_table.text(language, status))
    tail += ", %d %s" % (seconds, verdict_table.text(language, "seconds"))
    room = min(30, columns - width(tail) - 3)
    if room < 5:
        return cut(tail.strip(), columns - 1)
    filled = room * len(statuses) // total if total else room
    return "[%s%s]%s" % ("#" * filled, "-" * (room - filled), tail)


def spoken(host, msg):
    """What a task has to say of a host, its own line breaks kept; None where it says anything but text."""
    if not isinstance(msg, str):
        return None
    return "\n".join("%s: %s" % (clean(host, 80), clean(line, 4000)) for line in msg.strip().splitlines() or [""])


def other(what, host, task, data, ignored, language):
    """A failure of a task that isn't the audit's own; `task` is its name, None for one whose message says all."""
    how = verdict_table.text(language, what) + (verdict_table.text(language, "ignored") if ignored else "")
    colon = "：" if language == "zh" else ": "
    return "%s  %s" % (clean(host, 80), colon.join([how, *([clean(task, 100)] if task else []), message(data)]))
