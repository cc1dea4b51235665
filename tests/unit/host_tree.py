# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Makes a folder that looks like the root of a host."""

from __future__ import annotations

from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles


def make_host(folder, files, links=None):
    """{"/proc/stat": text or bytes} and {"/sys/class/net/eth0": target} below `folder` -> HostFiles of it."""
    for path, text in files.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
    for path, target in (links or {}).items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)
    return HostFiles(str(folder))


def run_here(function, timeout_seconds, name=None):
    """run_forked's contract without a child."""
    return True, function(), None


def mountinfo(*lines):
    """('8:1 / /data rw - ext4 /dev/sda1 rw', ...) -> a mountinfo text with the two leading numbers."""
    return "".join("%d 1 %s\n" % (number + 20, line) for number, line in enumerate(lines))


def cpus(count, siblings=None, packages=None):
    """sysfs files of `count` processors; siblings(cpu) gives its thread_siblings_list, packages(cpu) its package."""
    files = {"/sys/devices/system/cpu/online": "0-%d\n" % (count - 1),
             "/proc/self/status": "Name:\tpython3\nCpus_allowed_list:\t0-%d\n" % (count - 1)}
    for cpu in range(count):
        base = "/sys/devices/system/cpu/cpu%d/topology/" % cpu
        files[base + "thread_siblings_list"] = "%s\n" % (siblings(cpu) if siblings else cpu)
        files[base + "physical_package_id"] = "%d\n" % (packages(cpu) if packages else 0)
        files[base + "core_id"] = "%d\n" % cpu
    return files
