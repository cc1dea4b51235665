# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Storage facts: what is listed, of what kind it is, and that nothing dead holds the audit."""

from __future__ import annotations

import os
import threading

import pytest
from host_tree import make_host, mountinfo, run_here

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import storage
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources import mounts, procfs, sysfs
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles

ROOT = "259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw"
FIGURES = {"exists": True, "directory": True, "total_bytes": 1000, "free_bytes": 400, "inodes_total": 50, "inodes_free": 40,
           "writable": True}


def _disk(name, rotational, sectors=1000, model=None, partitions=(), slaves=()):
    base = "/sys/block/%s/" % name
    files = {base + "size": "%d\n" % sectors, base + "queue/rotational": "%d\n" % rotational}
    if model:
        files[base + "device/model"] = model + "\n"
    for partition in partitions:
        files[base + partition + "/partition"] = "1\n"
    for slave in slaves:
        files[base + "slaves/" + slave] = ""
    return files


def _collect(tmp_path, lines, files=None, links=None, paths=(), run=run_here, probe=lambda path: dict(FIGURES), **options):
    tree = {"/proc/self/mountinfo": mountinfo(*lines)}
    tree.update(files or {})
    return storage.collect(make_host(tmp_path, tree, links), paths, run=run, probe=probe, **options)


def test_mountinfo_with_escapes_optional_fields_and_noise():
    found = procfs.parse_mountinfo(
        "36 35 98:0 /sub\\040dir /mnt/my\\040disk rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n"
        "garbage\n37 35 0:5 / /with\\011tab\\134slash ro - tmpfs none rw\n38 1 0:9\n")
    assert [(each["mount_point"], each["type"], each["device"]) for each in found] == [
        ("/mnt/my disk", "ext3", "/dev/root"), ("/with\ttab\\slash", "tmpfs", "none")]
    assert found[0]["root"] == "/sub dir"


def test_real_file_systems_only_and_each_once(tmp_path):
    found = _collect(tmp_path, [
        ROOT, "0:21 / /proc rw - proc proc rw", "0:22 / /sys rw - sysfs sysfs rw", "0:24 / /dev/shm rw - tmpfs tmpfs rw",
        "0:25 / /run rw - tmpfs tmpfs rw", "7:1 / /snap/core/1 ro - squashfs /dev/loop1 ro", "259:2 /srv /srv rw - ext4 /dev/nvme0n1p2 rw",
        "0:60 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw", "8:1 / /data ro - xfs /dev/sda1 rw",
        "0:70 / /net rw - autofs systemd-1 rw"])
    assert [each["mount_point"] for each in found["filesystems"]] == ["/", "/data", "/dev/shm"]
    assert [each["read_only"] for each in found["filesystems"]] == [False, True, False]
    assert (found["filesystems"][0]["free_bytes"], found["filesystems"][0]["inodes_free"]) == (400, 40)


def test_files_bound_into_a_container_are_no_file_systems(tmp_path):
    found = _collect(tmp_path, [
        "0:50 / / rw - overlay overlay rw", "8:1 /a/hosts /etc/hosts rw - ext4 /dev/sda1 rw",
        "8:1 /smi /opt/nvidia-smi ro - ext4 /dev/sda1 rw",
        "8:1 /data /workspace/data rw - ext4 /dev/sda1 rw"], probe=lambda path: dict(FIGURES, directory="smi" not in path))
    assert [(each["mount_point"], each["kind"]) for each in found["filesystems"]] == [("/", "overlay"), ("/workspace/data", "unknown")]


