# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parses what the bandwidth tests of perftest print (ib_write_bw, ib_read_bw, ib_send_bw), noise included. Pure.

What either end prints, shortened; with --report_gbits the columns are in Gb/sec, newer versions write MiB/sec:

                        RDMA_Write BW Test
     Link type       : IB
     #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
     8388608    20000            24056.74            24056.72           0.003007
    -----------------------------------------------------------------------------

A megabyte of perftest has 2^20 bytes, its Gb/sec 10^9 bits. A row that lacks a column, and a table without the line below it, give no
figure.
"""

from __future__ import annotations

import re

from .tame import shown

_UNITS = {"MB/sec": float(1 << 20), "MiB/sec": float(1 << 20), "MB/s": float(1 << 20), "Gb/sec": 1e9 / 8, "Gbits/sec": 1e9 / 8}
_COLUMN = re.compile(r"(#bytes|#sl|#iterations|BW peak|BW average|MsgRate|CPU_Util)(?:\[([^\]\s]*)\])?")
_TITLE = re.compile(r"\b(RDMA_Write|RDMA_Read|Send|Atomic)( Bidirectional)? (BW|Latency) Test\b")
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?")
_WRONG = re.compile(r"(?i)(?:\b(?:couldn'?t|can'?t|cannot|unable|failed|failure|not found|not supported|no such|invalid|refused|timed out|"
                    r"doesn'?t exist|error)\b|found no)")
_MAX_ROWS = 256


def parse_perftest(text):
    """Text -> the facts; raises nothing for what text may hold.

    {"operation": "write" | "read" | "send" | "atomic" | null, "both_directions": bool, "link": "IB" | "Ethernet" | null, "device",
     "rows": [{"bytes", "iterations", "peak_bytes_per_second" (null where it isn't measured), "bytes_per_second"}] by rising size,
     "error": null or why there are none, "notes": [text]}
    Of a size that is there more than once (both ends in one text, or a test over time) the lowest rate is taken.
    """
    facts = {"operation": None, "both_directions": False, "link": None, "device": None, "rows": [], "error": None, "notes": []}
    _head(facts, text)
    columns, open_table, found, words = None, False, {}, None
    for line in text.splitlines(True):
        bare = line.strip()
        if bare.startswith("#bytes"):
            columns, open_table = _COLUMN.findall(bare), True
        elif bare.startswith("-----"):
            open_table = open_table and not found
        elif columns and bare[:1].isdigit():
            row, why = _row(bare, columns)
            if why or not line.endswith("\n"):
                return dict(facts, error="a line of the result is cut off or broken: %s" % (why or shown(bare, 100)))
            earlier = found.get(row["bytes"])
            found[row["bytes"]] = row if earlier is None or row["bytes_per_second"] < earlier["bytes_per_second"] else earlier
        elif words is None and bare and _WRONG.search(bare) and not bare.startswith("Conflicting CPU"):
            words = shown(bare, 200)
    if not found:
        return dict(facts, error=_nothing(text, words))
    if open_table:
        return dict(facts, error="the result is cut off: the line below its table is missing")
    if len(found) > _MAX_ROWS:
        return dict(facts, error="a result with more than %d sizes is none of perftest" % _MAX_ROWS)
    facts["rows"] = [found[size] for size in sorted(found)]
    if facts["both_directions"]:
        facts["notes"].append("both directions at once: the rate is the sum of the two")
    return facts


def _head(facts, text):
    """What stands above the table."""
    title = _TITLE.search(text)
    if title:
        facts["operation"] = title.group(1).lower().replace("rdma_", "")
        facts["both_directions"] = bool(title.group(2))
    for name, pattern in (("link", r"\bLink type\s*: (\S{1,40})"), ("device", r"\bDevice\s*: (\S{1,80})")):
        found = re.search(pattern, text)
        facts[name] = found.group(1) if found else None


def _row(line, columns):
    """(the row, None), or (None, the line) where it isn't whole."""
    fields = line.split()
    names = [name for name, _unit in columns]
    if len(fields) != len(columns) or not all(_NUMBER.fullmatch(field) for field in fields):
        return None, shown(line, 100)
    values = dict(zip(names, fields))
    units = dict(columns)
    factor = _UNITS.get(units.get("BW average", ""))
    if factor is None or not values["#bytes"].isdigit() or not int(values["#bytes"]):
        return None, shown(line, 100)
    size, rate = int(values["#bytes"]), float(values["BW average"]) * factor
    messages = float(values.get("MsgRate", 0)) * 1e6
    # Both say the same; where they don't, the line is two that ran into each other. Either is rounded.
    rounding = 1e6 / 10 ** len(values.get("MsgRate", "").partition(".")[2])
    if messages and abs(messages * size - rate) > 0.02 * rate + rounding * size + 0.02 * factor:
        return None, shown(line, 100)
    peak = float(values["BW peak"]) * factor if "BW peak" in values else 0
    return {"bytes": size, "iterations": int(float(values["#iterations"])) if "#iterations" in values else None,
            "peak_bytes_per_second": peak or None, "bytes_per_second": rate}, None


def _nothing(text, words):
    """Why a text has no row."""
    title = _TITLE.search(text)
    if title and title.group(3) == "Latency":
        return "this is a latency test: its bandwidth isn't measured"
    if words:
        return "perftest gave no result: %s" % words
    if "Waiting for client to connect" in text:
        return "perftest gave no result: it waited for its other end, which never came"
    return "no result of perftest in this text"
