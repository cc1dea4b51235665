# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the light audit costs beside `ansible -m ping` and `ansible -m setup`: CPU time on the controller and on the hosts.

    python tests/benchmarks/bench_audit_cost.py [--hosts 10] [--runs 5] [--core 2.19.14] [--json FILE]

Lab hosts over warm ssh connections (ControlPersist) with pipelining; the kinds of run take turns, so that a busy machine hits all alike;
medians are compared. Controller: user and system time of the ansible process and all it waited for, the ssh masters' included. Hosts:
cpuacct of each host's cgroup. `collect` is the audit's one task on a host, all subsets, host document stored; `audit` is the whole playbook,
judging and every report included. Exits 1 when a limit is missed.
"""
from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "lab"))
sys.path.insert(0, str(TESTS / "integration"))

from ansible_matrix import MAIN, PYTHONS, Core, prepare
from gpulab import cgroups, fleet, paths
from gpulab.host import SpecError, from_row

BASES = ("bookworm", "trixie", "bullseye")
FACTS = "trainops.gpu_audit.host_facts"
COLLECT = "trainops.gpu_audit.collect"
# (what, against, side) -> at most this ratio of the medians
LIMITS = {("collect", "ping", "controller"): 1.3, ("collect", "setup", "controller"): 0.9, ("collect", "ping", "hosts"): 1.5}
RESULT_BYTES = 5000
RUN_SECONDS = 300


def configure(folder: Path, core: Core) -> dict[str, str]:
    """Ansible's environment: the repository on the collections path, pipelining, connections that stay."""
    home = folder / "ansible_collections" / "trainops"
    home.mkdir(parents=True)
    (home / "gpu_audit").symlink_to(TESTS.parent)
    (folder / "ansible.cfg").write_text(
        f"[defaults]\nforks = 10\ncollections_path = {folder}\nlocal_tmp = {folder}/tmp\n"
        f"[ssh_connection]\npipelining = true\ncontrol_path_dir = {paths.RUN}/cp\nssh_args = -o ControlMaster=auto -o ControlPersist=600s\n")
    return {**{key: os.environ[key] for key in ("HOME", "PATH") if key in os.environ}, "LANG": "C.UTF-8",
            "ANSIBLE_CONFIG": str(folder / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}


def commands(core: Core, folder: Path) -> dict[str, list[str]]:
    inventory = ["-i", str(paths.RUN / "inventory.yml")]
    ad_hoc = [str(core.bin / "ansible"), "all", *inventory, "-m"]
    return {"ping": [*ad_hoc, "ansible.builtin.ping"], "setup": [*ad_hoc, "ansible.builtin.setup"], "collect": [*ad_hoc, COLLECT],
            "audit": [str(core.bin / "ansible-playbook"), *inventory, "trainops.gpu_audit.audit"]}


def masters_seconds() -> float:
    """CPU time so far of the ssh masters that hold the lab's connections."""
    total, mark = 0, f"{paths.RUN}/cp".encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "cmdline").read_bytes() and (entry / "comm").read_text().startswith("ssh"):
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total / os.sysconf("SC_CLK_TCK")


def received(links: list[str]) -> int:
    """Bytes that the hosts have sent, ssh and TCP included."""
    return sum(int(Path(f"/sys/class/net/{link}/statistics/rx_bytes").read_text()) for link in links)


def measure(command: list[str], folder: Path, environment: dict, names: list[str], links: list[str]) -> dict:
    """One run: CPU seconds of both sides, wall seconds, bytes from the hosts."""
    hosts, masters, sent, began = sum(map(cgroups.cpu_seconds, names)), masters_seconds(), received(links), time.monotonic()
    with open(folder / "last.log", "w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{(folder / 'last.log').read_text()[-3000:]}")
    wall = time.monotonic() - began
    return {"controller": usage.ru_utime + usage.ru_stime + masters_seconds() - masters,
            "hosts": sum(map(cgroups.cpu_seconds, names)) - hosts, "wall": wall, "sent": received(links) - sent}