@pytest.mark.parametrize("name, expected", [
    ("nvme0n1p2", "nvme"), ("sda1", "hdd"), ("sdb", "ssd"), ("dm-0", "nvme"), ("md0", "nvme"), ("dm-1", "hdd"), ("vda", "unknown"),
    ("vdb", "ssd"), ("sdc", "unknown"), ("zram0", "memory"), ("rbd0", "network"), ("nvme9n1", "network"), ("gone", "unknown"),
])
def test_kind_of_a_block_device(tmp_path, name, expected):
    files = {}
    for disk in (_disk("nvme0n1", 0, partitions=("nvme0n1p1", "nvme0n1p2")), _disk("nvme1n1", 0), _disk("sda", 1, partitions=("sda1",)),
                 _disk("sdb", 0), _disk("dm-0", 0, slaves=("nvme0n1p2",)), _disk("md0", 0, slaves=("nvme0n1p1", "nvme1n1")),
                 _disk("dm-1", 1, slaves=("sda1", "nvme1n1")), _disk("vda", 1), _disk("vdb", 0), _disk("sdc", 1, model="Virtual disk"),
                 _disk("zram0", 0), _disk("rbd0", 0), _disk("nvme9n1", 0), {"/sys/block/nvme9n1/device/transport": "tcp\n"}):
        files.update(disk)
    assert sysfs.disk_kind(make_host(tmp_path, files), name) == expected


def test_device_mapper_over_nvme_through_the_links_of_sysfs(tmp_path):
    files = {}
    files.update(_disk("../devices/pci0000:00/nvme/nvme0/nvme0n1", 0, partitions=("nvme0n1p3",)))
    files.update(_disk("../devices/virtual/block/dm-2", 0))
    host = make_host(tmp_path / "tree", {path.replace("/sys/block/..", "/sys"): text for path, text in files.items()}, {
        "/sys/block/nvme0n1": "../devices/pci0000:00/nvme/nvme0/nvme0n1",
        "/sys/block/dm-2": "../devices/virtual/block/dm-2",
        "/sys/devices/virtual/block/dm-2/slaves/nvme0n1p3": "../../../../pci0000:00/nvme/nvme0/nvme0n1/nvme0n1p3",
        "/sys/dev/block/253:2": "../../devices/virtual/block/dm-2",
        "/sys/class/block/dm-2": "../../devices/virtual/block/dm-2",
        "/sys/class/block/nvme0n1p3": "../../devices/pci0000:00/block/nvme0n1/nvme0n1p3"})
    mount = procfs.parse_mountinfo(mountinfo("253:2 / /data rw - xfs /dev/mapper/vg-data rw"))[0]
    assert mounts.kind(host, mount) == "nvme"


@pytest.mark.parametrize("kind, device, expected", [
    ("nfs4", "filer:/export", "network"), ("cifs", "//filer/share", "network"), ("lustre", "10.0.0.1@o2ib:/fs", "network"),
    ("ceph", "10.0.0.2:/", "network"), ("gpfs", "gpfs0", "network"), ("fuse.s3fs", "s3fs", "network"), ("9p", "share", "network"),
    ("fuse.fuse-overlayfs", "x", "overlay"), ("overlay", "overlay", "overlay"), ("tmpfs", "tmpfs", "memory"),
    ("zfs", "tank/data", "unknown"),
])
def test_kind_of_a_file_system(tmp_path, kind, device, expected):
    found = _collect(tmp_path, ["0:99 / /data rw - %s %s rw" % (kind, device)])
    assert found["filesystems"][0]["kind"] == expected
    assert found["filesystems"][0]["network"] is (expected == "network")


def test_btrfs_is_found_by_its_device_as_its_number_is_its_own(tmp_path):
    files = _disk("nvme0n1", 0, partitions=("nvme0n1p2",))
    files["/sys/class/block/nvme0n1p2/partition"] = "2\n"
    found = _collect(tmp_path, ["0:33 /@ / rw - btrfs /dev/nvme0n1p2 rw"], files)
    assert found["filesystems"][0]["kind"] == "nvme"


def test_credentials_in_a_device_are_left_out(tmp_path):
    found = _collect(tmp_path, ["0:9 / /dav rw - fuse.davfs https://me:secret@files.example/x rw"])
    assert found["filesystems"][0]["device"] == "https://files.example/x"


