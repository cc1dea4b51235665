# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The GPUs that PCI itself shows: /sys/bus/pci/devices (Documentation/ABI/testing/sysfs-bus-pci)."""

from __future__ import annotations

_DEVICES = "/sys/bus/pci/devices"
_NVIDIA = "0x10de"
# VGA compatible and 3D controllers; an NVSwitch is a bridge (0680), a card's sound function 0403.
_CLASSES = ("0x0300", "0x0302")


def read_pci(host):
    """NVIDIA's display and 3D functions below HostFiles `host` -> (GPUs, GPUs given to vfio), both None where there is no PCI to look at.

    Each is {"bus_id", "vendor_id", "device_id", "class_code", "driver"} (driver null: none bound). Virtual functions (SR-IOV vGPU) are
    left out.
    """
    names = host.names(_DEVICES)
    if not names and not host.exists(_DEVICES):
        return None, None
    here, passed = [], []
    for name in names:
        folder = "%s/%s" % (_DEVICES, name)
        if host.text_or(folder + "/vendor") != _NVIDIA:
            continue
        class_code = host.text_or(folder + "/class", "")
        if class_code[:6] not in _CLASSES or host.exists(folder + "/physfn"):
            continue
        driver = (host.link(folder + "/driver") or "").rsplit("/", 1)[-1] or None
        function = {"bus_id": name, "vendor_id": _NVIDIA, "device_id": host.text_or(folder + "/device"), "class_code": class_code,
                    "driver": driver}
        (passed if driver and driver.startswith("vfio") else here).append(function)
    return here, passed
