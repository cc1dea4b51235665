# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""storage_benchmark where something is in its way: limits, full and read-only file systems, other tests, folders of dead ones, odd paths."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import threading

import pytest
from conftest import wait_until
from storage_runs import FIO, SMALL, measured, programs_left, run, stand_in, start

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import storage_folder
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

pytestmark = pytest.mark.skipif(not FIO, reason="fio isn't installed")
LONG = {**SMALL, "size_bytes": 8 << 20, "runtime_seconds": 60}
SLOW = 'exec $REAL "$@" --rate=100k'


@pytest.fixture
def disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    yield folder
    assert os.listdir(folder) == [] and programs_left() == []


def error(**options):
    answer = run(**dict(SMALL, **options))
    assert answer.get("failed"), answer
    assert "Traceback" not in answer["msg"] and "Errno" not in answer["msg"]
    return answer["msg"]


# ---------------------------------------------------------------- limits and full disks


@pytest.fixture
def mounted(tmp_path):
    """`mounted(mkfs arguments, mount options)`: a folder with 32 MiB of ext4 of its own."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("needs root and mkfs.ext4")
    point = tmp_path / "mounted"
    point.mkdir()

    def go(*arguments, options="loop"):
        with open(tmp_path / "image", "wb") as file:
            file.truncate(32 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", *arguments, str(tmp_path / "image")], check=True)
        done = subprocess.run(["mount", "-o", options, str(tmp_path / "image"), str(point)], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip("no loop mount here: " + done.stderr)
        return point

    yield go
    subprocess.run(["umount", "-l", str(point)], check=False)


def test_a_limit_on_file_sizes_is_named(disk):
    if not shutil.which("prlimit"):
        pytest.skip("no prlimit")
    answer = run(before=["prlimit", "--fsize=500000"], path=str(disk), jobs=["checkpoint_write"], **SMALL)
    assert answer["failed"] and ("ulimit -f" in answer["msg"] or "File too large" in answer["msg"]), answer


def limit_blocks(point, uid, kibibytes):
    """The user's quota on a mounted file system, as setquota(8) sets it; whether the kernel has quotas."""
    device = subprocess.run(["findmnt", "-n", "-o", "SOURCE", str(point)], capture_output=True, text=True, check=True).stdout.strip()
    # struct if_dqblk of <sys/quota.h>: block limits first, QIF_BLIMITS last; Q_SETQUOTA for users.
    block = struct.pack("8QI4x", kibibytes, kibibytes, 0, 0, 0, 0, 0, 0, 1)
    return ctypes.CDLL(None).quotactl(0x800008 << 8, device.encode(), uid, block) == 0


def test_a_quota_that_is_reached_is_named(mounted, tmp_path):
    point = mounted("-O", "quota", options="loop,usrquota")
    point.chmod(0o777)
    if not limit_blocks(point, 65534, 500):
        pytest.skip("this kernel has no quota")
    answer = run(before=["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"], path=str(point), **SMALL)
    assert answer["failed"] and "Disk quota exceeded" in answer["msg"], answer
    assert os.listdir(point) == ["lost+found"]


def test_a_disk_that_becomes_read_only_while_it_is_measured(mounted, tmp_path):
    point = mounted()
    # It ends only when the test has made the disk writable again, so that fio surely met the read-only one.
    fio = stand_in(tmp_path, 'mount -o remount,ro %s 2>/dev/null; $REAL "$@"; code=$?; touch %s/ended; while [ ! -e %s/go ]; do sleep 0.1; done; exit $code'
                   % (point, tmp_path, tmp_path))
    process = start(path=str(point), fio=fio, jobs=["checkpoint_write"], **SMALL)
    assert wait_until(lambda: subprocess.run(["findmnt", "-n", "-O", "ro", str(point)], capture_output=True, check=False).stdout)
    assert "is mounted read-only" in error(path=str(point))
    assert wait_until((tmp_path / "ended").exists)
    subprocess.run(["mount", "-o", "remount,rw", str(point)], check=True)
    (tmp_path / "go").touch()
    answer = json.loads(process.communicate(timeout=60)[0])
    assert answer["failed"] and "Read-only file system" in answer["msg"], answer["msg"]
    assert wait_until(lambda: os.listdir(point) == ["lost+found"])


