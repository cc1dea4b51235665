# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""storage_benchmark with the real fio: what it measures and records, where it refuses, where it falls back."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
import time

import pytest
from storage_runs import FIO, SMALL, measured, programs_left, run, stand_in

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_jobs, fio_run, storage, storage_place
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.forked import run_forked

pytestmark = pytest.mark.skipif(not FIO, reason="fio isn't installed")
LARGER = {**SMALL, "size_bytes": 8 << 20}
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture
def disk(tmp_path):
    """A directory that must be empty again afterwards, with no program left."""
    folder = tmp_path / "a disk: with odd name"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []
    assert programs_left() == []


def test_all_jobs_with_what_each_was_measured(disk):
    answer = run(path=str(disk), jobs=list(fio_jobs.NAMES), **SMALL)
    result = answer["measurement"]
    assert answer["changed"] is False and answer["gpu_uuids"] == [] and answer["target"] == str(disk)
    assert result["errors"] == {} and set(result["jobs"]) == set(fio_jobs.NAMES)
    for name, job in result["jobs"].items():
        for direction in {"checkpoint_write": ["write"], "mixed": ["read", "write"]}.get(name, ["read"]):
            assert job[direction]["bytes_per_second"] > 0 and job[direction]["bytes"] > 0, name
        assert {"cpu_user_fraction", "cpu_system_fraction", "engine", "direct", "buffered_label", "block_size_bytes", "queue_depth",
                "numjobs", "size_bytes", "file_count", "file_size_bytes", "options", "notes",
                "fsync_at_end", "device_read_fraction"} < set(job)
        assert "directory" not in job["options"]
        assert not any("(g=" in note or "..." in note for note in job["notes"]), job["notes"]
    assert result["jobs"]["dataset_read"]["direct"] is False and result["jobs"]["dataset_read"]["engine"] == "psync"
    assert result["jobs"]["small_files"]["file_count"] == 20 and result["jobs"]["small_files"]["file_size_bytes"] == 5000
    assert result["small_files_per_second"] == pytest.approx(result["small_file_bytes_per_second"] / 5000)
    for key in ("read_bytes_per_second", "checkpoint_write_bytes_per_second", "mixed_read_bytes_per_second", "random_read_iops"):
        assert result[key] > 0
    assert result["fio_version"].startswith("3.") and result["memory_bytes"] > 1 << 28 and result["quick"] is False
    assert result["hosts_at_once"] == 1 and result["shared"] is None and result["sample_bytes"] == 5000


def test_check_only_says_what_would_be_done(disk):
    answer = run(check=True, path=str(disk), jobs=["dataset_read", "checkpoint_write"], **SMALL)
    assert "measurement" not in answer and answer["plan"]["bytes_written"] == 3 << 20 and answer["plan"]["bytes_read"] == 2 << 20
    assert answer["plan"]["seconds"] > 4 and answer["plan"]["notes"] and answer["plan"]["bytes_on_disk"] == 2 << 20


def test_the_guides_job_is_announced_by_default(disk):
    answer = run(check=True, path=str(disk))
    if answer.get("failed"):
        assert "are free" in answer["msg"]
        pytest.skip("no room for the guide's job here")
    assert answer["plan"]["bytes_written"] == answer["plan"]["bytes_read"] == 16 << 30


def test_a_quick_look_says_that_it_is_one(disk):
    result = measured(path=str(disk), quick=True, **SMALL)
    assert result["quick"] is True and any("first look" in note for note in result["notes"])


def test_memory_is_never_sold_as_a_disk():
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    folder = tempfile.mkdtemp(dir="/dev/shm")
    try:
        result = measured(path=folder, jobs=["dataset_read", "random_read"], **SMALL)
        assert result["file_system"]["kind"] == "memory" and (result["cached"], result["buffered_label"]) == (True, "memory")
        assert {job["buffered_label"] for job in result["jobs"].values()} == {"memory"}
        assert os.listdir(folder) == []
    finally:
        os.rmdir(folder)


def test_several_hosts_at_once_keep_the_ratio_and_begin_together(disk):
    begin = time.time() + 2
    announced = storage.plan({"path": str(disk), "hosts_at_once": 3, "start_at": begin, **SMALL})["notes"]
    assert "begins at the same moment on 3 hosts" in announced
    result = measured(path=str(disk), hosts_at_once=3, alone_bytes_per_second=1e3, start_at=begin, **SMALL)
    assert time.time() >= begin
    assert result["hosts_at_once"] == 3 and result["shared"]["alone_bytes_per_second"] == 1e3
    assert result["shared"]["ratio"] == pytest.approx(result["read_bytes_per_second"] / 1e3)
    assert result["jobs"]["dataset_read"]["read"]["bytes"] == 2 << 20
    late = measured(path=str(disk), hosts_at_once=3, start_at=time.time() - 5, **SMALL)
    assert any("not all of them read at once" in note for note in late["notes"]) and late["shared"] is None


