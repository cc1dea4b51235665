# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a test of the fabric between GPUs that the owner names (nccl-tests, perftest) within a time limit, and reads its result.

The command is the owner's, as a list of words; no shell is started. Whatever it started is ended with it. The result's form is in
docs/network.md.
"""

from __future__ import annotations

import os
import re
import signal
import time

from ..sources.run_program import read_scratch, run_program, scratch_file
from . import identity as machine
from . import moments, nccl_output, perftest_output, probe_tree
from .tame import shown

TOOLS = ("nccl", "perftest")
LONGEST_SECONDS = 3600
# SIGTERM and what follows it, and looking at GPUs and versions.
GRACE_SECONDS = 5
SPARE_SECONDS = 45
MAX_OUTPUT_BYTES = 8 << 20
MAX_ROWS = 64
_NCCL = re.compile(r"(all_reduce|all_gather|alltoall|alltoallv|broadcast|gather|hypercube|reduce|reduce_scatter|scatter|sendrecv)"
                   r"_perf(?:_mpi)?")
_PERFTEST = re.compile(r"ib_(write|read|send|atomic)_bw")
_LATENCY = re.compile(r"ib_\w+_lat")
_INSTALL = {"nccl": "Build NVIDIA's nccl-tests (make; for several nodes make MPI=1) and give the program's whole path",
            "perftest": "Install the package perftest of your distribution (apt-get install perftest, dnf install perftest)"}


class FabricError(Exception):
    """The test can't be made, or gave no result; the text says why and what to do."""


class Interrupted(Exception):
    """The module was told to end."""


# ------------------------------------------------------------------- the command


def named(argv, tool=None):
    """(tool, operation, program) of a command: the first of its words that names a test. FabricError where none does.

    >>> named(["mpirun", "-np", "16", "/opt/nccl-tests/build/all_reduce_perf", "-b", "8G"])
    ('nccl', 'all_reduce', 'all_reduce_perf')
    """
    for word in argv:
        name = os.path.basename(word)
        for kind, pattern in (("nccl", _NCCL), ("perftest", _PERFTEST)):
            found = pattern.fullmatch(name)
            if found and tool in (None, kind):
                return kind, found.group(1), name
        if _LATENCY.fullmatch(name) and tool != "nccl":
            raise FabricError("argv: %s measures latency, and this the rate: give ib_write_bw, ib_read_bw or ib_send_bw" % name)
    if tool:
        return tool, None, os.path.basename(probe_tree.said_name(argv[0]))
    raise FabricError("argv: none of its words is a test that is known here (all_reduce_perf and the others of nccl-tests, ib_write_bw, "
                      "ib_read_bw, ib_send_bw); where a script of yours runs one, say which with tool: nccl or perftest")


def check_options(options):
    """(argv, environment) of the module's options; FabricError (one sentence) for a wrong one."""
    argv = options.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv) or not argv[0].strip():
        raise FabricError("argv: a list of words is needed, the program first, such as [all_reduce_perf, -b, 8G, -e, 8G, -g, 8]")
    given = options.get("environment") or {}
    environment = dict((str(name), "" if value is None else str(value)) for name, value in given.items())
    if any("=" in name or not name for name in environment):
        raise FabricError("environment: a map of names and values is needed")
    if any("\0" in word for word in argv + list(environment) + list(environment.values())):
        raise FabricError("argv and environment can't hold NUL characters")
    if not os.path.isabs(options.get("chdir") or "/"):
        raise FabricError("chdir: %s is not an absolute path" % shown(options["chdir"]))
    for name, least, most in (("timeout_seconds", 1, LONGEST_SECONDS), ("nodes", 1, 100000)):
        value = options.get(name)
        if value is not None and not least <= value <= most:
            raise FabricError("%s must be between %g and %g, not %s" % (name, least, most, value))
    return argv, environment


def plan(options):
    """{"seconds", "bytes_written", "bytes_read", "notes", "tool", "operation", "program", "found", "environment"}; FabricError. Starts
    nothing.

    found: path of the command's first program.
    """
    argv, given = check_options(options)
    tool, operation, program = named(argv, options.get("tool"))
    environment = probe_tree.job_environment(dict({"LC_ALL": "C"}, **given))
    del environment["GPU_AUDIT_PROBE_FILE"]
    try:
        found = probe_tree.find_program(argv[0], environment, options.get("chdir") or "/")
    except probe_tree.StartError as error:
        if os.path.basename(argv[0]) != program or "/" in argv[0]:
            raise FabricError(str(error))
        raise FabricError("%s isn't installed here, or isn't on the search path. %s" % (program, _INSTALL[tool]))
    limit = options["timeout_seconds"]
    return {"seconds": limit + GRACE_SECONDS + SPARE_SECONDS, "bytes_written": None, "bytes_read": None, "tool": tool,
            "operation": operation, "program": program, "found": found, "environment": environment,
            "notes": ["runs %s, which fills the links between GPUs or hosts, for %d s at most" % (program, limit)]}


def target_of(options, planned):
    """What a measurement is of: the test, and on how many nodes where that was said."""
    return planned["program"] + (" nodes=%d" % options["nodes"] if options.get("nodes") else "")


