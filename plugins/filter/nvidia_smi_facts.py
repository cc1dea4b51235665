# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter nvidia_smi_facts: saved output of `nvidia-smi -q -x` -> the gpu document."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts.gpu import parse_captured


def nvidia_smi_facts(text):
    """Text of `nvidia-smi -q -x` -> the gpu document (docs/architecture.md); what is no such text gives a document whose state and error
    say so.
    """
    if not isinstance(text, (str, bytes)):
        raise AnsibleFilterError("trainops.gpu_audit.nvidia_smi_facts: expected the text that `nvidia-smi -q -x` printed, got %s; "
                                 "give it the content of the file, for example lookup('ansible.builtin.file', path)" % type(text).__name__)
    # A str subclass of Ansible's own (tagged or unsafe text) would leave its class in the document.
    return parse_captured(text if isinstance(text, bytes) else str.__str__(text))


class FilterModule(object):
    """Filters of this collection that read GPU facts."""

    def filters(self):
        return {"nvidia_smi_facts": nvidia_smi_facts}
