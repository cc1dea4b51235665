# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A test of the links of a group of hosts on disk, and the measurement of each host that it gives. No Ansible.

    <output dir>/measurements/_links/<UTC>-<id>/session.json     hosts, rounds, settings
                                                /<n>.json        a pair: a measurement/1 document
                                                /summary.json    all pairs, and what each host's own link does
                                                /.work/          notes between the tasks of a round; gone at the end

The measurement of each host (module link_benchmark, target links) is kept beside its others, so that audits find it.
"""

from __future__ import annotations

import os
import re
import shutil

from . import link_judging, link_losses, link_path, link_reading, measuring, run_directory
from .numbers import format_fraction

SCHEMA = "trainops.gpu_audit/links/1"
SUMMARY_SCHEMA = "trainops.gpu_audit/links-summary/1"
MODULE, TARGET = "link_benchmark", "links"
FOLDER = "_links"
_MAX_NOTES = 20
_MOST_UNFINISHED = 50
_ID = re.compile(r"\A\d{8}T\d{6}Z-[0-9a-f]{6}\Z")


class Session:
    """An open session: `id`, `folder`, and `data`, the content of session.json.

    Every step of every host opens it; of a large group they read their part only.
    """

    def __init__(self, output_dir, session, data=None):
        self.output_dir, self.id, self._data = output_dir, session, data
        self.folder = _folder(output_dir, session)

    @property
    def data(self):
        if self._data is None:
            try:
                self._data = run_directory.read_json(os.path.join(self.folder, "session.json"))
            except run_directory.InvalidDocument as error:
                raise ValueError("the session %s can't be read: %s" % (self.id, error)) from error
            problem = link_reading.session_problem(self._data)
            if problem:
                self._data = None
                raise ValueError("the session %s can't be read: %s" % (self.id, problem))
        return self._data

    # ------------------------------------------------------------ the rounds

    @property
    def settings(self):
        noted = self.noted("part", "settings")
        return self.data["settings"] if link_reading.settings_problem(noted) else noted

    def round(self, number):
        """The pairs of a round, beginning with 0; ValueError where there is none."""
        noted = (self.noted("round", number) or {}).get("pairs")
        if noted and not link_reading.round_problem(noted, None):
            return noted
        if not isinstance(number, int) or not 0 <= number < len(self.data["rounds"]):
            raise ValueError("the session %s has no round %s" % (self.id, number))
        return self.data["rounds"][number]

    def pair_of(self, number, host):
        """(the pair that a host is in in this round, "client" or "server"), (None, None) where it pauses."""
        for pair in self.round(number):
            if host == pair["client"]:
                return pair, "client"
            if host == pair["server"]:
                return pair, "server"
        return None, None

    def host(self, name):
        """Where a host is tested; None for one that takes no part."""
        noted = self.noted("host", name)
        return self.data["hosts"].get(name) if link_reading.place_problem(noted) else noted

    # ------------------------------------------------ notes between the tasks

    def note(self, kind, key, content):
        """Keep something for a later task of this play; `kind` server, job, lost or after."""
        run_directory.write_json(self._note_path(kind, key), content)

    def noted(self, kind, key):
        """What was kept, None where nothing was. ValueError for what isn't what a task kept."""
        path = self._note_path(kind, key)
        if not os.path.lexists(path):
            return None
        try:
            content = run_directory.read_json(path)
            problem = link_reading.note_problem(kind, content)
        except run_directory.InvalidDocument as error:
            problem = str(error)
        if problem:
            raise ValueError("the session %s can't be read: %s: %s" % (self.id, os.path.basename(path), problem))
        return content

    def claim(self, what):
        """True for the first that asks, in whichever process; False for the others, and where nothing can be written."""
        try:
            os.close(os.open(self._note_path("claim", what), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            return False
        return True

    def forget(self, kind, key):
        """Take a note away; no error where there is none."""
        try:
            os.unlink(self._note_path(kind, key))
        except OSError:
            pass

    def jobs_of(self, host):
        """[(number of a pair, the note of its job)] of the jobs on a host whose files nobody took away yet."""
        found = []
        for pair in (each for pairs in self.data["rounds"] for each in pairs if each["client"] == host):
            note = self.noted("job", pair["n"])
            if note:
                found.append((pair["n"], note))
        return found

    def _note_path(self, kind, key):
        return os.path.join(self.folder, ".work", "%s-%s.json" % (kind, run_directory.safe_name(str(key))))

    # ---------------------------------------------------------------- a pair

    def keep_pair(self, pair, answer, started):
        """Write a pair's document. `answer`: the module's ({"measurement": ...}), or {"error": {"kind", "message"}}."""
        client, server = self.host(pair["client"]), self.host(pair["server"])
        result = answer.get("measurement")
        if not isinstance(result, dict):
            result = {"client_address": client["address"], "server_address": server["address"], "interface": client["interface"],
                      "tool": "iperf3", "iperf3_version": client["iperf3_version"], "send": None, "receive": None, "udp": None, "udp_receive": None,
                      "rtt_seconds": None, "path_mtu_bytes": None, "parallel": None, "counters": None, "notes": [],
                      "error": answer["error"],
                      "line_rate_bits_per_second": client["line_rate_bits_per_second"], "link_kind": client["link_kind"]}
        result = dict(result, client=pair["client"], server=pair["server"], server_interface=server["interface"], round=pair["round"])
        known = {"machine_id": client["machine_id"], "gpu_uuids": client["gpu_uuids"], "target": pair["server"],
                 "started_at": answer.get("started_at"), "finished_at": answer.get("finished_at"), "measurement": result}
        options = dict(self.settings, session=self.id)
        document = measuring.document(pair["client"], MODULE, options, known, started, run_directory.now())
        run_directory.write_json(os.path.join(self.folder, "%d.json" % pair["n"]), document)
        return result

    def pairs(self):
        """[(pair, its result or None where it wasn't tried)]."""
        found = []
        for pair in (each for pairs in self.data["rounds"] for each in pairs):
            path = os.path.join(self.folder, "%d.json" % pair["n"])
            if not os.path.lexists(path):
                found.append((pair, None))
                continue
            try:
                result = link_reading.usable(run_directory.read_json(path).get("result"), pair, self.data["hosts"])
            except run_directory.InvalidDocument as error:
                result = {"error": {"kind": "local", "message": "the result of this pair can't be read: %s" % error}}
            found.append((pair, result))
        return found

    def _counters_after(self, name):
        try:
            return (self.noted("after", name) or {}).get("counters")
        except ValueError:
            return None

    # ---------------------------------------------------------------- the end

    def finish(self):
        """Compose the summary and each host's measurement, and keep them. -> {host: (path, document)}."""
        pairs = self.pairs()
        finished = run_directory.now()
        results = host_results(self.data, pairs, {name: self._counters_after(name) for name in self.data["hosts"]})
        kept, options = {}, dict(self.data["settings"], session=self.id)
        for name, result in results.items():
            host = self.data["hosts"][name]
            answer = {"machine_id": host["machine_id"], "gpu_uuids": host["gpu_uuids"], "target": TARGET}
            failure = failure_of(result)
            answer.update({"failed": True, "msg": failure} if failure else {"measurement": result})
            document = measuring.document(name, MODULE, options, answer, self.data["started"], finished)
            kept[name] = (measuring.store(self.output_dir, document), document)
        short = {name: {key: value for key, value in result.items() if key not in ("pairs", "notes")} for name, result in results.items()}
        run_directory.write_json(os.path.join(self.folder, "summary.json"), run_directory.tame({
            "schema": SUMMARY_SCHEMA, "finished": finished, "rounds": len(self.data["rounds"]), "hosts": short,
            "pairs": [dict(pair, **_shown(result)) for pair, result in pairs],
            **{key: self.data[key] for key in ("id", "started", "mode", "left_out")},
        }))
        shutil.rmtree(os.path.join(self.folder, ".work"), ignore_errors=True)
        return kept


def _folder(output_dir, session):
    return os.path.join(output_dir, "measurements", FOLDER, session)


def begin(output_dir, hosts, left_out, rounds, mode, settings):
    """A new Session, its folder made. hosts: {name: {"address", "interface", "machine_id", "gpu_uuids", "link_kind",
    "line_rate_bits_per_second", "mtu_bytes", "iperf3_version", "counters"}}; rounds: link_rounds.rounds().
    """
    number, listed = 0, []
    for at, pairs in enumerate(rounds):
        listed.append([])
        for client, server in pairs:
            number += 1
            listed[-1].append({"n": number, "round": at + 1, "client": client, "server": server})
    data = {"schema": SCHEMA, "id": run_directory.new_run_id(), "started": run_directory.now(), "mode": mode, "hosts": hosts,
            "left_out": left_out, "rounds": listed, "settings": settings}
    session = Session(output_dir, data["id"], data)
    try:
        os.makedirs(os.path.join(session.folder, ".work"))
    except OSError as error:
        words = "cannot make %s: %s. Set gpu_audit_output_dir to a folder that you may write to."
        raise run_directory.RunDirectoryError(words % (session.folder, error.strerror or error)) from error
    run_directory.write_json(os.path.join(session.folder, "session.json"), run_directory.tame(data))
    session.note("part", "settings", run_directory.tame(settings))
    for at, pairs in enumerate(listed):
        session.note("round", at, {"pairs": pairs})
    for name, place in hosts.items():
        session.note("host", name, run_directory.tame(place))
    return session


def is_id(session):
    """Whether this is the id of a session."""
    return isinstance(session, str) and bool(_ID.match(session))


def load(output_dir, session):
    """A session that was begun. ValueError for what is none."""
    if not is_id(session):
        raise ValueError("%r is no session of link tests" % (session,))
    if not os.path.exists(os.path.join(_folder(output_dir, session), "session.json")):
        raise ValueError("there is no session %s of link tests" % session)
    return Session(output_dir, session)


def unfinished(output_dir):
    """The newest sessions that didn't come to their end, in their order: of plays that were interrupted or killed, or that go on now."""
    folder = os.path.join(output_dir, "measurements", FOLDER)
    try:
        names = sorted(name for name in os.listdir(folder) if _ID.match(name))
    except OSError:
        return []
    return [Session(output_dir, name) for name in names[-_MOST_UNFINISHED:] if os.path.isdir(os.path.join(folder, name, ".work"))]


# ------------------------------------------------------------------ the figures


def of_one_pair(name, peer, place, result):
    """The result of a host that was tested with one peer by itself; `place`: its {"address", "interface", ...}, `result`: the pair's."""
    unknown = {"address": peer, "interface": None, "link_kind": None, "line_rate_bits_per_second": None, "iperf3_version": None}
    pair = {"n": 1, "round": 1, "client": name, "server": peer}
    data = {"hosts": {name: place, peer: unknown}, "rounds": [[pair]]}
    result = link_reading.usable(result, pair, data["hosts"])
    return dict(host_results(data, [(pair, result)], {})[name], counters_growth=result.get("counters"))


def _shown(result):
    keys = ("send", "receive", "rtt_seconds", "path_mtu_bytes", "parallel", "error")
    return {key: result.get(key) for key in keys} if result else dict.fromkeys(keys[:-1], None) | {"error": _NOT_TRIED}


_NOT_TRIED = {"kind": "local", "message": "the play ended before this pair's turn"}


def host_results(data, pairs, after):
    """{host: the result of its measurement}. pairs: Session.pairs(); after: {host: its counters at the end, or None}. Pure."""
    tried = [dict(result or {"error": _NOT_TRIED}, **{key: pair[key] for key in ("client", "server")}) for pair, result in pairs]
    figures = link_judging.hosts_figures(tried, data["hosts"])
    losses = link_losses.hosts_losses(tried, data["hosts"])
    for pair in tried:
        pair["only_here"] = {"slow_fraction": link_judging.between_two(pair, figures), **link_losses.between_two(pair, losses)}
    count = sum(1 for figure in figures.values() if figure["bytes_per_second"] is not None)
    return {name: _host_result(name, host, dict(figures[name], **losses[name]), [pair for pair in tried if name in (pair["client"], pair["server"])],
                               after.get(name), count, data) for name, host in data["hosts"].items()}


def _rate(pair, direction):
    return (pair.get(direction) or {}).get("bytes_per_second")


def _seen_by(name, pair):
    """A pair as one of its hosts sees it."""
    client = pair["client"] == name
    sending, receiving = ("send", "receive") if client else ("receive", "send")
    losses = link_losses.of_pair(pair)
    return {"peer": pair["server"] if client else pair["client"], "send_bytes_per_second": _rate(pair, sending),
            "receive_bytes_per_second": _rate(pair, receiving), "retransmits": (pair.get(sending) or {}).get("retransmits"),
            "seconds": (pair.get(sending) or {}).get("seconds"), "rtt_seconds": pair.get("rtt_seconds"), "error": pair.get("error"),
            "udp_error": pair.get("udp_error"), "only_here": pair["only_here"],
            "sent_again_fraction": losses["again"][sending], "received_again_fraction": losses["again"][receiving],
            "sent_lost_fraction": losses["lost"][sending], "received_lost_fraction": losses["lost"][receiving]}


def _host_result(name, host, figure, pairs, after, count, data):
    own = [_seen_by(name, pair) for pair in pairs]
    udp = [pair[key] for pair in pairs for key in ("udp", "udp_receive") if pair.get(key)]
    counted = [entry["retransmits"] for entry in own if entry["retransmits"] is not None]
    before = host.get("counters")
    growth = None
    if isinstance(before, dict) and isinstance(after, dict):
        growth = {key: value - before[key] for key, value in sorted(after.items()) if key in before and value > before[key]}
    notes = _notes(name, figure, own, pairs)
    # The client looks at its own way out: a path that takes less than its interface, packets that get lost.
    asked = [pair for pair in pairs if pair["client"] == name]
    holes = [pair["black_hole"] for pair in asked if pair.get("black_hole") is not None]
    local = next((pair["local_time"] for pair in asked if pair.get("local_time")), None)
    return dict(
        figure,
        address=host["address"], interface=host["interface"], link_kind=host["link_kind"],
        line_rate_bits_per_second=host["line_rate_bits_per_second"], pairs=own,
        retransmits=sum(counted) if counted else None, rtt_seconds=link_losses.lower_median(entry["rtt_seconds"] for entry in own),
        jitter_seconds=link_losses.lower_median(each.get("jitter_seconds") for each in udp),
        path_mtu_bytes=link_path.mtu(name, pairs),
        interface_mtu_bytes=host.get("mtu_bytes"), black_hole=2 * sum(holes) > len(holes) if holes else None,
        parallel=max((pair["parallel"] for pair in pairs if pair.get("parallel")), default=None),
        counters_growth=growth, pairs_failed=sum(1 for entry in own if entry["error"]),
        udp_failed=sum(1 for entry in own if entry["udp_error"]), hosts=count, hosts_asked=len(data["hosts"]),
        rounds=len(data["rounds"]), tool_version=host["iperf3_version"], local_time=local or host.get("local_time"), notes=notes)


_ONLY_HERE = {"slow_fraction": "%s of the speed that both reach with other hosts", "lost_fraction": "%s of UDP packets get lost",
              "retransmit_fraction": "%s of TCP segments are sent again"}


def _notes(name, figure, own, pairs):
    notes = []
    if figure["undecided_with"]:
        notes.append("tested with %s only: if the link between them is slow, nobody can tell which of the two it is" %
                     figure["undecided_with"])
    if figure["hidden_by"]:
        notes.append("tested with slow hosts only (%s): how fast this host's own link is isn't known" % figure["hidden_by"])
    if figure["loss_hidden_by"]:
        notes.append("tested with hosts only that lose packets (%s): what this host's own link loses isn't known" % figure["loss_hidden_by"])
    if figure["slower_direction"]:
        notes.append("%s is much slower than the other direction" % {"send": "sending", "receive": "receiving"}[figure["slower_direction"]])
    for entry in own:
        notes += ["with %s only: %s" % (entry["peer"], _ONLY_HERE[key] % format_fraction(share)) for key, share in entry["only_here"].items()
                  if share is not None]
    failed = ["with %s: %s" % (entry["peer"], entry["error"]["message"]) for entry in own if entry["error"]]
    if failed:
        notes.append("%d of %d pairs failed" % (len(failed), len(own)))
    said = ["with %s: %s" % (pair["server"], note) for pair in pairs if pair["client"] == name for note in pair.get("notes") or []]
    said += ["with %s: %s" % (entry["peer"], entry["udp_error"]["message"]) for entry in own if entry["udp_error"]]
    no_mtu = link_path.unknown(name, pairs)
    return (notes + failed + list(dict.fromkeys(said + ([no_mtu] if no_mtu else []))))[:_MAX_NOTES]


def failure_of(result):
    """Why a host has no figure at all, None where it has one."""
    if result["bytes_per_second"] is not None:
        return None
    said = next((entry["error"]["message"] for entry in result["pairs"] if entry["error"]), "no pair was tested")
    return "no pair of %d gave a figure; the first: %s" % (len(result["pairs"]), said)
