# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What measuring says on the console, in English and Simplified Chinese. Pure."""

from __future__ import annotations

from .messages import sentence

TABLE = {
    "line": ("{host}: {module}: {said}", "{host}：{module}：{said}"),
    "line_in": ("{host}: {module} in {target}: {said}", "{host}：{module}（{target}）：{said}"),
    "line_of": ("{host}: {module} of {target}: {said}", "{host}：{module}（{target}）：{said}"),
    "at_most": ("at most {time}", "最多 {time}"),
    "bytes_written": ("writes up to {size}", "最多写入 {size}"),
    "bytes_read": ("reads up to {size}", "最多读取 {size}"),
    "seconds": ("{n} s", "{n} 秒"),
    "minutes": ("{n} min", "{n} 分钟"),
    "elapsed": ("{elapsed} of at most {limit}", "已用 {elapsed}，最多 {limit}"),
    "elapsed_lost": (
        "{elapsed} of at most {limit}; out of reach, the job goes on: {lost}",
        "已用 {elapsed}，最多 {limit}；暂时无法连接，作业仍在继续：{lost}",
    ),
    "looking": ("a job begun at {started} was never fetched: looking for it", "{started} 开始的作业尚未取回结果：正在查找"),
    "interrupted_ended": (
        "interrupted: the test was ended on the host and removes what it wrote there. Measuring again starts a new one",
        "已中断：主机上的测试已终止，并会清理其写入的内容。再次测量将重新开始",
    ),
    "interrupted_goes_on": (
        "interrupted: the test goes on on the host, until {until} at the latest ({why}). Measuring again with the same options takes its result "
        "over. To end it now, run there: {command}",
        "已中断：主机上的测试仍在继续，最迟到 {until} 结束（{why}）。用相同的选项再次测量会取回其结果。要立即终止，请在该主机上执行：{command}",
    ),
    "peer_ended": ("{host}: interrupted: the peer at {url} was ended", "{host}：已中断：位于 {url} 的对端服务已关闭"),
    "peer_left": (
        "{host}: interrupted: the peer at {url} couldn't be ended ({why}). It listens there until {until} at the latest; to end it now: "
        "{command}",
        "{host}：已中断：未能关闭位于 {url} 的对端服务（{why}）。它最迟监听到 {until}；要立即关闭，请执行：{command}",
    ),
    "peer_start_ended": (
        "{host}: interrupted: the peer that was being started here was ended",
        "{host}：已中断：正在启动的对端服务已终止",
    ),
    "peer_start_left": (
        "{host}: interrupted: the peer that was being started here couldn't be ended ({why}). It listens at a port of {ports} until {until} at the "
        "latest; to end it now: {command}",
        "{host}：已中断：未能终止正在启动的对端服务（{why}）。它在 {ports} 中的一个端口上最迟监听到 {until}；要立即关闭，请执行：{command}",
    ),
    "interrupted_not_asked": ("the host wasn't asked to end it: only Ctrl-C does that", "未请求主机终止：只有 Ctrl-C 才会这样做"),
    "interrupted_no_answer": ("the host gave no answer within {seconds} s", "主机在 {seconds} 秒内没有应答"),
    "interrupted_not_found": ("it wasn't found among the host's processes, and may just have ended", "在主机的进程中没有找到它，可能刚刚结束"),
    "kept": ("{figures}; kept in {path}", "{figures}；保存在 {path}"),
    "measured": ("measured: {path}", "已测量：{path}"),
    "nothing_started": ("check mode: nothing was started", "检查模式：没有启动任何测量"),
    "all_failed": ("{direction} failed: {reason}", "{direction}失败：{reason}"),
    "no_figure": ("no figure", "没有数据"),
    "labelled": ("labelled {label}", "标注为{label}"),
    "figure": ("{name} {value}", "{name} {value}"),
    "comma": (", ", "，"),
    "semicolon": ("; ", "；"),
}
# The Chinese of the figures of a summary, of their words, and of what a speed is labelled as.
FIGURES = {
    "send": "发送", "receive": "接收",
    "read": "读取", "small file": "小文件读取", "checkpoint write": "检查点写入", "quick": "快速初测", "cached": "来自缓存", "outcome": "结局",
    "error": "错误", "errors": "失败的测试", "exit code": "退出码", "duration": "用时", "iterations": "迭代数", "epoch": "每轮用时", "data wait": "等待数据",
    "limiter": "瓶颈", "notes": "备注",
    "random read iops": "随机读 IOPS", "mixed read": "混合负载读取", "mixed write": "混合负载写入",
    "requests per second": "每秒应答", "knee concurrency": "满足延迟要求的最高并发",
    "operation": "操作", "busbw": "总线带宽", "wrong values": "错误数值",
    "average": "平均", "peak": "峰值", "direction": "方向", "time to first byte": "首字节时间", "attempts failed": "失败次数",
    "retries count": "重试次数", "limited by": "受限于",
}
_ENGLISH = {"random read iops": "random read IOPS", "mixed read": "mixed: read", "mixed write": "mixed: write"}
WORDS = {
    "outcome": {
        "completed": "正常完成", "stopped": "达到要求后停止", "failed": "报错退出", "oom_cuda": "显存不足", "oom_host": "因内存不足被内核终止",
        "timeout": "达到时间上限", "hang": "挂起", "not_started": "未启动",
    },
    "limiter": {"host_cpu": "主机 CPU", "other_processes": "占用主机 CPU 的其他进程", "io_wait": "等待存储", "swap": "换页", "network": "网络", "thermal": "过热", "power": "功率"},
    "direction": {"upload": "上传", "download": "下载"},
    "limited_by": {"seconds": "时间上限", "bytes": "字节上限"},
    "label": {"buffered": "经页缓存", "cached": "缓存速度", "memory": "内存文件系统"},
}


def text(language, key, **params):
    """The sentence of a key in "en" or "zh", its placeholders filled. KeyError for an unknown key."""
    return sentence(TABLE[key], language, params)


def target(value, language):
    """What was measured, as `measuring.target_of` names it, for people: in Chinese "http://nas/x 上传" for "http://nas/x (upload)"."""
    where, bracket, direction = value.rpartition(" (")
    said = WORDS["direction"].get(direction.rstrip(")")) if bracket and language == "zh" else None
    return "%s %s" % (where, said) if said else value


def figure(name, language):
    """The name of a figure."""
    return (FIGURES if language == "zh" else _ENGLISH).get(name, name)


def word(kind, value, language):
    """A word that a figure has for its value; anything else as it is."""
    return WORDS.get(kind, {}).get(value, value) if language == "zh" and isinstance(value, str) else value
