# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What is read from nccl-tests and perftest, and that no figure comes from a broken line."""

from __future__ import annotations

import fabric_samples as samples
import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.nccl_output import parse_nccl
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.perftest_output import parse_perftest

LARGEST = 17179869184
BUS = LARGEST / 62500e-6 * 1.75


# --- nccl-tests -----------------------------------------------------------------------------------------------------------------------


def test_all_sizes_of_a_collective():
    found = parse_nccl(samples.nccl())
    assert found["error"] is None and found["operation"] == "all_reduce" and found["notes"] == []
    assert (found["ranks"], found["nodes"], found["gpu_names"]) == (8, 1, ["NVIDIA H100 80GB HBM3"])
    assert [row["bytes"] for row in found["rows"]] == [8, 1048576, LARGEST]
    last = found["rows"][-1]
    assert last["busbw_bytes_per_second"] == pytest.approx(BUS, rel=1e-4) and last["time_seconds"] == pytest.approx(0.0625)
    assert last["algbw_bytes_per_second"] == pytest.approx(BUS / 1.75, rel=1e-4)
    assert last["in_place_busbw_bytes_per_second"] == pytest.approx(LARGEST / 62600e-6 * 1.75, rel=1e-4)
    assert found["wrong_values"] == 0 and last["wrong"] == 0 and found["rows"][0]["busbw_bytes_per_second"] == 0
    rates = [size / time * 1e6 * 1.75 for size, *times in samples.SIZES for time in times]
    assert found["average_busbw_bytes_per_second"] == pytest.approx(sum(rates) / 6, rel=1e-4)


def test_devices_of_several_nodes_are_counted():
    found = parse_nccl(samples.nccl(ranks=16, nodes=2))
    assert (found["ranks"], found["nodes"]) == (16, 2)


@pytest.mark.parametrize(
    "line, expected",
    [
        ("# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703", ("2.17.1", "2.27.3")),
        ("NCCL version 2.18.3+cuda12.2", (None, "2.18.3")),
        ("# nccl-tests version 2.0 nccl-headers=2708 nccl-library=2708", ("2.0", "2.7.8")),
        ("", (None, None)),
    ],
)
def test_versions_where_they_are_said(line, expected):
    found = parse_nccl(samples.nccl(head=line))
    assert (found["tests_version"], found["library_version"]) == expected


def test_wrong_values_are_counted_out_of_place_and_in_place():
    found = parse_nccl(samples.nccl(wrong=3))
    assert found["error"] is None and found["wrong_values"] == 6 and found["rows"][-1]["wrong"] == 6 and found["rows"][0]["wrong"] == 0


def test_without_validation_nobody_knows():
    found = parse_nccl(samples.nccl(validation=0))
    assert found["wrong_values"] is None and found["rows"][-1]["wrong"] is None and "validation" in found["notes"][0]
    assert found["rows"][-1]["busbw_bytes_per_second"] == pytest.approx(BUS, rel=1e-4)


def test_the_deviation_of_older_versions_is_no_count():
    found = parse_nccl(samples.nccl(columns="error"))
    assert found["error"] is None and found["wrong_values"] == 0 and found["rows"][-1]["wrong"] is None
    assert parse_nccl(samples.nccl(columns="error", wrong=7))["wrong_values"] == 7


def test_an_operation_that_has_no_in_place():
    text = samples.nccl(((LARGEST, 62500, 62500),), validation=0).replace("sum", "none")
    row = next(line for line in text.splitlines() if line.strip().startswith(str(LARGEST)))
    halved = row[: row.rindex("  62500")] + "    N/A     N/A     N/A    N/A"
    found = parse_nccl(text.replace(row, halved))
    assert found["rows"][0]["in_place_busbw_bytes_per_second"] is None and found["rows"][0]["busbw_bytes_per_second"] == pytest.approx(
        BUS, rel=1e-4
    )


@pytest.mark.parametrize("tag", ["[1,0]<stdout>:", "0: "])
def test_lines_that_a_launcher_marked(tag):
    found = parse_nccl("".join(tag + line + "\n" for line in samples.nccl().splitlines()))
    assert found["error"] is None and found["ranks"] == 8 and found["rows"][-1]["busbw_bytes_per_second"] == pytest.approx(BUS, rel=1e-4)


