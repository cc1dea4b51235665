# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""However storage_benchmark ends, its directory is as it was and none of its programs is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from conftest import wait_until
from storage_runs import FIO, SMALL, programs_left, run, stand_in, start

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import storage_folder

pytestmark = pytest.mark.skipif(not FIO, reason="fio isn't installed")
LONG = {**SMALL, "runtime_seconds": 60}
# The real fio, held back to 100 kB/s: laid out at once, reading for as long as it may.
SLOW = 'exec $REAL "$@" --rate=100k'
# Lays out a file, ignores SIGTERM, and leaves a worker in a session of its own as fio's jobs are.
HANGS = """for a in "$@"; do case "$a" in --directory=*) d=$(echo "${a#*=}" | sed 's/\\\\\\\\:/:/g');; esac; done
trap "" TERM
head -c 100000 /dev/zero > "$d/hang.0.0"
setsid sh -c 'i=0; while :; do i=$((i+1)); echo x > "$0/worker.$i"; sleep 0.01; done' "$d" &
sleep 600 & wait"""


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    (folder / "dataset.tar").write_text("precious")
    yield folder
    assert (folder / "dataset.tar").read_text() == "precious"


def empty(folder):
    """Whether only what was there before lies there."""
    return os.listdir(folder) == ["dataset.tar"] and programs_left() == []


def laid_out(folder):
    return any(files for _where, _folders, files in os.walk(folder) if "dataset.tar" not in files)


@pytest.mark.parametrize("program", [SLOW, HANGS], ids=["real", "hanging"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_nothing_is_left_after_a_signal(disk, tmp_path, number, program):
    process = start(path=str(disk), fio=stand_in(tmp_path, program), **LONG)
    assert wait_until(lambda: laid_out(disk)) and programs_left()
    process.send_signal(number)
    out, _error = process.communicate(timeout=60)
    assert wait_until(lambda: empty(disk)), (os.listdir(disk), programs_left())
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        answer = json.loads(out)
        assert answer["failed"] and "ended by %s;" % signal.Signals(number).name in answer["msg"] and empty(disk)


def test_nothing_is_left_when_the_whole_session_is_killed(disk, tmp_path):
    process = start(["setsid"], path=str(disk), fio=stand_in(tmp_path, SLOW), **LONG)
    assert wait_until(lambda: laid_out(disk))
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert wait_until(lambda: empty(disk)), os.listdir(disk)


def test_a_hanging_fio_is_ended_with_all_it_started(disk, tmp_path):
    answer = run(path=str(disk), fio=stand_in(tmp_path, HANGS), timeout_seconds=1, **SMALL)
    assert answer["failed"] and "gave no answer within 1 s and was ended" in answer["msg"]
    assert empty(disk), os.listdir(disk)


def test_the_stand_in_that_leaves_its_file(disk, tmp_path, traps):
    fake = traps / "inputs" / "fakebin" / "fio-leaves-file" / "fio"
    answer = run(path=str(disk), fio=stand_in(tmp_path, 'exec sh "%s" "$@"' % fake), timeout_seconds=1, **SMALL)
    assert answer["failed"] and "was ended" in answer["msg"] and empty(disk)


def test_what_fails_leaves_nothing(disk, tmp_path):
    answer = run(path=str(disk), fio=stand_in(tmp_path, 'd=${2#*=}; echo x > "$d/trash"; mkdir -p "$d/a/b"; exit 1'), **SMALL)
    assert answer["failed"] and empty(disk)


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("what", ["directory", "folder"])
def test_what_was_moved_meanwhile_is_removed_where_it_is(disk, tmp_path, what, number):
    fio = stand_in(tmp_path, '$REAL "$@"; code=$?; touch %s/ended; while [ ! -e %s/go ]; do sleep 0.02; done; exit $code'
                   % (tmp_path, tmp_path))
    process = start(path=str(disk), fio=fio, **SMALL)
    assert wait_until((tmp_path / "ended").exists) and laid_out(disk)
    (folder,) = disk.glob(storage_folder.PREFIX + "*")
    elsewhere = tmp_path / "elsewhere"
    (disk if what == "directory" else folder).rename(elsewhere)
    if number:
        process.send_signal(number)
    (tmp_path / "go").touch()
    out = process.communicate(timeout=60)[0]
    if what == "directory":
        assert wait_until(lambda: empty(elsewhere)), os.listdir(elsewhere)
        elsewhere.rename(disk)
    assert wait_until(lambda: not elsewhere.exists() and empty(disk))
    if number != signal.SIGKILL:
        answer = json.loads(out)
        told = answer["msg"] if number else "; ".join(answer["measurement"]["notes"])
        assert number or "the directory was moved or unmounted while it was measured, and what the test wrote there is" in told, told


def test_a_directory_that_is_moved_between_two_jobs_ends_the_test_and_is_told(disk, tmp_path):
    fio = stand_in(tmp_path, '$REAL "$@"; code=$?; mv %s %s/elsewhere; exit $code' % (disk, tmp_path))
    answer = run(path=str(disk), fio=fio, jobs=["dataset_read", "checkpoint_write"], **SMALL)
    assert empty(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").rename(disk)
    assert answer["failed"] and "No such file or directory; the directory was moved or unmounted" in answer["msg"], answer


def test_the_watcher_lets_a_session_go_at_once(disk, tmp_path):
    """An inherited descriptor would hold ssh open for as long as the watcher lives."""
    process = start(path=str(disk), fio=stand_in(tmp_path, HANGS), **LONG)
    assert wait_until(lambda: laid_out(disk))
    (watcher,) = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if _comm(pid) == "gpu-audit-watch"
                  and _parent(pid) == process.pid]
    links = [os.readlink(f"/proc/{watcher}/fd/{number}") for number in os.listdir(f"/proc/{watcher}/fd")]
    # Beside these only what it will remove and where that lies.
    assert all(link == "/dev/null" or link.startswith(("pipe:", str(disk))) for link in links), links
    assert len([link for link in links if link.startswith("pipe:")]) == 1
    process.kill()
    process.communicate(timeout=30)
    assert wait_until(lambda: empty(disk) and not os.path.exists(f"/proc/{watcher}"))


def _comm(pid):
    try:
        with open(f"/proc/{pid}/comm") as file:
            return file.read().strip()
    except OSError:
        return None


def _parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


# ---------------------------------------------------------------- the folder by itself


def test_the_folder_is_ours_alone_and_gone_afterwards(tmp_path):
    with storage_folder.OwnFolder(str(tmp_path), 60) as folder:
        assert os.stat(folder.path).st_mode & 0o777 == 0o700
        assert os.path.dirname(folder.path) == str(tmp_path) and storage_folder.others(str(tmp_path)) == [(folder.name, "running")]
        os.makedirs(folder.path + "/a/b")
    assert folder.left is None and os.listdir(tmp_path) == []


def test_the_watcher_is_bounded_in_time(tmp_path):
    with storage_folder.OwnFolder(str(tmp_path), 0.3) as folder:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=dict(os.environ, **folder.environment()))
        assert wait_until(lambda: process.poll() is not None) and process.returncode == -signal.SIGKILL
        assert wait_until(lambda: os.listdir(tmp_path) == [])


def test_a_watcher_that_somebody_kills_is_stood_in_for(tmp_path):
    with storage_folder.OwnFolder(str(tmp_path), 60) as folder:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=dict(os.environ, **folder.environment()))
        os.kill(folder._watcher, signal.SIGKILL)
    assert folder.left is None and os.listdir(tmp_path) == []
    assert process.wait(10) == -signal.SIGKILL


