# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Real GPUs judged as whole hosts: a machine that works earns no failure, and no warning that doesn't explain itself."""

from __future__ import annotations

import functools

import judging

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts.gpu import parse_captured

FOLDER = "nvidia-smi-xml"
# What is worth a warning of a machine that works, with the advice that says why.
ARGUED = {"gpu.persistence_off", "gpu.pcie_width", "power.limit_fraction"}


def fit(document, facts):
    """Puts GPUs into the facts of a host that is made for them."""
    vram = sum(gpu["memory_total_bytes"] or 0 for gpu in document["gpus"])
    facts["gpu"] = document
    facts["cpu"].update(usable_cores=8 * len(document["gpus"]))
    facts["memory"].update(total_bytes=4 * vram, usable_bytes=4 * vram)
    facts["software"].update(driver_version=document["driver_version"], driver_module_version=document["driver_version"],
                             cuda_toolkits=[], python_environments=[])


def test_a_healthy_capture_makes_a_ready_host(captures):
    for path in sorted((captures / FOLDER).glob("*.xml")):
        document = parse_captured(path.read_bytes())
        made, inputs = judging.host(change=functools.partial(fit, document))
        inputs["expected"] = {"gpu_count": len(document["gpus"])}
        entry = judging.judged(made, inputs)
        findings = {found["check"]: found for found in entry["findings"] if found["status"] in ("warn", "fail")}
        if "lost" in path.name:
            assert {check for check, found in findings.items() if found["status"] == "fail"} == {
                "gpu.lost", "gpu.ecc_uncorrectable", "gpu.remap_failed"} and entry["verdict"] == "not_ready"
            continue
        assert {check for check, found in findings.items() if found["status"] == "fail"} == set() and set(findings) <= ARGUED, path.name
        checks = judging.shipped("training")["checks"]
        assert all(checks[check]["advice"] for check in findings) and entry["verdict"] in ("ready", "ready_with_warnings"), path.name
        assert entry["verdict"] == "ready" or not path.name.startswith(("hw-", "mock-")), path.name
