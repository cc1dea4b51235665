# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The load test against wrk, both over the peer server on loopback: medians, 99th percentiles and rates, and their ratios.

    python3 tests/benchmarks/bench_requests.py [--seconds 5] [--at-once 50] [--limit 0.03]

Three services: one that answers after 0.2 s, one after 20 ms, one at once (there the client's own cost is what is seen). Exits 1 where the
median of the first differs from wrk's by more than --limit (its rate counts whole rounds of 0.2 s only, where wrk cuts the last one off).
wrk comes from the package of that name.
"""
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-the-benchmark"
SERVICES = (("0.2 s", "/answer?delay_seconds=0.2&bytes=100", None), ("20 ms", "/answer?delay_seconds=0.02&bytes=100", None),
            ("at once", "/answer?bytes=100", 10))
_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


def wrk(url: str, at_once: int, seconds: int) -> dict:
    """{"p50", "p99", "rate"} in seconds and requests a second."""
    command = ["wrk", "-t1", f"-c{at_once}", f"-d{seconds}s", "--latency", "-H", f"X-Peer-Token: {TOKEN}", url]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, percent in (("p50", "50%"), ("p99", "99%")):
        value, unit = re.search(rf"^\s*{percent}\s+([\d.]+)(us|ms|s|m)$", text, re.MULTILINE).groups()
        found[name] = float(value) * _TIMES[unit]
    return dict(found, rate=float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)))


def ours(request_benchmark, url: str, at_once: int, seconds: int) -> dict:
    """The same, and "cpu": share of a core that the client used."""
    options = {"url": url, "concurrency": [at_once], "requests": 900000, "duration_seconds": float(seconds), "warm_up": 10,
               "timeout_seconds": 10.0, "bytes": 1 << 32, "headers": {"X-Peer-Token": TOKEN}, "proxy": "none", "keep_alive": True}
    step = request_benchmark.run(options, request_benchmark.plan(options))["steps"][0]
    return {"p50": step["latency_p50_seconds"], "p99": step["latency_p99_seconds"], "rate": step["requests_per_second"],
            "cpu": step["client_cpu_fraction"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--at-once", type=int, default=50)
    parser.add_argument("--limit", type=float, default=0.03)
    arguments = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk isn't installed")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "gpu_audit_utils").symlink_to(REPOSITORY / "plugins" / "module_utils")
        sys.path.insert(0, folder)
        from gpu_audit_utils.measure import peer_process, request_benchmark
        note = peer_process.start("127.0.0.1", range(1), 300, TOKEN)
        worst = 0.0
        try:
            print("service    at once            p50 [ms]          p99 [ms]       requests/s   core")
            for name, path, at_once in SERVICES:
                url = f"http://127.0.0.1:{note['port']}{path}"
                at_once = at_once or arguments.at_once
                theirs, mine = wrk(url, at_once, arguments.seconds), ours(request_benchmark, url, at_once, arguments.seconds)
                for who, row in (("wrk", theirs), ("ours", mine)):
                    cpu = f"{row['cpu']:7.2f}" if "cpu" in row else ""
                    print(f"{name:10} {at_once:4}  {who:6} {1e3 * row['p50']:14.2f} {1e3 * row['p99']:17.2f} {row['rate']:16.1f}{cpu}")
                ratios = {key: mine[key] / theirs[key] for key in theirs}
                print(f"{'':10}       ratio  {ratios['p50']:14.3f} {ratios['p99']:17.3f} {ratios['rate']:16.3f}")
                if name == SERVICES[0][0]:
                    worst = abs(ratios["p50"] - 1)
        finally:
            peer_process.stop([note["port"]])
    return 1 if worst > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