def result_sizes(text: str) -> list[int]:
    """Each host's result as JSON, in bytes; text: output of the ad-hoc command ("name | SUCCESS => {...}")."""
    sizes, at = [], text.find("=> {")
    while at >= 0:
        result, end = json.JSONDecoder().raw_decode(text, at + 3)
        sizes.append(len(json.dumps(result, separators=(",", ":"))))
        at = text.find("=> {", end)
    return sizes


def run(arguments: argparse.Namespace, core: Core, names: list[str], links: list[str]) -> dict:
    folder = Path(tempfile.mkdtemp(prefix="gpu-audit-cost-"))
    try:
        environment = configure(folder, core)
        wanted = {kind: words for kind, words in commands(core, folder).items() if kind in arguments.kinds.split(",")}
        for command in wanted.values():                        # warm: connections, byte code, page cache
            measure(command, folder, environment, names, links)
        samples: dict = {kind: [] for kind in wanted}
        for _run in range(arguments.runs):
            for kind, command in wanted.items():
                samples[kind].append(measure(command, folder, environment, names, links))
        sizes = {}
        if "collect" in wanted:
            packed = [*wanted["ping"][:-1], FACTS, "-a", "packed=true"] if "ping" in wanted else []
            for what, command in (("task", wanted["collect"]), ("module", packed)):
                if command:
                    measure(command, folder, environment, names, links)
                    sizes[what] = max(result_sizes((folder / "last.log").read_text()))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    medians = {kind: {key: statistics.median(sample[key] for sample in taken) for key in taken[0]} for kind, taken in samples.items()}
    return {"core": str(core), "hosts": len(names), "runs": arguments.runs, "medians": medians, "samples": samples,
            "result_bytes": sizes}


def verdicts(result: dict) -> list[tuple[str, float, float]]:
    """(what is limited, what was measured, the limit)."""
    medians = result["medians"]
    rows = [(f"{what} / {against}, {side}", medians[what][side] / medians[against][side], limit)
            for (what, against, side), limit in LIMITS.items() if what in medians and against in medians]
    return rows + [(f"bytes a host, result of the {what}", size, RESULT_BYTES) for what, size in result["result_bytes"].items()]


def show(result: dict) -> int:
    print(f"{result['hosts']} hosts, {result['core']}, medians of {result['runs']} interleaved runs, a host:")
    print(f"{'':10}{'controller ms':>15}{'host ms':>10}{'sent bytes':>12}{'wall s (all)':>14}")
    for kind, row in result["medians"].items():
        print(f"{kind:10}{row['controller'] * 1000 / result['hosts']:>15.1f}{row['hosts'] * 1000 / result['hosts']:>10.1f}"
              f"{row['sent'] / result['hosts']:>12.0f}{row['wall']:>14.2f}")
    missed = 0
    for what, value, limit in verdicts(result):
        missed += value > limit
        print(f"{'MISSED' if value > limit else 'ok':7} {what}: {value:.2f} (at most {limit:g})")
    return 1 if missed else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", default=MAIN, choices=list(PYTHONS))
    parser.add_argument("--kinds", default="ping,setup,collect,audit")
    parser.add_argument("--json", type=Path, help="also write everything there")
    arguments = parser.parse_args()
    core = Core(arguments.core, PYTHONS[arguments.core][0])
    reason = prepare(core)
    if reason:
        sys.exit(reason)
    hosts = [from_row({"base": BASES[index % len(BASES)]}, index) for index in range(arguments.hosts)]
    try:
        with fleet.Lock():
            fleet.up(hosts)
            try:
                result = run(arguments, core, [host.name for host in hosts], [host.link for host in hosts])
            finally:
                fleet.down()
    except SpecError as error:
        sys.exit(str(error))
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")
    return show(result)


if __name__ == "__main__":
    sys.exit(main())
