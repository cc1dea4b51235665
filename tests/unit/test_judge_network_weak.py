# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging network tests that say too little: over at once, within the host, few requests, older than one that failed; errors as errors."""

from __future__ import annotations

import judging
import pytest
from test_judge_network import GB, REFUSED, RISING, attempt, found, is_silent, loaded, moved, step


def sized(seconds, size):
    return dict(attempt(), seconds=seconds, bytes=size)


@pytest.mark.parametrize(
    "attempts, status",
    [
        ([sized(0.1, 64 * 2**20)] * 3, "unknown"),
        ([sized(3, 1)], "unknown"),
        ([sized(0.99, 900 * 2**20), sized(1, 8 * 2**20 - 1)], "unknown"),
        ([sized(0.1, 64 * 2**20), sized(1, 8 * 2**20)], "pass"),
        # Many bytes take a fast line less than a second, and a slow one moves few in all its time.
        ([sized(0.9, 2**30)], "pass"),
        ([sized(10, 2**20)], "pass"),
        # One that failed took no time.
        ([sized(2, 2**30) | {"error": REFUSED}, sized(0.1, 2**20)], "unknown"),
    ],
)
def test_a_transfer_that_was_over_at_once_answers_nothing(attempts, status):
    finding = found(moved(attempts=attempts), "network.upload_ratio")
    assert finding["status"] == status and ("too little to tell" in finding.get("message", "")) == (status == "unknown")
    if status == "unknown":
        slow = found(moved(attempts=attempts, bytes_per_second=10), "network.upload_ratio")
        assert (
            slow["status"] == "unknown"
            and "take" not in slow["message"].partition("Uploads")[2]
            and "measure_network_upload_bytes" in slow["advice"]
        )
        chinese = found(moved(attempts=attempts), "network.upload_ratio", language="zh")
        assert "不足以推断" in chinese["message"] and "时间过短" in chinese["message"] and "调大" in chinese["advice"]


def test_a_download_of_all_that_the_form_asks_for_is_no_sample():
    whole = {"weights_bytes": 300 * 2**20}
    assert found(moved("download", form=whole, attempts=[sized(0.5, 300 * 2**20)]), "network.download_ratio")["status"] == "pass"
    assert found(moved("download", form=whole, attempts=[sized(0.5, 299 * 2**20)]), "network.download_ratio")["status"] == "unknown"


@pytest.mark.parametrize("address", ["127.0.0.1:80", "[::1]:443", "::1", "127.8.9.1", "[::ffff:127.0.0.1]:80", "10.9.0.1:8000"])
def test_a_host_that_talked_to_itself_says_nothing_of_the_network(address):
    document, inputs = moved(address=address)
    judging.measure(document, "link_benchmark", "links", address="10.9.0.1")
    finding = judging.finding(judging.judged(document, inputs), "network.upload_ratio")
    assert finding["status"] == "unknown" and "this host itself" in finding["message"] and "another host" in finding["advice"]
    assert "本机地址" in judging.finding(judging.judged(document, inputs, language="zh"), "network.upload_ratio")["message"]
    assert is_silent(
        moved("download", address=address if "10.9" not in address else "::1", alone_bytes_per_second=GB, hosts_at_once=4),
        "network.distribution_ratio",
    )


@pytest.mark.parametrize(
    "address, proxy", [("10.9.0.2:80", None), ("192.0.2.7:443", None), (None, None), ("nas", None), ("127.0.0.1:3128", {"endpoint": "p"})]
)
def test_another_host_and_a_proxy_are_no_host_itself(address, proxy):
    assert found(moved(address=address, proxy=proxy), "network.upload_ratio")["status"] == "pass"


@pytest.mark.parametrize("said, link, status", [(True, "10.9.0.1", "unknown"), (False, "10.9.0.7", "pass"), (None, "10.9.0.7", "unknown")])
def test_a_host_that_says_whose_address_it_was_is_believed(said, link, status):
    document, inputs = moved(address="10.9.0.7:8000", own_address=said)
    judging.measure(document, "link_benchmark", "links", address=link)
    assert judging.finding(judging.judged(document, inputs), "network.upload_ratio")["status"] == status


def test_a_service_may_be_asked_on_its_own_host_and_the_audits_own_server_not():
    service = found(loaded(RISING, address="127.0.0.1:8000"), "network.concurrency_ratio")
    assert service["status"] == "pass" and "within this host" in service["message"]
    assert found(loaded(RISING, address="127.0.0.1:8000", stand_in=True), "network.concurrency_ratio")["status"] == "unknown"
    assert found(loaded(RISING, address="192.0.2.7:8000", stand_in=True), "network.concurrency_ratio")["status"] == "pass"
    assert found(loaded(RISING, address="10.9.0.7:8000", stand_in=True, own_address=True), "network.concurrency_ratio")["status"] == "unknown"
    service = found(loaded(RISING, address="10.9.0.7:8000", own_address=True), "network.concurrency_ratio")
    assert service["status"] == "pass" and "within this host" in service["message"]