def test_a_disk_without_a_free_byte_or_inode_is_left_alone(mounted):
    point = mounted("-N", "64")
    count = os.statvfs(point).f_ffree
    for number in range(count):
        (point / str(number)).touch()
    before = sorted(os.listdir(point))
    assert "0 inodes are free" in error(path=str(point))
    for number in range(count):
        (point / str(number)).unlink()
    with open(point / "filler", "wb") as file:
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError:
            pass
    assert "0 B are free" in error(path=str(point)) or os.statvfs(point).f_bavail
    assert sorted(os.listdir(point)) == ["filler", "lost+found"] and len(before) == count + 1


def test_a_disk_that_is_unmounted_while_it_is_measured_is_emptied_all_the_same(mounted, tmp_path):
    point = mounted()
    fio = stand_in(tmp_path, '$REAL "$@"; touch %s/ended; while [ ! -e %s/go ]; do sleep 0.02; done; exit 1' % (tmp_path, tmp_path))
    process = start(path=str(point), fio=fio, **SMALL)
    assert wait_until((tmp_path / "ended").exists)
    subprocess.run(["umount", "-l", str(point)], check=True)
    (tmp_path / "go").touch()
    answer = json.loads(process.communicate(timeout=60)[0])
    assert answer["failed"] and "the directory was moved or unmounted while it was measured" in answer["msg"], answer
    subprocess.run(["mount", "-o", "loop", str(tmp_path / "image"), str(point)], check=True)
    assert os.listdir(point) == ["lost+found"] and list(tmp_path.glob("mounted/.gpu*")) == []


# ---------------------------------------------------------------- other tests


def dead_folder(place):
    """The folder of a test that was killed, with 20 MiB in it."""
    machine, boot, space = storage_folder._here()
    folder = place / (storage_folder.PREFIX + "-".join([machine, boot, space, "4194305", "1", "0" * 16]))
    (folder / "dataset_read").mkdir(parents=True)
    (folder / "dataset_read" / "a.0.0").write_bytes(bytes(20 << 20))
    for number in range(30):
        (folder / "dataset_read" / str(number)).touch()
    return folder


@pytest.mark.parametrize("what", [{"size_bytes": 8 << 20}, {"jobs": ["small_files"], "file_count": 20}])
def test_what_a_killed_test_left_takes_no_room_from_the_next(mounted, what):
    point = mounted("-N", "128")
    folder = dead_folder(point)
    if "file_count" in what:
        (folder / "dataset_read" / "a.0.0").unlink()
        for number in range(os.statvfs(point).f_ffree - 40):
            (folder / ("f%d" % number)).touch()
    options = dict(SMALL, path=str(point), **what)
    plan = run(check=True, **options)
    assert any("was killed left %s" % folder.name in note for note in plan["plan"]["notes"]) and folder.exists(), plan
    result = measured(**options)
    assert any(folder.name in note and "was removed" in note for note in result["notes"])
    assert os.listdir(point) == ["lost+found"]


def test_what_takes_the_room_and_stays_is_named(mounted):
    point = mounted("-N", "128")
    folder = dead_folder(point)
    assert "make room" in error(path=str(point), size_bytes=64 << 20) and folder.exists()
    os.chown(folder, 65534, 65534)
    told = error(path=str(point), size_bytes=8 << 20)
    assert told.endswith("or make room. Already there: what a test that was killed had left, %s, couldn't be removed: do it by hand"
                         % folder.name)
    assert folder.exists() and "目录中已有：无法清除" in complaints.say(told, "zh")
    other = folder.rename(point / (storage_folder.PREFIX + "other"))
    told = error(path=str(point), size_bytes=8 << 20)
    assert "Already there: %s lies there: a test of another machine, container or user runs" % other.name in told
    assert "目录中已有：此处有" in complaints.say(told, "zh")


