# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about what kind of machine this is, and its clock."""

from __future__ import annotations

import os
import struct

from ..sources import sysfs
from .subject import Subject

_STA_UNSYNC = 0x40
_ENOUGH = 65536


def collect(host, clock=None):
    """The platform document of a HostFiles; `clock` stands in for the adjtimex call in tests.

    virtualization: none, kvm, vmware, hyperv, xen, amazon, google, ..., unknown. container: null, docker, podman, lxc, systemd-nspawn,
    kubernetes, ... `time_error_seconds` is the kernel's bound on the clock's error. `boot_time` is seconds since 1970.
    """
    platform = Subject(
        "hostname", "vendor", "product", "virtualization", "container", "wsl", "tegra", "uptime_seconds", "boot_id", "time_synchronized",
        "time_error_seconds", "machine_id", "user_is_root", "boot_time")
    platform.put("/proc/sys/kernel", {
        "hostname": host.text_or("/proc/sys/kernel/hostname"), "boot_id": host.text_or("/proc/sys/kernel/random/boot_id")})
    vendor, product = sysfs.dmi(host, "sys_vendor"), sysfs.dmi(host, "product_name")
    source = "/sys/class/dmi/id"
    if product is None:
        # Boards without DMI (Tegra, ppc64le) name themselves in the device tree.
        product, source = host.text_or("/proc/device-tree/model", "").strip("\0") or None, "/proc/device-tree"
    platform.put(source, {"vendor": vendor, "product": product})
    platform.put("/sys/class/dmi/id, /proc/cpuinfo, /sys/hypervisor", {"virtualization": sysfs.virtualization(host)})
    platform.put("/proc/1, /run", {"container": container(host)}, may_be_none=("container",))
    kernel = host.text_or("/proc/sys/kernel/osrelease", "").lower()
    platform.put("/proc/sys/kernel/osrelease", {"wsl": "microsoft" in kernel})
    platform.put("/proc/device-tree, /etc/nv_tegra_release", {
        "tegra": host.exists("/etc/nv_tegra_release") or "nvidia,tegra" in host.text_or("/proc/device-tree/compatible", "")})
    platform.read("/proc/uptime", ("uptime_seconds",), lambda: {"uptime_seconds": float(host.text("/proc/uptime").partition(" ")[0])})
    platform.read("/proc/stat", ("boot_time",), lambda: {"boot_time": parse_boot_time(host.text("/proc/stat"))})
    platform.read("adjtimex", ("time_synchronized", "time_error_seconds"), clock or _clock)
    identity = host.text_or("/etc/machine-id") or host.text_or("/var/lib/dbus/machine-id")
    platform.put("/etc/machine-id", {"machine_id": None if identity == "uninitialized" else identity})
    platform.put("geteuid", {"user_is_root": os.geteuid() == 0})
    return platform.document()


def parse_boot_time(text):
    """The btime line of /proc/stat; None without one."""
    for line in text.splitlines():
        if line.startswith("btime "):
            return int(line.split()[1])
    return None


def container(host):
    """The kind of container this is, None for none. Kubernetes is told before the engine it uses."""
    environment = dict(
        part.partition("=")[::2] for part in host.text_or("/proc/1/environ", "", _ENOUGH).split("\0") if "=" in part)
    groups = host.text_or("/proc/1/cgroup", "", _ENOUGH)
    if "KUBERNETES_SERVICE_HOST" in environment or host.exists("/var/run/secrets/kubernetes.io") or "kubepods" in groups:
        return "kubernetes"
    named = environment.get("container") or host.text_or("/run/systemd/container")
    if named:
        return {"oci": "docker"}.get(named, named)[:64]
    if host.exists("/run/.containerenv"):
        return "podman"
    if host.exists("/.dockerenv") or "/docker" in groups:
        return "docker"
    if "/lxc" in groups:
        return "lxc"
    return None


def _clock():
    """{"time_synchronized", "time_error_seconds"} from adjtimex(2), which nobody needs a right for as long as it only reads."""
    if struct.calcsize("P") != 8:
        return {"time_synchronized": None, "time_error_seconds": None}
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    # struct timex of a 64-bit machine: modes u32 at 0, maxerror long at 24 (microseconds), status int at 40; 208 bytes.
    buffer = ctypes.create_string_buffer(512)
    if libc.adjtimex(buffer) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return parse_timex(buffer.raw)


def parse_timex(raw):
    """The bytes of a 64-bit struct timex -> {"time_synchronized": bool, "time_error_seconds": null where not synchronised}."""
    largest, = struct.unpack_from("=q", raw, 24)
    status, = struct.unpack_from("=i", raw, 40)
    synchronized = not status & _STA_UNSYNC
    # Without synchronisation the kernel's bound is a constant 16 s that says nothing.
    return {"time_synchronized": synchronized, "time_error_seconds": largest / 1e6 if synchronized else None}
