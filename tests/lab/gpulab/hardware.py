# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the kernel of a lab host shows of its hardware: CPUs, memory, PCI, the driver's modules.

Real files of the machine under the lab are covered: single files by a bind, whole folders by a tmpfs or a bound folder.
"""
from __future__ import annotations

from pathlib import Path

from . import paths, scenario
from .host import Host

SHARED_TREES = ("/sys/devices/system/cpu", "/sys/devices/system/node")


def cpu_list(first: int, count: int) -> str:
    return f"{first}-{first + count - 1}" if count > 1 else str(first)


def threads(host: Host) -> list[tuple[int, int, int]]:
    """(cpu, core, socket) of each logical CPU, numbered as Linux does: first threads first, then their siblings."""
    per_socket = host.cores // host.sockets
    return [(thread * host.cores + core, core % per_socket, core // per_socket)
            for thread in range(host.threads_per_core) for core in range(host.cores)]


def cpu_mask(cpus: list[int]) -> str:
    """The kernel's hexadecimal form of a CPU set: words of 32 bits, highest first."""
    number = sum(1 << cpu for cpu in cpus)
    words = []
    while number or not words:
        words.insert(0, f"{number & 0xFFFFFFFF:08x}")
        number >>= 32
    return ",".join(words)


def siblings(host: Host, cpu: int) -> str:
    return ",".join(str(cpu % host.cores + thread * host.cores) for thread in range(host.threads_per_core))


def cpuinfo(host: Host) -> str:
    """/proc/cpuinfo, with the lines that programs read."""
    lines = []
    for cpu, core, socket in threads(host):
        lines.append(
            f"processor\t: {cpu}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
            f"model name\t: Intel(R) Xeon(R) Platinum 8480C\nstepping\t: 8\ncpu MHz\t\t: 2000.000\nphysical id\t: {socket}\n"
            f"siblings\t: {host.threads // host.sockets}\ncore id\t\t: {core}\ncpu cores\t: {host.cores // host.sockets}\n"
            f"flags\t\t: fpu sse sse2 avx avx2 avx512f amx_bf16\n")
    return "\n".join(lines) + "\n"


def cpu_tree(host: Host) -> dict[str, str]:
    """/sys/devices/system/cpu."""
    everyone = cpu_list(0, host.threads)
    tree = {"online": everyone, "possible": everyone, "present": everyone, "offline": "", "kernel_max": "8191",
            "smt/active": str(int(host.threads_per_core > 1))}
    packages = [cpu_mask([cpu for cpu, _core, at in threads(host) if at == socket]) for socket in range(host.sockets)]
    for cpu, core, socket in threads(host):
        tree[f"cpu{cpu}/topology/core_id"] = str(core)
        tree[f"cpu{cpu}/topology/physical_package_id"] = str(socket)
        tree[f"cpu{cpu}/topology/thread_siblings_list"] = siblings(host, cpu)
        tree[f"cpu{cpu}/topology/core_cpus_list"] = siblings(host, cpu)
        mask = cpu_mask([int(n) for n in siblings(host, cpu).split(",")])
        tree[f"cpu{cpu}/topology/thread_siblings"] = mask
        tree[f"cpu{cpu}/topology/core_cpus"] = mask
        tree[f"cpu{cpu}/topology/core_siblings"] = packages[socket]
        tree[f"cpu{cpu}/cpufreq/scaling_governor"] = "performance"
    return tree


def node_tree(host: Host) -> dict[str, str]:
    """/sys/devices/system/node: a node a socket, the memory spread evenly."""
    nodes = cpu_list(0, host.sockets)
    tree = {name: nodes for name in ("online", "possible", "has_cpu", "has_memory", "has_normal_memory")}
    kib = host.memory_gib * (1 << 20) // host.sockets
    for node in range(host.sockets):
        mine = sorted(cpu for cpu, _core, socket in threads(host) if socket == node)
        half = host.cores // host.sockets
        tree[f"node{node}/cpulist"] = ",".join(cpu_list(mine[at], half) for at in range(0, len(mine), half))
        tree[f"node{node}/cpumap"] = cpu_mask(mine)
        tree[f"node{node}/meminfo"] = (
            f"Node {node} MemTotal:       {kib} kB\nNode {node} MemFree:        {kib * 9 // 10} kB\n"
            f"Node {node} MemUsed:        {kib // 10} kB")
        tree[f"node{node}/distance"] = " ".join("10" if n == node else "21" for n in range(host.sockets))
    return tree


