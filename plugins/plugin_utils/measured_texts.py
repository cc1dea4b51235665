# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a finding on a measurement says after its figure and limit: what was seen, in units for people, and when it was measured."""

from __future__ import annotations

import re

from . import complaints, messages, numbers

# (metric or "", name of the evidence) -> (English, Chinese, unit). {v} is the value, {gpu} the GPU before the name.
# A text that begins with ~ goes on with the sentence before it. None: said already by the figure itself.
_PHRASES = {
    ("storage.small_file_headroom_ratio", "small_file_bytes_per_second"): (
        "small files are read at {v}",
        "小文件读取 {v}",
        "bytes_per_second",
    ),
    ("storage.read_headroom_ratio", "small_file_bytes_per_second"): ("small files are read at {v}", "小文件读取 {v}", "bytes_per_second"),
    ("storage.read_headroom_ratio", "read_bytes_per_second"): ("the storage reads {v}", "存储顺序读取 {v}", "bytes_per_second"),
    ("", "needed_bytes_per_second"): ("~where the GPUs take {v}", "~，GPU 需要 {v}", "bytes_per_second"),
    ("", "checkpoint_write_bytes_per_second"): ("checkpoints are written at {v}", "检查点写入 {v}", "bytes_per_second"),
    ("", "checkpoint_seconds"): ("~, so one takes {v}", "~，单个耗时 {v}", "seconds"),
    ("", "checkpoint_interval_seconds"): ("~of every {v}", "~，每 {v}写一次", "seconds"),
    ("", "together_bytes_per_second"): ("{v} while several hosts read at once", "多主机同时读取时 {v}", "bytes_per_second"),
    ("", "alone_bytes_per_second"): ("{v} with this host alone", "单独读取时 {v}", "bytes_per_second"),
    ("vram.peak_fraction", "memory_used_peak_bytes"): ("{gpu} peaked at {v}", "{gpu} 峰值 {v}", "bytes"),
    ("vram.peak_fraction", "framework_peak_bytes"): (
        "on {gpu} the framework says that it used {v}",
        "{gpu} 上框架自报使用 {v}",
        "bytes",
    ),
    ("vram.peak_fraction", "usable_bytes"): ("~of {v} usable", "~（可用 {v}）", "bytes"),
    ("", "memory_used_peak_bytes"): ("{gpu} had {v} in use at most", "{gpu} 最多占用 {v}", "bytes"),
    ("", "memory_other_bytes"): ("{gpu}: {v} held by others", "{gpu}：其他进程占用 {v}", "bytes"),
    ("", "peak_rss_bytes"): ("the job had {v} of RAM at most", "作业内存峰值 {v}", "bytes"),
    ("compute.gpu_idle_fraction", ""): ("longest on {gpu}", "最长为 {gpu}", "fraction"),
    ("memory.swap_bytes_per_second", "swap_bytes_per_second"): None,
    ("workload.data_wait_fraction", "data_wait_fraction"): None,
    ("workload.data_side", "gpu_utilization_mean_fraction"): ("the GPUs were busy {v} of the time", "GPU 平均利用率 {v}", "fraction"),
    ("workload.data_side", "gpu_utilization_p10_fraction"): ("~(from {v}", "~（波动 {v}", "fraction"),
    ("workload.data_side", "gpu_utilization_p90_fraction"): ("~to {v})", "~ 至 {v}）", "fraction"),
    ("workload.data_side", "data_wait_fraction"): ("the job waited for data {v} of it", "作业 {v} 的时间在等数据", "fraction"),
    ("workload.data_side", "cpu_busy_fraction"): ("host CPU {v} busy", "主机 CPU 利用率 {v}", "fraction"),
    ("workload.data_side", "cpu_busiest_core_fraction"): ("~, its busiest core {v}", "~，最忙的核 {v}", "fraction"),
    ("workload.data_side", "job_cores"): ("the job itself used {v} cores of it", "其中作业自身占 {v} 个核", "number"),
    ("workload.unused_gpus", "utilization_mean_fraction"): ("{gpu}: utilisation {v}", "{gpu}：利用率 {v}", "fraction"),
    ("", "other_probe"): ("also probed: {v}", "另外还探测了：{v}", ""),
    ("workload.data_side", "cpu_iowait_fraction"): ("I/O wait {v}", "I/O 等待 {v}", "fraction"),
    ("workload.data_side", "read_bytes_per_second"): ("the job read {v}", "作业读取 {v}", "bytes_per_second"),
    ("", "upload_bytes_per_second"): ("uploads run at {v}", "上传 {v}", "bytes_per_second"),
    ("", "download_bytes_per_second"): ("downloads run at {v}", "下载 {v}", "bytes_per_second"),
    ("", "peak_bytes_per_second"): ("at best {v} in one second", "单秒最高 {v}", "bytes_per_second"),
    ("", "dataset_bytes"): ("~, so {v}", "~，数据集 {v}", "bytes"),
    ("", "weights_bytes"): ("~, so {v}", "~，权重 {v}", "bytes"),
    ("", "checkpoint_bytes"): ("~, so {v}", "~，检查点 {v}", "bytes"),
    ("", "transfer_seconds"): ("~take {v}", "~ 需 {v}", "seconds"),
    ("", "allowed_seconds"): ("~where {v} are allowed", "~，允许 {v}", "seconds"),
    ("", "connect_seconds"): ("connecting takes {v}", "建立连接需 {v}", "seconds"),
    ("", "window_bytes"): ("~, so the speed needed takes a TCP window of {v}", "~，所需速率要求 TCP 窗口 {v}", "bytes"),
    ("network.distribution_ratio", "together_bytes_per_second"): ("{v} while several hosts download", "多主机同时下载时 {v}", "bytes_per_second"),
    ("network.distribution_ratio", "hosts_at_once"): ("{v} hosts at once", "{v} 台主机同时下载", "number"),
    ("", "upload_tries"): ("uploads: {v} tries failed", "上传：失败 {v} 次", ""),
    ("", "download_tries"): ("downloads: {v} tries failed", "下载：失败 {v} 次", ""),
    ("", "said"): ("~({v})", "~（{v}）", ""),
    ("", "transfer_target"): ("the target was {v}", "目标为 {v}", ""),
    ("", "stored_as"): ("the test is stored as {v}", "该测试保存为 {v}", ""),
    ("", "earlier_upload"): ("an earlier upload to {v} got through", "此前到 {v} 的上传成功", ""),
    ("", "earlier_download"): ("an earlier download of {v} got through", "此前从 {v} 的下载成功", ""),
    ("", "earlier_bytes_per_second"): ("~at {v}", "~，速率 {v}", "bytes_per_second"),
    ("", "concurrency_within"): ("{v} requests at once keep within the latency", "{v} 个并发请求延迟达标", "number"),
    ("", "lowest_missed"): (
        "the lowest step that counts, {v} at once, doesn't keep within the latency",
        "计入的最低一级（{v} 并发）延迟未达标",
        "number",
    ),
    ("", "concurrency_wanted"): ("~, {v} are asked for", "~，要求 {v} 个", "number"),
    ("", "latency_seconds"): ("{v} are acceptable", "可接受 {v}", "seconds"),
    ("", "first_token_seconds"): ("~, {v} are acceptable", "~，可接受 {v}", "seconds"),
    ("", "answers_per_second"): ("it answers at most {v} requests a second", "每秒最多应答 {v} 个请求", ""),
    ("", "planned_per_second"): ("~, so plan with {v} a second (80 % of that) for each such service", "~，规划时每个这样的服务按每秒 {v} 个计（其 80%）", ""),
    ("", "busy_hours"): ("business hours are {v}", "业务时段为 {v}", ""),
    ("", "send_bytes_per_second"): ("sends {v}", "发送 {v}", "bits"),
    ("", "receive_bytes_per_second"): ("receives {v}", "接收 {v}", "bits"),
    ("", "line_rate_bits_per_second"): ("the line carries {v}", "线速 {v}", "bits_per_second"),
    ("", "tcp_goodput_fraction"): ("~, of which TCP reaches at most {v} with the packets of this path", "~，以该路径的包大小 TCP 最多达到其 {v}", "fraction"),
    ("", "window_allows_bits_per_second"): (
        "on so long a way the usual TCP windows of 3 MiB allow {v}, about what was measured",
        "在如此长的往返时间下，通常 3 MiB 的 TCP 窗口允许 {v}，与实测相近",
        "bits_per_second",
    ),
    ("", "group_median_bytes_per_second"): ("the middle of the group is {v}", "同组中位数 {v}", "bits"),
    ("", "undecided_with"): (
        "tested with {v} only, so which of the two is slow isn't known",
        "仅与 {v} 互测，无法判断是哪一台慢",
        "",
    ),
    ("", "loss_undecided_with"): (
        "tested with {v} only, so which of the two loses packets isn't known",
        "仅与 {v} 互测，无法判断丢包发生在哪一台",
        "",
    ),
    ("", "no_pair"): ("no pair gave a figure; the first: {v}", "所有配对均无数据；第一个：{v}", ""),
    ("", "path_mtu_bytes"): ("the path carries packets of {v} bytes", "路径可承载 {v} 字节的包", "number"),
    ("", "interface_mtu_bytes"): ("~, the interface {v}", "~，网口 MTU 为 {v}", "number"),
    ("network.link_lost_fraction", "lost_fraction"): None,
    ("network.fabric_busbw_bytes_per_second", "busbw_bytes_per_second"): None,
    ("", "busbw_bytes_per_second"): ("the fabric carries {v}", "互联带宽 {v}", "bytes_per_second"),
    ("", "gpu_audit_expected.fabric_busbw_bytes_per_second"): ("~where you expect {v}", "~，期望 {v}", "bytes_per_second"),
    ("", "limit_bytes_per_second"): ("~where healthy hosts reach {v}", "~，正常主机可达 {v}", "bytes_per_second"),
    ("", "message_bytes"): ("messages of {v}", "消息大小 {v}", "bytes"),
    ("", "nodes"): ("~, nodes: {v}", "~，节点数 {v}", "number"),
    ("", "ranks"): ("~, GPUs: {v}", "~，GPU 数 {v}", "number"),
    ("", "tool_version"): ("~, {v}", "~，{v}", ""),
    ("network.fabric_wrong_values", "wrong_values"): ("{v} values arrived wrong", "{v} 个数值错误", "number"),
    ("", "exit_code"): ("exit code {v}", "退出码 {v}", ""),
    ("", "signal"): ("ended by signal {v}", "被信号 {v} 终止", ""),
    ("", "iterations"): ("{v} iterations done", "已完成 {v} 次迭代", ""),
    ("", "error"): ("it said: {v}", "报错：{v}", ""),
    ("", "output"): ("its output: {v}", "输出：{v}", ""),
}
_DIFFERENCES = {
    "block_size_bytes": ("blocks of {tested} {by} {wanted}", "块大小 {tested}（{by} {wanted}）", "bytes"),
    "file_size_bytes": ("files of {tested} {by} {wanted}", "文件大小 {tested}（{by} {wanted}）", "bytes"),
    "file_count": ("{tested} files {by} {wanted}", "文件数 {tested}（{by} {wanted}）", "number"),
    "engine": ("engine {tested} {by} {wanted}", "引擎 {tested}（{by} {wanted}）", ""),
    "quick": ("only a quick first look", "仅为快速初测", ""),
    "runtime_seconds": ("too short: {tested} {by} {wanted}", "时间过短：{tested}（{by} {wanted}）", "seconds"),
    "guide_job": ("another job than the audit guide's", "不是审计指南规定的作业", ""),
}
_BY = {"form": ("where the form says", "表单为"), "guide": ("where the guide asks for", "指南要求")}
_MODULES = "(?:storage_benchmark|workload_probe|transfer_benchmark|request_benchmark|link_benchmark|fabric_benchmark)"
# Names of evidence that hold a figure or a word of their own: {0} and {1} are its groups, {v} is the value.
_NAMED = (
    (re.compile(r"(upload|download|requests) (\w+)"), "{0}: {v} x {1}", "{0}：{v} 次{1}", "number"),
    (re.compile(r"began (upload|download|requests)"), "the test of {0} began at {v}", "{0}测试始于 {v}", ""),
    (re.compile(r"p95 at (\S+)"), "at {0} at once 95 % of the answers come within {v}", "{0} 并发时 95% 的响应在 {v}内", "seconds"),
    (re.compile(r"p99 at (\S+)"), "at {0} at once 99 % of the answers come within {v}", "{0} 并发时 99% 的响应在 {v}内", "seconds"),
    (
        re.compile(r"first token at (\S+)"),
        "at {0} at once 95 % of the streamed answers begin within {v}",
        "{0} 并发时 95% 的流式应答在 {v}内给出首 token",
        "seconds",
    ),
    (re.compile(r"failed at (\S+)"), "at {0} at once {v} of the requests failed", "{0} 并发时 {v} 的请求失败", "fraction"),
    (re.compile(r"queue at (\S+)"), "with {0} connections the queue grows without end", "{0} 个连接时排队无限增长", ""),
    (re.compile(r"again to (.+)", re.S), "to {0}: {v} sent again", "到 {0}：重传 {v}", "fraction"),
    (re.compile(r"again from (.+)", re.S), "from {0}: {v} sent again", "来自 {0}：重传 {v}", "fraction"),
    (re.compile(r"lost to (.+)", re.S), "to {0}: {v} lost", "到 {0}：丢失 {v}", "fraction"),
    (re.compile(r"lost from (.+)", re.S), "from {0}: {v} lost", "来自 {0}：丢失 {v}", "fraction"),
    (re.compile(r"counter (.+)", re.S), "counter {0}: +{v}", "计数器 {0}：+{v}", "number"),
    (re.compile(r"with (.+)", re.S), "with {0}: {v}", "与 {0}：{v}", ""),
)
_WORDS = {
    "upload": ("uploads", "上传"),
    "download": ("downloads", "下载"),
    "requests": ("requests", "请求"),
    "refused": ("connection refused", "连接被拒绝"),
    "timeout": ("no answer in time", "超时无应答"),
    "reset": ("connection broken off", "连接中断"),
    "dns": ("name not resolved", "域名无法解析"),
    "tls": ("TLS failed", "TLS 失败"),
    "unreachable": ("no way there", "网络不可达"),
    "http_4xx": ("refused by the server (HTTP 4xx)", "服务器拒绝（HTTP 4xx）"),
    "http_5xx": ("error of the server (HTTP 5xx)", "服务器错误（HTTP 5xx）"),
    "short_body": ("data cut short", "数据不完整"),
    "checksum": ("wrong checksum", "校验和不符"),
    "protocol": ("answer that is no proper HTTP", "应答不符合 HTTP"),
    "proxy": ("refused by the proxy", "代理拒绝"),
    "stalled": ("stood still", "传输停滞"),
    "local": ("fault of this host", "本机故障"),
}
_MEASURED = re.compile(_MODULES + r"(?:\.scaling)? (\d{4}-\d\d-\d\d)T(\d\d:\d\d)\S*((?: \([a-z0-9 ]+\))*)(?: of (.+))?$")
_UNTIMED = re.compile(_MODULES + r"\b")
_DIFFERENCE = re.compile(r"(\w+) (\w+)")
_SECONDS = re.compile(r"(?:too short: )?(\S+) s")
_TESTED = re.compile(r"(.+) \((form|guide): (.+)\)", re.S)
_CAPPED = re.compile(r"(.+): (thermal|power_brake|power_limit|power_limit_lowered)")
_SCALED = re.compile(r"(\d+) GPU: (\S+) s, (\S+) x(?:, serial fraction (\S+))?")
_LABELS = {
    "quick": ("a quick first look", "快速初测"),
    "too short": ("over too soon", "时间过短"),
    "buffered": ("through the page cache (buffered)", "经页缓存（buffered）"),
    "peer": ("against the audit's own peer", "对端为审计自带服务"),
}
_HOSTS = ("{n} hosts at once", "{n} 台主机同时读取")
_WHEN = ("Measured {day} {time} UTC{labels}.", "测于 {day} {time} UTC{labels}。")
_COMMAND = (" with {command}", "，命令为 {command}")
_CAPPED_TEXT = ("{gpu}: {word}, {v} of the time", "{gpu}：{word}，占 {v} 的时间")
_SCALED_TEXT = ("{n} GPUs: {seconds}, {speedup} times as fast ({v} each)", "{n} 个 GPU：{seconds}，加速 {speedup} 倍（效率 {v}）")
_SCALED_BASE = ("{n} GPU: {seconds}", "{n} 个 GPU：{seconds}")
_SERIAL = ("serial fraction {shares}", "串行比例 {shares}")
_SERIAL_ON = ("{v} on {n} GPUs", "{n} 个 GPU 时 {v}")