def test_who_makes_the_folder_first_measures_however_late_it_began(disk, tmp_path):
    """The one that began earlier is held up before it makes its folder: it has to give way."""
    (tmp_path / "late").mkdir()
    late = tmp_path / "late" / "fio"
    late.write_text('#!/bin/sh\ntouch %s/asked; while [ ! -e %s/go ]; do sleep 0.02; done; exec %s "$@"\n' % (tmp_path, tmp_path, FIO))
    late.chmod(0o755)
    first = start(path=str(disk), fio=str(late), **SMALL)
    assert wait_until((tmp_path / "asked").exists)
    second = start(path=str(disk), fio=stand_in(tmp_path, SLOW), **LONG)
    assert wait_until(lambda: any(disk.glob("*/dataset_read/*")))
    (tmp_path / "go").touch()
    answer = json.loads(first.communicate(timeout=60)[0])
    assert answer.get("failed") and "another storage test runs in %s now" % disk in answer["msg"], answer
    assert second.poll() is None
    second.terminate()
    second.communicate(timeout=60)


def test_a_test_that_came_to_run_beside_is_told(disk, tmp_path):
    (tmp_path / "held").mkdir()
    fio = stand_in(tmp_path / "held", '$REAL "$@"; code=$?; touch %s/ended; while [ ! -e %s/go ]; do sleep 0.02; done; exit $code'
                   % (tmp_path, tmp_path))
    first = start(path=str(disk), fio=fio, **SMALL)
    assert wait_until((tmp_path / "ended").exists)
    (own,) = os.listdir(disk)
    second = start(path=str(disk), fio=stand_in(tmp_path, SLOW), hosts_at_once=2, **LONG)
    assert wait_until(lambda: len(os.listdir(disk)) == 2)
    (other,) = set(os.listdir(disk)) - {own}
    (tmp_path / "go").touch()
    notes = json.loads(first.communicate(timeout=60)[0])["measurement"]["notes"]
    assert "another storage test ran in this directory at the same time (%s): the figures are those of both together" % other in notes
    second.terminate()
    second.communicate(timeout=60)


def test_tests_begin_one_after_another(tmp_path):
    (tmp_path / "other").mkdir()
    with storage_folder.turn(str(tmp_path)) as mine, storage_folder.turn(str(tmp_path), 0.05) as theirs:
        assert mine and not theirs
        with storage_folder.turn(str(tmp_path / "other"), 0.05) as elsewhere:
            assert elsewhere
    with storage_folder.turn(str(tmp_path), 0.05) as again:
        assert again


def no_socket(*_kind):
    raise PermissionError(1, "Operation not permitted")


def test_without_turns_a_test_looks_again_when_its_folder_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(storage_folder.socket, "socket", no_socket)
    looks = []
    with storage_folder.OwnFolder(str(tmp_path), 60, lambda: looks.append(len(os.listdir(tmp_path)))):
        assert looks == [0, 1]

    def refuse():
        if os.listdir(tmp_path):
            raise ValueError("another one")

    with pytest.raises(ValueError, match="another one"):
        with storage_folder.OwnFolder(str(tmp_path), 60, refuse):
            raise AssertionError("never entered")
    assert os.listdir(tmp_path) == []


@pytest.fixture
def fake_proc(tmp_path):
    """A /proc with this process and nothing else in it, as one mounted with hidepid shows it."""
    proc = tmp_path / "proc"
    (proc / str(os.getpid()) / "ns").mkdir(parents=True)
    (proc / "sys/kernel/random").mkdir(parents=True)
    (proc / "sys/kernel/random/boot_id").write_text(open("/proc/sys/kernel/random/boot_id").read())
    (proc / str(os.getpid()) / "ns" / "pid").symlink_to(os.readlink("/proc/self/ns/pid"))
    (proc / "self").symlink_to(str(os.getpid()))
    return proc


def test_a_hidden_process_is_not_taken_for_dead(fake_proc):
    living = subprocess.Popen(["sleep", "600"])
    began = storage_folder._started(living.pid)
    name = storage_folder.PREFIX + "-".join([*storage_folder._here(), str(living.pid), str(began), "0" * 16])
    assert storage_folder.state_of(name) == storage_folder.RUNNING
    assert storage_folder.state_of(name, proc=str(fake_proc)) == storage_folder.UNKNOWN
    living.kill()
    living.wait()
    assert storage_folder.state_of(name, proc=str(fake_proc)) == storage_folder.DEAD


