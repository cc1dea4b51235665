# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The lab itself: hosts come up on every base with the hardware that was ordered, and nothing of them stays."""
from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from fleet_runs import LAB, lab, why_no_lab
from gpulab import fleet, hardware, inventory, native, paths, scenario
from gpulab.host import Host, SpecError, from_file, from_row

needs_lab = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")
BASES = ("bookworm", "trixie", "bullseye")
PROBE = """
import ctypes, json, os
library = ctypes.CDLL("libnvidia-ml.so.1")
count = ctypes.c_uint()
codes = [library.nvmlInit_v2(), library.nvmlDeviceGetCount_v2(ctypes.byref(count))]
print(json.dumps({"codes": codes, "gpus": count.value, "affinity": len(os.sched_getaffinity(0)), "cpus": os.cpu_count(),
                  "allowed": [l.split()[1] for l in open("/proc/self/status") if l.startswith("Cpus_allowed_list")],
                  "memory": open("/proc/meminfo").readline().split()[1], "pci": len(os.listdir("/sys/bus/pci/devices"))}))
"""


def ssh(host: str, *words: str, seconds: float = 30, text: str | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(["ssh", "-F", str(paths.RUN / "ssh_config"), host, *words], input=text, capture_output=True, text=True, timeout=seconds,
                          check=False)


def inside(name: str, *words: str) -> str:
    done = subprocess.run([sys.executable, str(LAB / "fleet.py"), "exec", name, *words], capture_output=True, text=True, timeout=30, check=False)
    return done.stdout


@pytest.fixture(scope="module")
def hosts():
    rows = [{"name": base, "base": base} for base in BASES]
    rows += [{"name": "dstate", "faults": ["dstate"]}, {"name": "hang", "faults": ["hang"]}, {"name": "quota", "cpu_quota": 2.0},
             {"name": "full", "disk_mib": 32, "disk_full": True}, {"name": "nothing", "scenario": ""}]
    with lab([from_row(row, index) for index, row in enumerate(rows)]) as up:
        yield {host.name: host for host in up}


@needs_lab
@pytest.mark.parametrize("base", BASES)
def test_every_base_shows_the_ordered_machine(hosts, base):
    done = ssh(base, "python3", "-", text=PROBE)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"codes": [0, 0], "gpus": 8, "affinity": 128, "cpus": 128, "allowed": ["0-127"], "memory": str(2048 << 20), "pci": 8}


@needs_lab
@pytest.mark.parametrize("base", BASES)
def test_every_base_runs_nvidia_smi(hosts, base):
    done = ssh(base, "nvidia-smi", "-q", "-x")
    gpus = ElementTree.fromstring(done.stdout).findall("gpu")
    assert len(gpus) == 8
    assert gpus[2].findtext("uuid").startswith(f"GPU-{hosts[base].ident}")


@needs_lab
def test_a_process_in_d_state_survives_sigkill_until_down(hosts):
    ssh("dstate", "nohup nvidia-smi >/dev/null 2>&1 & sleep 0.5; pkill -KILL nvidia-smi; sleep 0.2")
    assert inside("dstate", "ps", "-C", "nvidia-smi", "-o", "stat=").startswith("D")


@needs_lab
def test_a_hanging_nvidia_smi_ends_only_by_sigkill(hosts):
    assert ssh("hang", "timeout 0.3 nvidia-smi >/dev/null 2>&1 & sleep 1; pgrep -c nvidia-smi").stdout.strip() == "1"
    assert ssh("hang", "pkill -KILL nvidia-smi; sleep 0.2; pgrep -c nvidia-smi").stdout.strip() == "0"


@needs_lab
def test_limits_and_disks_are_real(hosts):
    assert inside("quota", "cat", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us").strip() == "200000"
    assert "No space left" in ssh("full", "touch /data/x && echo x > /data/x").stderr
    assert ssh("nothing", "ls /sys/bus/pci/devices; command -v nvidia-smi").stdout.strip() == ""


def test_down_never_ends_a_process_with_a_reused_number(tmp_path, monkeypatch):
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        monkeypatch.setattr(paths, "RUN", tmp_path / "run")
        monkeypatch.setattr(fleet.net, "links", list)
        monkeypatch.setattr(fleet.cgroups, "own_groups", dict)
        paths.RUN.mkdir()
        fleet.save({"hosts": [], "pids": {"gpu001": [stranger.pid, "1"]}})
        fleet.down()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait(10)


def test_a_wrong_spec_says_what_and_where(tmp_path):
    with pytest.raises(SpecError, match=r"host 1 \(unnamed\): no field 'pyhton'; did you mean 'python'\?"):
        from_row({"pyhton": False}, 0)
    with pytest.raises(SpecError, match="ssh is 'off', not one of up, closed, drop, hang"):
        from_row({"ssh": "off"}, 0)
    (tmp_path / "s.json").write_text('[{"name": "a"}, {"name": "a"}]')
    with pytest.raises(SpecError, match="same name"):
        from_file(tmp_path / "s.json")


def test_shipped_specs_and_scenarios_are_whole():
    for spec in paths.SPECS.glob("*.json"):
        for host in from_file(spec):
            system, gpus = scenario.parse(scenario.text_for(host))
            assert len(gpus) == 8 and system["driver_version"], (spec, host.name)
    for path in paths.SCENARIOS.glob("*.conf"):
        if not path.name.startswith("fault-"):
            _system, gpus = scenario.parse(path.read_text())
            assert len({gpu["uuid"] for gpu in gpus}) == len({gpu["pci.bus_id"] for gpu in gpus}) == len(gpus) > 0


def test_cpu_sets_cover_each_thread_once():
    host = Host("h", sockets=2, cores=6, threads_per_core=2)
    tree = hardware.node_tree(host)
    assert tree["node0/cpulist"] == "0-2,6-8" and tree["node1/cpulist"] == "3-5,9-11"
    assert hardware.cpu_mask([0, 1, 33]) == "00000002,00000003"


def test_inventory_groups_tell_healthy_from_troubled():
    groups = inventory.tree([Host("a"), Host("b", index=1, faults=["hang"], groups=["rack1"])])["all"]["children"]
    assert set(groups["healthy"]["hosts"]) == {"a"} and set(groups["trouble"]["hosts"]) == {"b"} == set(groups["rack1"]["hosts"])


def test_libraries_need_no_new_symbols():
    """One build runs on the oldest base."""
    built = native.build()
    for name in (native.NVML, native.ANSWERS):
        listing = subprocess.run(["objdump", "-T", str(built / name)], capture_output=True, text=True, check=True).stdout
        versions = {tuple(int(n) for n in word[6:].rstrip(")").split(".")) for word in listing.replace("(", "").split() if word.startswith("GLIBC_")}
        assert versions and max(versions) <= (2, 31), name
