# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests of the fabric between GPUs (nccl-tests, perftest) in a host's network part: the figure, and bandwidth over message size."""

from __future__ import annotations

from ..leaves import amount, maps, text
from ..metrics import fabric
from ..metrics.measurements import command_of
from . import line_charts
from .clean import display
from .figures import human
from .measured_charts import rate_ticks, short

MOST_TESTS, MOST_ROWS, MOST_NAMES = 3, 64, 5
# A link is called Ethernet by perftest where RDMA runs over it.
_LINKS = {"IB": "InfiniBand", "Ethernet": "RoCE"}


def rate(tests):
    """Bytes per second of the test that counts; None without one."""
    return amount(tests[0]["result"], "busbw_bytes_per_second") if tests else None


def title_key(tests):
    """The text that names the figure: of one port where no test of NCCL was made."""
    return "net_port" if tests and text(tests[0]["result"], "tool") == "perftest" else "net_fabric"


def figure_of(view, host, tests):
    """(figure, what else is to say) of the test that counts, for the host's record; the others are named with their rate."""
    main = tests[0]
    result = main["result"]
    wanted = _expected(host, tests, main)
    said = [view.text("net_fabric_at", test=_name(main), size=_size(view, result.get("message_bytes"))), *_where(view, result)]
    if wanted:
        share = human(round(rate(tests) / wanted, 3), "fraction", view.language)
        said.insert(0, view.text("net_fabric_of", share=share))
    wrong = amount(result, "wrong_values")
    if wrong:
        said.insert(0, view.text("net_fabric_wrong", n=human(wrong, "", view.language)))
    said += _versions(result)
    for entry in tests[1:MOST_TESTS]:
        test = view.text("net_fabric_at", test=_name(entry), size=_size(view, entry["result"].get("message_bytes")))
        said.append(view.text("named", name=test, said=_rate(view, rate([entry]))))
    return _rate(view, rate(tests)), ("；" if view.language == "zh" else "; ").join(said)


def charts(view, host, tests):
    """[(title, SVG, key)] of the tests of several sizes; of a single one the record says all."""
    drawn = [_chart(view, host, tests, entry) for entry in tests[:MOST_TESTS]]
    return [chart for chart in drawn if chart]


def _chart(view, host, tests, entry):
    result, language = entry["result"], view.language
    rows = {}
    for row in maps(result, "rows")[:MOST_ROWS]:
        if amount(row, "bytes") and amount(row, "busbw_bytes_per_second") is not None:
            rows[amount(row, "bytes")] = row
    rows = [rows[size] for size in sorted(rows)]
    if len(rows) < 2:
        return None
    is_port, title = text(result, "tool") == "perftest", view.text("net_chart_fabric", test=_name(entry))
    size = _size(view, result.get("message_bytes"))
    key = [("line", view.text("net_key_port" if is_port else "net_key_bus", rate=_rate(view, rate([entry])), size=size))]
    algorithm = amount(rows[-1], "algbw_bytes_per_second") if not is_port else None
    if algorithm:
        key.append(("none", view.text("net_key_algorithm", rate=_rate(view, algorithm))))
    limits, wanted = [], _expected(host, tests, entry)
    top = max([rate([entry]), *(row["busbw_bytes_per_second"] for row in rows)]) or 1.0
    if wanted:
        key.append(("needed", view.text("net_key_expected", rate=_rate(view, wanted))))
        # What is expected far above all that was measured would press it to the ground: the words tell it then.
        if wanted <= 4 * top:
            limits.append(("needed", wanted, view.text("net_expected")))
    for row in rows:
        if amount(row, "wrong"):
            wrong = human(row["wrong"], "", language)
            key.append(("cross", view.text("net_key_wrong", size=_size(view, row["bytes"]), n=wrong)))
    key += [("none", words) for words in (*_where(view, result), *_versions(result))]
    named = set(line_charts.spread(len(rows), MOST_NAMES))
    columns = [
        (row["bytes"], _size(view, row["bytes"]) if at in named else "", human(row["wrong"], "", language) if amount(row, "wrong") else "")
        for at, row in enumerate(rows)
    ]
    told = [
        view.text("named", name=_size(view, row["bytes"]), said=_rate(view, row["busbw_bytes_per_second"]))
        for row in (rows[at] for at in line_charts.spread(len(rows), 12))
    ]
    drawn = line_charts.over_log(
        title,
        columns,
        [("bus", [row["busbw_bytes_per_second"] for row in rows])],
        rate_ticks(view, max([top, *(limit[1] for limit in limits)])),
        limits,
        None,
        view.text("net_axis_size"),
        "; ".join([*told, *(words for _kind, words in key)]),
    )
    return title, drawn, key


def _expected(host, tests, entry):
    """Bytes per second that a test was held to, None where that isn't known: a report has the share, or the evidence of one finding."""
    metrics = host.get("metrics") or {}
    found, share = amount(metrics, fabric.RATE), amount(metrics, fabric.RATIO)
    if len(tests) == 1 and found and share:
        return found / share
    for finding in maps(host, "findings"):
        evidence = maps(finding, "evidence")
        if finding.get("check") == fabric.RATIO and len(evidence) > 1 and evidence[0].get("source") == fabric.source_of(entry):
            return amount(evidence[1], "value") or None
    return None


def _name(entry):
    return display(command_of(entry).partition(" ")[0], 40)


def _rate(view, value):
    return human(value, "bytes_per_second", view.language)


def _size(view, value):
    return short(human(amount({"size": value}, "size"), "bytes", view.language))


def _where(view, result):
    """On how many GPUs of how many hosts, or through which port."""
    nodes, ranks = amount(result, "nodes"), amount(result, "ranks")
    parts = [view.text("net_fabric_gpus", n=human(ranks, "", view.language))] if ranks else []
    parts += [view.text("net_fabric_hosts", n=human(nodes, "", view.language))] if nodes else []
    device, link = text(result, "device"), text(result, "link")
    parts += [display(_LINKS.get(link, link), 40)] if link else []
    parts += [display(device, 40)] if device else []
    return [("，" if view.language == "zh" else ", ").join(parts)] if parts else []


def _versions(result):
    tool, library = text(result, "tool_version"), text(result, "library_version")
    if tool and text(result, "tool") == "perftest":
        tool = "perftest %s" % tool
    said = [display(tool, 60)] if tool else []
    return [", ".join(said + (["NCCL %s" % display(library, 30)] if library else []))] if said or library else []
