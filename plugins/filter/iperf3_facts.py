# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The filter iperf3_facts: saved output of iperf3 -> a measurement."""

from __future__ import annotations

from ansible.errors import AnsibleFilterError

from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.iperf3_output import parse_iperf3


def iperf3_facts(text):
    """Text that `iperf3 -J` printed -> the measurement (module_utils/measure/iperf3_output.py); what is no such text gives one whose
    `error` says so.
    """
    if not isinstance(text, (str, bytes)):
        raise AnsibleFilterError("trainops.gpu_audit.iperf3_facts: expected the text that `iperf3 -J` printed, got %s; "
                                 "give it the content of the file, for example lookup('ansible.builtin.file', path)" % type(text).__name__)
    # A str subclass of Ansible's own (tagged or unsafe text) would leave its class in the result.
    return parse_iperf3(text.decode("utf-8", "replace") if isinstance(text, bytes) else str.__str__(text))


class FilterModule(object):
    """Filters of this collection that read what measuring tools printed."""

    def filters(self):
        return {"iperf3_facts": iperf3_facts}
