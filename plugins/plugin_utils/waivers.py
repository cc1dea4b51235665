# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waivers: findings that somebody accepts, with a reason and a last day."""

from __future__ import annotations

import datetime

from .words import nearest


def as_moment(value):
    """A datetime in UTC of an ISO 8601 text ("2026-11-30T12:00:00Z"), a date text or a datetime; None when it is none of these."""
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=datetime.timezone.utc)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.datetime.fromisoformat(value.strip().replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)


def strangers(waived, checks):
    """What is wrong with waivers of checks that the policy doesn't have: a typo there would waive nothing, and nobody would know why."""
    names = sorted((name for name in waived if name not in checks), key=str) if isinstance(waived, dict) else ()
    return ["%s is no check of the policy%s: docs/checks.md lists them" % (str(name)[:80], nearest(name, checks)) for name in names]


def find(waivers, check, now):
    """The waiver for a check as {"reason", "expires", "expired": bool}, None when there is none or it has no reason.

    A waiver holds to the end of its last day (UTC). One whose date can't be read counts as expired: an unreadable date must
    not hide a fault.
    """
    entry = waivers.get(check) if isinstance(waivers, dict) else None
    if not isinstance(entry, dict):
        return None
    reason = entry.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        return None
    expires = entry.get("expires")
    if isinstance(expires, datetime.date):
        expires = expires.isoformat()[:10]
    expired = False
    if expires is not None:
        last_day = as_moment(expires)
        moment = as_moment(now)
        expired = last_day is None or moment is None or moment.astimezone(datetime.timezone.utc).date() > last_day.date()
    return {"reason": reason[:500], "expires": None if expires is None else str(expires)[:40], "expired": expired}