# ---------------------------------------------------------------- refusals


def refused(**options):
    answer = run(**dict(SMALL, **options))
    assert answer.get("failed"), answer
    return answer["msg"]


def test_only_a_directory_that_is_there(disk, tmp_path):
    (tmp_path / "file").write_text("x")
    assert "is a file" in refused(path=str(tmp_path / "file"))
    assert "make the directory first" in refused(path=str(disk / "missing")) and not (disk / "missing").exists()
    assert "must be absolute" in refused(path="relative")
    assert "$" in refused(path="/tmp/$pagesize")
    (tmp_path / "link").symlink_to("/dev/null")
    for device in ("/dev/null", str(tmp_path / "link")):
        assert "is a device" in refused(path=device)


@pytest.mark.parametrize("name", ["a b", "\u7801", "new\nline", "tab\t", "back\\slash", "col:on\\", 'quo"te', " both "])
def test_names_of_any_kind(disk, name):
    place = disk / name
    place.mkdir()
    assert measured(path=str(place), **SMALL)["read_bytes_per_second"] > 0
    place.rmdir()


@pytest.mark.parametrize("options, words", [
    ({"timeout_seconds": -5}, "timeout_seconds must be between"), ({"start_at": "nan"}, "start_at must be between"),
    ({"start_at": "-inf"}, "start_at must be between"), ({"start_at": "inf"}, "start_at must be between"),
    ({"hosts_at_once": -1}, "hosts_at_once must be between"),
    ({"alone_bytes_per_second": "nan"}, "alone_bytes_per_second must be between")])
def test_numbers_that_cannot_be(disk, options, words):
    assert words in refused(path=str(disk), **options)


@ROOT_ONLY
def test_a_block_device_is_refused(tmp_path):
    device = tmp_path / "disk0"
    try:
        os.mknod(device, 0o600 | stat.S_IFBLK, os.makedev(7, 250))
    except OSError as error:
        pytest.skip(f"no device node can be made: {error}")
    assert "would destroy" in refused(path=str(device))


@pytest.mark.parametrize("path", ["/proc", "/sys", "/dev"])
def test_file_systems_that_hold_no_data_are_refused(path):
    message = refused(path=path)
    assert "holds no data" in message or "can't be written to" in message or "lives in memory" in message


def _as_nobody(path):
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    return storage.plan(dict(SMALL, path=path))


@ROOT_ONLY
def test_a_directory_without_write_permission():
    ok, words, _kind = run_forked(lambda: _as_nobody("/var"), 30)
    assert not ok and "Refused: /var can't be written to by this user (uid 65534)" in words
    folder = tempfile.mkdtemp(dir="/var/tmp")
    try:
        ok, words, _kind = run_forked(lambda: _as_nobody(folder), 30)
        assert not ok and "can't be written to by this user" in words and os.listdir(folder) == []
    finally:
        os.rmdir(folder)


def test_a_missing_fio_names_the_line_that_installs_it():
    with pytest.raises(fio_run.NoFio, match="fio isn't installed here. Install it with: apt-get install fio .*gpu_audit_prepare_fio"):
        fio_run.version(None, "ID=debian\n")


def test_without_a_fio_on_the_host_there_is_none(monkeypatch):
    monkeypatch.setattr(fio_run.os, "access", lambda _path, _mode: False)
    assert fio_run.program() is None


@pytest.mark.parametrize("name, words", [
    ("missing", "No such file or directory"), ("folder", "is a directory"), ("plain", "can't be executed by this user"),
    ("garbage", "can't be started: Exec format error"), ("lost", "interpreter or loader that it names is missing"),
    ("other", "is not fio: asked for its version it says ls (GNU coreutils) 9.1."), ("no-such-program", "on the search path")])
def test_an_fio_that_was_named_is_never_said_to_be_uninstalled(disk, tmp_path, name, words):
    (tmp_path / "folder").mkdir()
    for file, text in (("garbage", "x"), ("lost", "#!/nonexistent/sh\n"), ("other", "#!/bin/sh\nprintf 'ls (GNU coreutils) 9.1\\nCopyright\\n'\n")):
        (tmp_path / file).write_text(text)
        (tmp_path / file).chmod(0o755)
    (tmp_path / "plain").write_text("x")
    message = refused(path=str(disk), fio=name if name == "no-such-program" else str(tmp_path / name))
    assert words in message and name in message and "isn't installed" not in message and "\n" not in message, message


