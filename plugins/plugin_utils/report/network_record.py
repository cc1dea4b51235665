# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The network record of a host: upload, download, latency under load, the load it bears, its link; why and how where one is missing."""

from __future__ import annotations

from ...module_utils.measure.latency import is_known
from ..metrics import fabric as fabric_metrics, requests as load_metrics, transfer as transfer_metrics
from ..metrics.measurements import failed_since
from ..numbers import format_bit_rate
from . import closing, fabric_chart
from .clean import display
from .figures import human, short_time
from .network_words import (
    LONGEST,
    amount,
    bits,
    count,
    errors_of,
    failure_words,
    faults,
    joined,
    maps,
    percent,
    resent_of,
    weak_words,
    words_of,
)

TRANSFER, REQUESTS, LINKS = "transfer_benchmark", "request_benchmark", "link_benchmark"
# The checks whose status stands beside a figure: those of these metrics.
_METRICS = {
    "upload": ("network.upload_ratio", "network.upload_bytes_per_second"),
    "download": ("network.download_ratio", "network.download_bytes_per_second"),
    "p99": ("network.request_p99_seconds", "network.first_token_ratio"),
    "knee": ("network.concurrency_ratio", "network.concurrency_within_latency"),
    "link": ("network.link_fraction_of_line_rate", "network.link_floor_ratio", "network.link_fraction_of_group_median"),
    "fabric": (fabric_metrics.RATIO, fabric_metrics.WRONG),
}
_WORST = ("fail", "unknown", "warn", "pass")


class Measured:
    """What a host's document holds of its network: measurements or None; `failed` {part: error of one that failed}."""

    def __init__(self, document):
        self.upload = closing.newest(document, TRANSFER, lambda result: result.get("direction") == "upload")
        self.download = closing.newest(document, TRANSFER, lambda result: result.get("direction") == "download")
        self.requests = closing.newest(document, REQUESTS, lambda result: bool(maps(result.get("steps"))))
        self.links = closing.newest(document, LINKS)
        self.fabric = fabric_metrics.tests(document)
        self.failed = {}
        entries = (document or {}).get("measurements")
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("error") and not isinstance(entry.get("result"), dict):
                self.failed.update(dict.fromkeys(_parts(entry), entry["error"]))

    def any(self):
        return bool(self.sources() or self.failed)

    def sources(self):
        """The measurements that there are."""
        return [entry for entry in (self.upload, self.download, self.requests, self.links, *self.fabric) if entry]


def _parts(entry):
    """Which figures a failed measurement would have given."""
    if entry.get("module") == TRANSFER:
        return [direction for direction in ("upload", "download") if transfer_metrics.going(direction)(entry)]
    return {REQUESTS: ("p99", "knee"), LINKS: ("link",), fabric_metrics.MODULE: ("fabric",)}.get(str(entry.get("module")), ())


def ascending_steps(result):
    """The steps of a load test that have a load: ([(load, step)], whether the load is the arrival rate)."""
    steps = maps(result.get("steps"), 64)
    rates = {step.get("arrival_rate_per_second") for step in steps if amount(step, "arrival_rate_per_second")}
    by_rate = len(rates) > 1
    key = "arrival_rate_per_second" if by_rate else "concurrency"
    found = {amount(step, key): step for step in steps if amount(step, key)}
    return sorted(found.items()), by_rate


def target_step(result, wanted):
    """The step that shows what `wanted` requests at once meet: of so many or the next more; None where the test ended below."""
    steps, by_rate = ascending_steps(result)
    if by_rate:
        return steps[-1][1] if steps else None
    return next((step for load, step in steps if load >= wanted), None) if wanted else steps[-1][1] if steps else None


def status(view, host, part):
    """The worst status of the checks on these metrics, "" where there is none."""
    found = {
        finding.get("status")
        for check, finding in view.findings(host)
        # A check without limits passes whatever was measured: that is no mark.
        if check.metric in _METRICS[part] and (finding.get("status") != "pass" or view.required(check, finding))
    }
    return next((word for word in _WORST if word in found), "")


