# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The hosts of an audit's play, refused where there are none: Ansible passes over such a play and exits 0."""

from __future__ import annotations

DOCUMENTATION = r"""
name: play_hosts
short_description: The hosts of a play, an error where there are none
version_added: 0.1.0
description:
  - Gives a host pattern back as it is, for C(hosts) of a play. Where it matches no host of the inventory, or none that C(--limit) leaves, it fails.
  - Ansible itself passes over a play without hosts and exits 0, and a gate would let through what nobody has seen.
  - Only syntax checks and listings go through with an empty inventory.
options:
  _terms:
    description: Host patterns, as C(hosts) of a play takes them.
    type: list
    elements: str
    required: true
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Audit the training servers, and fail where there is none
  hosts: "{{ query('trainops.gpu_audit.play_hosts', 'training') }}"
  gather_facts: false
  roles:
    - role: trainops.gpu_audit.audit
    - role: trainops.gpu_audit.gate
"""

RETURN = r"""
_list:
  description: The patterns.
  type: list
  elements: str
  sample: [training]
"""

from ansible import context
from ansible.errors import AnsibleError
from ansible.plugins.loader import lookup_loader
from ansible.plugins.lookup import LookupBase

# Matched without an inventory and without being in `all`.
_IMPLICIT = ("localhost", "127.0.0.1", "::1")
_ONLY_LOOKS = ("syntax", "listhosts", "listtasks", "listtags")


class LookupModule(LookupBase):
    """The lookup `trainops.gpu_audit.play_hosts`."""

    def run(self, terms, variables=None, **kwargs):
        """The patterns of `terms`, lists in it taken apart. AnsibleError where they match nobody."""
        patterns = [str(pattern) for term in terms for pattern in (term if isinstance(term, (list, tuple)) else [term])]
        if any(context.CLIARGS.get(mode) for mode in _ONLY_LOOKS) or any(pattern in _IMPLICIT for pattern in patterns):
            return patterns
        matched = lookup_loader.get("ansible.builtin.inventory_hostnames", loader=self._loader).run(patterns, variables=variables)
        if not set(matched) & set(variables.get("ansible_play_hosts_all", matched)):
            shown = ",".join(patterns)[:200]
            raise AnsibleError("no host to audit: the inventory has none that matches %r, or --limit leaves none of them" % shown)
        return patterns
