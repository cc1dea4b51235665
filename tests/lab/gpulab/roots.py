# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A host's root: the files that differ from its base, and the mounts made around them.

populate() runs before the namespaces, enter_root() inside them, as the host's PID 1.
"""
from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

from . import cgroups, hardware, kernel, native, paths, scenario
from .host import Host

INIT = r"""#!/bin/sh
# PID 1 of a lab host: network, then sshd; dash's wait also reaps orphans
. /etc/gpu-lab/net
ip link set lo up
ip addr add $ip/16 dev eth0; ip link set eth0 up; ip route add default via $gw
[ -n "$rate" ] && tc qdisc replace dev eth0 root tbf rate $rate burst 64k latency 50ms
[ -n "$nft" ] && printf '%s\n' "$nft" | nft -f -
case $ssh in
closed) sleep infinity & wait $!;;
hang)   iperf3 -s -p 22 >/dev/null 2>&1 & wait $!;;
*)      mkdir -p /run/sshd; /usr/sbin/sshd -D -E /var/log/sshd.log & wait $!;;
esac
"""

SSHD = """HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM {pam}
UseDNS no
PrintMotd no
MaxStartups 100
AcceptEnv LANG LC_*
Subsystem sftp /usr/lib/openssh/sftp-server
"""

LIBRARIES = "usr/lib/x86_64-linux-gnu"
DEVICES = (("null", 1, 3), ("zero", 1, 5), ("full", 1, 7), ("random", 1, 8), ("urandom", 1, 9), ("tty", 5, 0))
DEVICE_LINKS = (("ptmx", "pts/ptmx"), ("fd", "/proc/self/fd"), ("stdin", "/proc/self/fd/0"),
                ("stdout", "/proc/self/fd/1"), ("stderr", "/proc/self/fd/2"))
NVIDIA_MAJOR = 195
USER, USER_ID = "auditor", 1000


def write(path: Path, text: str, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def firewall(host: Host) -> str:
    rules = []
    if host.loss:
        rules.append(f"numgen random mod 1000 < {int(host.loss * 1000)} drop")
    if host.ssh == "drop":
        rules.append("tcp dport 22 drop")
    if not rules:
        return ""
    # old nft (bullseye) refuses a chain called "in"
    return ("table inet gpulab { chain input { type filter hook input priority 0; policy accept; %s; }; }" % "; ".join(rules))


def install_gpu(host: Host, upper: Path, built: Path) -> None:
    """The scenario, and the stand-ins that read it."""
    write(upper / "etc/gpu-lab/cpus", f"{host.threads}\n")
    write(upper / "etc/ld.so.preload", f"/{LIBRARIES}/{native.ANSWERS}\n")
    (upper / LIBRARIES).mkdir(parents=True, exist_ok=True)
    shutil.copy2(built / native.ANSWERS, upper / LIBRARIES)
    text = scenario.text_for(host)
    if not text:
        return
    write(upper / "etc/gpu-lab/scenario.conf", text)
    if host.nvml:
        shutil.copy2(built / native.NVML, upper / LIBRARIES)
    if host.smi:
        (upper / "usr/bin").mkdir(parents=True, exist_ok=True)
        shutil.copy2(built / native.SMI, upper / "usr/bin")


def add_user(host: Host, upper: Path, public_key: str) -> None:
    """An ordinary user with the lab's key, who may use sudo without a password."""
    for name, line in (("passwd", f"{USER}:x:{USER_ID}:{USER_ID}::/home/{USER}:/bin/sh"), ("group", f"{USER}:x:{USER_ID}:"),
                       ("shadow", f"{USER}:*:20000:0:99999:7:::")):
        write(upper / "etc" / name, (paths.BASES / host.base / "etc" / name).read_text() + line + "\n", 0o640 if name == "shadow" else 0o644)
    write(upper / "etc/sudoers.d/gpu-lab", f"{USER} ALL=(ALL) NOPASSWD: ALL\n", 0o440)
    home = upper / "home" / USER
    write(home / ".ssh/authorized_keys", public_key, 0o600)
    for path in (home, home / ".ssh", home / ".ssh/authorized_keys"):
        os.chown(path, USER_ID, USER_ID)


def make_folders(data: Path) -> None:
    """What the lab's workload form names (specs/group_vars)."""
    for name in ("dataset", "weights", "checkpoints", "logs"):
        (data / name).mkdir(parents=True, exist_ok=True)


def populate(host: Host, public_key: str, built: Path) -> None:
    """Fill the host's own (upper) layer: only what differs from the base."""
    upper = host.dir / "upper"
    for folder in ("upper", "work", "root"):
        (host.dir / folder).mkdir(parents=True, exist_ok=True)
    write(upper / "etc/hostname", host.name + "\n")
    write(upper / "etc/hosts", f"127.0.0.1 localhost\n{host.ip} {host.name}\n")
    write(upper / "etc/machine-id", f"{host.ident:0>32}\n", 0o444)
    write(upper / "etc/resolv.conf", "")
    write(upper / "etc/ssh/sshd_config", SSHD.format(pam="yes" if host.use_pam else "no"))
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", host.name, "-f",
                    str(upper / "etc/ssh/ssh_host_ed25519_key")], check=True, stdin=subprocess.DEVNULL)
    write(upper / "root/.ssh/authorized_keys", public_key, 0o600)
    (upper / "root").chmod(0o700)
    (upper / "root/.ssh").chmod(0o700)
    add_user(host, upper, public_key)
    write(upper / "etc/gpu-lab/net", f"ip={host.ip}\ngw={paths.NET}.0.1\nrate={host.rate}\nssh={host.ssh}\nnft='{firewall(host)}'\n")
    write(upper / "etc/gpu-lab/init", INIT, 0o755)
    make_folders(upper / "data")
    install_gpu(host, upper, built)
    if not host.python:                    # 0:0 character devices are overlayfs whiteouts
        (upper / "usr/bin").mkdir(parents=True, exist_ok=True)
        for program in (paths.BASES / host.base / "usr/bin").glob("python3*"):
            os.mknod(upper / "usr/bin" / program.name, stat.S_IFCHR, 0)
    if host.disk_mib:
        image = host.dir / "disk.img"
        with open(image, "wb") as file:
            file.truncate(host.disk_mib << 20)
        subprocess.run(["mkfs." + host.disk_fs, "-q", str(image)], check=True, stdin=subprocess.DEVNULL)
    for path, text in host.files.items():
        write(upper / path.lstrip("/"), text)