def record(view, host, measured, form):
    """[(title, figure or "–", what else is to say of it, status or "")]; [] where nothing of the network was measured."""
    if not measured.any():
        return []
    form = form if isinstance(form, dict) else {}
    # part -> (figure, what else is to say, the measurement that it is of)
    rows = {
        "upload": (*_transfer(view, measured, "upload"), measured.upload),
        "download": (*_transfer(view, measured, "download"), measured.download),
        "p99": (*_latency(view, measured, form), measured.requests),
        "knee": (*_knee(view, measured, form), measured.requests),
        "link": (*_link(view, measured), measured.links),
    }
    # Nobody is asked for this one: it is only there where somebody tested it.
    if measured.fabric:
        rows["fabric"] = (*fabric_chart.figure_of(view, host, measured.fabric), measured.fabric[0])
    elif "fabric" in measured.failed:
        rows["fabric"] = (*_missing(view, measured, "fabric"), None)
    found = []
    for part, (shown, said, source) in rows.items():
        mark = status(view, host, part)
        said = joined(view, [failure_words(view, source and failed_since(source)), said])
        title = fabric_chart.title_key(measured.fabric) if part == "fabric" else "net_" + part
        found.append((view.text(title), shown, said, "" if shown == "–" and mark == "pass" else mark))
    return found


def figures(view, host, document, form=None):
    """[(metric, title, value, unit, what else is to say)] of what was measured, for formats that keep numbers."""
    measured, found = Measured(document), []
    rows = dict(zip(_METRICS, record(view, host, measured, form)))
    requests = measured.requests["result"] if measured.requests else {}
    knee = None if ascending_steps(requests)[1] else knee_of(requests, form)
    for part, name, value, unit in (
        ("upload", "network.upload_bytes_per_second", rate_of(measured.upload), "bytes_per_second"),
        ("download", "network.download_bytes_per_second", rate_of(measured.download), "bytes_per_second"),
        ("p99", "network.request_p99_seconds", _p99(measured, form), "seconds"),
        ("knee", "network.concurrency_within_latency", knee, "count"),
        ("link", "network.link_bytes_per_second", rate_of(measured.links), "bytes_per_second"),
        ("fabric", fabric_metrics.RATE, fabric_chart.rate(measured.fabric), "bytes_per_second"),
    ):
        if value is not None:
            found.append((name, rows[part][0], value, unit, rows[part][2]))
    return found


def rate_of(measurement):
    """Bytes per second of a measurement or None."""
    return amount(measurement["result"], "bytes_per_second") if measurement else None


def _missing(view, measured, part):
    if measured.failed.get(part):
        return "–", view.text("net_failed", reason=words_of(measured.failed[part], view.language))
    return "–", view.text("net_missing_" + part)


# ------------------------------------------------------------------ transfers


def _transfer(view, measured, direction):
    measurement = getattr(measured, direction)
    if measurement is None:
        return _missing(view, measured, direction)
    result, rate = measurement["result"], rate_of(measurement)
    said = [faults(view, result)]
    peak = amount({"peak": transfer_metrics.best_second(result)}, "peak")
    if peak is not None:
        said.append(view.text("net_peak", rate=human(peak, "bytes_per_second", view.language)))
    first = amount(result, "time_to_first_byte_seconds", LONGEST)
    if first is not None:
        said.append(view.text("net_first_byte", seconds=short_time(first, view.language)))
    said += remarks(view, result)
    return (human(rate, "bytes_per_second", view.language) if rate is not None else "–"), joined(view, said)


def remarks(view, result):
    """What a reader must know of a transfer: hosts that moved data at once, what cut it, its checksum, its proxy."""
    said = weak_words(view, result)
    hosts = count(result, "hosts_at_once")
    if hosts > 1:
        alone = amount(result, "alone_bytes_per_second")
        said.append(view.text("net_at_once", n=hosts))
        if alone is not None:
            said.append(view.text("net_alone", rate=human(alone, "bytes_per_second", view.language)))
    checksum = result.get("checksum") if isinstance(result.get("checksum"), dict) else {}
    if checksum.get("verified") is False:
        said.append(view.text("net_checksum_wrong"))
    elif rate_of({"result": result}) is None:
        pass
    elif checksum.get("verified") is True:
        said.append(view.text("net_checksum_right", algorithm=display(checksum.get("algorithm") or "?", 20)))
    else:
        said.append(view.text("net_checksum_none"))
    if result.get("limited_by") in ("bytes", "seconds"):
        said.append(view.text("net_limited_" + result["limited_by"]))
    if result.get("proxy"):
        said.append(view.text("net_proxy"))
    return said