def meminfo(host: Host) -> str:
    kib = host.memory_gib << 20
    rows = {"MemTotal": kib, "MemFree": kib * 9 // 10, "MemAvailable": kib * 19 // 20, "Buffers": 1 << 20, "Cached": kib // 20,
            "SwapCached": 0, "SwapTotal": 0, "SwapFree": 0, "Shmem": 65536, "Slab": 1 << 20}
    text = "".join(f"{name + ':':<16}{value:>12} kB\n" for name, value in rows.items())
    return text + "HugePages_Total:       0\nHugePages_Free:        0\nHugepagesize:       2048 kB\n"


def pci_tree(gpus: list) -> dict[str, str]:
    """/sys/bus/pci/devices of the GPUs (3D controllers)."""
    tree = {}
    for gpu in gpus:
        address = gpu["pci.bus_id"].lower()[4:]            # eight digits of domain in NVML, four in sysfs
        number = int(gpu["pci.id"], 16)
        tree.update({
            f"{address}/vendor": f"0x{number & 0xFFFF:04x}", f"{address}/device": f"0x{number >> 16:04x}",
            f"{address}/class": "0x030200", f"{address}/numa_node": "0", f"{address}/enable": "1",
            f"{address}/subsystem_vendor": "0x10de", f"{address}/subsystem_device": f"0x{int(gpu['pci.subsystem'], 16) >> 16:04x}",
            f"{address}/current_link_width": gpu["pcie.width"], f"{address}/max_link_width": gpu["pcie.max_width"],
            f"{address}/uevent": f"DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID={number & 0xFFFF:04X}:{number >> 16:04X}\nPCI_SLOT_NAME={address}"})
    return tree


def driver_files(system: dict) -> tuple[dict, dict]:
    """(/proc/driver, /sys/module) trees of the loaded driver; empty ones where no module is loaded."""
    kind = system.get("module", "none")
    if kind == "none":
        return {}, {}
    version = system.get("module_version", system["driver_version"])
    flavour = "NVIDIA UNIX Open Kernel Module for x86_64" if kind == "open" else "NVIDIA UNIX x86_64 Kernel Module"
    line = f"NVRM version: {flavour}  {version}  Release Build\nGCC version:  gcc version 12.2.0"
    return {"nvidia/version": line}, {"nvidia/version": version, "nvidia/refcnt": "12", "nvidia_uvm/version": version}


def shared_tree(host: Host) -> dict[str, Path]:
    """Folders to bind read-only over /sys; hosts of the same shape share one copy, made on first use."""
    shape = f"{host.sockets}x{host.cores}x{host.threads_per_core}x{host.memory_gib}"
    out = {}
    for target, make in zip(SHARED_TREES, (cpu_tree, node_tree)):
        folder = paths.RUN / "hardware" / f"{Path(target).name}-{shape}"
        if not folder.exists():
            for relative, text in make(host).items():
                path = folder / relative
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n")
        out[target] = folder
    return out


def binds(host: Host) -> dict[str, str]:
    """Single files: path -> text."""
    return {"/proc/meminfo": meminfo(host), "/proc/cpuinfo": cpuinfo(host), **host.binds}


def shadows(host: Host) -> dict[str, dict]:
    """Whole folders: path -> {relative path: text}."""
    system, gpus = scenario.parse(scenario.text_for(host))
    proc_driver, modules = driver_files(system)
    return {"/sys/bus/pci/devices": pci_tree(gpus), "/proc/driver": proc_driver, "/sys/module": modules, **host.shadow}


def pci_drivers(host: Host) -> list[str]:
    """PCI addresses that the nvidia driver holds (their 'driver' link)."""
    system, gpus = scenario.parse(scenario.text_for(host))
    return [] if system.get("module", "none") == "none" else [gpu["pci.bus_id"].lower()[4:] for gpu in gpus]