@pytest.mark.parametrize("language, word", [("en", "a later test failed"), ("zh", "之后的一次测试失败")])
def test_a_figure_that_is_older_than_a_failure_says_so(language, word):
    since = {"finished": "2026-11-29T12:30:00Z", "message": "refused"}
    for pair, check in ((moved(failed_since=since), "upload_ratio"), (loaded(RISING, failed_since=since), "concurrency_ratio")):
        assert word in found(pair, "network." + check, language=language)["message"]


@pytest.mark.parametrize(
    "requests, concurrency, status", [(1, 50, "unknown"), (49, 50, "unknown"), (50, 50, "pass"), (19, 10, "unknown"), (20, 10, "pass")]
)
def test_a_step_with_fewer_requests_than_clients_is_none(requests, concurrency, status):
    pair = loaded([step(concurrency, 0.1, requests=requests)], {"concurrency": concurrency})
    finding = found(pair, "network.concurrency_ratio")
    assert finding["status"] == status
    if status == "unknown":
        assert (
            "sent %d requests at %d at once" % (requests, concurrency) in finding["message"]
            and "measure_network_request_count" in finding["advice"]
        )
        assert "不作数" in found(pair, "network.concurrency_ratio", language="zh")["message"]
        assert is_silent(pair, "network.concurrency_within_latency") and is_silent(pair, "network.request_p99_seconds")


def test_a_step_with_few_requests_hides_none_with_many():
    pair = loaded([step(10, 0.1), step(32, 0.1, requests=20)])
    assert (
        found(pair, "network.concurrency_within_latency")["actual"] == 10
        and "20 requests at 32 at once" in found(pair, "network.concurrency_ratio")["message"]
    )
    assert found(loaded([step(10, 3), step(32, 0.1, requests=20)]), "network.concurrency_ratio")["status"] == "fail"
    # What was stopped because of errors says enough.
    assert found(loaded([step(32, None, {"refused": 12}, requests=12, stopped="errors")]), "network.concurrency_ratio")["status"] == "fail"


# Two late answers of twenty at 1, as a slow service gives them; 0.19 s is what chance leaves of their 95th percentile.
THIN = step(1, 0.228, requests=20, latency_p95_at_least_seconds=0.19)
HOLDING = [step(10, 0.202), step(50, 0.205, requests=500)]
STRICT = {"latency_seconds": 0.21, "concurrency": 40}


@pytest.mark.parametrize("language, words", [
    ("en", ("at 1 at once, by so few of 20 requests", "at 10, 50 at once", "contradict")), ("zh", ("1 并发时", "20 个请求", "10, 50 并发时达标", "相互矛盾"))])
def test_a_thin_step_that_misses_below_ones_that_hold_leaves_it_open(language, words):
    finding = found(loaded([THIN, *HOLDING], STRICT), "network.concurrency_ratio", language=language)
    assert finding["status"] == "unknown" and all(word in finding["message"] for word in words), finding["message"]
    assert "measure_network_request_duration_seconds" in finding["advice"]
    # Said once, and by the other check where the form names no concurrency.
    pair = loaded([THIN, *HOLDING], STRICT)
    assert is_silent(pair, "network.concurrency_within_latency")
    del pair[1]["workload"]["concurrency"]
    within = found(pair, "network.concurrency_within_latency", language=language)
    assert within["status"] == "unknown" and all(word in within["message"] for word in words)


def test_a_result_from_before_that_holds_only_quantiles_is_judged_by_its_median():
    old = step(1, 0.228, requests=20, latency_p50_seconds=0.2)
    assert found(loaded([old, *HOLDING], STRICT), "network.concurrency_ratio")["status"] == "unknown"
    slow = step(1, 0.228, requests=20, latency_p50_seconds=0.22)
    assert found(loaded([slow, *HOLDING], STRICT), "network.concurrency_ratio")["status"] == "fail"


@pytest.mark.parametrize("steps, status", [
    # Late beyond chance; nothing above holds; what is wanted holds below it; what is wanted is too slow whatever the thin step is.
    ([step(1, 0.228, latency_p95_at_least_seconds=0.22), *HOLDING], "fail"),
    ([THIN, step(10, 0.3), step(50, 0.9)], "fail"),
    ([step(40, 0.2), step(50, 0.228, latency_p95_at_least_seconds=0.19), step(100, 0.2)], "pass"),
    ([THIN, step(10, 0.202), step(40, 0.9)], "fail"),
    ([THIN, step(10, 0.202), step(50, 0.9)], "unknown"),
])
def test_a_thin_step_changes_nothing_where_the_others_tell(steps, status):
    assert found(loaded(steps, STRICT), "network.concurrency_ratio")["status"] == status


@pytest.mark.parametrize("language, below, told", [
    ("en", "at 10 requests at once, the lowest step that counts; the 5 of the form lie below", "The lowest step that counts, 10 at once, doesn't keep"),
    ("zh", "计入的最低一级（10 并发）延迟未达标；表单要求的 5 更低", "计入的最低一级（10 并发）延迟未达标")])
