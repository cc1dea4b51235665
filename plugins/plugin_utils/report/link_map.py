# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The links between the hosts of a fleet as a table whose cells are coloured: who sends how fast to whom, and in words whose fault it is.

Every pair comes from the lists of its two hosts and counts once: what a host sends is its own word, what its partner received only
where it has none.
"""

from __future__ import annotations

import bisect
import collections

from ..link_judging import CERTAINLY_SLOW, SLOW_FRACTION
from ..link_losses import LOSSY_FRACTION
from ..metrics.measurements import failed_since, with_results
from . import charts, link_between, link_faults, network_together
from .clean import display, for_html, natural, unbroken
from .figures import human
from .link_grid import EDGES, Cell, grid, table
from .measured_charts import moment
from .network_record import LINKS, loss_words, share_words
from .network_words import amount, bits, failure_words, joined, maps

# Up to so many hosts stand against each other.
MOST_HOSTS = 64
# From this share of the faster direction on, both are said with one figure.
SAME_WAY = 0.95
MOST_LISTED, MOST_NAMED, MOST_FAILED = 20, 5, 5
# So many tests stand in words, the first of them as maps too.
MOST_TESTS, MOST_MAPS = 12, 4
_LOSSES = ("network.link_lost_fraction", "network.link_retransmit_fraction")
_METRICS = {
    "line_rate": ("network.link_fraction_of_line_rate", "network.link_floor_ratio"),
    "group": ("network.link_fraction_of_group_median",),
}
_FASTEST = 1e14
_MOST_PAIRS = 4096
_MOST_OF_A_HOST = 64


class FleetLinks:
    """The link tests of one fleet, filled a host at a time: `add(index, host entry, host document or None)`; `html()` once.

    Each test stands by itself: a percentage of one test's median says nothing of a host that another test measured.
    """

    def __init__(self, view):
        self.view = view
        self.index, self.tests, self.lines, self.failures = {}, {}, {}, {}
        self.together = network_together.Together()
        for number, host in enumerate(view.report["hosts"]):
            self.index.setdefault(host.get("name"), number)

    def add(self, index, host, document):
        """Takes in what a host's document holds."""
        self.together.add(index, document)
        document = document if isinstance(document, dict) else {}
        found = with_results(document, LINKS)[:_MOST_OF_A_HOST]
        for measurement in found:
            options = measurement.get("options") if isinstance(measurement.get("options"), dict) else {}
            session = str(options.get("session"))
            if session not in self.tests:
                self.tests[session] = LinkTest(self.view, self.index, self.lines)
            self.tests[session].add(index, host, measurement)
            self.lines.setdefault(index, _own_line(measurement["result"]))
        since = [failed_since(measurement) for measurement in found]
        since += [
            dict(entry, message=link_faults.message(entry))
            for entry in maps(document.get("measurements"))
            if entry.get("module") == LINKS and entry.get("error") and not isinstance(entry.get("result"), dict)
        ]
        newest = max((str(failure.get("finished")) for failure in since if failure), default="")
        if newest and newest >= max((str(measurement.get("finished")) for measurement in found), default=""):
            failure = next(failure for failure in since if failure and str(failure.get("finished")) == newest)
            self.failures[index] = failure_words(self.view, failure)

    def html(self):
        """The section's content; "" where no link was tested and no data moved to several hosts at once."""
        lines = self.together.lines(self.view) + self._lost()
        said = "".join(_line(kind, text, "" if index is None else _name(self.view, index)) for kind, text, index in lines)
        return (f'<ul class="found">{said}</ul>' if said else "") + self._tests()

    def _lost(self):
        """[(status, words, index)] of the hosts whose newest test gave nothing."""
        lost = sorted(self.failures.items())
        more = self.view.text("map_lost_more", n=len(lost) - MOST_NAMED)
        lines = [("fail", words, index) for index, words in lost[:MOST_NAMED]]
        return lines + ([("", more, None)] if len(lost) > MOST_NAMED else [])

    def _tests(self):
        """Each test that still holds: that of the most hosts first, the newest of equals."""
        tests = sorted(self.tests.values(), key=lambda test: test.finished, reverse=True)
        failing, replaced = set(), []
        for test in tests:
            # A newer test has all pairs of these hosts, and they failed.
            replaced += [test] if set(test.results) <= failing else []
            test.failed_since = frozenset(failing) | set(self.failures)
            failing |= test.failing()
        tests = sorted((test for test in tests if test not in replaced), key=lambda test: -len(test.hosts()))
        parts = [test.html(at < MOST_MAPS, len(tests) > 1) for at, test in enumerate(tests[:MOST_TESTS])]
        left = len(tests) - MOST_TESTS
        return "".join(parts) + (f'<p class="quiet">{for_html(self.view.text("map_tests_more", n=left))}</p>' if left > 0 else "")