def test_a_stuck_server_costs_only_its_own_mounts(tmp_path):
    asked = []

    def run(function, timeout_seconds, name=None):
        answer = []
        thread = threading.Thread(target=lambda: answer.append(function()), daemon=True)
        thread.start()
        thread.join(0.2)
        return (True, answer[0], None) if answer else (False, "no answer within %g s" % timeout_seconds, "timeout")

    def probe(path):
        asked.append(path)
        if path.startswith("/dead"):
            threading.Event().wait()
        return dict(FIGURES)

    found = _collect(tmp_path, [ROOT, "0:40 / /dead rw - nfs4 down:/a rw", "0:41 / /dead2 rw - nfs4 down:/b rw",
                                "0:42 / /alive rw - nfs4 up:/c rw"],
                     paths=[{"path": "/dead/set", "purpose": "dataset"}, {"path": "/alive/w", "purpose": "weights"}], run=run, probe=probe)
    by_name = {each["mount_point"]: each for each in found["filesystems"]}
    assert by_name["/"]["free_bytes"] == by_name["/alive"]["free_bytes"] == 400
    assert by_name["/dead"]["free_bytes"] is None and "no answer within" in by_name["/dead"]["error"]
    assert by_name["/dead2"]["error"] and "/dead2" not in asked
    assert [(each["exists"], each["free_bytes"], each["kind"]) for each in found["paths"]] == [(None, None, "network"),
                                                                                               (True, 400, "network")]


def test_a_really_stuck_call_in_a_real_child(tmp_path):
    def probe(path):
        if path == "/dead":
            threading.Event().wait()
        return dict(FIGURES)

    tree = make_host(tmp_path, {"/proc/self/mountinfo": mountinfo(ROOT, "0:40 / /dead rw - nfs4 down:/a rw")})
    found = storage.collect(tree, timeout_seconds=0.5, probe=probe)
    assert [(each["mount_point"], each["free_bytes"]) for each in found["filesystems"]] == [("/", 400), ("/dead", None)]
    assert "no answer within" in found["filesystems"][1]["error"]


def test_a_stuck_disk_costs_only_the_disks(tmp_path):
    found = _collect(tmp_path, [ROOT, "8:1 / /data rw - xfs /dev/sda1 rw"], paths=[{"path": "/data/a"}, {"path": "/srv"}],
                     run=lambda function, seconds: (False, "no answer within 5 s", "timeout"))
    assert [(each["free_bytes"], each["error"]) for each in found["filesystems"] + found["paths"]] == [
        (400, None), (None, "the local disks other than the root: no answer within 5 s"),
        (None, "the local disks other than the root: no answer within 5 s"), (400, None)]
    assert [each["mount_point"] for each in found["paths"]] == ["/data", "/"]


def test_when_the_time_is_used_up_the_rest_is_not_asked(tmp_path):
    asked = []
    found = _collect(tmp_path, [ROOT, "0:40 / /n rw - nfs4 a:/a rw"], probe=lambda path: asked.append(path) or dict(FIGURES),
                     timeout_seconds=-1)
    assert asked == ["/"]
    assert "used up" in found["filesystems"][1]["error"]


AUTOMOUNTS = [ROOT, "0:70 / /net rw - autofs systemd-1 rw", "0:71 / /home rw - autofs auto.home rw",
              "0:72 / /home rw - nfs4 filer:/home rw"]


def test_automounts_are_never_touched_and_mounted_ones_are(tmp_path):
    asked = []
    found = _collect(tmp_path, AUTOMOUNTS, paths=[{"path": "/net/filer/data"}, {"path": "/home/me"}, {"path": "/link/data"}],
                     links={"/link": "/net/filer"}, probe=lambda path: asked.append(path) or dict(FIGURES))
    assert [each["mount_point"] for each in found["filesystems"]] == ["/", "/home"]
    assert not [path for path in asked if path.startswith("/net")]
    automount, mounted, linked = found["paths"]
    for each in (automount, linked):
        assert "automount point /net" in each["error"] and each["free_bytes"] is None and each["type"] == "autofs"
    assert mounted["free_bytes"] == 400 and mounted["error"] is None


