# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a workload tells while it runs: its output, and JSON lines of its own or of the helper. No I/O but the tail of one file.

Lines end with a newline or a carriage return (progress bars). A JSON line is an object with any of
{"iteration", "seconds", "data_seconds", "samples"} (one iteration), {"epoch", "seconds"} (one epoch), {"iterations_per_epoch"},
{"memory_peak_bytes", "memory_reserved_bytes", "framework"} (the framework's own figures, of the fullest GPU).
"""

from __future__ import annotations

import json
import os
import re
import time

from ..sources.texts import clean_text
from .tame import shown

MAX_LINE, MAX_TIMES = 8192, 20000
# No count, time or size that a workload tells is larger; sums and products of such ones are still finite.
LARGEST = 1e18
# How many matches of an expression a line may have: one iteration, one epoch, and figures of memory.
MATCHES = {"iteration_pattern": 1, "epoch_pattern": 1, "memory_pattern": 16}
# A regular expression may need exponential time; one line may take this much of the processor's.
LINE_CPU_SECONDS = 0.5
# All lines together may take this much, and a share of the time since the first: else a slow expression holds up the watch and the command.
ALL_CPU_SECONDS, ALL_CPU_SHARE = 5.0, 0.1
# Frameworks name themselves when they start.
FRAMEWORK_LINES = 5000
UNITS = {"bytes": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "mb": 10 ** 6, "gb": 10 ** 9}
# What frameworks print when the GPU's memory doesn't suffice.
CUDA_OOM = re.compile(
    r"cuda out of memory|outofmemoryerror|cuda_error_out_of_memory|cudaerrormemoryallocation|cublas_status_alloc_failed|"
    r"cudnn_status_alloc_failed|resource_exhausted: (?:failed to allocate|out of memory)|resourceexhaustederror|oom when allocating|"
    r"cuda (?:runtime |driver )?error[^\n]{0,40}out of memory|no available memory for the cache blocks|"
    r"failed to allocate [^\n]{0,60}(?:on device|gpu|cuda)|nccl [^\n]{0,60}out of memory|gpu out of memory|"
    r"larger than the maximum number of tokens that can be stored in kv cache", re.IGNORECASE)
HOST_OOM = re.compile(
    r"is killed by signal: killed|a worker process .{0,40}killed|received signal 9|signal 9 \(sigkill\)|exitcode\s*[:=]\s*-9",
    re.IGNORECASE)
# Lines that only these frameworks print.
_FRAMEWORK_LINES = (
    (re.compile(r"vllm api server|initializing (?:a v\d )?llm engine|gpu kv cache size|# gpu blocks|vllm\.engine"), "vllm"),
    (re.compile(r"gpu_memory_utilization"), "vllm"), (re.compile(r"max_total_num_tokens=|sglang\.launch_server"), "sglang"),
    (re.compile(r"created device /job:localhost.{0,60}gpu:\d+ with \d+ mb memory"), "tensorflow"),
    (re.compile(r"xla backend allocating \d+ bytes"), "jax"))


# Lines that a program prints while it starts, alike but for their numbers, and yet no iterations.
_STARTING = re.compile(
    r"\W*(?:(?:info|debug|warning)\W+)?(?:loading|downloading|fetching|resolving|extracting|generating|filter|map|compiling)\b",
    re.IGNORECASE)
_TRACEBACK = "Traceback (most recent call last)"
# A traceback's further lines, one rank's name in front or not.
_INDENTED = re.compile(r"(?:\[\w+\]:)?\s{2,}")


class Repetition(object):
    """Whether a program's output holds lines that are alike but for their numbers, as one for each iteration would be."""

    SHAPES = 400

    def __init__(self):
        self.seen, self.shapes, self._traceback = False, set(), False

    def line(self, text):
        if self.seen:
            return
        if _TRACEBACK in text:
            self._traceback = True
            return
        self._traceback = self._traceback and bool(_INDENTED.match(text))
        if self._traceback or _STARTING.match(text) or not re.search(r"\d", text):
            return
        shape = re.sub(r"[\W\d_]+", " ", text[:400])
        # Where there are so many kinds of lines nothing can be told of them.
        self.seen = shape in self.shapes or len(self.shapes) >= self.SHAPES
        self.shapes.add(shape)


class TooSlow(Exception):
    """A regular expression needs too long for a line."""


class PatternError(ValueError):
    """A regular expression of the caller that can't be used."""


def compile_pattern(name, text, groups):
    """The expression, None for none. PatternError names the option, the expression's beginning and what is wrong."""
    if not text:
        return None
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else shown(error, 100)
        raise PatternError("%s: %r is no regular expression: %s" % (name, shown(text), why))
    unknown = sorted(set(pattern.groupindex) - set(groups))
    if unknown:
        raise PatternError("%s: unknown group %s; a group may be named %s" % (name, shown(", ".join(unknown)), ", ".join(groups)))
    if pattern.search(""):
        raise PatternError("%s: %r also matches an empty text, so that it would match everywhere: write it such that it has to find "
                           "something, for example with + instead of *" % (name, shown(text)))
    return pattern


def number(value):
    """A float from 0 to LARGEST, None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if 0 <= result <= LARGEST else None


class Progress(object):
    """Iterations, epochs and the framework's own memory figures, from whichever source tells them."""

    ITERATION = ("iteration", "seconds", "milliseconds", "data_seconds", "epoch")
    EPOCH = ("epoch", "seconds")
    MEMORY = tuple(UNITS)

    def __init__(self, iteration_pattern=None, epoch_pattern=None, memory_pattern=None):
        self.iteration_pattern = compile_pattern("iteration_pattern", iteration_pattern, self.ITERATION)
        self.epoch_pattern = compile_pattern("epoch_pattern", epoch_pattern, self.EPOCH)
        self.memory_pattern = compile_pattern("memory_pattern", memory_pattern, self.MEMORY)
        if self.memory_pattern is not None and len(self.memory_pattern.groupindex) != 1:
            raise PatternError("memory_pattern: exactly one group must be named by its unit: %s" % ", ".join(self.MEMORY))
        self.iterations, self.times, self.data, self.samples, self.first_at, self.last_at = 0, [], [], 0.0, None, None
        self.epochs, self.epoch_at, self.per_epoch = [], None, None
        self.framework_peak = self.framework_reserved = None
        self.framework = None
        self.source = None
        self.cuda_oom = self.host_oom = None
        self.frameworks_seen = set()
        self.bad_lines = self.lines = self.printed = self.json_lines = 0
        # What tells whether an iteration would have been noticed: a loop that says it began, lines that come again and again.
        self.begun, self.repetition = False, Repetition()
        self.notes, self._matching_since = [], None
        self._spent, self._first_line = 0.0, None
        # The expressions of which it was noted that they match without a character.
        self._empty = set()

    def interrupt_slow(self, *_signal):
        """For a timer's signal: ends the matching of a line that has taken too long. Python looks for signals while it matches."""
        if self._matching_since is not None and time.process_time() - self._matching_since > LINE_CPU_SECONDS:
            self._matching_since = None
            raise TooSlow()

    def _matches(self, name, text, moment):
        """The first MATCHES of one of the caller's expressions in a line; one that is too slow is given up for good.

        A match without a character says nothing: an expression that has such ones has them at every place of every line.
        """
        pattern = getattr(self, name)
        if pattern is None:
            return []
        began = time.process_time()
        try:
            self._matching_since = began
            found, empty = [], False
            for match in pattern.finditer(text):
                if match.end() == match.start():
                    empty = True
                    continue
                found.append(match)
                if len(found) == MATCHES[name]:
                    break
            self._matching_since = None
            if empty and not found and name not in self._empty:
                self._empty.add(name)
                self.notes.append("%s matched without taking a character, and such a match doesn't count: let it match what the line says"
                                  % name)
            self._spent += time.process_time() - began
            if self._spent > ALL_CPU_SECONDS + ALL_CPU_SHARE * (moment - self._first_line):
                setattr(self, name, None)
                self.notes.append("%s took too much processor time (with the other expressions %.1f s): no further line was compared with it. "
                                  "Write it simpler, or let the command print less" % (name, self._spent))
            return found
        except TooSlow:
            setattr(self, name, None)
            self.notes.append("%s took more than %g s for one line: no further line was compared with it. Write it without repetitions "
                              "in repetitions" % (name, LINE_CPU_SECONDS))
            return []

    def _iteration(self, moment, seconds, data_seconds, samples, source):
        if self.source not in (None, source):
            # The same loop told twice, by its output and by the helper: the first source counts.
            return
        self.source = source
        if seconds is None and self.last_at is not None and moment >= self.last_at:
            seconds = moment - self.last_at
        self.iterations += 1
        self.first_at = moment if self.first_at is None else self.first_at
        self.last_at = moment
        self.samples += samples or 0.0
        if len(self.times) < MAX_TIMES:
            self.times.append(seconds)
            self.data.append(data_seconds)

    def _epoch(self, moment, seconds):
        if seconds is None and self.epoch_at is not None and moment >= self.epoch_at:
            seconds = moment - self.epoch_at
        self.epoch_at = moment
        if seconds is not None and len(self.epochs) < 1000:
            self.epochs.append(seconds)

    def line(self, text, moment):
        """One line of output. -> whether it was progress."""
        found = False
        self.printed += 1
        self._first_line = moment if self._first_line is None else self._first_line
        for match in self._matches("iteration_pattern", text, moment):
            groups = match.groupdict()
            milliseconds = number(groups.get("milliseconds"))
            seconds = number(groups.get("seconds")) if milliseconds is None else milliseconds / 1000.0
            self._iteration(moment, seconds, number(groups.get("data_seconds")), None, "output")
            found = True
        for match in self._matches("epoch_pattern", text, moment):
            self._epoch(moment, number(match.groupdict().get("seconds")))
        for match in self._matches("memory_pattern", text, moment):
            (unit, value), = match.groupdict().items()
            value = number((value or "").replace(",", ""))
            if value is not None:
                self.framework_peak = max(self.framework_peak or 0, int(value * UNITS[unit]))
        if not self.iterations and self.cuda_oom is None and self.host_oom is None:
            self.repetition.line(text)
        self.look_for_oom(text)
        if self.lines < FRAMEWORK_LINES:
            self.lines += 1
            lowered = text.lower()
            self.frameworks_seen |= {name for pattern, name in _FRAMEWORK_LINES if pattern.search(lowered)}
        return found

    def look_for_oom(self, text):
        """Takes note of the first words that say memory doesn't suffice."""
        for field, pattern in (("cuda_oom", CUDA_OOM), ("host_oom", HOST_OOM)):
            match = pattern.search(text) if getattr(self, field) is None else None
            if match:
                line = text[text.rfind("\n", 0, match.start()) + 1:].partition("\n")[0]
                setattr(self, field, line.strip()[:300])

    def json_line(self, text, moment):
        """One line of a JSON-lines file. -> whether it was progress."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self.bad_lines += 1
            return False
        self.json_lines += 1
        self.begun = self.begun or value.get("begun") is True
        peak, reserved = number(value.get("memory_peak_bytes")), number(value.get("memory_reserved_bytes"))
        if peak is not None:
            self.framework_peak = max(self.framework_peak or 0, int(peak))
        if reserved is not None:
            self.framework_reserved = max(self.framework_reserved or 0, int(reserved))
        if isinstance(value.get("framework"), str):
            self.framework = clean_text(value["framework"], 40) or None
        per_epoch = number(value.get("iterations_per_epoch"))
        if per_epoch:
            self.per_epoch, self.begun = int(per_epoch), True
        said = number(value.get("time"))
        if "iteration" in value:
            self._iteration(moment if said is None else said, number(value.get("seconds")), number(value.get("data_seconds")),
                            number(value.get("samples")), "json_lines")
            return True
        if "epoch" in value:
            self._epoch(moment if said is None else said, number(value.get("seconds")))
        return False


class Lines(object):
    """Cuts a stream of bytes into lines; keeps the last `tail` bytes. A line longer than MAX_LINE is cut."""

    def __init__(self, tail):
        self.limit, self.tail, self.rest, self.total = max(0, tail), b"", b"", 0

    def feed(self, data):
        """-> [line text]"""
        self.total += len(data)
        if self.limit:
            self.tail = (self.tail + data)[-self.limit:]
        parts = re.split(b"[\r\n]+", self.rest + data)
        self.rest = parts.pop()
        if len(self.rest) > MAX_LINE:
            parts.append(self.rest)
            self.rest = b""
        return [part[:MAX_LINE].decode("utf-8", "replace") for part in parts if part]

    def pass_by(self, data):
        """Keeps the tail of what is not cut into lines."""
        self.total += len(data)
        if self.limit:
            self.tail = (self.tail + data)[-self.limit:]
        self.rest = b""

    def end(self):
        rest, self.rest = self.rest, b""
        return [rest[:MAX_LINE].decode("utf-8", "replace")] if rest else []


class Follower(object):
    """Reads what was appended to a file since the last look; a file that isn't there yet, or is no regular one, has nothing.

    `why`: why the last look found nothing to read from, None where it could be read; `count`: lines that came.
    """

    def __init__(self, path):
        self.path, self.at, self.lines = path, 0, Lines(0)
        self.why, self.count, self.file = "it isn't there", 0, None

    def start_at_end(self):
        """What an earlier run left in the file doesn't count."""
        try:
            about = os.stat(self.path)
            self.at, self.file = about.st_size, (about.st_dev, about.st_ino)
        except (OSError, ValueError):
            self.at = 0

    def read(self, limit=1 << 20):
        import stat
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            self.why = "it isn't there" if isinstance(error, FileNotFoundError) else getattr(error, "strerror", None) or str(error)
            return []
        try:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode):
                self.why = "it is no regular file"
                return []
            if about.st_size < self.at or self.file not in (None, (about.st_dev, about.st_ino)):
                # Written anew, or another file in its place.
                self.at, self.lines = 0, Lines(0)
            self.file = about.st_dev, about.st_ino
            data = os.pread(descriptor, limit, self.at)
        except OSError as error:
            self.why = error.strerror or str(error)
            return []
        finally:
            os.close(descriptor)
        self.why = None
        self.at += len(data)
        return self.counted(self.lines.feed(data))

    def counted(self, lines):
        self.count += len(lines)
        return lines
