# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the sampler of a workload probe costs: CPU seconds of the sampling process and of the watch, as a share of one core.

    python3 tests/benchmarks/bench_sampler.py [--seconds 60] [--hz 2] [--gpus 8] [--processes 0] [--call-microseconds 0]

Runs a real probe of a sleeping command against the lab's driver (tests/lab/native), in which a call costs next to nothing;
--call-microseconds makes every call of it burn that much CPU time, as a real driver's do. --processes adds idle processes to the command.
Exits 1 where the share is above --limit (0.01: 1 % of one core). A real driver: --driver PATH of its folder.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests" / "lab"))

from gpulab import native

RUN = """
import json, sys
from gpu_audit_utils.measure import probe
print(json.dumps(probe.run(json.loads(sys.argv[1]), unread=lambda: False)))
"""
GPU = """[gpu *]
name = Lab GPU
memory.total = 85899345920
memory.used = 40000000000
memory.reserved = 524288000
utilization = 90 50
utilization.encoder = 0 100000
temperature = 60
power.mw = 400000
throttle = 0x4
gpm.sm_util = 70
processes.compute = 1:1000000000:a 2:1000000000:b
processes.graphics =
"""


def probe(arguments: argparse.Namespace, folder: Path) -> dict:
    scenario = folder / "scenario.conf"
    uuids = "".join(f"[gpu {number}]\nuuid = GPU-{number:08d}\n" for number in range(arguments.gpus))
    scenario.write_text(f"[system]\ncount = {arguments.gpus}\ncall_microseconds = {arguments.call_microseconds}\n{GPU}{uuids}")
    (folder / "gpu_audit_utils").symlink_to(REPOSITORY / "plugins" / "module_utils")
    code = (f"import subprocess, time\nfor _ in range({arguments.processes}): subprocess.Popen(['sleep', '{arguments.seconds + 5}'])\n"
            f"time.sleep({arguments.seconds})")
    options = {"argv": [sys.executable, "-c", code], "interval_seconds": 1 / arguments.hz, "timeout_seconds": arguments.seconds + 60}
    environment = {**os.environ, "PYTHONPATH": str(folder), "NVML_STUB_SCENARIO": str(scenario),
                   "LD_LIBRARY_PATH": arguments.driver or str(native.build())}
    done = subprocess.run([sys.executable, "-c", RUN, json.dumps(options)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["measurement"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--hz", type=float, default=2)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("--call-microseconds", type=int, default=0)
    parser.add_argument("--driver", help="folder of a real libnvidia-ml.so.1")
    parser.add_argument("--limit", type=float, default=0.01)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpu-audit-sampler-") as folder:
        result = probe(arguments, Path(folder))
    sampler, seconds = result["sampler"], result["duration_seconds"]
    shares = {"sampler": sampler["cpu_seconds"] / seconds, "watch": sampler["watch_cpu_seconds"] / seconds}
    print(f"{len(result['gpus'])} GPUs, {sampler['samples']} samples in {seconds:.1f} s, every {sampler['interval_seconds']:g} s")
    for name, share in shares.items():
        print(f"  {name}: {100 * share:.3f} % of one core")
    total = sum(shares.values())
    print(f"{'MISSED' if total > arguments.limit else 'ok'}: {100 * total:.3f} % (at most {100 * arguments.limit:g} %)")
    return 1 if total > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
