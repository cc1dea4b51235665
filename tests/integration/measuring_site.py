# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A site whose measuring modules are stand-ins, and a connection that a file takes away: what the seam is tested with."""

from __future__ import annotations

import json
import os

from playbook_site import Site

# Behaves as `path` says, after a second: works, or fails, or never ends; counts how often it was really run.
MODULE = '''
import json, os, time
from ansible.module_utils.basic import AnsibleModule

def main():
    module = AnsibleModule(dict(path=dict(type="str"), seconds=dict(type="float", default=1), argv=dict(type="list", elements="str"),
                                environment=dict(type="dict", no_log=True)), supports_check_mode=True)
    path, who = module.params["path"] or "", dict(machine_id=MACHINE_ID, gpu_uuids=[])
    if path.endswith("refused"):
        module.fail_json(msg=REFUSAL, **who)
    plan = dict(seconds=module.params["seconds"], bytes_written=2**30, notes=["a stand-in"])
    if module.check_mode:
        module.exit_json(changed=False, plan=plan, **who)
    with open(os.path.join(FOLDER, "runs-" + NAME), "a") as stream:
        stream.write("run\\n")
    time.sleep(module.params["seconds"])
    exec(LAST)
    if path.endswith("broken"):
        module.fail_json(msg=FAILURE, started="2026-11-30T12:00:00Z", **who)
    module.exit_json(changed=False, measurement=RESULT, started="2026-11-30T12:00:00Z", **who)

main()
'''

FLAKY = '''
import json
import os
from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = """
name: flaky
short_description: local, away while a file is there
description: local, away while a file is there
author: nobody
"""

class Connection(Local):
    transport = "flaky"

    def exec_command(self, cmd, in_data=None, sudoable=True):
        if os.path.exists(os.path.join(FOLDER, "away")):
            with open(os.path.join(FOLDER, "missed"), "a") as stream:
                stream.write("x")
            raise AnsibleConnectionFailure("Connection timed out: no route to host")
        return super().exec_command(cmd, in_data=in_data, sudoable=sudoable)

    def reset(self):
        pass
'''


class MeasuringSite(Site):
    """`stand_in(name, result)` replaces a measuring module; `machine_id` is what the stand-ins say they run on."""

    def __init__(self, folder, machine_id):
        super().__init__(folder)
        self.machine_id = machine_id
        tree = folder / "collections" / "ansible_collections" / "trainops" / "gpu_audit"
        source = tree.resolve()
        tree.unlink()
        self.modules = tree / "plugins" / "modules"
        self.modules.mkdir(parents=True)
        for below in ("", "plugins", "plugins/modules"):
            for entry in (source / below).iterdir():
                if not (tree / below / entry.name).exists() and entry.name != ".git":
                    os.symlink(entry, tree / below / entry.name)
        plugins = folder / "connection_plugins"
        plugins.mkdir()
        (plugins / "flaky.py").write_text("FOLDER = %r\n%s" % (str(folder), FLAKY))

    def stand_in(self, name, result, refusal="refused is no directory", failure="the disk broke", last=""):
        """`last`: what the module does before it answers."""
        path = self.modules / (name + ".py")
        if path.is_symlink():
            path.unlink()
        known = (str(self.folder), name, result, self.machine_id, refusal, failure, last)
        head = "inf = float('inf')\nFOLDER, NAME, RESULT, MACHINE_ID, REFUSAL, FAILURE, LAST = %r, %r, %r, %r, %r, %r, %r\n" % known
        path.write_text("#!/usr/bin/python\n" + head + MODULE)

    def environment(self, **more):
        """Shell and collections as Site has them, and the flaky connection."""
        return super().environment(ANSIBLE_CONNECTION_PLUGINS=str(self.folder / "connection_plugins"), **more)

    def runs_of(self, name):
        """How often a stand-in was really run."""
        path = self.folder / ("runs-" + name)
        return len(path.read_text().splitlines()) if path.exists() else 0

    def measurements(self, name="a"):
        """[(file name, content)] of the measurements that are kept."""
        folder = self.output / "measurements" / name
        return [(path.name, json.loads(path.read_text())) for path in sorted(folder.glob("[a-z]*.json"))] if folder.exists() else []
