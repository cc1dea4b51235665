# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs test steps: logs, counts, skips with their reasons, a summary. What the steps are stands in steps.py. Standard library only."""

from __future__ import annotations

import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
import time
from xml.etree import ElementTree

from environment import ROOT, ToolError, say

OUTPUT = ROOT / "tests" / "output"

# What a step ends as. failed counts tests (or commands) that failed; notes are lines for the summary: what was skipped and why, what failed.
Outcome = collections.namedtuple("Outcome", "passed failed skipped notes")

# A test that failed: what pytest is given to run it by itself, and what it said.
Failure = collections.namedtuple("Failure", "test message")
# More than these at once are no accident of the machine.
RETAKE_AT_MOST = 5
MESSAGE_LETTERS = 600

# name: what STEPS selects; function(step) -> Outcome; needs: programs without which it is skipped; root: needs root;
# alone: runs while nothing else does (it measures time, or it makes test hosts).
Step = collections.namedtuple("Step", "name title function needs root alone")

TICK_SECONDS = 30
STEP_TIMEOUT_SECONDS = 2400


def skipped(step, reason):
    """The outcome of a step that can't run here."""
    return Outcome(0, 0, 1, ["skipped: %s: %s" % (step.name, reason)])


def add(outcomes):
    """The sum of several outcomes."""
    outcomes = list(outcomes)
    return Outcome(sum(one.passed for one in outcomes), sum(one.failed for one in outcomes), sum(one.skipped for one in outcomes),
                   [note for one in outcomes for note in one.notes])


def command(arguments, log, environ=None, cwd=ROOT, timeout=STEP_TIMEOUT_SECONDS):
    """Run a program with its output appended to a log; returns its exit code (124 when it ran out of time, with its whole group ended)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(str(log), "ab") as handle:
        handle.write(("\n$ %s\n" % " ".join(str(part) for part in arguments)).encode())
        handle.flush()
        process = subprocess.Popen([str(part) for part in arguments], stdin=subprocess.DEVNULL, stdout=handle, stderr=subprocess.STDOUT,
                                   env=environ, cwd=str(cwd), start_new_session=True)
        try:
            return process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            handle.write(("\nended after %d s: out of time\n" % timeout).encode())
            return 124
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise


def checked(title, arguments, log, **options):
    """A command that counts as one test."""
    code = command(arguments, log, **options)
    if code == 0:
        return Outcome(1, 0, 0, [])
    return Outcome(0, 1, 0, ["failed: %s (exit %d), see %s" % (title, code, log.relative_to(ROOT))])


def pytest(title, python, arguments, log, retake=False, **options):
    """Run pytest and count from its JUnit file; the reasons of skips become notes. A selection that finds no test is a failure: it checks nothing.

    retake: run the tests that failed once more, by themselves and in a process of their own, so that whatever they share is made afresh. For tests
    of times and networks, which a stalled machine spoils now and then, while a mistake fails twice. The summary names each of them.
    """
    found, failures = _pytest(title, python, arguments, log, **options)
    if not retake or not 0 < len(failures) <= RETAKE_AT_MOST:
        return found
    again, still = _pytest(title, python, [failure.test for failure in failures], log, **options)
    if again.passed + again.failed != len(failures):
        return found
    notes = ["again: %s: %s passed when it was run once more; first: %s" % (title, failure.test, failure.message)
             for failure in failures if failure.test not in {one.test for one in still}]
    kept = [note for note in found.notes if note.startswith("skipped")]
    return Outcome(found.passed + again.passed, again.failed, found.skipped, [note for note in again.notes if note.startswith("failed")] + kept + notes)


def _pytest(title, python, arguments, log, **options):
    """Outcome of one run of pytest and its Failures."""
    report = log.with_name("%s.xml" % title.replace(" ", "-"))
    if report.exists():
        report.unlink()
    code = command([python, "-m", "pytest", "-q", "-rs", "--tb=short", "-p", "no:cacheprovider", "--junitxml=%s" % report] + list(arguments), log, **options)
    try:
        outcome, failures = read_junit(report.read_bytes(), title)
    except (OSError, ElementTree.ParseError):
        return Outcome(0, 1, 0, ["failed: %s gave no result (exit %d), see %s" % (title, code, log.relative_to(ROOT))]), []
    if code != 0 and outcome.failed == 0:
        reason = "ran no test" if code == 5 else "exit %d" % code
        outcome = outcome._replace(failed=1, notes=outcome.notes + ["failed: %s: %s, see %s" % (title, reason, log.relative_to(ROOT))])
    return outcome, failures


def read_junit(text, title):
    """(Outcome, its Failures) from the text of pytest's JUnit file."""
    passed = skips = 0
    reasons, failures = collections.Counter(), []
    for case in ElementTree.fromstring(text).iter("testcase"):
        skip = case.find("skipped")
        wrong = next((found for found in (case.find("failure"), case.find("error")) if found is not None), None)
        if wrong is not None:
            failures.append(Failure(_node(case), " ".join(plain(wrong.get("message") or wrong.text or "").split())[:MESSAGE_LETTERS]))
        elif skip is not None:
            skips += 1
            reasons[skip.get("message") or "no reason given"] += 1
        else:
            passed += 1
    notes = ["failed: %s: %s: %s" % (title, failure.test, failure.message) for failure in failures[:20]]
    if len(failures) > 20:
        notes.append("failed: %s: and %d more" % (title, len(failures) - 20))
    notes += ["skipped: %s: %d: %s" % (title, count, reason) for reason, count in reasons.most_common()]
    return Outcome(passed, len(failures), skips, notes), failures


