# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What request_benchmark measured: how many requests at once a service answers within the form's latency, p99, failed requests."""

from __future__ import annotations

from ...module_utils.measure import latency as rules
from ..queueing import capacity, planned_rate
from .measurements import SILENT, find_measurement, find_optional
from .registry import amount, define, flag, maps, text
from .transfer import FAILED_ADVICE, commonest, failures_told, note_test, source_of, to_itself

MODULE = "request_benchmark"
RATIO, WITHIN = "network.concurrency_ratio", "network.concurrency_within_latency"
P99, ERRORS = "network.request_p99_seconds", "network.request_error_fraction"
MAX_ERROR_FRACTION = rules.MAX_ERROR_FRACTION

define(
    RATIO,
    "ratio",
    "network.concurrency_within_latency / concurrency of the form; unknown where the form's concurrency lies above what was tried, or "
    "between "
    "a step that keeps within latency_seconds and one that doesn't, or where a step that may miss it by chance lies below one that keeps "
    "it; 0 where the lowest step doesn't",
    ("request_benchmark.result.steps", "workload.concurrency", "workload.latency_seconds"),
    "network.concurrency_within_latency / 表单要求的并发；表单的并发高于所测最大并发，或落在满足与不满足 latency_seconds 的两级之间，或可能只是偶然超限的一级之上有更高的一级满足时为未知；最低一级即不满足时为 0",
)
define(
    WITHIN,
    "count",
    "most requests at once with which the 95th percentile keeps within latency_seconds of the form (else latency_slo_seconds of the test), "
    "all lower steps too; a step with more than 1 % failed requests, one that was stopped for errors or a growing queue, doesn't; 0 where "
    "one at once doesn't; unknown where the lowest step of more doesn't, or one that may miss it by chance lies below one that keeps it; "
    "steps with fewer requests than clients, or than 20, are left out",
    (
        "request_benchmark.result.steps[].concurrency",
        "…latency_p95_seconds",
        "…error_fraction",
        "…stopped",
        "…queue_grows",
        "workload.latency_seconds",
    ),
    "95 分位延迟不超过表单 latency_seconds（否则取测试的 latency_slo_seconds）且更低各级也满足的最大并发；失败请求超过 1%、因错误中止或排队持续增长的一级不算满足；并发 1 也不满足时为 0；"
    "最低一级高于 1 且不满足，或可能只是偶然超限的一级之上有更高的一级满足时为未知；请求数少于客户端数或少于 20 的一级不计",
)
define(
    P99,
    "seconds",
    "99th percentile of the latency at the form's concurrency: of the lowest step at or above it",
    ("request_benchmark.result.steps[].latency_p99_seconds", "workload.concurrency"),
    "表单要求的并发下延迟的 99 分位：取不低于该并发的最低一级",
)
define(
    ERRORS,
    "fraction",
    "failed requests / all requests, the worst of the steps up to the form's concurrency (the lowest step at or above it "
    "included); without one, of the lowest step",
    ("request_benchmark.result.steps[].errors", "…requests", "…error_fraction", "workload.concurrency"),
    "失败请求 / 全部请求，取不高于表单并发的各级（含不低于它的最低一级）中最差者；表单未填并发时取最低一级",
)


def derive(state):
    """Every metric of simulated requests."""
    for name, derive_one in ((WITHIN, _derive_within), (RATIO, _derive_ratio), (P99, _derive_p99), (ERRORS, _derive_errors)):
        entry = find_measurement(state, name, MODULE) if name == RATIO else find_optional(state, MODULE)
        if entry is None:
            if name != RATIO:
                state.not_applicable(name, SILENT)
        else:
            derive_one(state, entry, steps_of(entry["result"]))
            note_test(state, name, entry)


def steps_of(result):
    """The steps of a test by rising concurrency; those without a concurrency, or with too few requests to tell, are left out. A result
    without steps is one step.
    """
    return [step for step in _tried(result) if not too_few(step)]


def _tried(result):
    steps = maps(result, "steps") or [result]
    return sorted((step for step in steps if amount(step, "concurrency") and amount(step, "requests") != 0), key=lambda step: step["concurrency"])


def too_few(step):
    """Whether a step sent fewer requests than it has clients, or than a percentile takes; not where it was stopped because of what it saw."""
    return rules.too_few(amount(step, "requests"), step["concurrency"], text(step, "stopped"))


def _left_out(result, wanted):
    """The lowest step at or above a concurrency, else the highest, that too_few() leaves out; None where there is none."""
    few = [step for step in _tried(result) if too_few(step)]
    return _at(few, wanted) or (few[-1] if few else None)


def error_fraction(step):
    """Share of a step's requests that failed: as it says, else from its counts; None where neither is known."""
    said = amount(step, "error_fraction")
    if said is not None:
        return min(said, 1)
    counts = _errors(step)
    if counts is None:
        return None
    requests = amount(step, "requests")
    return min(1, sum(counts.values()) / requests) if requests else None if counts else 0