def test_nothing_is_said_of_a_step_that_does_not_count(language, below, told):
    steps = [step(1, 0.05, requests=15), step(10, 0.3)]
    finding = found(loaded(steps, {"latency_seconds": 0.1, "concurrency": 5}), "network.concurrency_ratio", language=language)
    assert finding["status"] == "unknown" and below in finding["message"]
    pair = loaded(steps, {"latency_seconds": 0.1, "concurrency": 5})
    assert is_silent(pair, "network.concurrency_within_latency")
    del pair[1]["workload"]["concurrency"]
    assert below.partition("; ")[0].partition("；")[0] in found(pair, "network.concurrency_within_latency", language=language)["message"]
    fails = found(loaded(steps, {"latency_seconds": 0.1, "concurrency": 32}), "network.concurrency_ratio", language=language)
    assert fails["status"] == "fail" and told in fails["message"] and "0 requests at once" not in fails["message"]


@pytest.mark.parametrize(
    "language, failed, wrong, advice",
    [
        ("en", "at 1 at once 33 % of the requests failed.", ("acceptable", "come within"), "load balancer"),
        ("zh", "1 并发时 33% 的请求失败。", ("可接受 ", "的响应在"), "负载均衡"),
    ],
)
def test_errors_are_no_slowness_also_without_the_base_figures(language, failed, wrong, advice):
    pair = loaded([step(1, 0.0004, {"http_5xx": 66})], {"latency_seconds": 0.5})
    pair[1]["workload"].pop("batch_size", None)
    finding = found(pair, "network.concurrency_ratio", language=language)
    told = finding["message"].partition("0×")[2]
    assert failed.replace(" ", "") in finding["message"].replace(" ", "") and not [word for word in wrong if word in told]
    assert advice in finding["advice"] and "Batch requests" not in finding["advice"] and "合批" not in finding["advice"]


@pytest.mark.parametrize(
    "language, words",
    [("en", "No upgrade is advised while the form lacks batch_size."), ("zh", "表单缺少 batch_size，因此不给出升级建议。")],
)
def test_a_slow_line_without_the_base_figures_is_no_unknown(language, words):
    pair = moved(bytes_per_second=1)
    pair[1]["workload"].pop("batch_size", None)
    finding = found(pair, "network.upload_ratio", language=language)
    assert finding["advice"].endswith(words) and "nknown" not in finding["advice"] and "< 0.0001×" in finding["message"]


# --- the first token of a stream --------------------------------------------------------------------------------------------------------


def streamed(concurrency, first, p95=1.5, **more):
    return step(concurrency, p95, time_to_first_token_p95_seconds=first, **more)


FIRST = "network.first_token_ratio"


@pytest.mark.parametrize("steps, form, value, status", [
    ([streamed(1, 0.1), streamed(32, 0.4), streamed(64, 2)], {"first_token_seconds": 0.5}, 0.4, "pass"),
    ([streamed(1, 0.1), streamed(32, 0.6)], {"first_token_seconds": 0.5}, 0.6, "fail"),
    ([streamed(1, 0.1), streamed(32, 0.6)], {"first_token_seconds": 0.5, "concurrency": None}, 0.1, "pass"),
    ([streamed(1, 0.1), streamed(10, 0.6)], {"first_token_seconds": 0.5}, None, "unknown"),
    ([step(32, 0.1)], {"first_token_seconds": 0.5}, None, "unknown"),
    ([streamed(1, 0.1), streamed(32, None)], {"first_token_seconds": 0.5}, None, "unknown"),
])
def test_the_first_token_against_the_form(steps, form, value, status):
    pair = loaded(steps, form)
    assert found(pair, FIRST)["status"] == status
    assert judging.judged(*pair)["metrics"].get("network.time_to_first_token_seconds") == value


def test_a_form_without_a_first_token_is_not_asked_and_one_with_it_needs_a_stream():
    pair = loaded([streamed(32, 0.4)])
    assert is_silent(pair, FIRST) and found(pair, "network.time_to_first_token_seconds")["actual"] == 0.4
    plain = loaded([step(32, 0.1)])
    assert is_silent(plain, FIRST) and is_silent(plain, "network.time_to_first_token_seconds")
    wanting = loaded([step(32, 0.1)], {"first_token_seconds": 0.5})
    assert "measure_network_request_streaming" in found(wanting, FIRST)["advice"] and "未请求流式应答" in found(wanting, FIRST, language="zh")["message"]


@pytest.mark.parametrize("language, words", [
    ("en", "at 32 at once 95 % of the streamed answers begin within 0.6 s, 0.5 s are acceptable".capitalize()),
    ("zh", "32 并发时 95% 的流式应答在 0.6 秒内给出首 token，可接受 0.5 秒")])
def test_what_is_said_of_a_late_first_token(language, words):
    assert words in found(loaded([streamed(32, 0.6)], {"first_token_seconds": 0.5}), FIRST, language=language)["message"]


def test_an_older_stream_still_tells_the_first_token():
    pair = loaded([streamed(32, 0.4)], {"first_token_seconds": 0.5})
    judging.measure(pair[0], "request_benchmark", "http://model/other", steps=[step(32, 0.1)])
    assert found(pair, FIRST)["status"] == "pass"