def told(metric, evidence, language):
    """The sentences after "title: actual; required: limit." of a finding on a measurement, None where its evidence isn't one.

    `evidence` is the metric's: [{"what", "value", "source"}]. Every name that the measurements' metrics use has its phrase here.
    """
    if not metric.startswith("scaling.") and not any(
        isinstance(entry.get("source"), str) and _UNTIMED.match(entry["source"]) for entry in evidence
    ):
        return None
    side = 1 if language == "zh" else 0
    if metric.startswith("scaling."):
        parts = _scaling(evidence, side, language)
    else:
        parts = [_phrase(metric, entry, side, language) for entry in evidence]
    said = ""
    for part in parts:
        if part and part.startswith("~") and said:
            said += ("" if side or part[1] == "," else " ") + part[1:]
        elif part:
            said += (("；" if side else "; ") if said else "") + part.lstrip("~")
    said = said[:1].upper() + said[1:]
    said = said.rstrip(".。") + ("。" if side else ".") if said else ""
    return ("" if side else " ").join(text for text in (said, _when(evidence, side)) if text)


def measured_at(source):
    """(day, time, [labels], command or None) of a piece of evidence that a measuring module gave, None for any other. Labels as stored."""
    match = _MEASURED.match(source) if isinstance(source, str) else None
    return (match[1], match[2], re.findall(r"\(([^)]*)\)", match[3]), match[4]) if match else None