def test_a_folder_that_cannot_be_made_is_an_error_and_leaves_no_watcher(tmp_path):
    before = time.monotonic()
    with pytest.raises(FileNotFoundError):
        with storage_folder.OwnFolder(str(tmp_path / "missing"), 60):
            raise AssertionError("never entered")
    assert time.monotonic() - before < 30


def test_what_was_moved_before_the_watcher_saw_it_is_removed_as_well(tmp_path):
    (tmp_path / "disk").mkdir()
    with storage_folder.OwnFolder(str(tmp_path / "disk"), 60) as folder:
        os.kill(folder._watcher, signal.SIGSTOP)
        os.makedirs(folder.path + "/a/b")
        os.rename(folder.path, tmp_path / "moved")
        os.kill(folder._watcher, signal.SIGCONT)
    assert folder.moved and folder.left is None and os.listdir(tmp_path) == ["disk"] and os.listdir(tmp_path / "disk") == []


def test_removing_follows_no_link(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    with storage_folder.OwnFolder(str(tmp_path), 60) as folder:
        os.symlink(tmp_path / "precious", folder.path + "/link")
    assert os.listdir(tmp_path) == ["precious"] and os.listdir(tmp_path / "precious") == ["file"]


def test_what_cannot_be_removed_is_given_up_after_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_folder.shutil, "rmtree", lambda path, ignore_errors: None)
    (tmp_path / "busy").mkdir()
    seconds = iter(range(100))
    assert storage_folder.remove(str(tmp_path / "busy"), "0", 5, lambda: next(seconds), lambda pause: None) is False