class LinkTest:
    """One test of links between hosts, filled a host at a time: `add(index, host entry, measurement)`; `html()` once.

    `index`: {name: number of a host}; `lines`: {number of a host that any test measured: its _own_line()}.
    `failed_since`: the hosts of which a newer test got nothing.
    """

    def __init__(self, view, index, lines):
        self.view, self.index, self.lines = view, index, lines
        self.results, self.seen, self.between, self.finished, self.failed_since = {}, {}, {}, "", frozenset()

    def add(self, index, host, measurement):
        """Takes in a host's measurement; of several of one host the first is its own."""
        result = measurement["result"]
        if index not in self.results:
            kept = {key: value for key, value in result.items() if key != "pairs"}
            self.results[index] = dict(kept, slow=_is_slow(self.view, host, result), lossy=_is_lossy(self.view, host, result))
        self.finished = max(self.finished, str(measurement.get("finished")))
        for peer, sends, receives, pair in pairs_of(result):
            other = self.index.get(peer)
            if other is None or other == index:
                continue
            self._note(index, other, sends, pair, own=True)
            self._note(other, index, receives, pair, own=False)
            words = link_between.words(self.view, pair)
            if words:
                self.between.setdefault((min(index, other), max(index, other)), words)

    def _note(self, sender, receiver, rate, pair, own):
        """One direction of a pair; the sender's own word goes before its partner's."""
        known = self.seen.get((sender, receiver))
        # A pair that was tested twice has its better test: a test that failed hides none that didn't.
        rank = (rate is not None, own)
        if known is None or rank > known[0]:
            retransmits = amount(pair, "retransmits") if own else None
            self.seen[sender, receiver] = (rank, rate, retransmits, link_faults.fault(self.view, pair))

    def failing(self):
        """The hosts of which no pair gave a figure."""
        named = {index for pair in self.seen for index in pair}
        return named - {index for pair, known in self.seen.items() if known[1] is not None for index in pair}

    def html(self, is_drawn, has_title):
        """The test in words; where `is_drawn` as a map too; under a title where there are others."""
        title = f"<h4>{for_html(self._title())}</h4>" if has_title else ""
        taken = f'<p class="quiet">{self._taken(has_title)}</p>'
        return (
            title + self._words() + taken + ((self._map() if len(self.hosts()) <= MOST_HOSTS else self._spread()) + self._list()) * is_drawn
        )

    # ------------------------------------------------------------------ words

    def hosts(self):
        """The hosts that any pair names, by name."""
        found = set(self.results).union(*self.seen)
        return sorted(found, key=lambda index: (natural(self.view.names[index]), index))

    def _title(self):
        return joined(self.view, [self.view.text("map_test", n=len(self.hosts())), moment(self.view, {"finished": self.finished})])

    def _figure(self, index):
        """receives 95 Mbit/s; 9.5 % of the line rate of 1 Gbit/s"""
        result = self.results[index]
        rate, way = amount(result, "bytes_per_second"), result.get("slower_direction")
        known = [(amount(result, each + "_bytes_per_second"), each) for each in ("send", "receive")]
        if way not in ("send", "receive") and None not in (known[0][0], known[1][0]) and min(known)[0] < SAME_WAY * max(known)[0]:
            way = min(known)[1]
        shown = "" if rate is None else self.view.text("net_" + (way if way in ("send", "receive") else "both"), rate=bits(rate))
        return joined(self.view, [shown, share_words(self.view, dict(result, undecided_with=None))])

    def _words(self):
        """Who is slow and who isn't, and which pairs failed."""
        view, said = self.view, []
        undecided = self._undecided()
        doubtful = self.failed_since.union(*undecided)
        slow = sorted((index for index, result in self.results.items() if result["slow"] and index not in doubtful), key=self._rank)
        for index in slow[:MOST_NAMED]:
            said.append(_line("fail", view.text("map_slow", figure=self._figure(index)), _name(self.view, index)))
        if len(slow) > MOST_NAMED:
            said.append(_line("fail", view.text("map_slow_more", n=len(slow) - MOST_NAMED)))
        if slow:
            said.append(_line("", view.text("map_partners", n=len(slow))))
        for one, other in undecided[:MOST_NAMED]:
            names = view.text("map_and", one=_name(self.view, one), other=_name(self.view, other))
            said.append(_line("unknown", view.text("map_undecided"), names))
        losses = self._losses() + self._between()
        said += losses
        judged = [index for index, result in self.results.items() if result["slow"] is not None and index not in doubtful]
        if judged and not slow and not losses:
            slowest = min(judged, key=self._rank)
            said.append(_line("pass", view.text("map_fine", figure=self._figure(slowest)), _name(self.view, slowest)))
        said += self._failures()
        return f'<ul class="found">{"".join(said)}</ul>'

    def _losses(self):
        """Who loses packets, and of whom nobody can tell."""
        view, lossy = self.view, [index for index, result in self.results.items() if result["lossy"] and index not in self.failed_since]
        lossy.sort(
            key=lambda index: (-max(amount(self.results[index], key) or 0 for key in ("lost_fraction", "retransmit_fraction")), index)
        )
        said = []
        for index in lossy[:MOST_NAMED]:
            result = self.results[index]
            peer = result.get("loss_undecided_with")
            # Older tests know what was sent again, and no share of it.
            shown = loss_words(view, result) or view.text("map_retransmitted", n=int(amount(result, "retransmits") or 0))
            words = view.text("map_lossy", figure=shown)
            if isinstance(peer, str):
                words += " " + view.text("map_lossy_undecided", peer=display(peer, 120))
            said.append(_line("unknown" if isinstance(peer, str) else "fail", words, _name(view, index)))
        left = len(lossy) - MOST_NAMED
        return said + ([_line("fail", view.text("map_lossy_more", n=left))] if left > 0 else [])

    def _between(self):
        """Which pairs are slow or lose with each other only."""
        view = self.view
        shown = [
            _line("warn", words, view.text("map_pair", one=_name(view, one), other=_name(view, other)))
            for (one, other), words in sorted(self.between.items())[:MOST_NAMED]
        ]
        left = len(self.between) - MOST_NAMED
        return shown + ([_line("warn", view.text("map_only_more", n=left))] if left > 0 else [])

    def _rank(self, index):
        """Slowest first, by what a host is judged by."""
        result = self.results[index]
        share = amount(result, "fraction_of_" + ("line_rate" if result.get("judged_by") == "line_rate" else "group_median"))
        rate = amount(result, "bytes_per_second")
        return (share if share is not None else 9.0, rate if rate is not None else _FASTEST, index)

    def _undecided(self):
        """Pairs of hosts of which nobody can tell which is the slow one."""
        found = set()
        for index, result in self.results.items():
            peer = result.get("undecided_with")
            other = self.index.get(peer) if isinstance(peer, str) else None
            if other is None:
                continue
            shares = [cell.share for cell in (self._cell(index, other), self._cell(other, index)) if cell and cell.share is not None]
            if result["slow"] or shares and min(shares) < SLOW_FRACTION:
                found.add((min(index, other), max(index, other)))
        return sorted(found)

    def _failures(self):
        """Which pairs failed and why, equal ones of a host in one line."""
        view, failed = self.view, {}
        for (sender, receiver), (_rank, rate, _retransmits, fault) in sorted(self.seen.items()):
            if fault or rate is None:
                failed.setdefault((min(sender, receiver), max(sender, receiver)), fault or link_faults.Fault("?", "?"))
        lines = link_faults.together(failed)
        shown = [_line("fail", view.text("map_failed", words=words), self._pairs(one, others)) for one, others, words in lines[:MOST_FAILED]]
        left = sum(len(others) for _one, others, _words in lines[MOST_FAILED:])
        return shown + ([_line("", view.text("map_failed_more", n=left))] if left > 0 else [])

    def _pairs(self, one, others):
        """gpu02 – gpu06, gpu07, 3 more"""
        named = [_name(self.view, other) for other in others[:MOST_NAMED]]
        named += [for_html(self.view.text("map_pairs_more", n=len(others) - MOST_NAMED))] if len(others) > MOST_NAMED else []
        return self.view.text("map_pair", one=_name(self.view, one), other=("、" if self.view.language == "zh" else ", ").join(named))

    def _taken(self, has_title):
        pairs = {(min(pair), max(pair)) for pair in self.seen}
        said = [self.view.text("map_taken", hosts=len(self.hosts()), n=len(pairs))]
        said.append("" if has_title else moment(self.view, {"finished": self.finished}))
        return for_html(joined(self.view, said), 300)

    # -------------------------------------------------------------------- map

    def _cell(self, sender, receiver):
        """The Cell of a direction, "self" of a host with itself, None where it wasn't tested, "newer" where only newer tests are known."""
        if sender == receiver:
            return "self"
        known = self.seen.get((sender, receiver))
        if known is None:
            # Either host's list would hold the pair: both hosts' lists are of other tests.
            return "newer" if self._is_elsewhere(sender) and self._is_elsewhere(receiver) else None
        _rank, rate, retransmits, fault = known
        ends = [self.results.get(index) or self.lines.get(index) for index in (sender, receiver)]
        return Cell(rate, share(rate, *ends), retransmits, fault.words if fault else "")

    def _is_elsewhere(self, index):
        return index in self.lines and index not in self.results

    def _map(self):
        hosts = self.hosts()
        if len(hosts) < 2:
            return ""
        doubtful = {index for pair in self._undecided() for index in pair}
        slow = {index for index in hosts if (self.results.get(index) or {}).get("slow")} - doubtful
        rows = [(_name(self.view, sender), sender in slow, [self._cell(sender, receiver) for receiver in hosts]) for sender in hosts]
        heads = [(self.view.names[index], index in slow) for index in hosts]
        return grid(self.view, self.view.text("map_caption"), self.view.text("map_corner"), heads, rows, self._scales())

    def _scales(self):
        """What the per cents are of, in words."""
        kinds = {kind for kind in _METRICS for result in self.results.values() if result.get("judged_by") == kind}
        return " ".join(self.view.text("map_of_" + kind) for kind in sorted(kinds)) if kinds else ""

    # ------------------------------------------------------------- long lists

    def _spread(self):
        """How many hosts reach which share, for fleets that no table can hold."""
        counts = collections.Counter()
        for index in self.results:
            found = self._rank(index)[0]
            counts[None if found == 9.0 else bisect.bisect_right(EDGES, found)] += 1
        edges = [f"{edge * 100:g} %" for edge in EDGES]
        names = [f"< {edges[0]}"] + [f"{low[:-2]}–{high}" for low, high in zip(edges, edges[1:])] + [f"≥ {edges[-1]}"]
        rows = [(name, counts[number], False) for number, name in enumerate(names)]
        rows += [(self.view.text("chart_unknown"), counts[None], True)] if counts[None] else []
        title = self.view.text("map_spread")
        return f'<div class="charts"><figure><figcaption>{for_html(title)}</figcaption>{charts.bars(title, rows)}</figure></div>'

    def _list(self):
        """Each host's own figures, the slowest first."""
        view, hosts = self.view, sorted(self.results, key=self._rank)
        if not hosts:
            return ""
        # A table that holds all pairs is there already where it is small; the list is for the worst then.
        shown = hosts if len(hosts) <= MOST_HOSTS else hosts[:MOST_LISTED]
        rows = []
        for index in shown:
            result = self.results[index]
            rates = [amount(result, way + "_bytes_per_second") for way in ("send", "receive")]
            rows.append(
                [
                    ("link", _name(self.view, index)),
                    *(("num", bits(rate) if rate is not None else "–") for rate in rates),
                    ("", share_words(view, result)),
                    ("", loss_words(view, result) or "–"),
                    ("num", human(amount(result, "pairs_failed"), "", view.language)),
                ]
            )
        heads = ("host", "map_sends", "map_receives", "map_share", "map_losses", "map_pairs_failed")
        title = (
            view.text("map_hosts", n=len(hosts)) if len(shown) == len(hosts) else view.text("map_slowest", n=len(shown), total=len(hosts))
        )
        return table(view, title, heads, rows, is_open=len(hosts) > MOST_HOSTS)