def kind(name, language):
    """A kind of failure of the network ("reset") in words; one that isn't known as it is."""
    return _WORDS.get(name, (name, name))[1 if language == "zh" else 0]


def label(word, language):
    """A label of a measurement ("quick", "buffered", "4 hosts at once") for people."""
    side = 1 if language == "zh" else 0
    hosts = re.fullmatch(r"(\d+) hosts at once", word)
    return _HOSTS[side].format(n=hosts[1]) if hosts else _LABELS.get(word, (word, word))[side]


def _when(evidence, side):
    found = [measured_at(entry.get("source")) for entry in evidence]
    found = [entry for entry in found if entry]
    if not found:
        return ""
    labels = list(dict.fromkeys(word for entry in found for word in entry[2]))
    shown = "".join(("，" if side else ", ") + label(word, "zh" if side else "en") for word in labels)
    command = next((entry[3] for entry in found if entry[3]), None)
    shown += _COMMAND[side].format(command=command) if command else ""
    return _WHEN[side].format(day=found[0][0], time=found[0][1], labels=shown)


def _shown(value, unit, language):
    if unit in ("bits", "bits_per_second") and numbers.is_number(value) and 0 <= value < numbers.LARGEST:
        return numbers.format_bit_rate(value * 8 if unit == "bits" else value)
    if unit == "seconds" and numbers.is_number(value):
        return numbers.format_duration(value, language)
    if unit == "number" and numbers.is_whole(value):
        return format(value, ",")
    if isinstance(value, str):
        # What a module of ours said of a failure.
        value = complaints.say(value, language)
    return " ".join(numbers.format_value(value, unit, language).split())


