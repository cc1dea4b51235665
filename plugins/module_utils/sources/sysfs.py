# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""/sys: CPU topology, NUMA nodes, block devices, and what kind of machine this is."""

from __future__ import annotations

from . import procfs

_CPU = "/sys/devices/system/cpu"
_NODE = "/sys/devices/system/node"
_DMI = "/sys/class/dmi/id/"

# DMI vendor or product words (lower case) of virtual machines. Bare-metal instances of these clouds have no hypervisor flag.
_MACHINES = (
    ("vmware", "vmware"), ("virtualbox", "virtualbox"), ("innotek", "virtualbox"), ("parallels", "parallels"), ("bochs", "kvm"),
    ("qemu", "kvm"), ("kvm", "kvm"), ("openstack", "kvm"), ("rhev", "kvm"), ("ovirt", "kvm"), ("nutanix", "nutanix"), ("xen", "xen"),
    ("amazon ec2", "amazon"), ("google compute engine", "google"), ("alibaba cloud", "alibaba"), ("apple virtualization", "apple"),
    ("digitalocean", "kvm"), ("hetzner", "kvm"), ("scaleway", "kvm"), ("cloud hypervisor", "kvm"), ("firecracker", "kvm"),
)
_VIRTUAL_DISKS = ("vmware", "virtual", "qemu", "vbox", "msft", "persistentdisk", "blockvolume")
_NETWORK_DISKS = ("rbd", "nbd", "drbd", "dasd")
_NO_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd")
_MAX_NESTING = 8


def online_cpus(host):
    """The CPUs that are on, None where sysfs doesn't say."""
    try:
        return procfs.parse_cpu_list(host.text(_CPU + "/online")) or None
    except (OSError, ValueError):
        return None


def cpu_topology(host, cpus):
    """{cpu: (package, core key)} of the CPUs that sysfs describes; threads of one core have the same value.

    Read once a core, not once a thread: /sys reads are what a big machine pays for.
    """
    cores = {}
    for cpu in sorted(cpus):
        if cpu in cores:
            continue
        base = "%s/cpu%d/topology/" % (_CPU, cpu)
        siblings = host.text_or(base + "thread_siblings_list")
        package, core = host.number(base + "physical_package_id"), host.number(base + "core_id")
        package = 0 if package is None or package < 0 else package
        try:
            same = procfs.parse_cpu_list(siblings) if siblings else set()
        except ValueError:
            same = set()
        if cpu in same:
            for each in same & cpus:
                cores[each] = (package, min(same))
        elif core is not None and core >= 0:
            cores[cpu] = (package, "core %d" % core)
    return cores


def numa_nodes(host):
    """[{"node", "cpus" (the kernel's list, '' for a node of memory alone), "memory_total_bytes", "memory_free_bytes"}] by number."""
    nodes = []
    for name in host.names(_NODE):
        if name.startswith("node") and name[4:].isdigit():
            counts = procfs.parse_counts(host.text_or("%s/%s/meminfo" % (_NODE, name), ""))
            nodes.append({
                "node": int(name[4:]),
                "cpus": host.text_or("%s/%s/cpulist" % (_NODE, name), ""),
                "memory_total_bytes": counts.get("MemTotal"),
                "memory_free_bytes": counts.get("MemFree"),
            })
    return sorted(nodes, key=lambda node: node["node"])


def governor(host):
    """The frequency governor, several joined by ','; None where the machine shows none."""
    found = set()
    for name in host.names(_CPU + "/cpufreq"):
        if name.startswith("policy"):
            found.add(host.text_or("%s/cpufreq/%s/scaling_governor" % (_CPU, name)))
    found.add(None if found else host.text_or(_CPU + "/cpu0/cpufreq/scaling_governor"))
    return ",".join(sorted(found - {None})) or None


def dmi(host, name):
    """A DMI text such as sys_vendor; firmware's placeholder texts count as none."""
    text = host.text_or(_DMI + name)
    placeholders = ("to be filled by o.e.m.", "default string", "system manufacturer", "system product name", "not specified", "n/a",
                    "none")
    return None if text is None or text.lower() in placeholders else text


