# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""How Ansible and ssh find the hosts."""
from __future__ import annotations

import json

from . import paths
from .host import Host


def ssh_options() -> dict[str, str]:
    return {"User": "root", "IdentityFile": str(paths.RUN / "id_ed25519"), "IdentitiesOnly": "yes",
            "UserKnownHostsFile": str(paths.RUN / "known_hosts"), "StrictHostKeyChecking": "yes",
            "ConnectTimeout": "5", "LogLevel": "ERROR"}


def troubles(host: Host) -> list[str]:
    """The names of what is wrong with a host; [] for a healthy one."""
    names = [] if host.ssh == "up" else [f"ssh_{host.ssh}"]
    names += [] if host.python else ["no_python"]
    names += [fault.replace("-", "_") for fault in host.faults]
    names += ["no_smi"] if host.scenario and not host.smi else []
    names += ["no_nvml"] if host.scenario and not host.nvml else []
    names += ["cpu_quota"] if host.cpu_quota else []
    names += ["memory_limit"] if host.memory_limit_mib else []
    names += ["disk_full"] if host.disk_full else []
    return names + (["lossy"] if host.loss else [])


def tree(hosts: list[Host]) -> dict:
    """The inventory as Ansible's YAML has it: groups are the bases, healthy, trouble, and the hosts' own."""
    options = " ".join(f"-o {key}={value}" for key, value in ssh_options().items() if key not in ("User", "IdentityFile"))
    variables = {"ansible_user": "root", "ansible_ssh_private_key_file": str(paths.RUN / "id_ed25519"),
                 "ansible_python_interpreter": "/usr/bin/python3", "ansible_ssh_common_args": options, "ansible_timeout": 5}
    groups: dict = {}
    for host in hosts:
        for group in [host.base, "trouble" if troubles(host) else "healthy", *host.groups]:
            groups.setdefault(group, {"hosts": {}})["hosts"][host.name] = {}
    return {"all": {"vars": variables, "children": groups, "hosts": {
        host.name: {"ansible_host": host.ip, "lab_troubles": troubles(host), **host.vars} for host in hosts}}}


def as_text(hosts: list[Host]) -> str:
    return json.dumps(tree(hosts), indent=1) + "\n"            # JSON is YAML


def ssh_config(hosts: list[Host]) -> str:
    common = "".join(f"  {key} {value}\n" for key, value in ssh_options().items())
    return f"Host *\n{common}" + "".join(f"Host {host.name}\n  HostName {host.ip}\n" for host in hosts)


def known_hosts(hosts: list[Host]) -> str:
    keys = {host.name: (host.dir / "upper/etc/ssh/ssh_host_ed25519_key.pub").read_text() for host in hosts}
    return "".join(f"{host.ip},{host.name} {keys[host.name]}" for host in hosts)
