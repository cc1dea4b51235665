# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The names of the collection's variables, so that a mistyped one is told: Ansible itself passes over it. Pure.

A test holds that these are the variables of the roles' argument specs and task files: reading those files for each host would cost too much.
"""

from __future__ import annotations

from . import collecting, host_options
from .words import nearest

PREFIX = "gpu_audit_"
# Merged by name: any name that goes on like this is one.
_OPEN = "gpu_audit_thresholds"
KNOWN = frozenset((
    *collecting.INPUT_VARIABLES, *collecting.COLLECT_VARIABLES, *collecting.RUN_VARIABLES, *host_options.VARIABLES,
    "gpu_audit_thresholds", "gpu_audit_output_dir",
    # The playbooks and the gate.
    "gpu_audit_hosts", "gpu_audit_serial", "gpu_audit_run", "gpu_audit_rejudge_dir", "gpu_audit_gate",
    # The playbook plan, measuring, and the file beside a training loop.
    "gpu_audit_model", "gpu_audit_plan_file", "gpu_audit_measurement_grace_seconds", "gpu_audit_probe", "gpu_audit_link_address",
    # What the roles register.
    "gpu_audit_collected", "gpu_audit_judged", "gpu_audit_plan",
))
# Prefix of a role -> the rest of the names: those to set, and those that the role makes itself.
ROLES = {
    "gpu_audit_prepare_": (
        frozenset(("method", "fio", "iperf3", "directory", "python", "index_url", "wheelhouse")),
        frozenset((
            "found", "apt", "way", "there", "wanted", "program", "site", "wheels", "said", "reason", "tool", "tool_again", "tool_done",
            "tool_refreshes", "tool_there",
        )),
    ),
    "measure_storage_": (
        frozenset((
            "path", "jobs", "quick", "size_bytes", "runtime_seconds", "numjobs", "sample_bytes", "file_count", "timeout_seconds", "shared",
            "shared_delay_seconds", "fio",
        )),
        frozenset(("done", "form_bytes", "result", "hosts", "start_at", "together_result", "said")),
    ),
    "measure_network_": (
        frozenset((
            "upload_url", "upload_overwrite", "download_url", "request_url", "links", "peer", "peer_address", "peer_tests", "peer_ports",
            "peer_lifetime_seconds", "peer_answer_seconds", "hosts_at_once", "together", "together_delay_seconds", "attempts",
            "upload_bytes", "download_bytes", "timeout_seconds", "stall_seconds", "retries", "streams", "headers", "checksum",
            "storage", "access_key", "secret_key", "session_token", "region", "s3_endpoint", "s3_addressing", "ca_path",
            "validate_certs", "proxy", "request_method", "request_concurrency", "request_count", "request_duration_seconds",
            "request_warm_up", "request_payload", "request_payload_bytes", "request_headers", "request_arrival_rate_per_second",
            "request_arrivals", "request_latency_seconds", "request_timeout_seconds", "request_streaming", "request_model",
            "request_max_tokens", "request_keep_alive", "request_bytes", "link_mode", "link_ports", "link_seconds",
            "link_omit_seconds", "link_parallel", "link_udp", "link_udp_bits_per_second", "link_iperf3", "link_grace_seconds",
            "fabric_argv", "fabric_tool", "fabric_nodes", "fabric_environment", "fabric_chdir", "fabric_timeout_seconds",
        )),
        frozenset((
            "at_peer", "by_url", "download_result", "fabric_result", "form", "form_latency", "form_number", "form_payload",
            "form_sample", "form_steps", "form_unit", "link_place", "link_result", "link_round", "link_session", "now", "peer_first",
            "peer_key", "peer_lifetime", "peer_link", "peer_management", "peer_named", "peer_path", "peer_end", "peer_payload", "peer_sharing",
            "peer_start", "peer_start_there", "peer_started", "peer_token", "peer_url", "peer_where", "rate", "request_result", "said",
            "share", "slowest", "start_at", "tests", "together_done", "together_hosts", "together_result", "upload_result",
            "place", "usual_hosts", "wanted", "why",
        )),
    ),
    "probe_workload_": (
        frozenset((
            "argv", "chdir", "environment", "run_as", "interval_seconds", "timeout_seconds", "run_seconds", "iterations", "hang_seconds",
            "grace_seconds", "iteration_pattern", "epoch_pattern", "memory_pattern", "progress_file", "iterations_per_epoch", "reserves",
            "output_tail_bytes", "keep_command", "gpu_counts", "scaling_basis", "helper", "helper_directory",
        )),
        frozenset(("helper_environment", "result", "said")),
    ),
    # That role's variables are the audit's.
    "vram_estimate_": (frozenset(), frozenset()),
}


def unknown(names):
    """A sentence for each of these variable names that looks like one of ours and is none, in name order."""
    found = ((name, _prefix(name)) for name in names if isinstance(name, str))
    strange = sorted((name, prefix) for name, prefix in found if prefix and not _known(name, prefix))
    return ["%s is no variable of this audit and changes nothing%s" % (name[:100], _meant(name, prefix)) for name, prefix in strange]


def _prefix(name):
    """The prefix of ours that a name begins with, the longest; an empty text for somebody else's name."""
    return next((prefix for prefix in ROLES if name.startswith(prefix)), PREFIX if name.startswith(PREFIX) else "")


def _known(name, prefix):
    if prefix == PREFIX:
        return name in KNOWN or name.startswith(_OPEN)
    return any(name[len(prefix):] in rests for rests in ROLES[prefix])


def _meant(name, prefix):
    settable = ROLES[prefix][0] if prefix != PREFIX else ()
    if settable:
        # Without the prefix, which alone makes any two names of a role look alike.
        return nearest(name[len(prefix):], sorted(settable)).replace('"', '"' + prefix, 1)
    return nearest(PREFIX + name[len(prefix):], sorted(KNOWN))