def virtualization(host, hypervisor_flag=None):
    """none | kvm | vmware | hyperv | xen | amazon | google | ... | unknown (a VM of a kind nobody told); None where nothing tells.

    `hypervisor_flag`: whether /proc/cpuinfo shows one; None reads it. The flag decides on x86, where bare-metal instances
    of a cloud carry the same vendor text as its VMs; elsewhere the texts do.
    """
    if hypervisor_flag is None:
        hypervisor_flag = procfs.parse_cpuinfo(host.text_or("/proc/cpuinfo", "", 8192))["hypervisor"]
    vendor, product = dmi(host, "sys_vendor") or "", dmi(host, "product_name") or ""
    words = " ".join((vendor, product, dmi(host, "board_vendor") or "", dmi(host, "bios_vendor") or "")).lower()
    kind = next((name for word, name in _MACHINES if word in words), None)
    if vendor == "Microsoft Corporation" and product == "Virtual Machine":
        kind = "hyperv"
    # Amazon's bare-metal sizes end in '.metal' or '.metal-24xl'.
    if ".metal" in product.lower():
        kind = None
    hypervisor = host.text_or("/sys/hypervisor/type")
    tree = host.text_or("/proc/device-tree/hypervisor/compatible", "").strip("\0")
    if hypervisor == "xen":
        # The control domain of a Xen host has every device itself.
        return "none" if "control_d" in host.text_or("/proc/xen/capabilities", "") else kind or "xen"
    if hypervisor_flag:
        return kind or ("wsl" if "microsoft" in host.text_or("/proc/sys/kernel/osrelease", "").lower() else "unknown")
    if tree:
        return "kvm" if "kvm" in tree else "xen" if "xen" in tree else "unknown"
    processor = host.text_or("/proc/cpuinfo", "", 4096)
    if not processor and not words.strip():
        return None
    return "none" if "vendor_id" in processor or kind is None else kind


def block_name(host, device_number, device):
    """The kernel's name of a mounted block device ('nvme0n1p2', 'dm-0'), None where it is none.

    By device number; btrfs and the like have one of their own, there the device's path says it.
    """
    link = host.link("/sys/dev/block/" + device_number)
    if link:
        return link.rsplit("/", 1)[-1]
    if device.startswith("/dev/"):
        link = host.link(device)
        name = (link or device).rsplit("/", 1)[-1]
        if host.exists("/sys/class/block/" + name):
            return name
    return None


def _block_folder(host, name):
    """The sysfs folder of a block device; a partition's is its disk's."""
    link = host.link("/sys/class/block/" + name)
    if link and "/block/" in link:
        name = link.rsplit("/block/", 1)[1].split("/")[0]
    elif not host.exists("/sys/block/" + name):
        # A tree without links: the partition lies in its disk's folder.
        name = next((disk for disk in host.names("/sys/block") if host.exists("/sys/block/%s/%s" % (disk, name))), name)
    return name, "/sys/block/" + name


def disk_kind(host, name, nesting=0):
    """nvme | ssd | hdd | network | memory | unknown of a block device, looked for below device mapper, LVM and md.

    Several parts of one kind are that kind, a mixture is the slowest one's. What a hypervisor calls rotational proves nothing.
    """
    name, folder = _block_folder(host, name)
    parts = host.names(folder + "/slaves")
    if parts and nesting < _MAX_NESTING:
        kinds = set(disk_kind(host, part, nesting + 1) for part in parts)
        return next((kind for kind in ("unknown", "network", "hdd", "ssd", "nvme", "memory") if kind in kinds), "unknown")
    if name.startswith(("zram", "ram", "pmem")):
        return "memory"
    if name.startswith(_NETWORK_DISKS):
        return "network"
    if name.startswith("nvme"):
        return "network" if host.text_or(folder + "/device/transport") in ("tcp", "rdma", "fc") else "nvme"
    rotational = host.number(folder + "/queue/rotational")
    if rotational == 0:
        return "ssd"
    texts = (host.text_or(folder + "/device/vendor", "") + " " + host.text_or(folder + "/device/model", "")).lower()
    if rotational == 1 and not name.startswith(("vd", "xvd", "loop", "dm-", "md")) and not any(word in texts for word in _VIRTUAL_DISKS):
        return "hdd"
    return "unknown"


def disks(host, most=256):
    """[{"name", "kind", "size_bytes", "model", "rotational"}] of the disks that hold something, by name."""
    found = []
    for name in host.names("/sys/block"):
        folder = "/sys/block/" + name
        if name.rstrip("0123456789") in _NO_DISKS:
            continue
        sectors = host.number(folder + "/size")
        # The single paths of a multipath NVMe device are hidden ones.
        if not sectors or len(found) >= most or host.number(folder + "/hidden"):
            continue
        rotational = host.number(folder + "/queue/rotational")
        found.append({
            "name": name,
            "kind": disk_kind(host, name),
            "size_bytes": sectors * 512,
            "model": host.text_or(folder + "/device/model"),
            "rotational": None if rotational is None else bool(rotational),
        })
    return found
