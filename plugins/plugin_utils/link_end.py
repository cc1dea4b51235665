# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The end of a link test that was interrupted: what a host's shell is given, what the user is told to type. Pure."""

from __future__ import annotations

import datetime
import re
import shlex

from ..module_utils.measure.iperf3_run import MARK_VARIABLE
from . import job_look, link_store, measuring, measuring_end
from .messages import sentence

_LONGEST_SECONDS = 86400
_MOST_LEFT = 20
# Also that of one who starts servers and clients by hand.
_NAME = re.compile(r"\A[\w.-]{1,60}\Z", re.ASCII)
TABLE = {
    "server": ("{host} (a server at port {port}, until {until})", "{host}（端口 {port} 上的服务端，至 {until}）"),
    "job": ("{host} (a client, until {until})", "{host}（客户端，至 {until}）"),
    "nothing": ("interrupted: nothing of the link test is left on other hosts", "已中断：其他主机上没有链路测试的残留"),
    "left": (
        "interrupted: the link test still runs on these hosts and ends by itself there: {list}. To end it at once: {command}",
        "已中断：链路测试在以下主机上仍在运行，到时自行结束：{list}。要立即终止，请执行：{command}",
    ),
    "more": ("{count} more", "另有 {count} 台"),
    "comma": (", ", "，"),
}


def by_hand(session, hosts):
    """The command that ends what a session runs on hosts, as a shell takes it: what hosts say of themselves is in it."""
    words = (shlex.quote(text) for text in (",".join(hosts), "state=stopped session=%s" % session))
    return "ansible %s -m trainops.gpu_audit.link_server -a %s" % tuple(words)


def busy(sessions, host):
    """The sentence on other tests that run on a host. `sessions`: what it says of them; what is no name isn't repeated, nor put into a
    command that somebody is to type.
    """
    named = [each for each in sessions if isinstance(each, str) and _NAME.match(each)]
    if not named:
        return "another test of links runs on this host: wait until it has ended, or end its processes (%s in their environment)" % MARK_VARIABLE
    return "another test of links (%s) runs on this host: wait until it has ended, or end it with: %s" % (", ".join(named), by_hand(named[0], [host]))


def left(session, language):
    """The sentence on what still runs on hosts where no task is at work: which, at which port, until when, and how it is ended at once."""
    there = {}
    for pair in (each for pairs in session.data["rounds"] for each in pairs):
        for host, kind in ((pair["server"], "server"), (pair["client"], "job")):
            try:
                note = session.noted(kind, pair["n"])
                if not note or "error" in note or session.noted("ending", host) is not None:
                    continue
                until = note.get("until") or measuring.latest(note["started"], measuring.time_limit(note["seconds"]))
            except (ValueError, OverflowError):
                # Somebody changed it: what can't be read isn't told.
                continue
            there[host] = sentence(TABLE[kind], language, {"host": host, "port": note.get("port"), "until": until})
    if not there:
        return sentence(TABLE["nothing"], language, {})
    shown = list(there.values())[:_MOST_LEFT]
    if len(there) > len(shown):
        shown.append(sentence(TABLE["more"], language, {"count": len(there) - len(shown)}))
    joined = sentence(TABLE["comma"], language, {}).join(shown)
    return sentence(TABLE["left"], language, {"list": joined, "command": by_hand(session.id, list(there))})


def script(session, jids, folder):
    """A shell's words that end every program of a session, the modules that start them included, and take the files of its jobs away: those of
    `jids` and of what still ran. They say "left" where something wouldn't end.

    `folder`: Ansible's async_dir. ValueError for ids that are none.
    """
    if not link_store.is_id(session):
        raise ValueError("%r is no session of link tests" % (session,))
    if not all(job_look.is_jid(jid) for jid in jids):
        raise ValueError("a job of the session %s has no id" % session)
    words = measuring_end.ending(MARK_VARIABLE, session, job_look.quoted(folder))
    return "; ".join([words, *("rm -f %s/%s" % (job_look.quoted(folder), jid) for jid in jids), "true"])


def ended_by(note):
    """When the job of a note has ended at the latest, as `run_directory.now` writes it; "" where the note doesn't say."""
    try:
        seconds = min(measuring.time_limit(note["seconds"]) + 60, _LONGEST_SECONDS)
        moment = datetime.datetime.strptime(note["started"], "%Y-%m-%dT%H:%M:%SZ") + datetime.timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return ""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