def _node(case):
    """What pytest is given to run the test of a JUnit file's testcase by itself: a.b.test_c and test_d[1] are a/b/test_c.py::test_d[1]."""
    parts = case.get("classname", "").split(".")
    for length in range(len(parts), 0, -1):
        path = pathlib.Path(*parts[:length]).with_suffix(".py")
        if (ROOT / path).is_file():
            return "::".join([str(path)] + parts[length:] + [case.get("name", "")])
    return "::".join([".".join(parts), case.get("name", "")])


def missing(step):
    """Why a step can't run here, None when it can."""
    if step.root and os.geteuid() != 0:
        return "needs root (it makes test hosts in namespaces)"
    absent = [name for name in step.needs if find_program(name) is None]
    if absent:
        return "not installed: %s" % ", ".join(absent)
    return None


def find_program(name):
    """The path of a program, also from the folders that an ordinary user's PATH leaves out."""
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path)


def run_step(step):
    """Outcome of one step; what it raises is a failure of that step, with its reason."""
    reason = missing(step)
    if reason:
        return skipped(step, reason)
    try:
        return step.function(step)
    except (ToolError, OSError, subprocess.SubprocessError) as error:
        return Outcome(0, 1, 0, ["failed: %s: %s" % (step.name, error)])


def log_of(step):
    """The step's log file, emptied when the run starts."""
    return OUTPUT / ("%s.log" % step.name)


class Board:
    """Progress of a run, one line a step, safe for several workers."""

    def __init__(self, total):
        self.total, self.done = total, 0
        self.running = {}
        self.results = collections.OrderedDict()
        self.lock = threading.Lock()

    def run(self, step):
        """Run a step and print how it ended."""
        with self.lock:
            self.running[step.name] = time.monotonic()
            say("  started   %-12s %s" % (step.name, step.title))
        outcome = run_step(step)
        with self.lock:
            seconds = time.monotonic() - self.running.pop(step.name)
            self.done += 1
            word = "FAILED" if outcome.failed else "skipped" if outcome.skipped and not outcome.passed else "passed"
            say("[%2d/%d] %-7s %-12s %4d s  %d passed, %d failed, %d skipped" % ((self.done, self.total, word, step.name, seconds) + outcome[:3]))
            self.results[step.name] = (outcome, seconds)
            if outcome.failed:
                _print_tail(log_of(step))
        return outcome

    def tick(self):
        """A sign of life while steps take long."""
        with self.lock:
            now = time.monotonic()
            if self.running:
                say("  running   " + ", ".join("%s (%d s)" % (name, now - began) for name, began in sorted(self.running.items())))


def plain(text):
    """Text without the colours and other orders to a terminal that tools write: the summary may go to a file."""
    return re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z^_])", "", text)


def _print_tail(log, lines=25):
    try:
        text = log.read_bytes().decode("utf-8", "replace").rstrip().splitlines()
    except OSError:
        return
    for line in text[-lines:]:
        say("    | " + plain(line)[:200])


def usable_cores(cgroup="/sys/fs/cgroup"):
    """Cores that this process may run on, within the quota of its container."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join(pathlib.Path(cgroup, name).read_text() for name in names).split()
            if int(quota) > 0:
                cores = min(cores, int(quota) // int(period))
        except (OSError, ValueError):
            # No such cgroup, or no quota ("max").
            continue
    return max(cores, 1)


def workers_here():
    """How many steps may run at a time: one a core, two at least (tests wait a lot), four at most (more bring nothing: the longest step counts)."""
    return min(max(usable_cores(), 2), 4)


def run_all(steps, before=None, workers=2):
    """Run `before`, then the steps, those that may several at a time, each to its end; returns the exit code. The last line printed is the count."""
    shutil.rmtree(str(OUTPUT), ignore_errors=True)
    OUTPUT.mkdir(parents=True)
    steps = ([before] if before else []) + list(steps)
    board = Board(len(steps))
    finished = threading.Event()

    def ticker():
        while not finished.wait(TICK_SECONDS):
            board.tick()

    threading.Thread(target=ticker, daemon=True).start()
    began = time.monotonic()
    try:
        if before:
            board.run(before)
        with concurrent.futures.ThreadPoolExecutor(max_workers=workers) as pool:
            list(pool.map(board.run, [step for step in steps if not step.alone and step is not before]))
        for step in steps:
            if step.alone:
                board.run(step)
    finally:
        finished.set()
    return summary(steps, board.results, time.monotonic() - began)


def summary(steps, results, seconds):
    """Print what ran, what was skipped and why, what failed; returns the exit code."""
    total = add(outcome for outcome, _took in results.values())
    say("\nSummary (%d s; logs in %s)" % (seconds, OUTPUT.relative_to(ROOT)))
    for step in steps:
        outcome, took = results[step.name]
        say("  %-12s %4d s  %5d passed %3d failed %3d skipped  %s" % ((step.name, took) + outcome[:3] + (step.title,)))
    for start in ("skipped", "again", "failed"):
        notes = ["  " + note for note in total.notes if note.startswith(start)]
        if notes:
            say("\n%s:" % {"again": "Passed only when run again"}.get(start, start.capitalize()))
            say("\n".join(notes))
    code = 1 if total.failed or not total.passed else 0
    if not total.passed and not total.failed:
        say("\nNothing was tested.")
    say("\n%d passed, %d failed, %d skipped" % total[:3])
    return code
