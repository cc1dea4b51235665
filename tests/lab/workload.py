# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A workload for probes in the lab: reads real files, and "allocates" VRAM by what it writes into the stub's live file.

Started as any training program would be; the stub's scenario names the live file ([system] live = ...). What it holds is gone when
it ends, as with a real driver. Standard library only, Python 3.7.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time


class Gpu:
    """What the workload does to its GPUs, as the driver would tell it."""

    def __init__(self, path: str, gpus: int, total: int) -> None:
        self.path, self.gpus, self.total = path, gpus, total

    def show(self, fraction: float, utilization: int, extra: str = "") -> None:
        used = int(self.total * fraction)
        text = (f"holder = {os.getpid()}\n[gpu 0-{self.gpus - 1}]\nmemory.used = {used}\nutilization = {utilization} {utilization // 2}\n"
                f"power.mw = {60000 + 2000 * utilization}\nthrottle = 0x0\nprocesses.compute = {os.getpid()}:{used}:python3\n{extra}\n")
        half = f"{self.path}.{os.getpid()}"
        with open(half, "w") as file:
            file.write(text)
        os.replace(half, self.path)


class Files:
    """A loader over a folder's files: real reads, and a wait that stands for slow storage."""

    def __init__(self, folder: str, steps: int, wait: float) -> None:
        self.paths = sorted(os.path.join(folder, name) for name in os.listdir(folder)) if folder else []
        self.steps, self.wait = steps, wait

    def __len__(self) -> int:
        return self.steps

    def __iter__(self):
        for step in range(self.steps):
            time.sleep(self.wait)
            data = b""
            if self.paths:
                with open(self.paths[step % len(self.paths)], "rb") as file:
                    data = file.read()
            yield data


def daemonise(seconds: int) -> None:
    """Two forks and a session of its own, deaf to SIGTERM: what a launcher leaves behind."""
    code = "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.fork() and os._exit(0); os.setsid(); os.fork() and os._exit(0); " \
           f"time.sleep({seconds})"
    subprocess.run([sys.executable, "-c", code, "gpu-audit-lab-daemon"], check=True)


def eat(mib: int) -> None:
    """Takes host memory page by page until somebody ends it."""
    held = []
    for _number in range(mib):
        held.append(bytearray(os.urandom(4096)) * 256)
    print(f"held {len(held)} MiB", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--live", default="/tmp/gpu-lab-live.conf")
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--total", type=int, default=int(os.environ.get("LAB_GPU_TOTAL", 80 << 30)), help="VRAM that fractions are of")
    parser.add_argument("--mode", default="climb", choices=("climb", "fill", "reserve", "hang", "fail", "eat", "daemons"))
    parser.add_argument("--peak", type=float, default=0.75)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--step-seconds", type=float, default=0.1)
    parser.add_argument("--wait-seconds", type=float, default=0.0)
    parser.add_argument("--utilization", type=int, default=90)
    parser.add_argument("--data", default="")
    parser.add_argument("--mib", type=int, default=4096, help="host memory that 'eat' takes")
    parser.add_argument("--live-extra", default="", help="further lines of the live file, ';' between them")
    arguments = parser.parse_args()
    gpu = Gpu(arguments.live, arguments.gpus, arguments.total)
    extra = "\n".join(arguments.live_extra.split(";"))
    try:
        from gpu_audit_probe import probe
    except ImportError:
        probe = iter
    if arguments.mode == "eat":
        gpu.show(0.3, 10)
        eat(arguments.mib)
        return 0
    if arguments.mode == "fill":
        for fraction in (0.5, 0.9, 0.99):
            gpu.show(fraction, 20)
            time.sleep(arguments.step_seconds)
        print("Traceback (most recent call last):\n  ...\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", file=sys.stderr)
        return 1
    if arguments.mode == "fail":
        gpu.show(0.2, 5)
        time.sleep(2 * arguments.step_seconds)
        print("ValueError: no such column: label", file=sys.stderr)
        return 1
    if arguments.mode == "daemons":
        daemonise(300)
    gpu.show(arguments.peak if arguments.mode == "reserve" else 0.1, 0, extra)
    loader = Files(arguments.data, arguments.steps, arguments.wait_seconds)
    for step, _batch in enumerate(probe(loader), 1):
        share = arguments.peak if arguments.mode == "reserve" else arguments.peak * step / arguments.steps
        gpu.show(share, arguments.utilization, extra)
        time.sleep(arguments.step_seconds)
        print(f"step {step}/{arguments.steps} loss 0.{step:04d}", flush=True)
        if arguments.mode == "hang" and step == 3:
            gpu.show(share, 100)
            while True:                        # as ranks that wait for one that is gone: the GPU shows full use
                time.sleep(0.2)
    gpu.show(arguments.peak, arguments.utilization, extra)
    time.sleep(2 * arguments.step_seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