def _errors(step):
    """{kind: count} of a step; None where it has none of it."""
    errors = step.get("errors")
    if not isinstance(errors, dict):
        return None
    return {kind: amount(errors, kind) for kind in sorted(errors, key=str) if isinstance(kind, str) and amount(errors, kind)}


def holds(step, latency):
    """Whether a step keeps within `latency` seconds; None where it can't be told."""
    p95 = amount(step, "latency_p95_seconds")
    return rules.holds(p95, error_fraction(step), text(step, "stopped"), flag(step, "queue_grows"), latency)


def climbed(steps, latency):
    """How far (load, step) pairs, by rising load, keep within `latency` seconds (latency.Climb); None where a step can't be told."""
    return rules.climb([(load, holds(step, latency), _misses_surely(step, latency)) for load, step in steps])


def _misses_surely(step, latency):
    low, p50 = amount(step, "latency_p95_at_least_seconds"), amount(step, "latency_p50_seconds")
    requests, stopped = amount(step, "requests"), text(step, "stopped")
    return rules.misses_surely(low, p50, requests, error_fraction(step), stopped, flag(step, "queue_grows"), latency)


def _knee(steps, latency):
    """climbed() of steps by their concurrency; None without steps."""
    return climbed([(step["concurrency"], step) for step in steps], latency) if steps else None


def _at(steps, wanted):
    """The lowest step at or above a concurrency, None where none was tried."""
    return next((step for step in steps if step["concurrency"] >= wanted), None)


def _evidence(steps, source, latency=None):
    """What the given steps showed: failed requests where they count, else the latency and what is acceptable of it."""
    told = []
    for step in steps:
        count, p95, failed = step["concurrency"], amount(step, "latency_p95_seconds"), error_fraction(step) or 0
        if failed > MAX_ERROR_FRACTION:
            told.append({"what": "failed at %g" % count, "value": failed, "source": source})
        if p95 is not None and (failed <= MAX_ERROR_FRACTION or latency and p95 > latency):
            told.append({"what": "p95 at %g" % count, "value": p95, "source": source})
            if latency:
                told.append({"what": "latency_seconds", "value": latency, "source": "workload form"})
        if text(step, "stopped") == "queue" or flag(step, "queue_grows"):
            told.append({"what": "queue at %g" % count, "value": amount(step, "arrival_rate_per_second"), "source": source})
    return told


def _unusable(state, name, steps):
    """Marks a metric whose steps don't tell."""
    field = "concurrency" if not steps else "latency_p95_seconds"
    state.unknown(name, "absent.measurement_incomplete", module=MODULE, field=field)


def _derive_within(state, entry, steps):
    latency = state.form.get("latency_seconds") or amount(entry["result"], "latency_slo_seconds")
    if not latency:
        state.not_applicable(WITHIN, SILENT)
        return
    found = _knee(steps, latency)
    if found is None:
        if not steps and _tried(entry["result"]):
            # The ratio says how few requests there were.
            state.not_applicable(WITHIN, SILENT)
        else:
            _unusable(state, WITHIN, steps)
        return
    if not rules.is_known(found):
        if state.form.get("latency_seconds") and state.form.get("concurrency"):
            # The ratio says why.
            state.not_applicable(WITHIN, SILENT)
        elif found.held_above:
            _contradiction(state, WITHIN, steps, found)
        else:
            state.unknown(WITHIN, "absent.concurrency_below", module=MODULE, failed="%g" % found.missed)
        return
    state.value(WITHIN, found.best, _evidence([_step(steps, found.missed)] if found.missed else steps[-1:], source_of(entry)))


def _contradiction(state, name, steps, found):
    """Marks a metric whose steps contradict each other."""
    sent = amount(_step(steps, found.missed), "requests")
    held = ", ".join("%g" % load for load in found.held_above)
    state.unknown(name, "absent.requests_contradict", module=MODULE, missed="%g" % found.missed, sent="%g" % (sent or 0), held=held)


def _step(steps, concurrency):
    return next(step for step in steps if step["concurrency"] == concurrency)


