# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a load test says on the console when it is over: answers a second, latencies where they matter, the knee, tokens. Pure."""

from __future__ import annotations

from ..module_utils.measure import latency
from . import measured_texts
from .messages import sentence
from .numbers import format_number, format_short_duration

TABLE = {
    "failed": ("failed: not one request was answered ({said})", "失败：没有一个请求得到应答（{said}）"),
    "kind": ("{n} x {kind}", "{n} 次{kind}"),
    "answers": ("answers up to {rate} requests a second", "每秒最多应答 {rate} 个请求"),
    "at": ("at {n} at once {said}", "并发 {n} 时 {said}"),
    "quantile": ("{name} {seconds}", "{name} {seconds}"),
    "first": ("first token {said}", "首 token {said}"),
    "tokens": ("{each} tokens/s in each answer, {all} in all", "单请求每秒 {each} 个 token，合计每秒 {all} 个"),
    "knee": ("up to {n} at once keep p95 within the acceptable {limit}", "并发不超过 {n} 时 p95 在可接受的 {limit}以内"),
    "knee_most": (
        "up to {n} at once, the most that were tried, keep p95 within the acceptable {limit}",
        "直到测试的最高并发 {n}，p95 都在可接受的 {limit}以内",
    ),
    "knee_none": ("not even 1 at once keeps p95 within the acceptable {limit}", "并发 1 的 p95 已超过可接受的 {limit}"),
    "knee_unknown": ("how many at once keep p95 within the acceptable {limit} isn't known", "多大并发能使 p95 保持在可接受的 {limit}以内未知"),
    "comma": (", ", "，"),
    "semicolon": ("; ", "；"),
}


def _text(language, key, **params):
    return sentence(TABLE[key], language, params)


def of_test(result, wanted=None, language="en"):
    """The figures of a request_benchmark result in one line; "" where nothing was answered. `wanted`: concurrency of the form."""
    kinds = _all_failed(result["steps"])
    if kinds:
        told = [_text(language, "kind", n=n, kind=measured_texts.kind(name, language)) for name, n in kinds]
        return _text(language, "failed", said=_text(language, "comma").join(told))
    knee = result["knee_concurrency"]
    steps = latency.counted(result["steps"])
    shown = step_at(steps, wanted, knee)
    said = [_text(language, "answers", rate=_figure(result["requests_per_second"]))] if result["requests_per_second"] else []
    if shown is not None:
        said.append(_text(language, "at", n=shown["concurrency"], said=_quantiles(shown, "latency_%s_seconds", language)))
        first = _quantiles(shown, "time_to_first_token_%s_seconds", language)
        if first:
            said.append(_text(language, "first", said=first))
            each, together = (_figure(shown[name]) for name in ("tokens_per_second_per_request", "tokens_per_second"))
            said.append(_text(language, "tokens", each=each, all=together))
    if result["latency_slo_seconds"] is not None:
        key = "knee_unknown" if knee is None else "knee_none" if not knee else "knee_most" if knee == steps[-1]["concurrency"] else "knee"
        said.append(_text(language, key, n=knee, limit=format_short_duration(result["latency_slo_seconds"], language)))
    return _text(language, "semicolon").join(said)


def _all_failed(steps):
    """[(kind of failure, how often)] where no request of any step was answered, the most frequent first; else []."""
    if any(step["error_fraction"] is None or step["error_fraction"] < 1 for step in steps):
        return []
    found = {}
    for step in steps:
        for name, n in step["errors"].items():
            found[name] = found.get(name, 0) + n
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))


def step_at(steps, wanted, knee):
    """The step whose latencies are told: the lowest at or above the form's concurrency, else that of the knee, else the highest; None where
    it has none.
    """
    found = next((step for step in steps if wanted and step["concurrency"] >= wanted), None)
    found = found or next((step for step in steps if step["concurrency"] == knee), None) or (steps[-1] if steps else None)
    return found if found and found["latency_p50_seconds"] is not None else None


def _quantiles(step, name, language):
    """p50 201 ms, p95 228 ms; "" without any."""
    known = [(short, step.get(name % short)) for short in ("p50", "p95", "p99")]
    told = [(short, format_short_duration(value, language)) for short, value in known if value is not None]
    return _text(language, "comma").join(_text(language, "quantile", name=short, seconds=value) for short, value in told)


def _figure(value):
    return "?" if value is None else format_number(round(value, 2))