def test_messages_between_the_lines_do_no_harm():
    noise = (
        "node-1:4000:4017 [0] NCCL INFO Channel 00/24 : 0 1 2 3 4 5 6 7\nnode-1:4000:4017 [0] NCCL WARN Failed to open libibverbs.so[.1]\n"
    )
    text = samples.nccl().replace("# Out of bounds", noise + "# Out of bounds")
    assert parse_nccl(text)["rows"][-1]["busbw_bytes_per_second"] == pytest.approx(BUS, rel=1e-4)


def test_of_two_results_the_last_counts():
    found = parse_nccl(samples.nccl() + samples.nccl(((LARGEST, 70000, 70000),)))
    assert len(found["rows"]) == 1 and "2 results" in found["notes"][0]
    # The second one broke off: what the first one said is no answer any more.
    broken = parse_nccl(samples.nccl() + samples.nccl().rpartition("# Avg")[0])
    assert broken["rows"] == [] and "cut off" in broken["error"]


def test_every_cut_is_seen():
    """At whatever character the text ends before its last figure, there is no figure and one reason."""
    text = samples.nccl()
    end = text.rindex("\n#")
    for at in range(end):
        found = parse_nccl(text[:at])
        assert found["rows"] == [] and found["wrong_values"] is None and found["error"], text[:at][-80:]
    assert parse_nccl(text)["error"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.replace("62500", "62500node-1:4000:4017 [0] NCCL INFO x\n"),
        lambda row: row.rsplit(None, 1)[0],
        lambda row: row.replace("481.04", "481.0.4"),
        lambda row: row.replace("274.88", "74.88"),
        lambda row: row.replace("17179869184", "1717986918"),
        lambda row: row + " 12",
        lambda row: row.replace("481.04", "nan"),
    ],
)
def test_a_broken_line_gives_no_figure_at_all(change):
    text = samples.nccl()
    row = next(line for line in text.splitlines() if line.strip().startswith(str(LARGEST)))
    assert change(row) != row
    found = parse_nccl(text.replace(row, change(row)))
    assert found["rows"] == [] and found["error"].startswith("a line of the result is cut off or broken"), found["error"]


@pytest.mark.parametrize(
    "words",
    [
        "node-1: Test NCCL failure common.cu:1005 'unhandled system error (run with NCCL_DEBUG=INFO for details) / '",
        "node-1: Test CUDA failure common.cu:892 'out of memory'",
        " .. node-1 pid 4000: Test failure common.cu:401",
        "all_reduce_perf: error while loading shared libraries: libnccl.so.2: cannot open shared object file: No such file or directory",
        "mpirun noticed that process rank 3 with PID 4003 on node node-2 exited on signal 9 (Killed).",
    ],
)
def test_failures_are_told_in_the_words_of_the_test(words):
    head = samples.nccl().partition("  1048576")[0]
    for text in (words + "\n", head + "\n" + words + "\n", samples.nccl() + words + "\n"):
        found = parse_nccl(text)
        assert found["rows"] == [] and found["error"] == "the test failed: " + words.strip()


@pytest.mark.parametrize(
    "text", ["", "\0\0\0", "mpirun: command not found\n", "{}", "# Avg bus bandwidth : 400\n", "1 2 3 4 5 6 7 8 9\n" * 10]
)
def test_other_text_is_no_result(text):
    found = parse_nccl(text)
    assert found["rows"] == [] and ("no result" in found["error"])


# --- perftest -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit, rate, expected",
    [("Gb/sec", 391.87, 391.87e9 / 8), ("MB/sec", 24056.72, 24056.72 * 2**20), ("MiB/sec", 46000.5, 46000.5 * 2**20)],
)
def test_the_rate_in_each_unit(unit, rate, expected):
    found = parse_perftest(samples.perftest(((8388608, 5000, rate),), unit))
    assert found["error"] is None and found["operation"] == "write" and (found["link"], found["device"]) == ("IB", "mlx5_0")
    assert found["rows"] == [
        {
            "bytes": 8388608,
            "iterations": 5000,
            "bytes_per_second": pytest.approx(expected),
            "peak_bytes_per_second": pytest.approx(expected * 1.001, rel=1e-5),
        }
    ]


