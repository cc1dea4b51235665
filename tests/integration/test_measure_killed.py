# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""ansible-playbook killed, its workers included, while it measures: the next run takes the result over, and nothing stays on the host."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import pytest
from playbook_site import LOCAL, Site

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="no fio")


def ignoring_nothing():
    """Whoever runs the tests may ignore signals (nohup), and hands that on."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


class Killed:
    """A site whose storage test takes some seconds, and a run of the playbook that can be killed."""

    def __init__(self, folder, mebibytes=4):
        self.site = Site(folder)
        self.data = folder / "data"
        self.data.mkdir()
        fio = folder / "fio"
        fio.write_text('#!/bin/sh\n[ "$1" = --version ] && { echo fio-3.33; exit; }\nexec %s "$@" --rate=1m\n' % shutil.which("fio"))
        fio.chmod(0o755)
        options = {"path": str(self.data), "fio": str(fio), "jobs": ["dataset_read"], "size_bytes": "%d MiB" % mebibytes, "numjobs": 1, "runtime_seconds": 20}
        self.site.inventory({"a": dict(LOCAL, **{"measure_storage_" + key: value for key, value in options.items()})})
        self.mark = "GPU_AUDIT_TEST_PROCESS=%s" % folder
        self.said = folder / "said"

    def programs(self, name=None):
        """Pids of what the run started, Ansible's own processes (`name`) or all."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/comm") as comm:
                    if self.mark.encode() in environ.read().split(b"\0") and name in (None, comm.read().strip()):
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def pending(self):
        return list(self.site.output.glob("measurements/a/.pending*"))

    def kept(self):
        return list(self.site.output.glob("measurements/a/storage_benchmark-*"))

    def at(self, moment):
        """Whether the run has come so far."""
        if moment == "announced":
            return "at most" in self.said.read_text()
        if moment == "measuring":
            return self.pending() and any(self.data.glob("*/dataset_read/*"))
        return self.pending() and not any(self.data.iterdir()) and self.had_files

    def kill(self, number, moment, terminal=False):
        self.had_files = False
        key, _sign, value = self.mark.partition("=")
        with open(self.said, "w") as out:
            run = subprocess.Popen(self.site.command("measure"), cwd=self.site.folder, env=self.site.environment(**{key: value}),
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                   preexec_fn=ignoring_nothing)
        until = time.monotonic() + 90
        while not self.at(moment):
            assert run.poll() is None and time.monotonic() < until, self.said.read_text()
            self.had_files = self.had_files or any(self.data.iterdir())
            time.sleep(0.01)
        if terminal:
            # As a terminal does: to all that share its session, the workers only where they do (up to 2.18).
            os.killpg(run.pid, number)
        # Its workers have sessions of their own.
        for pid in () if terminal else {run.pid, *self.programs("ansible-playboo")}:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        assert run.wait(30)

    def hold_back_no_more(self):
        """Whoever measures from now on does it at once."""
        (self.site.folder / "fio").write_text('#!/bin/sh\nexec %s "$@"\n' % shutil.which("fio"))

    def told(self):
        """What was said, the worker's last line with it: the playbook's process may be gone before."""
        until = time.monotonic() + 30
        while "interrupted" not in self.said.read_text() and time.monotonic() < until:
            time.sleep(0.1)
        return " ".join(self.said.read_text().split())

    def empty(self, seconds=60):
        until = time.monotonic() + seconds
        while self.programs() or any(self.data.iterdir()):
            if time.monotonic() > until:
                return False
            time.sleep(0.1)
        return True


@pytest.mark.parametrize("number, moment", [
    (signal.SIGKILL, "measuring"), (signal.SIGTERM, "measuring"), (signal.SIGHUP, "measuring"), (signal.SIGKILL, "measured")])
def test_the_next_run_takes_the_result_of_a_killed_one_over(tmp_path, number, moment):
    killed = Killed(tmp_path)
    killed.kill(number, moment)
    assert killed.pending() and not killed.kept()
    done = killed.site.play("measure")
    assert done.returncode == 0 and "was never fetched: looking for it" in done.stdout, done.stdout
    assert len(killed.kept()) == 1 and not killed.pending()
    assert killed.empty(), killed.programs()
    jobs = killed.site.folder / "home" / ".ansible_async"
    assert not jobs.exists() or not any(jobs.iterdir())


def test_one_that_is_killed_before_anything_was_started_leaves_nothing(tmp_path):
    killed = Killed(tmp_path)
    killed.kill(signal.SIGKILL, "announced")
    assert killed.empty(), killed.programs()
    done = killed.site.play("measure")
    assert done.returncode == 0 and len(killed.kept()) == 1, done.stdout
    assert killed.empty() and not killed.pending()


def test_a_job_that_nobody_remembers_is_met_and_told(tmp_path):
    """As where the controller died in the moment between the start of the job and its note."""
    killed = Killed(tmp_path, 15)
    killed.kill(signal.SIGKILL, "measuring")
    killed.pending()[0].unlink()
    done = killed.site.play("measure")
    said = " ".join(done.stdout.split())
    assert "another storage test runs in this directory now" in said and "both would measure each other" in said, done.stdout
    assert killed.empty(), killed.programs()
    killed.hold_back_no_more()
    assert killed.site.play("measure").returncode == 0


def test_ctrl_c_ends_the_test_on_the_host_and_says_so(tmp_path):
    killed = Killed(tmp_path, 15)
    killed.kill(signal.SIGINT, "measuring", terminal=True)
    said = killed.told()
    assert "a: storage_benchmark: interrupted: the test was ended on the host and removes what it wrote there" in said, said
    assert killed.empty(15), killed.programs()
    # No failure of a test that somebody ended on purpose is kept, and the next run measures.
    killed.hold_back_no_more()
    done = killed.site.play("measure")
    assert done.returncode == 0 and len(killed.kept()) == 1 and not killed.pending(), done.stdout
    assert "SIGTERM" not in killed.kept()[0].read_text()
    jobs = killed.site.folder / "home" / ".ansible_async"
    assert not jobs.exists() or not any(jobs.iterdir())


def test_a_controller_that_is_shut_down_says_that_the_test_goes_on_and_how_to_end_it(tmp_path):
    killed = Killed(tmp_path, 15)
    killed.kill(signal.SIGTERM, "measuring")
    said = killed.told()
    assert "interrupted: the test goes on on the host, until 20" in said and "UTC at the latest" in said and "takes its result over" in said, said
    command = re.search(r"run there: pkill -TERM (-o -f '[^']+')", said).group(1)
    assert any(killed.data.iterdir()) and killed.programs()
    # This machine may run other measurements: only ours is ended, of those that the command would find the oldest.
    found = subprocess.run(["sh", "-c", "pgrep " + command.removeprefix("-o ")], stdout=subprocess.PIPE, text=True, check=True).stdout
    ours = [int(pid) for pid in found.split() if int(pid) in killed.programs()]
    os.kill(min(ours, key=lambda pid: int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])), signal.SIGTERM)
    assert killed.empty(15), killed.programs()
