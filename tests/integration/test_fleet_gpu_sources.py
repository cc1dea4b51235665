# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""NVML over nvidia-ml-py, NVML over our own binding and nvidia-smi give equal gpu documents for the same machine.

The machine is a lab scenario: the stub library and the stand-in for nvidia-smi answer from the same file. Each source is asked in a
process of its own, as a library is loaded once. What may differ, and why, is the table below; docs/gpu-sources.md says the same to readers.
"""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fleet_runs import REPOSITORY
from gpulab import hardware, native, scenario
from gpulab.host import Host

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("gcc")), reason="no C compiler for the stand-ins")

WHOLE = ("h100x8", "a100x8", "l40sx4", "t4")
FAULTS = ("busy", "ecc", "fabric", "failed-remap", "hw-slowdown", "lost-gpu", "mig", "narrow-link", "pending-remap", "seven-of-eight", "thermal")
STOPPED = {"mismatch": "version_mismatch", "not-loaded": "driver_not_loaded", "no-permission": "no_permission", "hang": "timeout"}

ASK = """
import json, sys
source, binding, smi, root, package = sys.argv[1:]
if binding == "ctypes":
    sys.modules["pynvml"] = None
import importlib
gpu = importlib.import_module(package + ".facts.gpu")
print(json.dumps(gpu.collect(source, smi, None, 4, root)))
"""

# field -> why the two may differ. nvidia-smi prints whole MiB, hundredths of a watt and microseconds; these are compared within that step.
ONLY_NVML = {
    "nvlinks": "nvidia-smi -q -x has no NVLink section",
    "nvlinks_active_count": "nvidia-smi -q -x has no NVLink section",
}
ONLY_SMI = {"pcie_generation_host_max": "no public NVML function gives the host's end of the link"}
STEPS = {"_bytes": 1 << 20, "_watts": 0.011, "_seconds": 2e-6}


def ask(folder: Path, text: str, source: str, binding: str) -> dict:
    """The gpu document of a scenario's machine, by one source."""
    (folder / "scenario.conf").write_text(scenario.personal(text, "f1ee7001", 1))
    root = folder / "root"
    if not root.exists():
        system, gpus = scenario.parse(text)
        proc_driver, modules = hardware.driver_files(system)
        for where, tree in (("sys/bus/pci/devices", hardware.pci_tree(gpus)), ("proc/driver", proc_driver), ("sys/module", modules)):
            (root / where).mkdir(parents=True, exist_ok=True)
            for relative, content in tree.items():
                (root / where / relative).parent.mkdir(parents=True, exist_ok=True)
                (root / where / relative).write_text(content + "\n")
    package_home = folder / "package"
    if not package_home.exists():
        package_home.mkdir()
        (package_home / "gpu_audit_utils").symlink_to(REPOSITORY / "plugins" / "module_utils")
    built = native.build()
    environment = {**os.environ, "LD_LIBRARY_PATH": str(built), "NVML_STUB_SCENARIO": str(folder / "scenario.conf"), "PYTHONPATH": str(package_home)}
    done = subprocess.run([sys.executable, "-c", ASK, source, binding, str(built / native.SMI), str(root), "gpu_audit_utils"],
                          env=environment, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def whole_text(base: str, *faults: str) -> str:
    return scenario.text_for(Host("h", scenario=base, faults=list(faults)))


@pytest.fixture(params=[(base,) for base in WHOLE] + [("h100x8", fault) for fault in FAULTS], ids="+".join)
def documents(request, tmp_path):
    """The same machine by all three sources."""
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    text = whole_text(*request.param)
    return {name: ask(tmp_path, text, source, binding) for name, source, binding in (
        ("nvml", "nvml", "pynvml"), ("nvml-ctypes", "nvml", "ctypes"), ("nvidia-smi", "nvidia_smi", "ctypes"))}


def same(field: str, left, right) -> bool:
    """Equal, or within the step in which nvidia-smi prints this unit."""
    if isinstance(left, dict) and isinstance(right, dict) and set(left) == set(right):
        return all(same(field if field.endswith("_seconds") else key, left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return all(same(field, one, other) for one, other in zip(left, right))
    step = next((step for ending, step in STEPS.items() if field.endswith(ending)), 0)
    if step and isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return abs(left - right) <= step
    return left == right


def test_source_says_who_answered(documents):
    assert {name: document["source"] for name, document in documents.items()} == {name: name for name in documents}


def test_both_bindings_of_the_library_agree_to_the_byte(documents):
    left, right = ({**documents[name], "source": None, "sources": None} for name in ("nvml", "nvml-ctypes"))
    assert left == right


def test_nvidia_smi_and_the_library_agree_but_for_the_listed_fields(documents):
    library, program = documents["nvml"], documents["nvidia-smi"]
    assert (library["state"], library["driver_version"], library["cuda_version"]) == (program["state"], program["driver_version"], program["cuda_version"])
    assert [gpu["status"] for gpu in library["gpus"]] == [gpu["status"] for gpu in program["gpus"]]
    differences = {}
    for one, other in zip(library["gpus"], program["gpus"]):
        if one["status"] == "lost":
            continue                       # the program can't be asked about it at all
        for field in one:
            if field in ("absent", *ONLY_NVML, *ONLY_SMI) or field == "compute_capability" and program["state"] == "partial":
                continue
            if field == "mig_devices":     # the program doesn't print a MIG device's UUID
                pairs = [({**a, "uuid": None}, {**b, "uuid": None}) for a, b in zip(one[field] or [], other[field] or [])]
                equal = len(one[field] or []) == len(other[field] or []) and all(same(field, a, b) for a, b in pairs)
            else:
                equal = same(field, one[field], other[field])
            if not equal:
                differences.setdefault(field, (one[field], other[field]))
    assert differences == {}


def test_a_lost_gpu_stays_in_the_list(tmp_path):
    text = whole_text("h100x8", "lost-gpu")
    for source, binding in (("nvml", "ctypes"), ("nvidia_smi", "ctypes")):
        document = ask(tmp_path, text, source, binding)
        lost = [gpu for gpu in document["gpus"] if gpu["status"] == "lost"]
        assert document["state"] == "partial" and len(document["gpus"]) == 8
        assert [gpu["bus_id"] for gpu in lost] == ["0000:c3:00.0"]


@pytest.mark.parametrize("source", ["nvml", "nvidia_smi"])
@pytest.mark.parametrize("fault, kind", STOPPED.items())
def test_a_driver_that_does_not_answer_says_why(tmp_path, source, fault, kind):
    document = ask(tmp_path, whole_text("h100x8", fault), source, "ctypes")
    assert document["error_kind"] == kind and document["error"]
    assert document["state"] == ("not_permitted" if kind == "no_permission" else "driver_broken")
    assert document["pci_device_count"] == 8 and document["gpus"] == []


def test_differences_are_told_to_readers():
    page = REPOSITORY / "docs" / "gpu-sources.md"
    words = page.read_text()
    assert [field for field in (*ONLY_NVML, *ONLY_SMI, "mig_devices") if f"`{field}`" not in words] == []