def _name(view, index):
    return f'<a href="#h{index}">{for_html(view.names[index])}</a>'


def _line(kind, text, name=""):
    """A sentence with its mark; `name` is HTML and stands before the text."""
    mark = f'<span class="m {kind}" aria-hidden="true"></span>' if kind else ""
    return f"<li>{mark}{'<b>' + name + '</b> ' if name else ''}{for_html(unbroken(text))}</li>"


def pairs_of(result):
    """(peer, bytes per second sent or None, received or None, entry) of each pair of a host's measurement."""
    for pair in maps(result.get("pairs"), _MOST_PAIRS):
        if isinstance(pair.get("peer"), str):
            yield pair["peer"], amount(pair, "send_bytes_per_second", _FASTEST), amount(pair, "receive_bytes_per_second", _FASTEST), pair


def _own_line(result):
    """What a test knows of a host's own line, which is the same in every test; {} where it was judged by its group."""
    return {key: result.get(key) for key in ("judged_by", "line_rate_bits_per_second")} if result.get("judged_by") == "line_rate" else {}


def _is_slow(view, host, result):
    """Whether a host's own link is slow, as it was judged, else by what is usual; None where nothing says what it should be."""
    by = result.get("judged_by")
    share_known = amount(result, "fraction_of_" + ("line_rate" if by == "line_rate" else "group_median"))
    if by not in ("line_rate", "group") or share_known is None:
        return None
    judged = _statuses(view, host, _METRICS[by])
    if judged:
        return judged != {"pass"}
    return share_known < (SLOW_FRACTION if by == "line_rate" else CERTAINLY_SLOW)


