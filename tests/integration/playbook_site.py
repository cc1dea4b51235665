# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A small site for playbook tests: a folder with an inventory and policies, and a way to run ansible-playbook there."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Every machine with memory passes it.
LENIENT = """
schema: trainops.gpu_audit/policy/1
name: lenient
checks:
  memory.total_bytes: {item: memory, title: Memory, answers: true, fail: {below: 1}}
  other.vram: {item: vram, metric: memory.total_bytes, title: Other, answers: true, fail: {below: 1}}
  other.compute: {item: compute, metric: memory.total_bytes, title: Other, answers: true, fail: {below: 1}}
  other.storage: {item: storage, metric: memory.total_bytes, title: Other, answers: true, fail: {below: 1}}
  other.network: {item: network, metric: memory.total_bytes, title: Other, answers: true, fail: {below: 1}}
"""
LOCAL = {"ansible_connection": "local"}
DEAD = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
# Below the gate with the lenient policy.
POOR = {"ansible_connection": "local", "gpu_audit_thresholds_poor": {"memory.total_bytes": {"fail": 1e18}}}


class Site:
    """`play` runs a playbook in the folder; `report`, `document`, `inputs` read what the latest run left."""

    def __init__(self, folder):
        self.folder = folder
        self.output = folder / "runs"
        tree = folder / "collections" / "ansible_collections" / "trainops"
        tree.mkdir(parents=True)
        os.symlink(os.environ.get("GPU_AUDIT_TEST_COLLECTION", ROOT), tree / "gpu_audit")
        (folder / "lenient.yml").write_text(LENIENT)
        (folder / "home").mkdir()

    def inventory(self, hosts, variables=None, groups=None):
        """Write hosts.json: {name: variables}, variables of all, {group: [names]}."""
        everything = {"ansible_python_interpreter": sys.executable, "gpu_audit_policy": "lenient.yml",
                      "gpu_audit_output_dir": str(self.output)}
        content = {"all": {"vars": dict(everything, **(variables or {})), "hosts": hosts,
                           "children": {group: {"hosts": dict.fromkeys(names)} for group, names in (groups or {}).items()}}}
        (self.folder / "hosts.json").write_text(json.dumps(content))

    def environment(self, **more):
        """What ansible-playbook sees: nothing of the developer's own settings."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("ANSIBLE_") and key not in ("COLUMNS", "NO_COLOR")}
        off = ("HOST_KEY_CHECKING", "LOCALHOST_WARNING", "INVENTORY_UNPARSED_WARNING", "DEPRECATION_WARNINGS")
        return dict(kept, HOME=str(self.folder / "home"), ANSIBLE_COLLECTIONS_PATH=str(self.folder / "collections"), LC_ALL="C.UTF-8",
                    ANSIBLE_FORKS="4", PYTHONDONTWRITEBYTECODE="1", **{"ANSIBLE_" + name: "false" for name in off}, **more)

    def command(self, playbook, *arguments, inventory=True):
        """The argument list of one run."""
        program = pathlib.Path(sys.executable).parent / "ansible-playbook"
        hosts = ["-i", "hosts.json"] if inventory else []
        name = playbook if playbook.endswith(".yml") else "trainops.gpu_audit." + playbook
        return [str(program), *hosts, name, *arguments]

    def play(self, playbook, *arguments, inventory=True, **environment):
        """Run to the end; gives the finished process with its output, standard error included."""
        command = self.command(playbook, *arguments, inventory=inventory)
        return subprocess.run(command, cwd=self.folder, env=self.environment(**environment), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)

    def own_play(self, text):
        """Write a user's own playbook."""
        (self.folder / "own.yml").write_text(text)
        return "own.yml"

    @property
    def latest(self):
        return self.output / "latest"

    def runs(self):
        return sorted(entry.name for entry in self.output.iterdir() if re.match(r"\d{8}T", entry.name))

    def read(self, *parts):
        return json.loads(self.latest.joinpath(*parts).read_text())

    def report(self):
        return self.read("report.json")

    def verdicts(self):
        """{host: verdict} of the latest report."""
        return {host["name"]: host["verdict"] for host in self.report()["hosts"]}

    def document(self, name):
        return self.read("hosts", name + ".json")

    def inputs(self, name):
        return self.read("inputs", name + ".json")


def recap(output):
    """{host: {counter: n}} of the recap that Ansible's default callback prints."""
    lines = re.findall(r"^(\S+)\s+: (ok=.*)$", output, re.MULTILINE)
    return {name: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counters)} for name, counters in lines}