@pytest.mark.parametrize("release, line", [
    ('ID=debian\n', "apt-get install fio"), ('ID="rocky"\nID_LIKE="rhel centos fedora"', "dnf install fio"),
    ("ID=ubuntu", "apt-get install fio"),
    ('ID="sles"', "zypper install fio"), ('ID=opensuse-leap\nID_LIKE="suse opensuse"', "zypper install fio"), ("", "the package fio")])
def test_the_installing_line_is_the_distributions(release, line):
    assert fio_run.install_line(release).startswith(line)


def test_an_fio_that_is_too_old_or_broken(disk, tmp_path):
    for answer, words in (("echo fio-2.21", "too old"), ("echo Segfault >&2; exit 139", "ended with status 139: Segfault"), ("echo hello", "says hello"),
                          ("kill -SEGV $$", "ended by SIGSEGV")):
        (tmp_path / "fio").write_text("#!/bin/sh\n%s\n" % answer)
        (tmp_path / "fio").chmod(0o755)
        assert words in refused(path=str(disk), fio=str(tmp_path / "fio"))


def place(**more):
    return dict({"path": "/data", "total_bytes": 100 << 30, "free_bytes": 50 << 30, "inodes_free": 1000,
                 "file_system": {"mount_point": "/data", "kind": "nvme"}}, **more)


def test_room_is_left_to_others():
    storage_place.check_room(place(), 45 << 30, 936)
    with pytest.raises(storage_place.Refused, match="50.0 GiB are free; the test needs 45.0 GiB and leaves 5.00 GiB"):
        storage_place.check_room(place(), (45 << 30) + 1, 4)
    with pytest.raises(storage_place.Refused, match="1000 inodes are free; the test needs 937"):
        storage_place.check_room(place(), 1, 937)
    # btrfs has no fixed number of inodes.
    storage_place.check_room(place(inodes_free=None), 1, 10 ** 9)


def test_a_file_system_in_memory_takes_no_more_than_half_of_it():
    shm = place(file_system={"mount_point": "/dev/shm", "kind": "memory"})
    storage_place.check_room(shm, 1 << 30, 4, 2 << 30)
    with pytest.raises(storage_place.Refused, match="lives in memory, of which 2.00 GiB are available; the test needs 1.00 GiB and may take half"):
        storage_place.check_room(shm, (1 << 30) + 1, 4, 2 << 30)


# ---------------------------------------------------------------- fall-backs


def test_direct_io_that_is_refused_is_measured_buffered_and_says_so(disk, tmp_path):
    fio = stand_in(tmp_path, """case " $* " in *" --direct=1 "*)
        echo "fio: looks like your file system does not support direct=1/buffered=0" >&2
        echo "fio: destination does not support O_DIRECT" >&2
        echo "fio: pid=1, err=22/file:filesetup.c:1, func=open(/mnt/t), error=Invalid argument" >&2; exit 1;; esac
        exec $REAL "$@" """)
    result = measured(path=str(disk), jobs=["random_read", "mixed"], fio=fio, **SMALL)
    for job in result["jobs"].values():
        assert job["direct"] is False and job["buffered_label"] in ("buffered", "cached")
        assert any("takes no direct I/O" in note and "not comparable" in note for note in job["notes"])


@pytest.mark.parametrize("missing, taken, depth", [("libaio", "io_uring", 64), ("libaio|*=io_uring", "psync", 1)])
def test_an_engine_that_is_not_there_is_replaced_and_named(disk, tmp_path, missing, taken, depth):
    fio = stand_in(tmp_path, """for a in "$@"; do case "$a" in *=%s) echo "fio: engine ${a#*=} not loadable" >&2
        echo "fio: failed to load engine" >&2; exit 1;; esac; done
        exec $REAL "$@" """ % missing)
    result = measured(path=str(disk), jobs=["random_read"], fio=fio, **SMALL)
    job = result["jobs"]["random_read"]
    if taken == "io_uring" and job["engine"] == "psync":
        # Sandboxes forbid io_uring.
        taken, depth = "psync", 1
    assert (job["engine"], job["queue_depth"]) == (taken, depth)
    assert any("libaio can't be used here" in note for note in job["notes"])


def test_the_captured_words_of_engines_and_direct_io(captures, traps):
    for path in (captures / "fio-json").glob("*badengine.stderr"):
        assert fio_run.refuses_engine(path.read_text() + path.with_suffix(".json").read_text())
    assert fio_run.refuses_direct((traps / "inputs" / "B74-direct-einval.txt").read_text())
    for path in (captures / "fio-json").glob("*enospc.stderr"):
        assert not fio_run.refuses_direct(path.read_text()) and not fio_run.refuses_engine(path.read_text())


