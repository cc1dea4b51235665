# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The end of a link test that was interrupted: what a host's shell is given, what the user is told to type. Pure."""

from __future__ import annotations

import datetime

from ..module_utils.measure.iperf3_run import MARK_VARIABLE
from . import job_look, link_store, measuring, measuring_end

_LONGEST_SECONDS = 86400


def by_hand(session):
    """The command that ends what a session runs on a host."""
    return "ansible <host> -m trainops.gpu_audit.link_server -a 'state=stopped session=%s'" % session


def script(module, session, jid, folder):
    """A shell's words that end a session's job (None where there is none) and every program of it, and take the job's file away.

    `folder`: Ansible's async_dir. ValueError for ids that are none.
    """
    if not link_store.is_id(session):
        raise ValueError("%r is no session of link tests" % (session,))
    # This shell's own environment doesn't have it.
    found = "$(grep -lsa '%s=%s' /proc/[0-9]*/environ)" % (MARK_VARIABLE, session)
    kill = ["for f in %s; do d=${f%%/environ}; kill -%s ${d#/proc/} 2>/dev/null; done" % (found, number) for number in ("TERM", "KILL")]
    words = [kill[0], "sleep 0.5", kill[1]]
    if jid is not None:
        file = "%s/%s" % (job_look.quoted(folder), jid)
        # The module first, or it would begin its next test. Ansible's wrapper then writes its answer into the file.
        words.insert(0, measuring_end.script(module, jid))
        waiting = "i=0; while [ $i -lt 16 ] && grep -qsE '\"finished\": *(0|false)' %s; do sleep 0.5; i=$((i+1)); done" % file
        words += [waiting, "rm -f %s" % file]
    return "; ".join([*words, "true"])


def ended_by(note):
    """When the job of a note has ended at the latest, as `run_directory.now` writes it; "" where the note doesn't say."""
    try:
        seconds = min(measuring.time_limit(note["seconds"]) + 60, _LONGEST_SECONDS)
        moment = datetime.datetime.strptime(note["started"], "%Y-%m-%dT%H:%M:%SZ") + datetime.timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