def layers(host: Host) -> tuple[Path, Path]:
    """(upper, work) of the overlay; with upper=tmpfs in a memory file system that only this host sees."""
    if host.upper == "disk":
        return host.dir / "upper", host.dir / "work"
    memory = host.dir / "tmpfs"
    memory.mkdir(exist_ok=True)
    kernel.mount("tmpfs", memory, "tmpfs", 0, "mode=755")
    shutil.copytree(host.dir / "upper", memory / "upper", symlinks=True)
    (memory / "work").mkdir()
    return memory / "upper", memory / "work"


def mount_disk(host: Host, root: Path) -> None:
    at = root / host.disk_at.lstrip("/")
    at.mkdir(parents=True, exist_ok=True)  # losetup's autoclear frees the loop device with the mount
    subprocess.run(["mount", "-n", "-o", "loop", str(host.dir / "disk.img"), str(at)], check=True)
    if host.disk_at == "/data":
        make_folders(at)
    if host.disk_full:
        with open(at / "filler", "wb", buffering=0) as file:
            chunk = bytes(1 << 20)
            for size in (1 << 20, 4096, 1):                    # until not even one byte fits
                try:
                    while True:
                        file.write(chunk[:size])
                except OSError:
                    pass


def make_devices(host: Host, root: Path) -> None:
    kernel.mount("tmpfs", root / "dev", "tmpfs", kernel.MS_NOSUID, "mode=755")
    os.umask(0)
    for name, major, minor in DEVICES:
        os.mknod(root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    for number in range(len(hardware.pci_drivers(host))):      # as on a GPU server; open() gives ENXIO
        os.mknod(root / f"dev/nvidia{number}", stat.S_IFCHR | 0o666, os.makedev(NVIDIA_MAJOR, number))
    for folder in ("pts", "shm"):
        (root / "dev" / folder).mkdir()
    kernel.mount("devpts", root / "dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC,
                 "newinstance,ptmxmode=0666,mode=620,gid=5")
    kernel.mount("tmpfs", root / "dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
    for link, to in DEVICE_LINKS:
        os.symlink(to, root / "dev" / link)
    os.umask(0o022)


def mount_cgroups(host: Host, root: Path) -> None:
    """What systemd would mount: each hierarchy, seen from the host's own group (its cgroup namespace)."""
    groups = cgroups.directories(host.name)
    top = root / "sys/fs/cgroup"
    if not groups or not top.is_dir():
        return
    kernel.mount("tmpfs", top, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, "mode=755")
    for kind in groups:
        (top / kind).mkdir()
        kernel.mount("cgroup", top / kind, "cgroup", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, kind)
    if "freezer" in groups:
        frozen = root / "run/gpu-lab/frozen"
        frozen.mkdir(parents=True)
        kernel.mount(groups["freezer"] / "frozen", frozen, None, kernel.MS_BIND)


def cover(host: Host, root: Path) -> None:
    """The host's own hardware over the machine's /proc and /sys."""
    for target, folder in hardware.shared_tree(host).items():
        if (root / target.lstrip("/")).is_dir():
            kernel.bind_read_only(folder, root / target.lstrip("/"))
    for number, (path, text) in enumerate(hardware.binds(host).items()):
        source = host.dir / f"bind{number}"
        write(source, text)
        kernel.mount(source, root / path.lstrip("/"), None, kernel.MS_BIND)
    for path, tree in hardware.shadows(host).items():
        target = root / path.lstrip("/")
        kernel.mount("tmpfs", target, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
        for relative, text in tree.items():
            write(target / relative, text + "\n")
    for address in hardware.pci_drivers(host):
        os.symlink("../../../bus/pci/drivers/nvidia", root / "sys/bus/pci/devices" / address / "driver")


def enter_root(host: Host) -> None:
    """In the new namespaces: build the root and pivot into it."""
    kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
    root = host.dir / "root"
    upper, work = layers(host)
    kernel.mount("overlay", root, "overlay", 0, f"lowerdir={paths.BASES / host.base},upperdir={upper},workdir={work}")
    if host.disk_mib:
        mount_disk(host, root)
    plain = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("proc", root / "proc", "proc", plain)
    kernel.mount("sysfs", root / "sys", "sysfs", plain)
    kernel.mount("tmpfs", root / "run", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=755")
    make_devices(host, root)
    mount_cgroups(host, root)
    cover(host, root)
    os.chdir(root)
    kernel.call("pivot_root", ".", ".")    # man pivot_root: stack the old root, then drop it
    kernel.call("umount2", ".", kernel.MNT_DETACH)
    os.chdir("/")
    kernel.call("sethostname", host.name, len(host.name))
