# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A part of the table of `complaints.py`: what tests of the fabric between GPUs refuse, note and fail with."""

from __future__ import annotations

# As in complaint_texts.py.
TABLE = (
    # --- what is refused
    (
        "argv: a list of words is needed, the program first, such as [all_reduce_perf, -b, 8G, -e, 8G, -g, 8]",
        "argv：需要参数列表，程序在前，例如 [all_reduce_perf, -b, 8G, -e, 8G, -g, 8]",
    ),
    (
        "argv: {name} measures latency, and this the rate: give ib_write_bw, ib_read_bw or ib_send_bw",
        "argv：{name} 测的是延迟，而这里测带宽：请使用 ib_write_bw、ib_read_bw 或 ib_send_bw",
    ),
    (
        "argv: none of its words is a test that is known here (all_reduce_perf and the others of nccl-tests, ib_write_bw, ib_read_bw, "
        "ib_send_bw); where a script of yours runs one, say which with tool: nccl or perftest",
        "argv：其中没有可识别的测试程序（all_reduce_perf 等 nccl-tests 程序，ib_write_bw、ib_read_bw、ib_send_bw）；若由您自己的脚本运行测试，请用 tool 指明 nccl 或 perftest",
    ),
    (
        "{program} isn't installed here, or isn't on the search path. Build NVIDIA's nccl-tests (make; for several nodes make MPI=1) and give "
        "the program's whole path",
        "本机未安装 {program}，或它不在搜索路径中。请编译 NVIDIA 的 nccl-tests（make；多节点用 make MPI=1），并给出程序的完整路径",
    ),
    (
        "{program} isn't installed here, or isn't on the search path. Install the package perftest of your distribution (apt-get install "
        "perftest, dnf install perftest)",
        "本机未安装 {program}，或它不在搜索路径中。请安装发行版的 perftest 软件包（apt-get install perftest、dnf install perftest）",
    ),
    (
        '{key} must be a rate in bytes per second such as "460 GB/s", not {value}',
        "{key} 必须是以字节每秒计的速率，例如\u201c460 GB/s\u201d，而不是 {value}",
    ),
    # --- what is announced
    (
        "runs {program}, which fills the links between GPUs or hosts, for {seconds} s at most",
        "运行 {program}，会占满 GPU 或主机之间的链路，最多 {seconds} 秒",
    ),
    # --- what a test fails with
    ("{program} gave no result within {seconds} s and was ended: {why*}", "{program} 在 {seconds} 秒内没有得出结果，已终止：{why}"),
    ("{program} ended with status {status}: {why*}", "{program} 以状态 {status} 结束：{why}"),
    ("{program} ended with signal {status}: {why*}", "{program} 被信号 {status} 终止：{why}"),
    ("the command printed more than {size} MiB and was ended", "命令的输出超过 {size} MiB，已终止"),
    ("the test failed: {words}", "测试失败：{words}"),
    ("a line of the result is cut off or broken: {line}", "结果中有一行不完整或已损坏：{line}"),
    ("the result is cut off: the line below its table is missing", "结果不完整：缺少表格末尾的分隔线"),
    ("the result is cut off: nccl-tests' last lines (Avg bus bandwidth) are missing", "结果不完整：缺少 nccl-tests 的末尾几行（Avg bus bandwidth）"),
    ("a result with more than {most} sizes is none of {tool}", "超过 {most} 种消息大小的结果不是 {tool} 的输出"),
    ("{tool} gave no result: it waited for its other end, which never came", "{tool} 没有得出结果：一直在等待对端，而对端没有连接"),
    ("{tool} gave no result: {words}", "{tool} 没有得出结果：{words}"),
    ("no result of {tool} in this text", "文本中没有 {tool} 的结果"),
    ("this is a latency test: its bandwidth isn't measured", "这是延迟测试，不测带宽"),
    # --- what is noted
    ("both directions at once: the rate is the sum of the two", "双向同时测试：速率为两个方向之和"),
    ("the test didn't look whether the values are right (validation is off)", "测试未校验数值是否正确（校验已关闭）"),
    ("{count} results in this text; the last one was taken", "文本中有 {count} 个结果，取最后一个"),
    ("the command went on after its result and was ended after {seconds} s", "命令得出结果后仍未结束，{seconds} 秒时终止"),
    ("the command ended with status {status} after its result", "命令得出结果后以状态 {status} 结束"),
    ("the command ended with signal {status} after its result", "命令得出结果后被信号 {status} 终止"),
    (
        "{given} nodes were said, the test lists devices of {found}: these count",
        "指定了 {given} 个节点，而测试列出的设备来自 {found} 个节点：以后者为准",
    ),
    ("the {count} smallest sizes were left out", "略去了最小的 {count} 种消息大小"),
)
