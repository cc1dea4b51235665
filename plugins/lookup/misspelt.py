# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables of a host that look like the collection's and are none."""

from __future__ import annotations

DOCUMENTATION = r"""
name: misspelt
short_description: Name the variables that are spelt wrong
version_added: 0.2.0
description:
  - Gives a sentence for each variable of the host that begins like one of the collection's roles or of the audit and is none of theirs, with
    the one that was probably meant. Ansible itself passes over such a variable, and what it was to change stays as it was.
  - An empty list where there is none. The audit, measuring and the plan warn of such variables by themselves.
  - The sentences are in the language of C(gpu_audit_language).
options: {}
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Refuse misspelt variables
  ansible.builtin.assert:
    that: query('trainops.gpu_audit.misspelt') | length == 0
    fail_msg: "{{ query('trainops.gpu_audit.misspelt') | join('; ') }}"
"""

RETURN = r"""
_list:
  description: The sentences, in the order of the variables' names.
  type: list
  elements: str
  sample: ['measure_storage_paht is no variable of this audit and changes nothing (did you mean "measure_storage_path"?)']
"""

from ansible.plugins.lookup import LookupBase

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import ansible_edge, complaints, variable_names

LANGUAGE = "gpu_audit_language"


class LookupModule(LookupBase):
    """The lookup `trainops.gpu_audit.misspelt`."""

    def run(self, terms, variables=None, **kwargs):
        """A sentence a variable."""
        variables = variables or {}
        language = ansible_edge.template_each(self._templar, variables, [LANGUAGE])[0].get(LANGUAGE)
        return [complaints.say(sentence, language) for sentence in variable_names.unknown(variables)]
