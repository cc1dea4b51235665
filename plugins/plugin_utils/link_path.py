# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The path MTU of a host out of its pairs, and why it isn't known. Pure.

The client of a pair looks at its own way out. A host that was a server only takes what a partner found on the way to it, where a packet of that
size arrived: whose fault it is where none did, nobody can tell.
"""

from __future__ import annotations

from .link_judging import upper_median


def mtu(name, pairs):
    """Bytes; None where it isn't known."""
    own = upper_median(pair["path_mtu_bytes"] for pair in pairs if pair["client"] == name and pair.get("path_mtu_bytes"))
    if own is not None:
        return own
    return upper_median(
        pair["path_mtu_bytes"] for pair in pairs if pair["client"] != name and pair.get("black_hole") is False and pair.get("path_mtu_bytes")
    )


def unknown(name, pairs):
    """The sentence that says why there is no path MTU; None where there is one, or another note says it."""
    if mtu(name, pairs) is not None or not pairs:
        return None
    own = [pair for pair in pairs if pair["client"] == name]
    if any(str(note).startswith("path MTU to ") for pair in own for note in pair.get("notes") or []):
        return None
    failed = next((pair["error"]["message"] for pair in own or pairs if pair.get("error")), None)
    if failed:
        return "path MTU not found: %s" % failed
    if own:
        return "path MTU not found: nobody answered the packets that look for it"
    return "path MTU not found: this host was the server of all its pairs, and no large packet of %s arrived" % pairs[0]["client"]
