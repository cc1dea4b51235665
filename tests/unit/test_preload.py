# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the main process loads for its workers: loaded with the action, and never in the way."""

from __future__ import annotations

import subprocess
import sys

from ansible.plugins.loader import connection_loader
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import preload

# In a process of its own: another test may have loaded them.
LOADED = """
import sys
from ansible.plugins.loader import init_plugin_loader
init_plugin_loader(sys.argv[1:])
from ansible import constants
known = lambda: [constants.config.has_configuration_definition(kind, name) for kind, name in
                 (("connection", "ssh"), ("shell", "sh"), ("become", "sudo"))]
before = known()
from ansible.plugins.loader import action_loader
action_loader.get("trainops.gpu_audit.collect", class_only=True)
print(before, known(), "ansible.plugins.connection.ssh" in sys.modules)
"""


def test_the_action_brings_the_plugins_of_a_host_with_it():
    import ansible_collections.trainops.gpu_audit as package

    root = next(iter(package.__path__)).rsplit("/ansible_collections/", 1)[0]
    made = subprocess.run([sys.executable, "-c", LOADED, root], capture_output=True, text=True, timeout=60, check=False)
    assert made.stdout.strip() == "[False, False, False] [True, True, True] True", made.stderr


def test_one_that_cant_be_loaded_is_left_to_the_worker(monkeypatch):
    def broken(*_arguments, **_options):
        raise RuntimeError("no such plugin")

    monkeypatch.setattr(connection_loader, "get", broken)
    assert preload.host_plugins() is None


def test_smart_is_ssh(monkeypatch):
    asked = []
    monkeypatch.setattr(preload.constants, "DEFAULT_TRANSPORT", "smart")
    monkeypatch.setattr(connection_loader, "get", lambda name, **_options: asked.append(name))
    preload.host_plugins()
    assert asked == ["ssh"]
