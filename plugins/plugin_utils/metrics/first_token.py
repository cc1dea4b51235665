# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How long users of a streaming service wait for the first token, against what the form accepts."""

from __future__ import annotations

from . import requests
from .measurements import SILENT, find_measurement, find_optional
from .registry import amount, define, flag, mapping
from .transfer import note_test, source_of, to_itself

TIME, RATIO = "network.time_to_first_token_seconds", "network.first_token_ratio"
_FIELD = "time_to_first_token_p95_seconds"

define(
    TIME,
    "seconds",
    "95th percentile of the time to the first token of streamed answers, of the lowest step at or above the form's concurrency; where the "
    "form has none, of the lowest step",
    ("request_benchmark.result.steps[].time_to_first_token_p95_seconds", "workload.concurrency"),
    "流式应答首 token 时间的 95 分位：取不低于表单要求并发的最低一级；表单未填并发时取最低一级",
)
define(
    RATIO,
    "ratio",
    "first_token_seconds of the form / network.time_to_first_token_seconds; only where the form says first_token_seconds",
    ("request_benchmark.result.steps[].time_to_first_token_p95_seconds", "workload.first_token_seconds", "workload.concurrency"),
    "表单的 first_token_seconds / network.time_to_first_token_seconds；仅在表单填写 first_token_seconds 时",
)


def derive(state):
    """Both metrics of the first token; the newest test that streamed counts."""
    acceptable = state.form.get("first_token_seconds")
    entry = find_optional(state, requests.MODULE, _streams)
    if entry is None:
        state.not_applicable(TIME, SILENT)
        if not acceptable:
            state.not_applicable(RATIO, SILENT)
        elif find_measurement(state, RATIO, requests.MODULE):
            state.unknown(RATIO, "absent.no_stream", module=requests.MODULE)
        return
    steps, wanted = requests.steps_of(entry["result"]), state.form.get("concurrency")
    step = next((step for step in steps if step["concurrency"] >= (wanted or 0)), None)
    first = amount(step or {}, _FIELD)
    source = source_of(entry)
    if first is None:
        state.not_applicable(TIME, SILENT)
    else:
        state.value(TIME, first, [_told(step, first, source)])
        note_test(state, TIME, entry)
    own = to_itself(state, entry) if flag(entry["result"], "stand_in") else None
    if not acceptable:
        state.not_applicable(RATIO, SILENT)
    elif own:
        state.unknown(RATIO, "absent.own_address", module=requests.MODULE, address=own)
    elif step is None and wanted:
        best = steps[-1]["concurrency"] if steps else 0
        state.unknown(RATIO, "absent.concurrency_not_tried", module=requests.MODULE, best="%g" % best, wanted="%g" % wanted)
    elif not first:
        state.unknown(RATIO, "absent.measurement_incomplete", module=requests.MODULE, field=_FIELD)
    else:
        limit = {"what": "first_token_seconds", "value": acceptable, "source": "workload form"}
        state.value(RATIO, acceptable / first, [_told(step, first, source), limit])
        note_test(state, RATIO, entry)


def _streams(entry):
    return any(amount(step, _FIELD) is not None for step in requests.steps_of(mapping(entry, "result")))


def _told(step, first, source):
    return {"what": "first token at %g" % step["concurrency"], "value": first, "source": source}