def test_paths_are_followed_through_local_links_only():
    table = mounts.by_mount_point(procfs.parse_mountinfo(mountinfo(
        ROOT, "8:1 / /data rw - xfs /dev/sda1 rw", "0:9 / /nfs rw - nfs4 filer:/x rw")))
    links = {"/sets": "data/sets", "/data/sets/remote": "/nfs/big", "/loop": "/loop", "/up": "./../data/../nfs/a"}

    class Status:
        def __init__(self, mode):
            self.st_mode = mode

    def status(path):
        assert not path.startswith("/nfs")
        return Status(0o120777 if path in links else 0o040755)

    def place(path):
        where, mount, resolved = mounts.place(table, path, links.__getitem__, status)
        return where, mount["mount_point"], resolved

    assert place("/") == ("local", "/", "/")
    assert place("/sets/a") == ("local", "/data", "/data/sets/a")
    assert place("/sets/remote/train") == ("remote", "/nfs", "/nfs/big/train")
    assert place("/up/b") == ("remote", "/nfs", "/nfs/a/b")
    assert place("/database") == ("local", "/", "/database")
    with pytest.raises(OSError, match="symbolic links"):
        place("/loop")


def test_a_local_mount_below_a_network_one_is_reached_through_its_server(tmp_path):
    asked = []

    def run(function, timeout_seconds, name=None):
        asked.append(function())
        return True, asked[-1], None

    _collect(tmp_path, [ROOT, "0:9 / /n rw - nfs4 filer:/n rw", "8:1 / /n/scratch rw - xfs /dev/sda1 rw"], run=run)
    # The root needs no child.
    assert [len(answers) for answers in asked] == [2]


@pytest.mark.parametrize("path, children", [("/srv/x", 0), ("/data/x", 1), ("/link/x", 1), ("/net/x", 0), ("/nfs/x", 1)])
def test_a_child_is_started_for_what_can_hang_only(tmp_path, path, children):
    started = []
    storage.collect(make_host(tmp_path, {"/proc/self/mountinfo": mountinfo(
        ROOT, "0:5 / /dev/shm rw - tmpfs tmpfs rw", "0:6 / /net rw - autofs x rw")}, {"/link": "/data"}), run=None,
        probe=lambda name: dict(FIGURES))
    table = [ROOT, "0:6 / /net rw - autofs x rw", "8:1 / /data rw - xfs /dev/sda1 rw", "0:9 / /nfs rw - nfs4 filer:/x rw"]
    tree = mounts.by_mount_point(procfs.parse_mountinfo(mountinfo(*table)))
    host = make_host(tmp_path / "b", {}, {"/link": "/data"})
    storage._ask(host, tree, [("path", path, None)], 10, lambda function, seconds: started.append(1) or (True, function(), None),
                 lambda name: dict(FIGURES))
    assert len(started) == children


def test_a_diskless_host_has_its_root_on_a_server(tmp_path):
    found = _collect(tmp_path, ["0:9 / / rw - nfs4 filer:/root rw", "8:1 / /scratch rw - xfs /dev/sda1 rw"], paths=[{"path": "/scratch/a"}])
    assert [(each["mount_point"], each["kind"], each["free_bytes"]) for each in found["filesystems"]] == [
        ("/", "network", 400), ("/scratch", "unknown", 400)]
    assert found["paths"][0]["mount_point"] == "/scratch"


def test_a_path_that_does_not_exist_yet(tmp_path):
    found = storage.look(str(tmp_path / "a" / "b" / "c"))
    assert (found["exists"], found["at"]) == (False, str(tmp_path))
    assert found["total_bytes"] >= found["free_bytes"] > 0
    here = storage.look(str(tmp_path))
    assert here["exists"] is True and here["directory"] is True


def test_below_a_file_counts_as_not_there(tmp_path):
    (tmp_path / "file").write_text("x")
    found = storage.look(str(tmp_path / "file" / "below"))
    assert (found["exists"], found["directory"]) == (False, False)