def _derive_ratio(state, entry, steps):
    wanted, latency = state.form.get("concurrency"), state.form.get("latency_seconds")
    fields = [field for field, value in (("concurrency", wanted), ("latency_seconds", latency)) if not value]
    if fields:
        state.unknown(RATIO, "absent.form", fields=", ".join(fields))
        return
    own = to_itself(state, entry) if flag(entry["result"], "stand_in") else None
    if own:
        # A service may be asked on its own host; the audit's own server there is neither service nor network.
        state.unknown(RATIO, "absent.own_address", module=MODULE, address=own)
        return
    few = _left_out(entry["result"], wanted)
    found = _knee(steps, latency)
    if found and found.held_above and found.best < wanted:
        # Had it kept the latency, would a higher one still be too slow for what is wanted?
        spared = _knee([step for step in steps if step["concurrency"] != found.missed], latency)
        if not (spared and spared.missed and spared.missed <= wanted and not spared.held_above):
            _contradiction(state, RATIO, steps, found)
            return
        found = spared
    if few and (not steps or found and found.missed is None and found.best < wanted and few["concurrency"] > found.best):
        count, sent = few["concurrency"], amount(few, "requests")
        state.unknown(RATIO, "absent.requests_too_few", module=MODULE, count="%g" % count, sent="%g" % sent)
        return
    if found is None:
        _unusable(state, RATIO, steps)
        return
    best, failed = found.best, _step(steps, found.missed) if found.missed else None
    if best < wanted and (failed is None or failed["concurrency"] > wanted):
        key = "absent.concurrency_not_tried" if failed is None else "absent.concurrency_between" if best else "absent.concurrency_below_wanted"
        params = {} if failed is None else {"failed": "%g" % failed["concurrency"]}
        state.unknown(RATIO, key, module=MODULE, best="%g" % best, wanted="%g" % wanted, **params)
        return
    told = [failed] if best < wanted else [_at(steps, wanted)]
    state.value(
        RATIO,
        best / wanted,
        [
            _reached(found, source_of(entry)),
            {"what": "concurrency_wanted", "value": wanted, "source": "workload form"},
            *_evidence(told, source_of(entry), latency),
        ],
    )
    if best < wanted:
        state.values[RATIO]["evidence"] += _planned(entry, steps)
    errors = _errors(failed) if best < wanted else None
    if errors and (error_fraction(failed) or 0) > MAX_ERROR_FRACTION:
        kind = commonest(errors)[0]
        known = FAILED_ADVICE.get(kind) if failed is steps[0] else None
        state.values[RATIO]["advice"] = known or "advice.requests_fail"


def _reached(found, source):
    """Evidence of how many at once keep within the latency; where the lowest step doesn't and has untried ones below, of that."""
    if rules.is_known(found):
        return {"what": "concurrency_within", "value": found.best, "source": source}
    return {"what": "lowest_missed", "value": found.missed, "source": source}


def _planned(entry, steps):
    """Evidence of what the service can answer a second and what to plan with; [] where the test doesn't tell: it had room left, or sent
    requests at a rate of its own. Requests of a stand-in say nothing of the service.
    """
    if flag(entry["result"], "stand_in") or text(entry["result"], "loop") == "open":
        return []
    known = [
        (step["concurrency"], amount(step, "requests_per_second"))
        for step in steps
        if not amount(step, "arrival_rate_per_second") and not text(step, "stopped") and (error_fraction(step) or 0) <= MAX_ERROR_FRACTION
    ]
    most = capacity([(clients, rate) for clients, rate in known if rate])
    if most is None:
        return []
    source = source_of(entry)
    return [
        {"what": "answers_per_second", "value": most, "source": source},
        {"what": "planned_per_second", "value": planned_rate(most), "source": source},
    ]


def _derive_p99(state, entry, steps):
    wanted = state.form.get("concurrency")
    if not wanted:
        # Whether the form should say it is the ratio's to tell.
        state.not_applicable(P99, SILENT)
        return
    step = _at(steps, wanted)
    if step is None and _left_out(entry["result"], wanted):
        state.not_applicable(P99, SILENT)
        return
    if step is None:
        best = steps[-1]["concurrency"] if steps else 0
        state.unknown(P99, "absent.concurrency_not_tried", module=MODULE, best="%g" % best, wanted="%g" % wanted)
        return
    p99 = amount(step, "latency_p99_seconds")
    if p99 is None:
        state.unknown(P99, "absent.measurement_incomplete", module=MODULE, field="latency_p99_seconds")
        return
    state.value(P99, p99, [{"what": "p99 at %g" % step["concurrency"], "value": p99, "source": source_of(entry)}])


def _derive_errors(state, entry, steps):
    wanted = state.form.get("concurrency")
    last = _at(steps, wanted) if wanted else (steps or [None])[0]
    limit = last["concurrency"] if last else wanted or 0
    shares = [(error_fraction(step), step) for step in steps if step["concurrency"] <= limit]
    known = [(share, step) for share, step in shares if share is not None]
    if not known:
        # A tool of one's own that counts none.
        state.not_applicable(ERRORS, SILENT)
        return
    share, worst = max(known, key=lambda entry: entry[0])
    kinds = _errors(worst) or {}
    source = source_of(entry)
    told = [{"what": "failed at %g" % worst["concurrency"], "value": share, "source": source}] if share else []
    state.value(ERRORS, share, told + failures_told("requests", kinds, _words(entry["result"], kinds), source))
    kind = next(iter(commonest(kinds)), None)
    if kind in FAILED_ADVICE:
        state.values[ERRORS]["advice"] = FAILED_ADVICE[kind]


def _words(result, kinds):
    """What was said of errors of each kind: the test's notes have it as "N x kind: words"."""
    notes = result.get("notes")
    found = {}
    for note in notes if isinstance(notes, list) else ():
        for kind in kinds:
            before, mark, words = note.partition(" x %s: " % kind) if isinstance(note, str) else ("", "", "")
            if mark and kind not in found:
                found[kind] = words
    return found
