# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The watch over a running workload: starts it and its sampler, reads both, decides when to end it, and ends everything below itself.

Runs in a process of its own (probe.py forks it), single-threaded: one select over output, samples and ended children.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time

from ..sources import cgroup, host_files
from ..sources.texts import clean_text
from . import probe_outcome, probe_output, probe_result, probe_summary, probe_tree, sampler, sampler_host

SAMPLER_NAME, WATCH_NAME = "gpu-audit-smpl", "gpu-audit-watch"
HELLO_SECONDS = 30.0
LONGEST_WAIT = 0.5
# A command may print more than can be looked at for next to nothing: bytes a second that are, and a reserve.
OUTPUT_RATE, OUTPUT_BURST, OUTPUT_TAIL = 256 << 10, 4 << 20, 4000
# A line costs as much as this many bytes, however short it is.
LINE_WEIGHT = 24
# Reading what is left of a progress file once the command has ended.
REST_SECONDS = 5.0
# After this many seconds without a sample the driver counts as silent.
SILENT_SECONDS = 15.0


class Samples(object):
    """The sampling process and the pipe it writes to."""

    def __init__(self, interval_seconds, host):
        self.interval = interval_seconds
        self.read_end, write_end = os.pipe()
        parent, self.pid = os.getpid(), os.fork()
        if self.pid == 0:
            try:
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
                    signal.signal(number, signal.SIG_DFL)
                signal.set_wakeup_fd(-1)
                probe_tree.die_with(parent, signal.SIGKILL)
                probe_tree.set_name(SAMPLER_NAME)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                os.close(self.read_end)
                signal.signal(signal.SIGPIPE, signal.SIG_IGN)
                sampler.run(interval_seconds, parent, write_end, host)
            finally:
                os._exit(0)
        os.close(write_end)
        os.set_blocking(self.read_end, False)
        self.rest, self.open, self.ended = b"", True, False

    def lines(self):
        """Whole lines that have come, parsed."""
        import json
        while self.open:
            try:
                data = os.read(self.read_end, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                self.open = False
            self.rest += data
        parts = self.rest.split(b"\n")
        self.rest = parts.pop()
        return [json.loads(part.decode("ascii")) for part in parts]

    def hello(self):
        """The first line; one that says why there is none after HELLO_SECONDS. -> (hello, [further lines])"""
        until = time.monotonic() + HELLO_SECONDS
        while time.monotonic() < until and self.open:
            select.select([self.read_end], [], [], 1.0)
            lines = self.lines()
            if lines:
                if "hello" in lines[0]:
                    return lines[0]["hello"], lines[1:]
                return self._nothing(lines[0].get("failed")), []
        return self._nothing("the driver's library crashed the process that asked it" if not self.open
                             else "the driver didn't answer within %d s" % HELLO_SECONDS), []

    @staticmethod
    def _nothing(why):
        return {"error": why, "notes": [], "gpu_uuids": [], "gpus": [], "before": []}

    def end(self):
        """Ends the process; one that hangs in the driver is left behind. -> whether it is gone."""
        if self.open:
            os.close(self.read_end)
            self.open = False
        if self.ended:
            return True
        try:
            os.kill(self.pid, signal.SIGKILL)
            until = time.monotonic() + 1.0
            while time.monotonic() < until:
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return True
                time.sleep(0.005)
        except OSError:
            return True
        return False


class Watch(object):
    """One probe. `options` as probe.check_options() returns them; `helper_path`: where the helper's JSON lines come."""

    def __init__(self, options, helper_path, host=None):
        self.options, self.host = options, host or host_files.HostFiles()
        self.progress = probe_output.Progress(options["iteration_pattern"], options["epoch_pattern"], options["memory_pattern"])
        self.output = probe_output.Lines(max(OUTPUT_TAIL, options["output_tail_bytes"]))
        self.helper_path = helper_path
        self.followers = [probe_output.Follower(helper_path)]
        if options["progress_file"]:
            self.followers.append(probe_output.Follower(os.path.join(options["chdir"], options["progress_file"])))
            self.followers[-1].start_at_end()
        self.notes, self.statuses = [], {}
        self.stopped_by_signal = False
        self.job, self.known = None, {}
        self.summary = self.samples = None
        self.last_progress = self.last_sample = None
        self.cuda_oom_at = self.host_oom_at = self.oom_after = None
        self.life, self.utils = None, ()
        self.parsed = self.passed_by = 0

    def run(self):
        """The whole probe. -> the answer of probe_result.build(). Never raises for what a command can do."""
        probe_tree.set_name(WATCH_NAME)
        # The descriptor belongs to nobody else: a signal's arrival ends the wait below.
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGCHLD, lambda *dummy: None)
        # By the processor's time of this process: on a busy machine no fair expression is given up.
        signal.signal(signal.SIGVTALRM, self.progress.interrupt_slow)
        signal.setitimer(signal.ITIMER_VIRTUAL, probe_output.LINE_CPU_SECONDS / 2, probe_output.LINE_CPU_SECONDS / 2)
        if not probe_tree.adopt_orphans():
            self.notes.append("this kernel doesn't hand orphans over: a daemon that the command forks may stay")
        oom_score = probe_tree.spare_from_oom_killer()
        self.samples = Samples(self.options["interval_seconds"], self.host)
        hello, early = self.samples.hello()
        if hello["error"]:
            self.notes.append("GPUs not sampled: %s" % hello["error"])
        self.notes += hello["notes"]
        usable = _usable(self.host)
        self.summary = probe_summary.Summary(hello, self.options["interval_seconds"], self.is_job, usable["cpus"])
        before = {"oom": sampler_host.oom_kills(self.host), "io": _own_io(self.host), "kmsg": _kernel_log()}
        out_read, out_write = os.pipe()
        os.set_blocking(out_read, False)
        wall = time.time()
        seen = {"stop": None, "exit_code": None, "signal": None, "signal_name": None, "killed": False, "error": None,
                "left_running": 0, "status": None}
        began = time.monotonic()
        self.summary.begin(began)
        user, environment = None, {}
        try:
            user = probe_tree.account(self.options["run_as"]) if self.options["run_as"] else None
            environment = probe_tree.job_environment(self.options["environment"], user, self.helper_path)
            self.job = probe_tree.start(self.options["argv"], environment, self.options["chdir"], out_write, user, oom_score)
        except probe_tree.StartError as error:
            seen["error"] = str(error)
        os.close(out_write)
        if self.job is not None:
            self._watch(seen, began, out_read, wake_read)
        ended = time.monotonic()
        self._end(seen, out_read)
        after = {"oom": sampler_host.oom_kills(self.host), "io": _own_io(self.host)}
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        kernel = _read_kernel_log(before["kmsg"])
        gone = self.samples.end()
        if not gone:
            self.notes.append("process %d hangs in the driver and can't be ended" % self.samples.pid)
        return probe_result.build(self, hello, seen, {
            "started": wall, "seconds": ended - began, "before": before, "after": after, "usage": usage, "kernel": kernel, "usable": usable,
            "environment": environment, "own_cpu": resource.getrusage(resource.RUSAGE_SELF)})

    def _stop(self, dummy_number, dummy_frame):
        self.stopped_by_signal = True

    # -- while it runs --------------------------------------------------------------------------------------------------------

    def is_job(self, pid):
        """Whether a process is the workload's: it lies below this process."""
        if self.known.get(pid):
            return True
        above, depth, own = pid, 0, os.getpid()
        while above > 1 and above != own and depth < 64:
            fields = sampler_host.parse_process(self.host.text_or("/proc/%d/stat" % above, "", 1024))
            above, depth = (fields[0] if fields else 0), depth + 1
        self.known[pid] = above == own
        return self.known[pid]

    def _watch(self, seen, began, out_read, wake_read):
        options = self.options
        self.last_progress = self.last_sample = began
        reading = [out_read, wake_read, self.samples.read_end]
        next_look = began
        while True:
            ready = select.select(reading, [], [], LONGEST_WAIT)[0]
            now = time.monotonic()
            if wake_read in ready:
                _drain(wake_read)
            if out_read in ready and not self._output(out_read, now):
                reading.remove(out_read)
            self._take_samples(now)
            if not self.samples.open and self.samples.read_end in reading:
                reading.remove(self.samples.read_end)
            if now >= next_look:
                self._follow()
                if self.progress.iterations == 0 and self._works():
                    # Loading, compiling: no line, and yet no hang.
                    self.last_progress = now
                next_look = now + LONGEST_WAIT
            if self._ended(seen):
                return
            stop = None
            if self.stopped_by_signal:
                stop = "signal"
            elif options["iterations"] and self.progress.iterations >= options["iterations"]:
                stop = "iterations"
            elif options["run_seconds"] and now - began >= options["run_seconds"]:
                stop = "run_seconds"
            elif now - began >= options["timeout_seconds"]:
                stop = "timeout"
            elif options["hang_seconds"] and now - self.last_progress >= options["hang_seconds"]:
                stop = "hang"
            if stop:
                seen["stop"] = stop
                return

    def _works(self):
        """Whether the workload shows life other than by lines: it read, took a third of a second of CPU time, or a GPU works."""
        tree = self.summary.tree_last or {"read_bytes": None, "rchar": None, "ticks": 0}
        life = tree["read_bytes"], tree["rchar"], tree["ticks"] >> 5
        changed, self.life = life != self.life, life
        return changed or any(one and one > 0 for one in self.utils)

    def _output(self, descriptor, now):
        """Reads what the command printed. -> False at the end of the pipe."""
        for dummy in range(16):
            try:
                data = os.read(descriptor, 1 << 16)
            except BlockingIOError:
                return True
            if not data:
                return False
            if self.progress.iteration_pattern is None:
                self.last_progress = now
            weight = len(data) + LINE_WEIGHT * (data.count(b"\n") + data.count(b"\r"))
            if self.parsed + weight > OUTPUT_BURST + OUTPUT_RATE * (now - self.summary.started):
                self.passed_by += len(data)
                # There may have been iterations in it.
                self.progress.repetition.seen = True
                self.output.pass_by(data)
                continue
            self.parsed += weight
            self._lines(self.output.feed(data), now, self.progress.line)
        return True

    def _lines(self, lines, now, take):
        for text in lines:
            had = self.progress.cuda_oom, self.progress.host_oom
            if take(text, now):
                self.last_progress = now
                if self.progress.iterations:
                    self.summary.first_iteration(now)
            if self.progress.cuda_oom and not had[0]:
                self.cuda_oom_at = self.progress.iterations
            if self.progress.host_oom and not had[1]:
                self.host_oom_at = self.progress.iterations
            if self.oom_after is None and (self.progress.cuda_oom or self.progress.host_oom):
                self.oom_after = now - self.summary.started

    def _look(self, text, dummy_moment):
        self.progress.look_for_oom(text)

    def _follow(self):
        for follower in self.followers:
            self._lines(follower.read(), time.monotonic(), self.progress.json_line)

    def _follow_rest(self):
        """The files' last lines, those that the command wrote faster than they were read included."""
        for follower in self.followers:
            until = time.monotonic() + REST_SECONDS
            lines = follower.read()
            while lines and time.monotonic() < until:
                self._lines(lines, time.monotonic(), self.progress.json_line)
                lines = follower.read()
            # A last line without an end.
            self._lines(follower.counted(follower.lines.end()), time.monotonic(), self.progress.json_line)
            if lines:
                self.notes.append("more progress was written than could be read: iterations are missing")

    def _take_samples(self, now):
        for line in self.samples.lines():
            if "m" in line:
                self.utils = [values["util"] for values in line["gpus"]]
                self.summary.add(line)
                self.last_sample = now
            elif "failed" in line:
                self.notes.append("sampling ended: %s" % clean_text(line["failed"]))
        if self.last_sample is not None and now - self.last_sample > SILENT_SECONDS + 5 * self.options["interval_seconds"]:
            self.notes.append("no sample for %d s: the driver doesn't answer, or the sampling process ended" % (now - self.last_sample))
            self.last_sample = None

    def _ended(self, seen):
        """Collects ended children; whether the command itself is among them."""
        while True:
            try:
                # Not the sampler: its end is told by its pipe.
                info = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if info is None or info.si_pid == 0:
                return False
            if info.si_pid == self.samples.pid:
                if self.samples.open:
                    self._take_samples(time.monotonic())
                os.waitpid(info.si_pid, 0)
                self.samples.ended = True
                continue
            pid, status = os.waitpid(info.si_pid, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
                seen["killed"] = True
            if pid == self.job:
                seen["status"] = status
                return True

    # -- the end --------------------------------------------------------------------------------------------------------------

    def _end(self, seen, out_read):
        leave = (self.samples.pid,)
        grace = self.options["grace_seconds"] if seen["stop"] not in (None, "signal") else 0.5 if seen["stop"] else 0.0
        if seen["stop"] is None and self.job is not None:
            seen["left_running"] = len(probe_tree.below(os.getpid(), leave))
            grace = min(2.0, self.options["grace_seconds"]) if seen["left_running"] else 0.0
        self.notes += probe_tree.left_notes(probe_tree.end_tree(grace, leave, self.statuses, group=self.job))
        if seen["status"] is None:
            seen["status"] = self.statuses.get(self.job)
        now = time.monotonic()
        self._output(out_read, now)
        os.close(out_read)
        self._lines(self.output.end(), now, self.progress.line)
        if self.passed_by:
            self.notes.append("the command printed more than %d KiB/s: %.1f MiB of it were not looked at" % (
                OUTPUT_RATE >> 10, self.passed_by / float(1 << 20)))
            self._lines([self.output.tail.decode("utf-8", "replace")], now, self._look)
        self._follow_rest()
        self.notes += self.progress.notes
        seen["exit_code"], seen["signal_name"], seen["signal"] = probe_outcome.exit_of(seen["status"])


def _drain(descriptor):
    try:
        while os.read(descriptor, 4096):
            pass
    except BlockingIOError:
        pass


def _usable(host):
    """{"cpus": those this process may run on, "cores": how many it may use, a cgroup's quota counted}"""
    cpus = os.sched_getaffinity(0)
    try:
        quota = cgroup.cpu_quota(host)[0]["quota_cores"]
    except OSError:
        quota = None
    return {"cpus": cpus, "cores": min(len(cpus), quota) if quota else len(cpus)}


def _own_io(host):
    return sampler_host.parse_io(host.text_or("/proc/self/io", "", 1024))


def _kernel_log():
    """A descriptor at the end of the kernel's log; None where it may not be read (containers, ordinary users)."""
    try:
        descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(descriptor, 0, os.SEEK_END)
        return descriptor
    except OSError:
        return None


def _read_kernel_log(descriptor, records=2000):
    """What the kernel logged since; null where it can't be read."""
    if descriptor is None:
        return None
    found = []
    for dummy in range(records):
        try:
            found.append(os.read(descriptor, 8192).decode("utf-8", "replace"))
        except BrokenPipeError:
            # Records were overwritten before they were read.
            continue
        except OSError:
            break
    os.close(descriptor)
    return "\n".join(found)