def _named(what, value, side, language):
    """The phrase of evidence whose name holds a figure or a word, None where it is no such."""
    for pattern, english, chinese, unit in _NAMED:
        match = pattern.fullmatch(what)
        if match:
            words = [_WORDS.get(group, (group, group))[side] for group in match.groups()]
            return (chinese if side else english).format(*words, v=_shown(value, unit, language))
    return None


def _phrase(metric, entry, side, language):
    what, value = str(entry["what"]), entry["value"]
    capped = _CAPPED.fullmatch(what)
    if capped:
        word = messages.word(language, capped[2])
        return _CAPPED_TEXT[side].format(gpu=capped[1], word=word, v=_shown(value, "fraction", language))
    if metric == "storage.benchmark_differences":
        return _difference(what, value, side, language)
    named = _named(what, value, side, language) if metric.startswith("network.") else None
    if named is not None:
        return named
    gpu, _space, name = what.rpartition(" ")
    if what.startswith("GPU ") and (metric, name) not in _PHRASES and ("", name) not in _PHRASES:
        gpu, name = what, ""
    key = (metric, name) if (metric, name) in _PHRASES else ("", name)
    if key not in _PHRASES:
        return "%s: %s" % (what, _shown(value, "", language))
    phrase = _PHRASES[key]
    return phrase[side].format(v=_shown(value, phrase[2], language), gpu=gpu) if phrase else ""


