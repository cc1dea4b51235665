# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tells a workload probe how long each iteration took, and how much of it was waiting for data. One file, standard library only.

Copy it beside the training program and wrap what the loop runs over:

    from gpu_audit_probe import probe

    for epoch in range(epochs):
        for batch in probe(loader):
            ...

Outside a probe (GPU_AUDIT_PROBE_FILE isn't set) the loop runs exactly as without it. Inside, each iteration is one JSON line:
`data_seconds` is the time the loop waited for its next batch, `seconds` the whole iteration. With PyTorch on a GPU the device is
synchronised at the end of each iteration (`sync=False` leaves that out), so that work still queued isn't taken for waiting, and the
peak of the memory it allocated is told. With several processes (of torchrun, Open MPI or Slurm) the first one tells the iterations, all
of them the memory.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import time

VARIABLE = "GPU_AUDIT_PROBE_FILE"
MEMORY_SECONDS = 1.0
# Set by torchrun, Open MPI and Slurm for each process of a job.
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


class Writer(object):
    """Appends JSON lines to a file; a file that can't be written must not end a training, so that is told once on stderr."""

    def __init__(self, path=None):
        self.path = path if path is not None else os.environ.get(VARIABLE)
        rank = next((os.environ[name] for name in _RANKS if name in os.environ), "0")
        self.first = rank in ("", "0")
        self.count, self.epochs, self.memory_due, self.length, self.begun = 0, 0, 0.0, None, False
        if self.path:
            atexit.register(self.memory)

    def write(self, **values):
        if not self.path:
            return
        data = (json.dumps(values, separators=(",", ":")) + "\n").encode("ascii")
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            print("gpu_audit_probe: %s: %s; nothing more is told" % (self.path, error), file=sys.stderr)
            self.path = None

    def iteration(self, seconds, data_seconds, samples=None):
        """One iteration ended: `seconds` in all, of which `data_seconds` were spent waiting for data."""
        self.count += 1
        if self.first:
            values = {"iteration": self.count, "time": round(time.monotonic(), 6), "seconds": round(seconds, 6),
                      "data_seconds": round(data_seconds, 6)}
            if samples is not None:
                # A number of NumPy's or of a tensor's own kind is none of JSON's.
                values["samples"] = float(samples)
            self.write(**values)
        if time.monotonic() >= self.memory_due:
            self.memory()
            self.memory_due = time.monotonic() + MEMORY_SECONDS

    def epoch(self, seconds):
        """One pass over the data ended."""
        self.epochs += 1
        if self.first:
            self.write(epoch=self.epochs, seconds=round(seconds, 6))

    def begin(self):
        """A loop begins: what is told before its first iteration happened before it."""
        if self.first and not self.begun:
            self.begun = True
            self.write(begun=True)

    def iterations_per_epoch(self, count):
        if self.first and count != self.length:
            self.length = count
            self.write(iterations_per_epoch=count)

    def memory(self):
        """PyTorch's own peak, of the GPU that had most; nothing without PyTorch or before it used a GPU."""
        torch = _torch() if self.path else None
        if torch is None:
            return
        try:
            devices = range(torch.cuda.device_count())
            peak = max(torch.cuda.max_memory_allocated(number) for number in devices)
            reserved = max(torch.cuda.max_memory_reserved(number) for number in devices)
        except RuntimeError:
            # After an error of CUDA every further call fails; the error itself is the program's to tell.
            return
        self.write(framework="torch", memory_peak_bytes=peak, memory_reserved_bytes=reserved)


def _torch():
    """The torch module where the program has loaded it and uses a GPU, else None. Never imports it."""
    torch = sys.modules.get("torch")
    try:
        return torch if torch is not None and torch.cuda.is_initialized() and torch.cuda.device_count() else None
    except AttributeError:
        return None


def _samples(batch):
    """How many samples a batch has: the first dimension of its first tensor; None where it can't be seen."""
    for _depth in range(4):
        shape = getattr(batch, "shape", None)
        if shape is not None:
            try:
                return int(shape[0])
            except (TypeError, ValueError, IndexError, KeyError):
                return None
        if isinstance(batch, dict) and batch:
            batch = next(iter(batch.values()))
        elif isinstance(batch, (list, tuple)) and batch:
            batch = batch[0]
        else:
            return None
    return None


_WRITER = None


def writer():
    """The one writer of this process."""
    global _WRITER
    if _WRITER is None:
        _WRITER = Writer()
    return _WRITER


def probe(loader, sync=True, samples=_samples):
    """Yields what `loader` yields, and tells of each iteration. `samples(batch)` counts a batch's samples (None: unknown)."""
    told = writer()
    if not told.path:
        yield from loader
        return
    try:
        told.iterations_per_epoch(len(loader))
    except (TypeError, AttributeError, NotImplementedError, ValueError):
        # A stream has no length.
        told.begin()
    began = moment = time.monotonic()
    for batch in loader:
        waited = time.monotonic() - moment
        count = samples(batch)
        yield batch
        torch = _torch() if sync else None
        if torch is not None:
            torch.cuda.synchronize()
        now = time.monotonic()
        told.iteration(now - moment, waited, count)
        moment = time.monotonic()
    told.epoch(time.monotonic() - began)
