# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judges and renders a stored run of many hosts to every format on one core: seconds, peak memory, bytes.

    python3 tests/benchmarks/bench_report.py [hosts, default 1000] [--keep FOLDER] [--language en|zh] [--limit]

With --limit it exits 1 when 1,000 hosts take more than 10 s of processor time, 300 MB or 5 KB of report.json a host.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "unit"))
LIMITS = {"seconds": 10.0, "megabytes": 300.0, "report_bytes_a_host": 5 * 1024}


def store_run(folder, hosts, language):
    """Writes a run directory of made-up hosts; in a process of its own, so that its memory isn't counted."""
    import conftest  # noqa: F401  puts the collection on the import path
    import fleet_maker
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import policy, run_directory

    run = str(folder)
    run_directory.make_run_directory(run)
    names = []
    for inputs, document in fleet_maker.make_documents(hosts):
        names.append(inputs["name"])
        run_directory.write_json(run_directory.inputs_path(run, inputs["name"]), inputs)
        if document is not None:
            run_directory.write_json(run_directory.host_path(run, inputs["name"]), document)
    run_directory.write_json(
        run_directory.manifest_path(run), fleet_maker.make_run(names, {"training": policy.resolve("training")}, language)
    )


def judge_and_render(folder, language):
    """Judges and renders the stored run as the playbooks do and prints what it took."""
    import conftest  # noqa: F401
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import auditing, report

    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    run = str(folder)
    began = time.process_time()
    judged = auditing.judge_stored(run)
    between = time.process_time()
    written = auditing.render_stored(run, judged, language, report.ALL)
    ended = time.process_time()
    hosts = len(judged.report["hosts"])
    measured = {
        "seconds": ended - began,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "report_bytes_a_host": os.path.getsize(folder / "report.json") / hosts,
    }
    print(
        f"{hosts} hosts: judge {between - began:.2f} s, render {ended - between:.2f} s, both {measured['seconds']:.2f} s, "
        f"peak {measured['megabytes']:.0f} MB, "
        f"report.json {measured['report_bytes_a_host']:.0f} bytes a host"
    )
    for name, path in sorted(written.items()):
        print(f"  {name:<11}{os.path.getsize(path):>12,} bytes")
    return [f"{key}: {value:.1f} is over {LIMITS[key]:g}" for key, value in measured.items() if value > LIMITS[key]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hosts", nargs="?", type=int, default=1000)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the run; default: one that is removed")
    parser.add_argument("--language", default="en", choices=("en", "zh"))
    parser.add_argument("--limit", action="store_true")
    parser.add_argument("--step", choices=("store", "render"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step == "store":
        return store_run(options.keep, options.hosts, options.language)
    if options.step == "render":
        over = judge_and_render(options.keep, options.language)
        return "\n".join(over) if over and options.limit else None
    with tempfile.TemporaryDirectory(prefix="gpu-audit-bench-") as scratch:
        folder = options.keep or pathlib.Path(scratch) / "run"
        for step in ("store", "render"):
            arguments = [
                sys.executable,
                __file__,
                str(options.hosts),
                "--keep",
                str(folder),
                "--language",
                options.language,
                "--step",
                step,
            ]
            done = subprocess.run(arguments + (["--limit"] if options.limit else []), check=False)
            if done.returncode:
                return done.returncode
    return None


if __name__ == "__main__":
    sys.exit(main())
