# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A look at a host for a job of Ansible's: whether its process still lives, and whether its answer found room. Pure.

Ansible's own job file says "started" for ever where the process was killed, the host restarted, or the disk below the file was full.
"""

from __future__ import annotations

import re
import shlex

from .numbers import format_value

_JID = re.compile(r"(j)(\d+)(\.\d+)\Z", re.ASCII)
_FOLDER = re.compile(r"(~[\w.-]*)?(.*)\Z", re.DOTALL)
# In the shell's own words the parts of the job's name stand apart, or it would find itself. That it finds `gpu-audit-looks` shows that it
# may read /proc. The wrapper writes its answer to <file>.tmp first.
_SCRIPT = r"""
a=%s; b=%s; c=%s; f=%s; s=$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\000' ' ');
case "$s" in *" $a$b "*) echo alive;; *gpu-audit-looks*) echo gone;; esac;
if [ -e "$f/$a$b$c.tmp" ]; then echo unwritten; fi;
df -Pk "$f" 2>/dev/null | tail -n 1
"""


def is_jid(jid):
    """Whether this is the id of a job of Ansible's: a file is named by it, so that nothing else may pass for one.

    >>> is_jid("j123.45"), is_jid("../victim")
    (True, False)
    """
    return isinstance(jid, str) and bool(_JID.match(jid))


def script(jid, folder):
    """What a POSIX shell is given to look for a job whose file lies in `folder`; None for a name that isn't Ansible's."""
    parts = _JID.match(jid)
    return None if parts is None else " ".join(_SCRIPT.split()) % (*parts.groups(), quoted(folder))


def removal(jid, folder):
    """A command that takes away the answer which found no room; None for a name that isn't Ansible's."""
    return None if _JID.match(jid) is None else "rm -f %s/%s.tmp" % (quoted(folder), jid)


def quoted(folder):
    """A folder for a shell, `~` in front left to it."""
    home, rest = _FOLDER.match(folder).groups()
    return (home or "") + (shlex.quote(rest) if rest else "")


def seen(output):
    """{"gone", "unwritten", "free_bytes"} of what the script printed; nothing is gone where that couldn't be seen."""
    lines = output.split("\n") if isinstance(output, str) else []
    table = [line.split() for line in lines]
    free = next((int(words[3]) * 1024 for words in table if len(words) >= 6 and words[3].isdigit() and words[4].endswith("%")), None)
    return {"gone": "gone" in lines and "alive" not in lines, "unwritten": "unwritten" in lines, "free_bytes": free}


def why(found, folder):
    """Why a job that `seen` was told of gave no result."""
    if found["unwritten"] and found["free_bytes"] is not None:
        return ("its answer found no room in %s on the host, where %s are free now. Make room there, or set ansible_async_dir to a folder "
                "with room" % (folder, format_value(found["free_bytes"], "bytes")))
    if found["unwritten"]:
        return "its answer found no room in %s on the host. Make room there, or set ansible_async_dir to a folder with room" % folder
    return "its process is gone from the host and left no answer: it was killed, or the host was restarted"
