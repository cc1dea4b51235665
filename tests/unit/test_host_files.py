# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Reading files of a host that may be missing, closed, odd or hostile."""

from __future__ import annotations

import os
import random

import pytest
from host_tree import cpus, make_host, mountinfo, run_here

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import cpu, memory, network, platform, software, storage
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles, reason


@pytest.mark.parametrize("error, expected", [
    (PermissionError(13, "Permission denied"), "not_permitted"), (OSError(1, "Operation not permitted"), "not_permitted"),
    (FileNotFoundError(2, "No such file"), "not_supported"), (OSError(19, "No such device"), "not_supported"),
    (OSError(22, "Invalid argument"), "failed: Invalid argument"), (ValueError("no number: 'x'"), "failed: no number: 'x'"),
])
def test_reasons(error, expected):
    assert reason(error) == expected


def test_a_path_with_a_nul_is_no_file_and_no_crash(tmp_path):
    host = HostFiles(str(tmp_path))
    assert (host.text_or("/a\0b"), host.number("/a\0"), host.names("/\0"), host.exists("/\0"), host.link("/\0")) == (None, None, [], False,
                                                                                                                     None)


def test_a_fifo_does_not_hold_the_audit(tmp_path):
    os.mkfifo(str(tmp_path / "fifo"))
    assert HostFiles(str(tmp_path)).text_or("/fifo", "nothing") == "nothing"


def test_limits_and_bytes_that_are_no_text(tmp_path):
    host = make_host(tmp_path, {"/big": "x" * 100000, "/odd": b"\xff\xfe a \n"})
    assert len(host.text("/big", 70000)) == 70000
    assert host.text("/odd") == "\ufffd\ufffd a"


TREE = dict(cpus(4), **{
    "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: X\nmodel name\t: Y\nphysical id: 0\ncore id: 0\n\n", "/proc/loadavg": "1 2 3 4",
    "/proc/meminfo": "MemTotal: 10 kB\nMemAvailable: 5 kB\nSwapTotal: 1 kB\n", "/proc/vmstat": "pswpin 1\npswpout 2\n",
    "/proc/uptime": "1 2",
    "/proc/stat": "btime 4\n", "/proc/self/cgroup": "0::/a/b\n4:memory:/x\n", "/sys/fs/cgroup/a/cpu.max": "100 200",
    "/proc/self/mountinfo": mountinfo("8:1 / / rw - ext4 /dev/sda1 rw", "0:3 / /sys/fs/cgroup rw - cgroup2 none rw",
                                      "0:9 / /n rw - nfs4 f:/x rw"),
    "/sys/devices/system/node/node1/meminfo": "Node 1 MemTotal: 3 kB\n", "/sys/devices/system/node/node1/cpulist": "",
    "/sys/block/sda/size": "5", "/sys/block/sda/queue/rotational": "1", "/sys/block/sda/slaves/sda": "", "/etc/os-release": 'ID="x"\n',
    "/sys/class/net/eth0/speed": "1000", "/sys/class/infiniband/m/ports/1/rate": "400 Gb/sec",
    "/sys/class/infiniband/m/ports/1/state": "4: ACTIVE",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x  550.1  T\n",
    "/usr/local/cuda-12.1/version.json": '{"cuda":{"version":"12.1"}}',
    "/opt/e/lib/python3.11/site-packages/torch-2.0.dist-info/x": "", "/opt/e/lib/python3.11/site-packages/torch/version.py": "cuda='1'",
    "/etc/machine-id": "a", "/proc/1/environ": "container=lxc\0"})


def _damaged(text, chance):
    data = bytearray(text.encode())
    for _number in range(chance.randint(1, 5)):
        at = chance.randint(0, len(data))
        if chance.random() < 0.3:
            del data[at:]
        else:
            data[at:at + chance.randint(0, 2)] = bytes([chance.choice(b"\x00\xff\n -:/={[\"9")]) * chance.choice((1, 1, 40))
    return bytes(data)


@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_never_crash_a_subject(tmp_path, seed):
    chance = random.Random(seed)
    host = make_host(tmp_path, {path: _damaged(text, chance) if chance.random() < 0.5 else text for path, text in TREE.items()})
    for found in (cpu.collect(host), memory.collect(host), network.collect(host, run=run_here), platform.collect(host),
                  software.collect(host, ["/opt/e"], run=run_here), storage.collect(host, [{"path": "/a/b"}], run=run_here)):
        assert "error" not in found and set(found) > {"sources", "absent"}