@pytest.mark.parametrize("lost", ["self", "ns", "boot"])
def test_where_proc_does_not_say_whose_it_is_nobody_is_dead_and_nobody_is_ended(fake_proc, lost):
    """An outer namespace's /proc has other numbers; some sandboxes hide the boot's id or the namespace's."""
    token = "-".join([*storage_folder._here(str(fake_proc)), "4194305", "1", "0" * 16])
    assert storage_folder.state_of(storage_folder.PREFIX + token, proc=str(fake_proc)) == storage_folder.DEAD
    (fake_proc / "77").mkdir()
    (fake_proc / "77" / "environ").write_text("%s=%s\0" % (storage_folder.MARK_VARIABLE, token))
    assert storage_folder._marked(token, str(fake_proc)) == [77]
    if lost == "boot":
        (fake_proc / "sys/kernel/random/boot_id").unlink()
    elif lost == "ns":
        (fake_proc / str(os.getpid()) / "ns" / "pid").unlink()
    else:
        (fake_proc / "self").unlink()
        (fake_proc / str(os.getpid())).rename(fake_proc / "1")
        (fake_proc / "self").symlink_to("1")
        assert storage_folder._marked(token, str(fake_proc)) == []
    # One that such a sandbox itself would make, too.
    for again in (token, "-".join([*storage_folder._here(str(fake_proc)), "4194305", "1", "0" * 16])):
        assert storage_folder.state_of(storage_folder.PREFIX + again, proc=str(fake_proc)) == storage_folder.UNKNOWN


def test_of_two_tests_in_one_directory_the_second_gives_way(disk, tmp_path):
    first = start(path=str(disk), fio=stand_in(tmp_path, SLOW), **LONG)
    assert wait_until(lambda: any(disk.glob("*/dataset_read/*")))
    (folder,) = os.listdir(disk)
    plan = run(check=True, path=str(disk), **SMALL)["plan"]
    assert any("another storage test runs in this directory now (%s)" % folder in note for note in plan["notes"])
    message = error(path=str(disk))
    assert "another storage test runs in %s now (%s)" % (disk, folder) in message
    # Hosts that were told to measure together do.
    assert measured(path=str(disk), hosts_at_once=2, **SMALL)["read_bytes_per_second"] > 0
    assert os.listdir(disk) == [folder] and len(list((disk / folder / "dataset_read").iterdir())) == 2
    first.terminate()
    first.communicate(timeout=60)


def test_of_many_that_begin_at_once_exactly_one_measures(disk, tmp_path):
    fio = stand_in(tmp_path, 'sleep 3; exec $REAL "$@"')
    processes = [start(path=str(disk), fio=fio, **SMALL) for _number in range(4)]
    answers = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    worked = [answer for answer in answers if not answer.get("failed")]
    # One that began after the first had ended may measure as well.
    assert worked and all("another storage test runs in" in answer["msg"] for answer in answers if answer.get("failed")), answers


def test_what_a_killed_test_left_is_told_and_removed(disk):
    ours = subprocess.Popen(["sleep", "600"])
    token = "-".join([*storage_folder._here(), str(ours.pid), str(storage_folder._started(ours.pid)), "0" * 16])
    folder = disk / (storage_folder.PREFIX + token)
    (folder / "dataset_read").mkdir(parents=True)
    assert storage_folder.state_of(folder.name) == storage_folder.RUNNING
    ours.kill()
    ours.wait()
    assert storage_folder.state_of(folder.name) == storage_folder.DEAD
    plan = run(check=True, path=str(disk), **SMALL)["plan"]
    assert any("was killed left %s" % folder.name in note for note in plan["notes"]) and folder.exists()
    # A worker of it that lives on.
    worker = subprocess.Popen(["sleep", "600"], env=dict(os.environ, **{storage_folder.MARK_VARIABLE: token}))
    threading.Thread(target=worker.wait).start()
    result = measured(path=str(disk), **SMALL)
    assert any(folder.name in note and "was removed" in note for note in result["notes"])
    assert worker.wait(10) == -signal.SIGKILL and not folder.exists()


