# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What nccl-tests and perftest print, made here in their published formats with figures that are known; and programs that print it."""

from __future__ import annotations

import stat

# (bytes, microseconds out of place, in place) of eight ranks; algbw = bytes / time, busbw = algbw x 2 x 7 / 8.
SIZES = ((8, 35.93, 35.12), (1048576, 60.5, 61.0), (17179869184, 62500, 62600))
RULE = "-" * 87


def nccl(
    sizes=SIZES,
    ranks=8,
    nodes=1,
    wrong=0,
    head="",
    validation=1,
    columns="#wrong",
    factor=1.75,
    name="all_reduce",
    gpu="NVIDIA H100 80GB HBM3",
):
    """The output of a test of NCCL. `wrong` counts in the largest message; `head` goes before it; columns: "#wrong", or "error" as before 2.13."""
    lines = [head] if head else []
    lines += [
        "# nThread 1 nGpus %d minBytes %d maxBytes %d step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: %d graph: 0"
        % (ranks, sizes[0][0], sizes[-1][0], validation),
        "#",
        "# Using devices",
    ]
    lines += [
        "#  Rank %2d Group  0 Pid %6d on node-%d device %2d [0x%02x] %s"
        % (rank, 4000 + rank, rank * nodes // ranks, rank % 8, 16 + rank, gpu)
        for rank in range(ranks)
    ]
    lines += [
        "#",
        "#                                                              out-of-place                       in-place          ",
        "#       size         count      type   redop    root     time   algbw   busbw %s     time   algbw   busbw %s" % (columns, columns),
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
    ]
    for size, *times in sizes:
        count = ("%g" % 1e-7) if columns == "error" else "N/A" if not validation else str(wrong if size == sizes[-1][0] else 0)
        halves = "".join(
            " %8s %7.2f %7.2f %6s" % (("%.2f" if time < 1000 else "%.0f") % time, size / time / 1e3, size / time / 1e3 * factor, count)
            for time in times
        )
        lines.append("%12d %13d     float     sum      -1%s" % (size, size // 4, halves))
    mean = sum(size / time / 1e3 * factor for size, *times in sizes for time in times) / len(sizes) / 2
    lines += ["# Out of bounds values : %d %s" % (wrong, "FAILED" if wrong else "OK"), "# Avg bus bandwidth    : %g " % mean, "#", ""]
    if name:
        lines.insert(0, "# Collective test starting: %s_perf" % name)
    return "\n".join(lines)


def perftest(rows=((8388608, 5000, 391.87),), unit="Gb/sec", title="RDMA_Write BW Test", peak=True, noise=()):
    """The output of one end of a bandwidth test of perftest; rows: (bytes, iterations, rate in `unit`)."""
    factor = 1e9 / 8 if unit.startswith("Gb") else 1 << 20
    lines = [
        RULE,
        "                    " + title,
        " Dual-port       : OFF\t\tDevice         : mlx5_0",
        " Number of qps   : 1\t\tTransport type : IB",
        " Connection type : RC\t\tUsing SRQ      : OFF",
        " TX depth        : 128",
        " Mtu             : 4096[B]",
        " Link type       : IB",
        " rdma_cm QPs\t : OFF",
        RULE,
        " local address: LID 0x01 QPN 0x0087 PSN 0x176d37",
        RULE,
        " #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]" % (unit, unit),
        *noise,
    ]
    for size, count, rate in rows:
        lines.append(" %-10d %-14d %-18.2f %-18.2f %.6f" % (size, count, rate * 1.001 if peak else 0, rate, rate * factor / size / 1e6))
    return "\n".join([*lines, RULE, ""])


def program(folder, name, text, status=0, then="", version="Version: 6.06"):
    """A program of that name in `folder` that prints this text, does `then` (words of sh), and ends with the status."""
    folder.mkdir(exist_ok=True)
    said = folder / (name + ".txt")
    said.write_text(text)
    path = folder / name
    path.write_text(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo '%s' && exit 0\necho \"$@\" > '%s'\ncat '%s'\n%s\nexit %d\n"
        % (version, folder / (name + ".args"), said, then, status)
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