def test_one_job_that_fails_leaves_the_others(disk, tmp_path):
    fio = stand_in(tmp_path, 'case "$*" in *--end_fsync*) echo "fio: io_u error: Input/output error" >&2; exit 1;; esac; exec $REAL "$@"')
    result = measured(path=str(disk), jobs=["dataset_read", "checkpoint_write"], fio=fio, **SMALL)
    assert result["read_bytes_per_second"] > 0 and result["checkpoint_write_bytes_per_second"] is None
    assert "checkpoint_write" in result["errors"] and any("checkpoint_write gave no result" in note for note in result["notes"])


@pytest.mark.parametrize("script, words", [
    ("exit 7", "ended with status 7"), ("kill -SEGV $$", "ended by SIGSEGV"),
    ("echo '{\"fio version\": \"fio-3.33\", \"jobs\": ['", "cut off"),
    ("echo hello", "no result of fio"), ("yes | head -c 30000000", "far too much")])
def test_an_fio_that_gives_no_result_is_an_error_in_its_words(disk, tmp_path, script, words):
    answer = run(path=str(disk), fio=stand_in(tmp_path, script), **SMALL)
    assert answer["failed"] and words in answer["msg"], answer["msg"]


# ---------------------------------------------------------------- labels


MEMORY = 64 << 30
READ = fio_jobs.jobs(["dataset_read"])[0]


@pytest.mark.parametrize("direct, kind, fraction, size, said", [
    (True, "nvme", 1.0, 1, None), (False, "nvme", 1.0, 1, "buffered"), (False, "nvme", 0.4, 1, "cached"),
    (False, "nvme", None, 1, "cached"),
    (False, "network", None, 1, "cached"), (False, "network", None, MEMORY, "buffered"), (True, "memory", 0.0, 1, "memory"),
    (False, "hdd", 0.0, 2 * MEMORY, "buffered"), (False, "nvme", 0.0, 1, "cached")])
def test_what_figures_must_not_be_taken_for(direct, kind, fraction, size, said):
    assert storage.label(READ._replace(file_size_bytes=size, file_count=1), direct, kind, fraction, MEMORY) == said


def test_a_checkpoint_that_was_synced_is_no_figure_of_the_cache():
    assert storage.label(fio_jobs.jobs(["checkpoint_write"])[0], False, "nvme", None, MEMORY) == "buffered"


@pytest.mark.parametrize("kind, words", [
    ("network", "a network file system"), ("overlay", "an overlay file system"), ("memory", "lives in memory")])
def test_file_systems_that_are_no_plain_disk_are_named(kind, words):
    parsed = {"jobs": [{"read": None, "write": None, "engine": "psync", "queue_depth": 1, "options": {}, "cpu_user_fraction": None,
                        "cpu_system_fraction": 0.1}], "notes": []}
    outcome = fio_run.Outcome(parsed, None, False, [], None, None, 1.0)
    job = storage.job_result(READ, outcome, {"kind": kind, "network": kind == "network"}, MEMORY)
    assert any(words in note for note in job["notes"]) and job["cpu_system_fraction"] == 0.1 and job["cpu_user_fraction"] is None


def test_notes_of_the_jobs_reach_the_whole():
    results = {"small_files": {"notes": ["a figure of the cache"]}, "dataset_read": {"notes": ["dataset_read: lasted 27 ms only"]}}
    assert storage._job_notes(results) == ["dataset_read: lasted 27 ms only", "small_files: a figure of the cache"]


# ---------------------------------------------------------------- a small file system


@pytest.fixture
def small_disk(tmp_path):
    """32 MiB of ext4 with few inodes in a loop-mounted file."""
    if os.geteuid() != 0 or not shutil.which("mkfs.ext4"):
        pytest.skip("needs root and mkfs.ext4")
    image, point = tmp_path / "image", tmp_path / "small"
    point.mkdir()
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-N", "128", str(image)], check=True)
    mounted = subprocess.run(["mount", "-o", "loop", str(image), str(point)], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip("no loop mount here: " + mounted.stderr)
    try:
        yield point
        assert os.listdir(point) in ([], ["lost+found"])
    finally:
        subprocess.run(["umount", "-l", str(point)], check=True)


def test_a_small_file_system_is_asked_for_room_before_anything_is_written(small_disk):
    assert "MiB are free" in refused(path=str(small_disk), size_bytes=20 << 20)
    assert "inodes are free" in refused(path=str(small_disk), jobs=["small_files"], sample_bytes=1, file_count=1000)


def test_a_small_file_system_that_fills_up_under_the_test(small_disk, tmp_path):
    fio = stand_in(tmp_path, 'head -c 64000000 /dev/zero > %s/filler 2>/dev/null; exec $REAL "$@"' % small_disk)
    answer = run(path=str(small_disk), jobs=["dataset_read", "checkpoint_write"], fio=fio, **LARGER)
    os.unlink(small_disk / "filler")
    assert answer["failed"] and "No space left on device" in answer["msg"]