# ------------------------------------------------------------------- requests


def _p99(measured, form):
    if measured.requests is None:
        return None
    step = target_step(measured.requests["result"], amount(form, "concurrency"))
    return amount(step, "latency_p99_seconds", LONGEST)


def load_words(view, result, step):
    """ "50 at once", or "200 requests/s" where the steps are arrival rates."""
    _steps, by_rate = ascending_steps(result)
    if by_rate:
        return view.text("net_rate", rate=human(amount(step, "arrival_rate_per_second") or 0, "", view.language))
    return view.text("net_concurrency", n=human(amount(step, "concurrency") or 0, "", view.language))


def none_within(view, result, step):
    """Why a step, the lowest that counts, doesn't keep within the acceptable latency: too slow, or the share of it that failed; and
    whether lower ones were left out of account.
    """
    failed = load_metrics.error_fraction(step) or 0
    is_lowest = step is ascending_steps(result)[0][0][1]
    load = load_words(view, result, step)
    if failed > load_metrics.MAX_ERROR_FRACTION:
        share = human(round(failed, 3), "fraction", view.language)
        return view.text("net_none_failed" if is_lowest else "net_none_failed_counted", load=load, share=share)
    return view.text("net_none_within" if is_lowest else "net_none_within_counted", load=load)


def _latency(view, measured, form):
    if measured.requests is None:
        return _missing(view, measured, "p99")
    result, wanted = measured.requests["result"], amount(form, "concurrency")
    step = target_step(result, wanted)
    if step is None:
        steps, _by_rate = ascending_steps(result)
        return "–", view.text(
            "net_no_step",
            n=human(wanted, "", view.language) if wanted else "?",
            most=human(steps[-1][0], "", view.language) if steps else "?",
        )
    p99 = amount(step, "latency_p99_seconds", LONGEST)
    said = [view.text("net_at", load=load_words(view, result, step))]
    if not wanted:
        said.append(view.text("net_no_target"))
    for key in ("p50", "p95"):
        value = amount(step, f"latency_{key}_seconds", LONGEST)
        if value is not None:
            said.append(f"{key} {short_time(value, view.language)}")
    said += [errors_of(view, step), resent_of(view, step), *weak_words(view, result)]
    first = amount(step, "time_to_first_token_p95_seconds", LONGEST)
    if first is not None:
        said.append(view.text("net_first_token", seconds=short_time(first, view.language)))
        limit = amount(form, "first_token_seconds", LONGEST)
        said.append(view.text("net_first_acceptable", seconds=short_time(limit, view.language)) if limit else "")
    tokens = amount(step, "tokens_per_second_per_request")
    if tokens is not None:
        said.append(view.text("net_tokens", rate=human(round(tokens, 1), "", view.language)))
    return (short_time(p99, view.language) if p99 is not None else "–"), joined(view, said)


def acceptable(result, form):
    """Seconds of an acceptable answer: the form's, else what the test was told."""
    return amount(form, "latency_seconds", LONGEST) or amount(result, "latency_slo_seconds", LONGEST)


def climbed(result, form):
    """(how far the acceptable latency is kept (latency.Climb), {load: step} of the steps that count); (None, ...) where that can't be
    told. The load is the concurrency, or the arrival rate where the steps differ in that.
    """
    slo = acceptable(result, form)
    steps = [(load, step) for load, step in ascending_steps(result)[0] if not (amount(step, "concurrency") and load_metrics.too_few(step))]
    return (load_metrics.climbed(steps, slo) if slo and steps else None), dict(steps)


def knee_of(result, form):
    """The highest load that keeps within the acceptable latency, all lower ones keeping it too; None where it can't be told."""
    found, _steps = climbed(result, form)
    if found is None or not is_known(found):
        return None
    # Below the lowest arrival rate there is always a lower one.
    return None if found.best == 0 and ascending_steps(result)[1] else found.best