def _difference(what, value, side, language):
    """One way in which a storage test differs: `what` is "job field", `value` "tested (form: wanted)"."""
    field, tested = _DIFFERENCE.fullmatch(what), _TESTED.fullmatch(str(value))
    if not field or not tested or field[2] not in _DIFFERENCES:
        return "%s: %s" % (what, value)
    phrase = _DIFFERENCES[field[2]]
    bare = [_SECONDS.sub(r"\1", text) if phrase[2] == "seconds" else text for text in (tested[1], tested[3])]
    figures = [_shown(_number(text), phrase[2], language) if phrase[2] else text for text in bare]
    return field[1] + ("：" if side else ": ") + phrase[side].format(tested=figures[0], wanted=figures[1], by=_BY[tested[2]][side])


def _number(text):
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _scaling(evidence, side, language):
    """The points from the most GPUs down, then how the serial fraction goes."""
    points = [(match, entry["value"]) for match, entry in ((_SCALED.fullmatch(str(entry["what"])), entry) for entry in evidence) if match]
    parts = []
    for number, (match, efficiency) in enumerate(points):
        last = number == len(points) - 1
        parts.append(
            (_SCALED_BASE if last else _SCALED_TEXT)[side].format(
                n=match[1],
                seconds=_shown(_number(match[2]), "seconds", language),
                speedup=match[3],
                v=_shown(efficiency, "fraction", language),
            )
        )
    serial = [(match[1], match[4]) for match, _efficiency in reversed(points) if match[4]]
    if serial:
        ends = serial if len(serial) < 3 else [serial[0], serial[-1]]
        shares = ("，" if side else ", ").join(_SERIAL_ON[side].format(n=count, v=share) for count, share in ends)
        parts.append(_SERIAL[side].format(shares=shares))
    return parts