@pytest.mark.parametrize("name", ["0123456789abcdef", "00000000-00000000-00000000-1-1-0000000000000000", "x", "other", "a link", "space", "alien"])
def test_what_may_be_anothers_is_told_and_stays(disk, tmp_path, name):
    machine, boot, space = storage_folder._here()
    names = {"space": "-".join([machine, boot, "00000000", "1", "1", "0" * 16]), "alien": "-".join(["00000000", boot, space, "4194305", "1", "0" * 16]),
             "a link": "-".join([machine, boot, space, "4194305", "1", "0" * 16])}
    folder = disk / (storage_folder.PREFIX + names.get(name, name))
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    if name == "a link":
        folder.symlink_to(tmp_path / "precious")
    else:
        folder.mkdir()
    if name == "alien":
        # The same boot of the same kernel: dead, whatever its machine's id says.
        assert storage_folder.state_of(folder.name) == storage_folder.DEAD
        folder.rmdir()
        return
    result = measured(path=str(disk), **SMALL)
    words = "couldn't be removed" if name == "a link" else "at the same time, or left"
    assert any(folder.name in note and words in note for note in result["notes"]), result["notes"]
    assert os.path.lexists(folder) and (tmp_path / "precious" / "file").exists()
    folder.unlink() if name == "a link" else folder.rmdir()


def test_a_folder_of_an_earlier_boot_is_dead_only_where_no_other_machine_writes():
    machine, _boot, space = storage_folder._here()
    name = storage_folder.PREFIX + "-".join([machine, "00000000", space, "1", "1", "0" * 16])
    if not open("/etc/machine-id").read().strip():
        pytest.skip("no machine id")
    assert storage_folder.state_of(name, local=True) == storage_folder.DEAD
    assert storage_folder.state_of(name, local=False) == storage_folder.UNKNOWN


# ---------------------------------------------------------------- odd paths


@pytest.mark.parametrize("name", [b"-rf", b"--filename=x", b"it's", b"a;b|c&d", b"%s{}", b"*", b"x" * 200, b"new\nline"])
def test_paths_of_any_bytes(disk, name):
    place = os.path.join(os.fsencode(disk), name)
    os.mkdir(place)
    result = measured(path=os.fsdecode(place), **SMALL)
    assert result["read_bytes_per_second"] > 0 and os.listdir(place) == []
    os.rmdir(place)


def test_links_that_lead_nowhere_or_to_a_device(disk, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "broken").symlink_to(tmp_path / "missing")
    assert "Too many levels of symbolic links" in error(path=str(tmp_path / "loop"))
    assert "No such file or directory; make the directory first" in error(path=str(tmp_path / "broken"))
    blocks = [os.path.join("/dev", name) for name in os.listdir("/sys/block") if os.path.exists(os.path.join("/dev", name))]
    for device in blocks[:1]:
        (tmp_path / "device").symlink_to(device)
        (tmp_path / "twice").symlink_to(tmp_path / "device")
        assert "is a device" in error(path=str(tmp_path / "twice"))


def test_a_name_that_holds_a_nul_is_refused(disk):
    told = error(path=str(disk) + "\0/x")
    assert told == "path: %r holds a NUL, which no name can; give a directory" % (str(disk) + "\0/x")
    assert "含有 NUL" in complaints.say(told, "zh")
    for name in ("/usr/bin/fio\0", "fio\0"):
        told = error(path=str(disk), fio=name)
        assert "the fio named, %r, holds a NUL" % name in told and "含有 NUL" in complaints.say(told, "zh")


@pytest.mark.parametrize("path", ["/proc/self/cwd/../../proc", "/sys/kernel", "/proc/sys", "/sys/fs/cgroup"])
def test_the_kernels_own_trees_are_refused(path):
    if not os.path.isdir(path):
        pytest.skip("not here")
    assert "holds no data" in error(path=path)


def test_the_root_directory_is_a_directory_like_another():
    answer = run(check=True, path="/", **SMALL)
    assert answer.get("plan") or "are free" in answer["msg"] or "can't be written" in answer["msg"] or "read-only" in answer["msg"]
