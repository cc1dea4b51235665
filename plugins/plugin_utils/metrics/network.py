# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Network: bringing data in, taking results out, serving many at once, the links between hosts, the ports; and when it was tested."""

from __future__ import annotations

import re

from .. import workload
from . import fabric, first_token, link_speed, ports, requests, transfer
from .measurements import SILENT, find_optional
from .registry import define, mapping, text

HOURS = "network.tests_outside_busy_hours"
define(
    HOURS,
    "count",
    "which of the newest upload, download and request test began outside of busy_hours (default %s) by the host's own clock; the same "
    "hours on "
    "every day" % workload.BUSY_HOURS,
    ("transfer_benchmark.result.local_time", "request_benchmark.result.local_time", "workload.busy_hours"),
    "最近一次上传、下载和请求测试中，按主机本地时间在 busy_hours（默认 %s）之外开始的个数；每天相同，不分星期" % workload.BUSY_HOURS,
)
# ISO 8601 with the minutes of the host's own clock; the offset isn't needed to read them.
_LOCAL = re.compile(r"\d{4}-\d\d-\d\d[T ]([01]\d|2[0-3]):([0-5]\d)")


def derive(state):
    """Every network.* metric."""
    transfer.derive(state)
    requests.derive(state)
    first_token.derive(state)
    link_speed.derive(state)
    fabric.derive(state)
    ports.derive(state)
    _derive_hours(state)


def _derive_hours(state):
    hours = state.form.get("busy_hours") or workload.BUSY_HOURS
    tests = [(direction, find_optional(state, transfer.MODULE, transfer.going(direction))) for direction in transfer.DIRECTIONS]
    tests.append(("requests", find_optional(state, requests.MODULE)))
    taken = [(what, entry) for what, entry in tests if entry]
    times = [(what, entry, text(mapping(entry, "result"), "local_time")) for what, entry in taken]
    known = [(what, entry, _LOCAL.match(moment)) for what, entry, moment in times if moment and _LOCAL.match(moment)]
    if not known:
        # Nobody tested, or a tool of one's own that doesn't say when it was by the host's clock.
        state.not_applicable(HOURS, SILENT)
        return
    outside = [
        (what, entry, "%s:%s" % found.groups())
        for what, entry, found in known
        if not workload.within_hours(hours, int(found[1]) * 60 + int(found[2]))
    ]
    told = [
        {"what": "began %s" % what, "value": moment, "source": "%s %s" % (entry["module"], text(entry, "finished") or "?")}
        for what, entry, moment in outside
    ]
    if told:
        told.append({"what": "busy_hours", "value": hours, "source": "workload form" if state.form.get("busy_hours") else "default"})
    if not outside and len(known) < len(taken):
        silent = sorted({text(entry, "module") or "?" for what, entry in taken if what not in [each[0] for each in known]})
        state.unknown(HOURS, "absent.measurement_incomplete", module=", ".join(silent), field="local_time")
        return
    state.value(HOURS, len(outside), told)