def knee_words(view, result, form):
    """Why the knee is 0 or isn't known: the steps contradict each other, or the lowest that counts doesn't keep the latency; "" else."""
    found, steps = climbed(result, form)
    if found is None or found.missed is None:
        return ""
    if found.held_above:
        joint = "、" if view.language == "zh" else ", "
        held = joint.join(human(load, "", view.language) for load in found.held_above)
        load = load_words(view, result, steps[found.missed])
        return view.text("net_contradiction", load=load, n=human(amount(steps[found.missed], "requests"), "", view.language), held=held)
    return "" if found.best else none_within(view, result, steps[found.missed])


def _knee(view, measured, form):
    if measured.requests is None:
        return _missing(view, measured, "knee")
    result = measured.requests["result"]
    knee, why = knee_of(result, form), knee_words(view, result, form)
    if knee is None and not why:
        return "–", view.text("net_no_knee" if acceptable(result, form) else "net_no_slo")
    slo = acceptable(result, form)
    steps, by_rate = ascending_steps(result)
    said = [view.text("net_within", seconds=short_time(slo, view.language)), why]
    if knee is not None and knee >= steps[-1][0]:
        said.append(view.text("net_not_reached"))
    wanted = amount(form, "concurrency")
    if wanted and not by_rate:
        said.append(view.text("net_wanted", n=human(wanted, "", view.language)))
    shown = "–" if knee is None else human(knee, "", view.language)
    return (view.text("net_rate", rate=shown) if by_rate and knee is not None else shown), joined(view, said)


# ---------------------------------------------------------------------- links


def loss_words(view, result):
    """4.5 % of UDP packets lost; 5.6 % of TCP segments sent again; "" where nothing is lost or known."""
    found = [(key, amount(result, field)) for key, field in (("net_lost", "lost_fraction"), ("net_again", "retransmit_fraction"))]
    shown = [
        view.text(key, share=human(round(min(value, 1), 4), "fraction", view.language)) for key, value in found if value and value >= 5e-4
    ]
    return joined(view, shown)


def _link(view, measured):
    if measured.links is None:
        return _missing(view, measured, "link")
    result = measured.links["result"]
    rate = rate_of(measured.links)
    said = [share_words(view, result)]
    for direction in ("send", "receive"):
        value = amount(result, direction + "_bytes_per_second")
        if value is not None:
            said.append(view.text("net_" + direction, rate=bits(value)))
    pairs = maps(result.get("pairs"), 4096)
    failed = sum(1 for pair in pairs if pair.get("error"))
    said.append(view.text("net_partners", n=len(pairs)))
    if failed:
        said.append(view.text("net_pairs_failed", n=failed))
    mtu = amount(result, "path_mtu_bytes")
    if mtu:
        said.append(view.text("net_mtu", mtu=human(mtu, "", view.language)))
    losses = loss_words(view, result)
    if losses:
        said.append(losses)
    return (bits(rate) if rate is not None else "–"), joined(view, said)


def share_words(view, result):
    """95 % of its line rate of 1 Gbit/s; or of the group's median, or that nothing says what it should be."""
    peer, line = result.get("undecided_with"), amount(result, "line_rate_bits_per_second")
    share, middle = amount(result, "fraction_of_line_rate"), amount(result, "group_median_bytes_per_second")
    if result.get("judged_by") == "line_rate" and share is not None:
        said = view.text("net_of_line", share=percent(view, share), line=format_bit_rate(line) if line else "?")
    elif amount(result, "fraction_of_group_median") is not None:
        share = percent(view, result["fraction_of_group_median"])
        said = view.text("net_of_group", share=share, middle=bits(middle) if middle is not None else "?")
    else:
        hidden = result.get("hidden_by")
        said = view.text("net_hidden", peer=display(hidden, 60)) if isinstance(hidden, str) and hidden else view.text("net_unjudged")
    return joined(view, [said, view.text("net_undecided", peer=display(peer, 60)) if isinstance(peer, str) and peer else ""])
