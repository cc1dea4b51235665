# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Loads once, in Ansible's main process, what each of its workers would otherwise load anew for every host.

Ansible forks a worker a host and a task; in each it imports the connection, shell and become plugins and parses their documentation for
their options: on ansible-core 2.19 about half of what a worker costs. The main process imports an action plugin before it forks, so what
is loaded with it is there in all of them. A worker that comes here by itself has loaded these before, and then it's a look into a cache.
"""

from __future__ import annotations

from ansible import constants
from ansible.plugins.loader import become_loader, connection_loader, shell_loader


def host_plugins():
    """Loads the plugins that a host has if its variables name no others. What can't be loaded is left to the worker, which says why."""
    transport = constants.DEFAULT_TRANSPORT
    wanted = (
        (connection_loader, "ssh" if transport == "smart" else transport),
        (shell_loader, "sh"),
        (become_loader, constants.DEFAULT_BECOME_METHOD),
    )
    for loader, name in wanted:
        try:
            loader.get(name, class_only=True)
        except Exception:  # pylint: disable=broad-except
            continue