@pytest.mark.parametrize(
    "title, operation, both",
    [("RDMA_Read BW Test", "read", False), ("Send BW Test", "send", False), ("RDMA_Write Bidirectional BW Test", "write", True)],
)
def test_the_kind_of_test(title, operation, both):
    found = parse_perftest(samples.perftest(title=title))
    assert (found["operation"], found["both_directions"], len(found["notes"])) == (operation, both, int(both))


def test_all_sizes_by_rising_size():
    rows = [(2 << power, 5000, min(390, 0.3 * 2**power)) for power in range(23)]
    found = parse_perftest(samples.perftest(rows))
    assert [row["bytes"] for row in found["rows"]] == [size for size, _count, _rate in rows]
    assert found["rows"][-1]["bytes_per_second"] == pytest.approx(390e9 / 8)


def test_a_test_over_time_has_no_peak_and_its_lowest_rate_counts():
    found = parse_perftest(samples.perftest(((65536, 1000, 197.35), (65536, 1000, 190.1), (65536, 1000, 196.0)), peak=False))
    assert found["rows"] == [
        {"bytes": 65536, "iterations": 1000, "bytes_per_second": pytest.approx(190.1e9 / 8), "peak_bytes_per_second": None}
    ]


def test_both_ends_in_one_text(captures):
    text = (captures / "gpu-bench-logs" / "superbench-ib_loopback_8M_size.log").read_text()
    found = parse_perftest(text)
    assert found["error"] is None and found["operation"] == "write" and found["device"] == "ib0"
    assert [(row["bytes"], row["iterations"]) for row in found["rows"]] == [(8388608, 20000)]
    # 3007 messages a second of 8 MiB.
    assert found["rows"][0]["bytes_per_second"] == pytest.approx(24056.72 * 2**20) == pytest.approx(3007 * 8388608, rel=1e-3)


def test_warnings_in_the_table_do_no_harm():
    found = parse_perftest(
        samples.perftest(noise=["Conflicting CPU frequency values detected: 1200.000000 != 2400.000000. CPU Frequency is not max."])
    )
    assert found["error"] is None and len(found["rows"]) == 1


def test_every_cut_of_perftest_is_seen():
    text = samples.perftest()
    end = text.rindex(samples.RULE)
    for at in range(end):
        found = parse_perftest(text[:at])
        assert found["rows"] == [] and found["error"], text[:at][-80:]
    assert parse_perftest(text)["error"] is None


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.rsplit(None, 1)[0],
        lambda row: row.replace(" 391.87 ", " 39.87 "),
        lambda row: row.replace("8388608", "838860"),
        lambda row: row.replace("391.87 ", "391.87Conflicting "),
        lambda row: row + " 1",
        lambda row: row.replace(" 391.87 ", " nan "),
        lambda row: row.replace("8388608", "0"),
    ],
)
def test_a_broken_line_of_perftest_gives_no_figure(change):
    text = samples.perftest()
    row = next(line for line in text.splitlines() if line.startswith(" 8388608"))
    assert change(row) != row
    found = parse_perftest(text.replace(row, change(row)))
    assert found["rows"] == [] and "cut off or broken" in found["error"]


@pytest.mark.parametrize(
    "text, words",
    [
        (
            "Couldn't connect to 192.0.2.18:18515\nUnable to open file descriptor for socket connection\n",
            "Couldn't connect to 192.0.2.18:18515",
        ),
        ("IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n", "IB device mlx5_9 not found"),
        ("*\n* Waiting for client to connect... *\n*\n", "its other end"),
        (samples.perftest(title="RDMA_Write Latency Test").partition(" #bytes")[0], "latency"),
        ("", "no result of perftest"),
        ("8388608 20000 24056.74 24056.72 0.003007\n", "no result of perftest"),
    ],
)
def test_what_went_wrong_with_perftest(text, words):
    found = parse_perftest(text)
    assert found["rows"] == [] and words in found["error"]


def test_a_unit_that_nobody_knows_gives_no_figure():
    found = parse_perftest(samples.perftest(unit="furlongs"))
    assert found["rows"] == [] and found["error"]
