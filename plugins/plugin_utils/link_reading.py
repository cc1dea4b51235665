# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Whether the files of a link test are what they should be: somebody may have changed them, and a host may answer anything. Pure."""

from __future__ import annotations

from . import job_look, link_figures, link_plan

_LARGEST = 1e18
_MAP, _TEXT, _LIST, _NUMBER, _FLAG = "no object", "no text", "no list", "no number", "neither true nor false"
# What may be null stands with it.
_PLACE = {"address": (_TEXT, False), "interface": (_TEXT, True), "machine_id": (_TEXT, True), "gpu_uuids": (_LIST, True),
          "link_kind": (_TEXT, True), "line_rate_bits_per_second": (_NUMBER, True), "mtu_bytes": (_NUMBER, True),
          "iperf3_version": (_TEXT, True), "iperf3": (_TEXT, True), "local_time": (_TEXT, True), "own_addresses": (_LIST, True)}
_SESSION = {"id": (_TEXT, False), "started": (_TEXT, False), "mode": (_TEXT, False), "left_out": (_MAP, False), "hosts": (_MAP, False),
            "rounds": (_LIST, False), "settings": (_MAP, False)}
_PAIR = {"n": (_NUMBER, False), "round": (_NUMBER, False), "client": (_TEXT, False), "server": (_TEXT, False)}
_ERROR = {"kind": (_TEXT, False), "message": (_TEXT, False)}
_RESULT = {"send": (_MAP, True), "receive": (_MAP, True), "udp": (_MAP, True), "udp_receive": (_MAP, True), "udp_error": (_MAP, True),
           "rtt_seconds": (_NUMBER, True), "path_mtu_bytes": (_NUMBER, True), "parallel": (_NUMBER, True), "black_hole": (_FLAG, True),
           "local_time": (_TEXT, True), "notes": (_LIST, True), "error": (_MAP, True), "counters": (_MAP, True)}
_DIRECTION = {"bytes_per_second": (_NUMBER, True), "retransmits": (_NUMBER, True), "seconds": (_NUMBER, True)}
_UDP = {"bytes_per_second": (_NUMBER, True), "jitter_seconds": (_NUMBER, True), "lost_fraction": (_NUMBER, True)}
_NOTES = {"server": {"port": (_NUMBER, True), "until": (_TEXT, True), "error": (_MAP, True)},
          "job": {"jid": (_TEXT, False), "started": (_TEXT, False), "seconds": (_NUMBER, False)},
          "lost": {"message": (_TEXT, False)}, "after": {"counters": (_MAP, False)}}


def _is(kind, value):
    if kind == _NUMBER:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < _LARGEST
    return isinstance(value, {_MAP: dict, _TEXT: str, _LIST: list, _FLAG: bool}[kind])


def _first(value, form, where=""):
    """What is wrong first, None where nothing is."""
    if not isinstance(value, dict):
        return "%s is %s" % (where or "it", _MAP)
    for key, (kind, empty) in form.items():
        found = value.get(key)
        if not (found is None and empty or _is(kind, found)):
            return "%s is %s" % ("%s.%s" % (where, key) if where else key, kind)
    return None


def _numbers(value, where):
    """As `_first`, of a map of numbers or null."""
    if value is None:
        return None
    return _first(value, dict.fromkeys(value, (_NUMBER, False)), where) if isinstance(value, dict) else "%s is %s" % (where, _MAP)


def session_problem(data):
    """What is wrong with the content of session.json, None where nothing is."""
    problem = _first(data, _SESSION) or settings_problem(data["settings"])
    for name, place in data["hosts"].items() if not problem else ():
        problem = problem or place_problem(place, "hosts.%s" % name)
    for at, pairs in enumerate(data["rounds"]) if not problem else ():
        problem = problem or round_problem(pairs, data["hosts"], "rounds.%d" % at)
    return problem


def settings_problem(settings):
    """Likewise of a session's settings."""
    problem = _first(settings, {"ports": (_TEXT, False)}, "settings")
    try:
        link_plan.check(settings if problem is None else {})
    except ValueError as error:
        problem = "settings.%s" % error
    return problem


def place_problem(place, where="place"):
    """Likewise of where a host is tested."""
    return _first(place, _PLACE, where) or _numbers(place.get("counters"), where + ".counters")


def round_problem(pairs, hosts, where="round"):
    """Likewise of a round's pairs; hosts: those there are, None for any."""
    if not isinstance(pairs, list):
        return "%s is %s" % (where, _LIST)
    for at, pair in enumerate(pairs):
        problem = _first(pair, _PAIR, "%s.%d" % (where, at))
        if problem:
            return problem
        if not isinstance(pair["n"], int) or not isinstance(pair["round"], int):
            return "%s.%d is %s" % (where, at, _NUMBER)
        for end in ("client", "server"):
            if hosts is not None and pair[end] not in hosts:
                return "%s.%d.%s is no host of it" % (where, at, end)
    return None


def note_problem(kind, content):
    """Likewise of a note between the tasks of a round."""
    problem = _first(content, _NOTES.get(kind, {}))
    if not problem and kind == "server":
        problem = _first(content["error"], _ERROR, "error") if content.get("error") is not None else (
            None if isinstance(content.get("port"), int) else "port is %s" % _NUMBER)
    if not problem and kind == "job" and not job_look.is_jid(content["jid"]):
        problem = "jid is no id of a job"
    return problem or (_numbers(content["counters"], "counters") if kind == "after" else None)


def pair_problem(result):
    """Likewise of the result of a pair."""
    problem = _first(result, _RESULT)
    parts = {"send": _DIRECTION, "receive": _DIRECTION, "udp": _UDP, "udp_receive": _UDP, "error": _ERROR, "udp_error": _ERROR}
    for key, form in () if problem else parts.items():
        if result.get(key) is not None:
            problem = problem or _first(result[key], form, key)
    if not problem and not all(isinstance(note, str) for note in result.get("notes") or []):
        problem = "notes is %s" % _TEXT
    return problem or _numbers(result.get("counters"), "counters")


def usable(result, pair, hosts):
    """The result of a pair as figures are made of it: an error where it can't be read, no figure that a link of its ends can't have."""
    problem = pair_problem(result)
    if problem:
        return {"error": {"kind": "local", "message": "the result of this pair can't be read: %s" % problem}}
    for direction in ("send", "receive"):
        rate = (result.get(direction) or {}).get("bytes_per_second")
        for name in (pair["client"], pair["server"]):
            line = link_figures.most_bits_per_second(hosts.get(name) or {})
            if rate and line and rate * 8 > line:
                words = "%d bytes a second are more than the link of %s carries (%d bits a second): no figure" % (
                    rate, name, hosts[name]["line_rate_bits_per_second"])
                result = dict(result, **{direction: None}, error=result.get("error") or {"kind": "protocol", "message": words})
                break
    return result
