# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Parses what nccl-tests print (all_reduce_perf and the others), noise included. Pure.

What rank 0 prints, shortened (one line a size; older versions have `error`, the greatest deviation, for `#wrong`):

    # nThread 1 nGpus 8 minBytes 8589934592 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
    #  Rank  0 Group  0 Pid   1234 on node-1 device  0 [0x1b] NVIDIA H100 80GB HBM3
    #                                                              out-of-place                       in-place
    #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
    #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
      8589934592    2147483648     float     sum      -1    32345  265.57  464.75      0    32400  265.12  463.96      0
    # Out of bounds values : 0 OK
    # Avg bus bandwidth    : 464.355

A line that lacks a column, and a table without its last two lines, give no figure: NCCL's own messages may fall into the middle of a line.
"""

from __future__ import annotations

import re

from .tame import shown

# What mpirun --tag-output and srun --label put in front of each line.
_TAG = re.compile(r"\A(?:\[\d+,\d+\]<std(?:out|err)>:|\s*\d{1,6}: ?)")
_RANK = re.compile(r"#\s*Rank\s+(\d+)\s+(?:Group\s+\d+\s+)?Pid\s+\d+\s+on\s+(\S+)\s+device\s+\d+\s+\[[^\]]*\]\s*(.*)")
_HEAD = re.compile(r"#\s*nThread\s+(\d+)\s+nGpus\s+(\d+)\s+minBytes\s+(\d+)\s+maxBytes\s+(\d+)")
_FAILURE = re.compile(r"NCCL failure|CUDA failure|Test failure|Test timeout|error while loading shared|noticed that process rank",
                      re.IGNORECASE)
_TROUBLE = re.compile(r"\berror\b|not found|no such|cannot|failed", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,9})?(?:e[+-]?\d{1,3})?")
_LEFT = ("size", "count", "type", "redop", "root")
_RIGHT = ("time", "algbw", "busbw", "wrong")
_MAX_ROWS = 256
_LARGEST_RATE = 1e15


def parse_nccl(text):
    """Text -> the facts; raises nothing for what text may hold.

    {"operation" (null where the text doesn't say), "tests_version", "library_version", "ranks", "nodes" (null where no device is listed),
     "gpu_names": [text], "checked": bool (validation was on), "rows": [{"bytes", "time_seconds", "algbw_bytes_per_second",
     "busbw_bytes_per_second", "in_place_busbw_bytes_per_second", "wrong" (both together, null where it wasn't looked)}] by rising size,
     "wrong_values" (null where it wasn't looked), "average_busbw_bytes_per_second", "error": null or why there is no row, "notes": [text]}
    Rates are those of the operation out of place; in place where that is all that was measured.
    """
    lines = [(_TAG.sub("", line.rstrip("\n")), line.endswith("\n")) for line in text.splitlines(True)]
    facts = _head([line for line, _whole in lines])
    failure = next((shown(line, 300) for line, _whole in lines if _FAILURE.search(line)), None)
    if failure:
        return dict(facts, error="the test failed: %s" % failure)
    columns, found, average, outside, tables = None, {}, None, None, 0
    for line, whole in lines:
        bare = line.strip()
        if bare.startswith("#") and "algbw" in bare and "size" in bare:
            columns, found, average, tables = bare[1:].replace("#wrong", "wrong").split(), {}, None, tables + 1
        elif columns and average is None and bare[:1].isdigit():
            row = _row(bare, columns) if whole else None
            if row is None:
                return dict(facts, error="a line of the result is cut off or broken: %s" % shown(bare, 100))
            found[row["bytes"]] = row
        elif bare.startswith("# Out of bounds values"):
            counted = re.match(r"# Out of bounds values\s*:\s*(\d{1,18})\b", bare)
            outside = int(counted.group(1)) if counted else None
        elif columns and bare.startswith("# Avg bus bandwidth"):
            said = re.match(r"# Avg bus bandwidth\s*:\s*([\d.]+)\s*\Z", bare)
            average = float(said.group(1)) * 1e9 if said and whole and _NUMBER.fullmatch(said.group(1)) else None
    if not found:
        words = next((shown(line, 200) for line, _whole in lines if _TROUBLE.search(line)), None)
        return dict(facts, error="nccl-tests gave no result: %s" % words if words else "no result of nccl-tests in this text")
    if average is None:
        return dict(facts, error="the result is cut off: nccl-tests' last lines (Avg bus bandwidth) are missing")
    if len(found) > _MAX_ROWS:
        return dict(facts, error="a result with more than %d sizes is none of nccl-tests" % _MAX_ROWS)
    facts["rows"] = [found[size] for size in sorted(found)]
    facts["average_busbw_bytes_per_second"] = average
    _count_wrong(facts, outside, "wrong" in columns)
    if tables > 1:
        facts["notes"].append("%d results in this text; the last one was taken" % tables)
    return facts


def _head(lines):
    """What stands around the table."""
    facts = {"operation": None, "tests_version": None, "library_version": None, "ranks": None, "nodes": None, "gpu_names": [],
             "checked": True, "rows": [], "wrong_values": None, "average_busbw_bytes_per_second": None, "error": None, "notes": []}
    hosts, ranks, names = set(), set(), set()
    for line in lines:
        bare = line.strip()
        rank = _RANK.match(bare)
        if rank:
            ranks.add(int(rank.group(1)))
            hosts.add(rank.group(2))
            names.add(shown(rank.group(3), 80))
        started = re.match(r"# Collective test starting:\s*([a-z_]{1,40}?)_perf\b", bare)
        if started:
            facts["operation"] = started.group(1)
        version = re.match(r"# nccl-tests version\s+([\w.+-]{1,40})", bare)
        if version:
            facts["tests_version"] = version.group(1)
        library = re.search(r"\bNCCL version ([\d.]{3,20})", bare)
        if library:
            facts["library_version"] = library.group(1).strip(".")
        number = re.search(r"\bnccl-library=(\d{4,6})\b", bare)
        if number and facts["library_version"] is None:
            facts["library_version"] = _spelled(int(number.group(1)))
        if _HEAD.match(bare) and re.search(r"\bvalidation: 0\b|\bcheck: 0\b", bare):
            facts["checked"] = False
    if ranks:
        facts.update(ranks=len(ranks), nodes=len(hosts), gpu_names=sorted(names - {""})[:8])
    return facts


def _spelled(code):
    """NCCL_VERSION_CODE: 22703 -> "2.27.3", up to 2.8 with one digit less for the minor version: 2708 -> "2.7.8"."""
    large = code >= 10000
    return "%d.%d.%d" % (code // (10000 if large else 1000), code // 100 % (100 if large else 10), code % 100)


def _row(line, columns):
    """The row, None where it isn't whole."""
    fields = line.split()
    if len(fields) != len(columns):
        return None
    left = [(name, field) for name, field in zip(columns, fields) if name in _LEFT]
    right = fields[len(left):]
    if len(right) not in (4, 8) or dict(left).get("size", "") != fields[0] or not fields[0].isdigit() or not int(fields[0]):
        return None
    size, halves = int(fields[0]), []
    for half in (right[:4], right[4:]):
        numbers = [_figure(field) for field in half]
        if None in [number for number in numbers[:3] if number != "n/a"] or numbers[3:] == [None]:
            return None
        halves.append(dict(zip(_RIGHT, [None if number == "n/a" else number for number in numbers])))
    out, inside = halves
    taken = out if out.get("busbw") is not None else inside
    if taken.get("busbw") is None or taken.get("algbw") is None or taken["busbw"] * 1e9 > _LARGEST_RATE:
        return None
    # Time and rate say the same; where they don't, the line is two that ran into each other. Both are rounded.
    if taken["time"] and taken["algbw"] >= 1 and abs(taken["algbw"] * taken["time"] * 1e3 / size - 1) > 0.05:
        return None
    wrong = [half["wrong"] for half in halves if half.get("wrong") is not None]
    inside_rate = inside.get("busbw")
    return {"bytes": size, "time_seconds": taken["time"] / 1e6 if taken["time"] is not None else None,
            "algbw_bytes_per_second": taken["algbw"] * 1e9, "busbw_bytes_per_second": taken["busbw"] * 1e9,
            "in_place_busbw_bytes_per_second": None if inside_rate is None else inside_rate * 1e9,
            "wrong": int(sum(wrong)) if wrong and "error" not in columns else None}


def _figure(field):
    """A number, "n/a" where nothing was measured, None for anything else."""
    if field.upper() == "N/A":
        return "n/a"
    return float(field) if _NUMBER.fullmatch(field) else None


def _count_wrong(facts, outside, counted):
    """How many values were wrong: the sum of the column, or what the last lines say of all sizes."""
    known = [row["wrong"] for row in facts["rows"] if row["wrong"] is not None]
    if not facts["checked"] or (counted and not known):
        facts["notes"].append("the test didn't look whether the values are right (validation is off)")
        return
    facts["wrong_values"] = max([sum(known) if known else 0, outside or 0]) if known or outside is not None else None