def _is_lossy(view, host, result):
    """Whether a host loses packets, as it was judged, else by what is usual."""
    judged = _statuses(view, host, _LOSSES)
    if judged:
        return judged != {"pass"}
    return any((amount(result, key) or 0) > LOSSY_FRACTION for key in ("lost_fraction", "retransmit_fraction"))


def _statuses(view, host, metrics):
    """The statuses that checks on these metrics gave a host."""
    found = [each for each in host.get("findings") or [] if isinstance(each, dict) and view.check(each.get("check")).metric in metrics]
    return {finding.get("status") for finding in found} & {"pass", "warn", "fail"}


def share(rate, sender, receiver):
    """A direction of a pair as a share of what the slower link of both can carry, else of the group's median; None where neither is known."""
    if rate is None:
        return None
    ends = [end for end in (sender, receiver) if end]
    lines = [amount(end, "line_rate_bits_per_second") for end in ends if end.get("judged_by") == "line_rate"]
    lines = [line for line in lines if line]
    if lines:
        return rate * 8 / min(lines)
    middle = next((amount(end, "group_median_bytes_per_second") for end in ends if amount(end, "group_median_bytes_per_second")), None)
    return rate / middle if middle else None


def strip(view, host, measurement):
    """A host's own pairs: what it sends to and receives from each of its partners."""
    if measurement is None:
        return ""
    result = measurement["result"]
    pairs = sorted(pairs_of(result), key=lambda pair: natural(pair[0]))[:MOST_HOSTS]
    if not pairs:
        return ""
    faults = [link_faults.fault(view, pair[3]) for pair in pairs]
    rows = []
    for name, at, own in (("map_sends", 1, True), ("map_receives", 2, False)):
        cells = [
            Cell(pair[at], share(pair[at], result, None), amount(pair[3], "retransmits") if own else None, fault.words if fault else "")
            for pair, fault in zip(pairs, faults)
        ]
        rows.append((for_html(view.text(name)), False, cells))
    heads = [(display(pair[0], 120), False) for pair in pairs]
    by = result.get("judged_by") if result.get("judged_by") in ("line_rate", "group") else None
    scales = view.text("map_of_" + by) if by else ""
    known = {(-1, number): fault for number, fault in enumerate(faults) if fault}
    lines = link_faults.together(known)[:MOST_FAILED]
    failed = [
        view.text("named", name=", ".join(display(pairs[other][0], 120) for other in others[:MOST_NAMED]), said=said)
        for _one, others, said in lines
    ]
    words = "".join(f"<li>{for_html(text)}</li>" for text in failed)
    words = f'<ul class="found">{words}</ul>' if words else ""
    caption = view.text("named", name=display(host.get("name"), 120), said=view.text("map_own"))
    table_html = grid(view, caption, view.text("map_partner"), heads, rows, scales)
    return f'<figure class="pairs"><figcaption>{for_html(view.text("map_own"))}</figcaption>{table_html}{words}</figure>'
