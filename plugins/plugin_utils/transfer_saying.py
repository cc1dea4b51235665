# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a transfer of which nothing got through says on the console: that it failed, and why in words. Pure."""

from __future__ import annotations

from . import complaints
from .measuring_texts import text, word


def failure(result, language="en"):
    """"upload failed: HTTP 404; nothing was stored at ..." of a transfer_benchmark result; None where an attempt got through."""
    attempts = result.get("attempts") or []
    if not attempts or result.get("attempts_failed") != len(attempts):
        return None
    reasons = list(dict.fromkeys((attempt.get("error") or {}).get("message") or "?" for attempt in attempts))
    # The attempts' own lines say the same once more.
    others = [note for note in result.get("notes") or [] if not note.startswith("attempt ")]
    semicolon = text(language, "semicolon")
    said = [complaints.say(sentence, language) for sentence in (*reasons, *others)]
    return text(language, "all_failed", direction=word("direction", result.get("direction"), language), reason=semicolon.join(said))
