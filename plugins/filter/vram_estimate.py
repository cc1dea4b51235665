# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter vram_estimate: a model and a workload form -> VRAM on each GPU, the boards that hold it, how many."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, plan


def vram_estimate(model, workload=None, language="en"):
    """A plan (plugin_utils/plan.py) of a model map and a workload form. AnsibleFilterError for input that is wrong."""
    try:
        return plan.make(ansible_edge.plain(model), ansible_edge.plain(workload), ansible_edge.plain(language))
    except ValueError as error:
        # Not "from error": Ansible would say the same twice, the second time in English.
        raise AnsibleFilterError("trainops.gpu_audit.vram_estimate: %s" % plan.complaint(error, language)) from None


class FilterModule(object):
    """Filters of this collection that plan."""

    def filters(self):
        return {"vram_estimate": vram_estimate}