def known_of(tool, listed=None):
    """{"machine_id", "gpu_uuids"}: a test with NCCL is one of these GPUs, one of the network card isn't."""
    uuids = []
    if tool == "nccl":
        from .probe_plan import listed_gpus
        uuids = sorted({about["uuid"] for about in (listed or listed_gpus)()["gpus"] if about["uuid"]})
    return {"machine_id": machine.identity(), "gpu_uuids": uuids}


# ----------------------------------------------------------------------- the run


def run(options, planned):
    """Runs the test. -> the result; FabricError where it gave none, Interrupted where the module was told to end."""
    begun = moments.local_time()
    text, status, timed_out = _run(options, planned)
    limit = options["timeout_seconds"]
    facts = (nccl_output.parse_nccl if planned["tool"] == "nccl" else perftest_output.parse_perftest)(text)
    if facts["error"]:
        raise FabricError(_why(planned, facts["error"], status, timed_out, limit))
    result = dict({"tool": planned["tool"], "operation": planned["operation"] or facts["operation"], "local_time": begun},
                  **(_of_nccl if planned["tool"] == "nccl" else _of_perftest)(facts, planned))
    notes = facts["notes"]
    if timed_out:
        notes.append("the command went on after its result and was ended after %d s" % limit)
    elif status and not result["wrong_values"]:
        notes.append("the command ended with %s after its result" % _ending(status))
    given = options.get("nodes")
    if given and result["nodes"] and given != result["nodes"]:
        notes.append("%d nodes were said, the test lists devices of %d: these count" % (given, result["nodes"]))
    result["nodes"] = result["nodes"] or given
    largest = result["rows"][-1]
    if len(result["rows"]) > MAX_ROWS:
        notes.append("the %d smallest sizes were left out" % (len(result["rows"]) - MAX_ROWS))
    result.update(rows=result["rows"][-MAX_ROWS:], busbw_bytes_per_second=largest["busbw_bytes_per_second"],
                  message_bytes=largest["bytes"], notes=notes)
    return result


def _ending(status):
    return "signal %d" % -status if status < 0 else "status %d" % status


def _why(planned, error, status, timed_out, limit):
    """One sentence on a test without a result."""
    if timed_out:
        return "%s gave no result within %d s and was ended: %s" % (planned["program"], limit, error)
    return "%s ended with %s: %s" % (planned["program"], _ending(status), error) if status else "%s: %s" % (planned["program"], error)


def _of_nccl(facts, _planned):
    version = "nccl-tests %s" % facts["tests_version"] if facts["tests_version"] else None
    return {"tool_version": version, "library_version": facts["library_version"], "nodes": facts["nodes"], "ranks": facts["ranks"],
            "rows": facts["rows"], "wrong_values": facts["wrong_values"], "link": None, "device": None}


def _of_perftest(facts, planned):
    rows = [{"bytes": row["bytes"], "time_seconds": None, "algbw_bytes_per_second": row["bytes_per_second"],
             "busbw_bytes_per_second": row["bytes_per_second"], "in_place_busbw_bytes_per_second": None, "wrong": None}
            for row in facts["rows"]]
    return {"tool_version": _perftest_version(planned), "library_version": None, "nodes": None, "ranks": None, "rows": rows,
            "wrong_values": None, "link": facts["link"], "device": facts["device"]}


def _perftest_version(planned):
    """"6.06" as `ib_write_bw --version` says it; null where the command only leads to it."""
    if os.path.basename(planned["found"]) != planned["program"]:
        return None
    said = run_program([planned["found"], "--version"], 10)
    found = re.search(r"(?i)\bversion:?\s+(\d[\w.-]{0,30})", said.stdout + "\n" + said.stderr)
    return found.group(1) if found else None


def _run(options, planned):
    """(output, wait status as subprocess has it, whether it was ended for time). Nothing that it started is left."""
    told = []
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = [(number, signal.signal(number, lambda got, dummy: told.append(got))) for number in numbers]
    others = probe_tree.children()
    probe_tree.adopt_orphans()
    pid = None
    try:
        with scratch_file() as output:
            try:
                pid = probe_tree.start(options["argv"], planned["environment"], options.get("chdir") or "/", output.fileno())
            except probe_tree.StartError as error:
                raise FabricError(str(error))
            status, timed_out = _wait(pid, time.monotonic() + options["timeout_seconds"], output, told)
            probe_tree.end_tree(GRACE_SECONDS, others, group=pid)
            if told:
                raise Interrupted("ended by %s" % signal.Signals(told[0]).name)
            return read_scratch(output, MAX_OUTPUT_BYTES).decode("utf-8", "replace"), status, timed_out
    finally:
        if pid is not None:
            probe_tree.end_tree(0, others, group=pid)
        for number, handler in before:
            signal.signal(number, handler)


def _wait(pid, until, output, told):
    """(status or None, whether its time was over) of the command."""
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return (-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), False
        if os.fstat(output.fileno()).st_size > MAX_OUTPUT_BYTES:
            raise FabricError("the command printed more than %d MiB and was ended" % (MAX_OUTPUT_BYTES >> 20))
        if told:
            return None, False
        if time.monotonic() >= until:
            return None, True
        time.sleep(0.05)
