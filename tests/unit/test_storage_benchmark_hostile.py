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
from storage_runs import FIO, SMALL, measured, programs_left, run, stand_in, start, wait_until

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import storage_folder

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


# ---------------------------------------------------------------- other tests


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


@pytest.mark.parametrize("path", ["/proc/self/cwd/../../proc", "/sys/kernel", "/proc/sys", "/sys/fs/cgroup"])
def test_the_kernels_own_trees_are_refused(path):
    if not os.path.isdir(path):
        pytest.skip("not here")
    assert "holds no data" in error(path=path)


def test_the_root_directory_is_a_directory_like_another():
    answer = run(check=True, path="/", **SMALL)
    assert answer.get("plan") or "are free" in answer["msg"] or "can't be written" in answer["msg"] or "read-only" in answer["msg"]