def test_free_space_is_an_ordinary_users(monkeypatch):
    class Figures:
        f_frsize, f_bsize, f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail = 4096, 65536, 100, 50, 40, 10, 8, 6

    monkeypatch.setattr(os, "statvfs", lambda path: Figures)
    found = storage.look("/")
    assert (found["total_bytes"], found["free_bytes"], found["inodes_total"], found["inodes_free"]) == (409600, 163840, 10, 6)
    Figures.f_files = Figures.f_favail = 0
    found = storage.look("/")
    assert (found["inodes_total"], found["inodes_free"]) == (None, None)


def test_an_error_of_one_file_system_is_its_own(tmp_path):
    def probe(path):
        if path == "/data":
            raise PermissionError(13, "Permission denied")
        return dict(FIGURES)

    found = _collect(tmp_path, [ROOT, "8:1 / /data rw - xfs /dev/sda1 rw"], probe=probe)
    assert [each["error"] for each in found["filesystems"]] == [None, "/data: Permission denied"]


def test_a_path_in_a_closed_folder_has_the_figures_of_its_file_system(tmp_path):
    def probe(path):
        if path not in ("/", "/data"):
            raise PermissionError(13, "Permission denied")
        return dict(FIGURES, free_bytes=7 if path == "/data" else 400)

    found = _collect(tmp_path, [ROOT, "8:1 / /data rw - xfs /dev/sda1 rw"], paths=[{"path": "/data/closed/set"}], probe=probe)
    (path,) = found["paths"]
    assert (path["exists"], path["writable"], path["free_bytes"], path["mount_point"], path["error"]) == (None, None, 7, "/data", None)
    assert found["absent"] == {"paths./data/closed/set.exists": "not_permitted", "paths./data/closed/set.writable": "not_permitted"}


def test_a_mount_below_a_closed_folder_is_known_from_the_mount_table():
    table = mounts.by_mount_point(procfs.parse_mountinfo(mountinfo(ROOT, "0:9 / /closed/nfs rw - nfs4 filer:/x rw")))

    def status(path):
        raise PermissionError(13, "Permission denied")

    assert mounts.place(table, "/closed/nfs/a", status=status) == ("remote", table["/closed/nfs"], "/closed/nfs/a")
    assert mounts.place(table, "/closed/b/c", status=status) == ("local", table["/"], "/closed/b/c")


def test_one_path_for_two_purposes(tmp_path):
    found = _collect(tmp_path, [ROOT, "0:9 / /nfs rw - nfs4 filer:/x rw"], paths=[
        {"path": path, "purpose": purpose} for path in ("/data", "/nfs/a") for purpose in ("dataset", "logs")])
    assert [(each["path"], each["purpose"], each["free_bytes"], each["mount_point"]) for each in found["paths"]] == [
        ("/data", "dataset", 400, "/"), ("/data", "logs", 400, "/"), ("/nfs/a", "dataset", 400, "/nfs"), ("/nfs/a", "logs", 400, "/nfs")]


def test_disks_without_plumbing(tmp_path):
    files = {}
    for disk in (_disk("nvme0n1", 0, 7501476528, "SAMSUNG MZQL23T8HCLS-00A07"), _disk("loop0", 0), _disk("dm-0", 0), _disk("sdb", 1, 0),
                 _disk("sda", 1, 2048, "ST4000NM")):
        files.update(disk)
    found = _collect(tmp_path, [ROOT], files)["disks"]
    assert found == [
        {"name": "nvme0n1", "kind": "nvme", "size_bytes": 3840755982336, "model": "SAMSUNG MZQL23T8HCLS-00A07", "rotational": False},
        {"name": "sda", "kind": "hdd", "size_bytes": 1048576, "model": "ST4000NM", "rotational": True}]


def test_no_mount_table_is_no_empty_list(tmp_path):
    found = storage.collect(HostFiles(str(tmp_path)), run=run_here)
    assert found["filesystems"] is None and found["absent"]["filesystems"] == "not_supported"


def test_this_machine():
    found = storage.collect(HostFiles(), [{"path": "/tmp", "purpose": "logs"}])
    assert found["paths"][0]["free_bytes"] >= 0 and found["paths"][0]["exists"] is True
    assert "/" in [each["mount_point"] for each in found["filesystems"]]
