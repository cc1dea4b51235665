# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Judging what transfer_benchmark and request_benchmark measured: speed against the form, failures, latency under load, time of day."""

from __future__ import annotations

import judging
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import metrics, workload

GB, MB, TIB = 10**9, 10**6, 2**40
REFUSED = {"kind": "refused", "message": "Connection refused"}
BUSY = {"kind": "http_5xx", "message": "HTTP 503 Service Unavailable"}


def attempt(error=None, retries=(), connect=0.0004):
    return {"connect_seconds": None if error else connect, "retries": list(retries), "error": error}


def bare(form=None, leans_on=("throughput", "latency")):
    """A host without network measurements that is asked for all of them."""
    document, inputs = judging.host()
    document["measurements"] = [entry for entry in document["measurements"] if not entry["module"].startswith(("transfer", "request"))]
    inputs["workload"].update({"leans_on": list(leans_on), **(form or {})})
    return document, inputs


def moved(direction="upload", form=None, **result):
    """A host that has one transfer test with three good attempts, as `result` changes it."""
    document, inputs = bare(form)
    attempts = result.pop("attempts", [attempt()] * 3)
    figures = {
        "direction": direction,
        "bytes_per_second": 1.1 * GB,
        "peak_bytes_per_second": 1.2 * GB,
        "attempts": attempts,
        "streams": 1,
        "attempts_failed": sum(1 for entry in attempts if entry["error"]),
        "retries_count": sum(len(entry["retries"]) for entry in attempts),
        "checksum": {"verified": True},
        "proxy": None,
        "storage": "http",
        "local_time": "2026-11-29T11:02:00+01:00",
    }
    judging.measure(document, "transfer_benchmark", "http://nas/x (%s)" % direction, **dict(figures, **result))
    return document, inputs


def step(concurrency, p95, errors=None, requests=200, **more):
    failed = sum((errors or {}).values())
    return {
        "concurrency": concurrency,
        "latency_p95_seconds": p95,
        "latency_p99_seconds": None if p95 is None else p95 * 2,
        "requests": requests,
        "errors": errors or {},
        "error_fraction": failed / requests,
        "stopped": None,
        "queue_grows": False,
        **more,
    }


def loaded(steps, form=None, **result):
    document, inputs = bare({"concurrency": 32, "latency_seconds": 2, **(form or {})})
    judging.measure(document, "request_benchmark", "http://model/v1", steps=steps, local_time="2026-11-29T11:02:00+01:00", **result)
    return document, inputs


def found(pair, check, **how):
    return judging.finding(judging.judged(*pair, **how), check)


def is_silent(pair, check):
    return check not in [finding["check"] for finding in judging.judged(*pair)["findings"]]


# --- speed against what the form allows -----------------------------------------------------------------------------------------------


def test_an_upload_is_the_data_set_in_the_hours_allowed():
    # 4 TiB in 24 h take 50.9 MB/s: by hand 4398046511104 / 86400 = 50903316.
    pair = moved(bytes_per_second=50903316 * 1.25)
    assert found(pair, "network.upload_ratio")["actual"] == pytest.approx(1.25, rel=1e-5)
    assert judging.judged(*pair)["metrics"]["network.upload_bytes_per_second"] == pytest.approx(63629145)


@pytest.mark.parametrize("share, status", [(0.99, "fail"), (1.01, "warn"), (1.24, "warn"), (1.26, "pass")])
def test_limits_of_an_upload(share, status):
    assert found(moved(bytes_per_second=share * 4 * TIB / 86400), "network.upload_ratio")["status"] == status


def test_a_download_is_the_weights_in_the_minutes_allowed_and_a_checkpoint_where_the_form_has_none():
    # 15 GiB in 60 min: 16106127360 / 3600 = 4473924 B/s.
    pair = moved("download", bytes_per_second=4473924)
    assert found(pair, "network.download_ratio")["actual"] == pytest.approx(1, rel=1e-5)
    del pair[1]["workload"]["weights_bytes"]
    assert found(pair, "network.download_ratio")["actual"] == pytest.approx(4473924 * 3600 / (105 * GB), rel=1e-5)


@pytest.mark.parametrize(
    "language, words",
    [
        ("en", "Uploads run at 38.1 MiB/s, so 4.00 TiB take 1 d 6 h where 1 d are allowed. Measured 2026-11-29 12:20 UTC."),
        ("zh", "上传 38.1 MiB/s，数据集 4.00 TiB 需 1 天 6 小时，允许 1 天。测于 2026-11-29 12:20 UTC。"),
    ],
)
def test_what_a_slow_upload_says(language, words):
    assert words in found(moved(bytes_per_second=40 * MB), "network.upload_ratio", language=language)["message"]


@pytest.mark.parametrize(
    "direction, gone, named",
    [
        ("upload", ["dataset_bytes"], "dataset_bytes"),
        ("upload", ["upload_hours_allowed"], "upload_hours_allowed"),
        ("download", ["weights_bytes", "checkpoint_bytes"], "weights_bytes"),
        ("download", ["download_minutes_allowed"], "download_minutes_allowed"),
    ],
)
def test_a_field_that_the_form_lacks_is_unknown(direction, gone, named):
    pair = moved(direction)
    for field in gone:
        del pair[1]["workload"][field]
    finding = found(pair, "network.%s_ratio" % direction)
    assert finding["status"] == "unknown" and named in finding["message"]


@pytest.mark.parametrize("speed", [None, 0, 0.5, 5e-324, -1, float("nan"), float("inf"), "fast", True, [], 10**400])
def test_no_usable_speed_is_unknown(speed):
    assert found(moved(bytes_per_second=speed), "network.upload_ratio")["status"] == "unknown"


def test_each_direction_has_its_own_test():
    entry = judging.judged(*moved("upload"))
    assert judging.status(entry, "network.upload_ratio") == "pass" and judging.status(entry, "network.download_ratio") == "unknown"


def test_a_test_that_failed_as_a_whole_is_of_its_direction_only():
    document, inputs = moved("download")
    broken = judging.measure(document, "transfer_benchmark", "http://nas/x (upload)")
    del broken["result"]
    broken["error"] = "no room for uploads"
    entry = judging.judged(document, inputs)
    assert judging.status(entry, "network.download_ratio") == "pass"
    assert "no room for uploads" in judging.finding(entry, "network.upload_ratio")["message"]


def test_one_far_stream_is_told_of_its_window():
    # 50.9 MB/s over 80 ms: 4.07 MB under way, more than usual buffers hold.
    far = moved(bytes_per_second=40 * MB, attempts=[attempt(connect=0.3), attempt(connect=0.08), attempt(connect=0.09)])
    finding = found(far, "network.upload_ratio")
    assert "TCP window of 3.88 MiB" in finding["message"] and "tcp_rmem" in finding["advice"]
    for change in ({"streams": 8}, {"proxy": {"endpoint": "http://proxy"}}, {"attempts": [attempt(connect=0.004)] * 3}):
        assert "tcp_rmem" not in found(moved(bytes_per_second=40 * MB, **change), "network.upload_ratio").get("advice", "")


@pytest.mark.parametrize("language, word", [("en", "own peer"), ("zh", "审计自带的服务")])
def test_the_audits_own_peer_is_no_real_endpoint(language, word):
    finding = found(moved(storage="peer"), "network.upload_ratio", language=language)
    assert finding["status"] == "pass" and word in finding["message"]
    assert "message" not in found(moved(), "network.upload_ratio")


# --- failures -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attempts, value, status",
    [
        ([attempt()] * 3, 0, "pass"),
        ([attempt(retries=[BUSY]), attempt(), attempt()], 0.25, "warn"),
        ([attempt(REFUSED), attempt(), attempt()], 1 / 3, "warn"),
        ([attempt(REFUSED, [REFUSED]), attempt(retries=[BUSY]), attempt()], 0.6, "fail"),
        ([attempt(REFUSED, [REFUSED, REFUSED])] * 3, 1, "fail"),
    ],
)
def test_failed_tries_count_retries_too(attempts, value, status):
    finding = found(moved(attempts=attempts), "network.transfer_failures")
    assert (finding["actual"], finding["status"]) == (pytest.approx(value), status)


@pytest.mark.parametrize(
    "language, words, advice",
    [
        ("en", "Uploads: 9 / 9 tries failed; uploads: 9 x connection refused (Connection refused)", "firewall"),
        ("zh", "上传：失败 9 / 9 次；上传：9 次连接被拒绝（Connection refused）", "防火墙"),
    ],
)
def test_a_transfer_of_which_nothing_got_through_fails_with_its_reason(language, words, advice):
    pair = moved(attempts=[attempt(REFUSED, [REFUSED, REFUSED])] * 3, bytes_per_second=None)
    entry = judging.judged(*pair, language=language)
    finding = judging.finding(entry, "network.transfer_failures")
    assert finding["status"] == "fail" and words in finding["message"] and advice in finding["advice"]
    ratio = judging.finding(entry, "network.upload_ratio")
    assert ratio["status"] == "unknown" and "Connection refused" in ratio["message"] and ratio["advice"]
    assert entry["checklist"]["network"] == "fail" and entry["verdict"] == "not_ready"


@pytest.mark.parametrize("kind", ["refused", "protocol"])
@pytest.mark.parametrize(
    "language, stored, earlier, advice",
    [
        ("en", "the target was http://nas/x; the test is stored as measurements/",
         "an earlier upload to http://nas/right got through at 1.00 GiB/s", "delete the file of this test"),
        ("zh", "目标为 http://nas/x；该测试保存为 measurements/",
         "此前到 http://nas/right 的上传成功，速率 1.00 GiB/s", "删除该测试的文件"),
    ],
)
def test_a_mistyped_target_is_told_with_its_file_and_what_it_hides(kind, language, stored, earlier, advice):
    document, inputs = moved(bytes_per_second=2.0**30)
    good = document["measurements"].pop()
    good.update(target="http://nas/right (upload)", finished="2026-11-29T10:00:00Z")
    good["result"]["storage"] = "peer"
    failure = {"kind": kind, "message": "m"}
    document, inputs = moved(attempts=[attempt(failure)] * 3, bytes_per_second=None)
    alone = judging.finding(judging.judged(document, inputs, language=language), "network.transfer_failures")
    document["measurements"].append(good)
    finding = judging.finding(judging.judged(document, inputs, language=language), "network.transfer_failures")
    moment = document["measurements"][-2]["finished"].replace("-", "").replace(":", "")
    name = "%s/transfer_benchmark-%s-*.json" % (document["name"], moment)
    assert finding["status"] == "fail" and stored + name in finding["message"] and earlier in finding["message"], finding["message"]
    assert finding["message"].endswith(" UTC." if language == "en" else " UTC。"), finding["message"]
    assert advice in finding["advice"] and name in alone["message"] and earlier not in alone["message"]


def test_a_target_of_which_some_attempts_got_through_is_not_mistyped():
    finding = found(moved(attempts=[attempt(REFUSED)] * 2 + [attempt()]), "network.transfer_failures")
    assert finding["status"] == "fail" and "stored as" not in finding["message"] and "mistyped" not in finding["advice"]


@pytest.mark.parametrize(
    "kind, word",
    [
        ("refused", "nobody listens"),
        ("timeout", "MTU"),
        ("stalled", "MTU"),
        ("unreachable", "routes"),
        ("dns", "resolv.conf"),
        ("tls", "ca_path"),
        ("proxy", "no_proxy"),
        ("http_4xx", "presigned"),
        ("http_5xx", "load balancer"),
        ("reset", "break off"),
        ("short_body", "break off"),
        ("checksum", "offload"),
    ],
)
def test_each_kind_of_failure_has_its_own_advice(kind, word):
    failure = {"kind": kind, "message": "m"}
    assert word in found(moved(attempts=[attempt(failure)] * 3), "network.transfer_failures")["advice"]


def test_the_worse_direction_counts():
    document, inputs = moved("download", attempts=[attempt(BUSY), attempt(), attempt()])
    good = moved("upload")[0]["measurements"][-1]
    document["measurements"].append(good)
    finding = judging.finding(judging.judged(document, inputs), "network.transfer_failures")
    assert finding["actual"] == pytest.approx(1 / 3, rel=1e-5) and "Downloads" in finding["message"] and "Uploads" not in finding["message"]


def test_a_wrong_checksum_is_a_failure_even_where_no_attempt_says_so():
    finding = found(moved(checksum={"verified": False, "how": "ETag"}), "network.transfer_failures")
    assert finding["status"] == "warn" and "wrong checksum (ETag)" in finding["message"]


@pytest.mark.parametrize("verified, status", [(True, "pass"), (None, "warn"), ("yes", "warn")])
def test_a_checksum_that_was_given_and_not_compared_is_a_failure(verified, status):
    document, inputs = moved("download", checksum={"verified": verified, "how": "this host can't compute sha256"})
    document["measurements"][-1]["options"] = {"checksum": "sha256:" + "0" * 64}
    assert found((document, inputs), "network.transfer_failures")["status"] == status
    # None was given: there was nothing to compare.
    document["measurements"][-1]["options"] = {"checksum": None}
    assert found((document, inputs), "network.transfer_failures")["status"] == "pass"


@pytest.mark.parametrize("change", [{"attempts_failed": -1}, {"attempts_failed": "many"}, {"retries_count": None}, {"attempts_asked": 0}])
def test_a_test_that_counts_nothing_says_nothing_of_failures(change):
    pair = moved(**{"attempts": [], "attempts_asked": 3, "attempts_failed": 0, "retries_count": 0, **change})
    assert is_silent(pair, "network.transfer_failures") and not is_silent(moved(attempts=[], attempts_asked=3), "network.transfer_failures")


def test_several_hosts_at_once_inform():
    pair = moved("download", bytes_per_second=GB // 4, alone_bytes_per_second=GB, hosts_at_once=4)
    assert (found(pair, "network.distribution_ratio")["status"], found(pair, "network.distribution_ratio")["actual"]) == ("pass", 0.25)
    for change in ({"hosts_at_once": 1}, {"alone_bytes_per_second": None}, {"alone_bytes_per_second": 1e-300}, {"bytes_per_second": None}):
        figures = {"bytes_per_second": GB, "alone_bytes_per_second": GB, "hosts_at_once": 4, **change}
        assert is_silent(moved("download", **figures), "network.distribution_ratio")


# --- requests -------------------------------------------------------------------------------------------------------------------------

RISING = [step(1, 0.1), step(10, 0.5), step(32, 1.9), step(50, 2.5), step(100, 9)]


@pytest.mark.parametrize(
    "steps, concurrency, value, status",
    [
        (RISING, 32, 1, "pass"),
        (RISING, 30, 32 / 30, "pass"),
        (RISING, 50, 0.64, "fail"),
        (RISING, 100, 0.32, "fail"),
        # Between the last that holds and the first that doesn't, or above all that was tried: nobody knows.
        (RISING, 40, None, "unknown"),
        (RISING[:3], 33, None, "unknown"),
        ([step(64, 3)], 32, None, "unknown"),
        ([step(1, 3)], 32, 0, "fail"),
        # Chance above a step that doesn't hold is no plan.
        ([step(1, 0.1), step(10, 3), step(32, 0.2)], 32, 1 / 32, "fail"),
        (RISING[::-1], 32, 1, "pass"),
    ],
)
def test_concurrency_within_the_latency(steps, concurrency, value, status):
    finding = found(loaded(steps, {"concurrency": concurrency}), "network.concurrency_ratio")
    assert finding["status"] == status and finding.get("actual") == (None if value is None else pytest.approx(value, rel=1e-5))


@pytest.mark.parametrize(
    "bad",
    [
        step(32, 0.1, {"timeout": 3}),
        step(32, 0.1, stopped="errors"),
        step(32, 0.1, stopped="queue"),
        step(32, 0.1, queue_grows=True),
        {"concurrency": 32, "latency_p95_seconds": 0.1, "requests": 100, "errors": {"reset": 2}},
    ],
)
def test_a_step_that_loses_requests_holds_no_latency(bad):
    pair = loaded([step(10, 0.5), bad])
    assert found(pair, "network.concurrency_within_latency")["actual"] == 10
    assert found(pair, "network.concurrency_ratio")["status"] == "fail"


def test_one_per_cent_of_failed_requests_is_still_within():
    assert found(loaded([step(32, 0.1, {"timeout": 2})]), "network.concurrency_ratio")["status"] == "pass"


def test_requests_that_fail_are_told_and_what_to_do():
    pair = loaded([step(10, 0.5), step(32, 1.9, {"reset": 6})], notes=["32 at once: 6 x reset: closed without an answer"])
    finding = found(pair, "network.request_error_fraction")
    assert (finding["status"], finding["actual"]) == ("warn", 0.03)
    assert "6 x connection broken off (closed without an answer)" in finding["message"]
    assert "limits of connections" in found(pair, "network.concurrency_ratio")["advice"]
    refused = loaded([step(1, None, {"refused": 200}, stopped="errors")])
    assert found(refused, "network.request_error_fraction")["status"] == "fail"
    assert "nobody listens" in found(refused, "network.concurrency_ratio")["advice"]


def test_a_step_that_sent_nothing_was_not_tried():
    nothing = step(32, None, requests=1) | {"requests": 0, "error_fraction": None, "stopped": "bytes"}
    pair = loaded([step(10, 0.5), nothing])
    assert found(pair, "network.concurrency_within_latency")["actual"] == 10
    assert "up to 10 requests" in found(pair, "network.concurrency_ratio")["message"]


def test_overload_beyond_the_form_is_no_failure():
    pair = loaded([*RISING[:3], step(100, 9, {"http_5xx": 150})])
    assert found(pair, "network.request_error_fraction")["status"] == "pass"


@pytest.mark.parametrize("concurrency, value", [(1, 0.2), (2, 1.0), (32, 3.8), (100, 18)])
def test_p99_is_of_the_step_at_or_above_the_target(concurrency, value):
    assert found(loaded(RISING, {"concurrency": concurrency}), "network.request_p99_seconds")["actual"] == value


def test_p99_that_was_not_measured():
    assert found(loaded(RISING, {"concurrency": 101}), "network.request_p99_seconds")["status"] == "unknown"
    assert found(loaded([step(32, None)]), "network.request_p99_seconds")["status"] == "unknown"
    pair = loaded(RISING)
    del pair[1]["workload"]["concurrency"]
    assert is_silent(pair, "network.request_p99_seconds") and found(pair, "network.concurrency_ratio")["status"] == "unknown"


def test_the_tests_own_latency_serves_where_the_form_has_none():
    pair = loaded(RISING, latency_slo_seconds=0.5)
    del pair[1]["workload"]["latency_seconds"]
    assert found(pair, "network.concurrency_within_latency")["actual"] == 10
    assert found(pair, "network.concurrency_ratio")["status"] == "unknown"


@pytest.mark.parametrize(
    "steps",
    [
        None,
        [],
        "x",
        [None],
        [{}],
        [{"concurrency": 0, "latency_p95_seconds": 1}],
        [{"concurrency": -5}],
        [{"concurrency": 32}],
        [{"concurrency": 32, "latency_p95_seconds": float("nan")}],
        [{"concurrency": True, "latency_p95_seconds": 1}],
    ],
)
def test_steps_that_tell_nothing_are_unknown(steps):
    assert found(loaded(steps), "network.concurrency_ratio")["status"] == "unknown"


@pytest.mark.parametrize("check", ["network.concurrency_ratio", "network.concurrency_within_latency", "network.request_p99_seconds"])
def test_batch_inference_has_no_latency_check(check):
    pair = loaded([step(1, 30)], {"kind": "inference", "mode": "batch"})
    assert found(pair, check, name="inference")["status"] == "not_applicable"
    pair[1]["workload"]["mode"] = "online"
    assert found(pair, check, name="inference")["status"] != "not_applicable"


# --- which tests answer ---------------------------------------------------------------------------------------------------------------

ASKED = {
    ("training", None): {"upload", "download"},
    ("finetuning", None): {"download"},
    ("inference", "online"): {"concurrency"},
    ("inference", "batch"): {"download"},
    ("rendering", None): {"upload"},
    ("transcoding", None): {"upload", "download"},
}


@pytest.mark.parametrize("kind, mode", sorted(ASKED, key=str))
def test_what_was_not_run_is_unknown_and_never_passes(kind, mode):
    document, inputs = bare({"kind": kind, "mode": mode, "concurrency": 32, "latency_seconds": 2})
    del inputs["workload"]["leans_on"]
    entry = judging.judged(document, inputs, kind)
    open_checks = {finding["check"] for finding in entry["findings"] if finding["status"] == "unknown" and finding.get("answers")}
    assert {name.partition(".")[2].rpartition("_")[0] for name in open_checks if name.startswith("network.")} == ASKED[kind, mode]
    assert entry["checklist"]["network"] == "unknown" and "network" in entry["unanswered"]


@pytest.mark.parametrize("kind, mode", sorted(ASKED, key=str))
def test_all_three_tests_answer_the_item_for_every_kind(kind, mode):
    document, inputs = loaded(RISING, {"kind": kind, "mode": mode})
    del inputs["workload"]["leans_on"]
    for direction in ("upload", "download"):
        document["measurements"].append(moved(direction)[0]["measurements"][-1])
    assert judging.judged(document, inputs, kind)["checklist"]["network"] == "pass"


# --- time of day ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hours, moment, status",
    [
        (None, "08:00", "pass"),
        (None, "19:59", "pass"),
        (None, "20:00", "warn"),
        (None, "07:59", "warn"),
        (None, "03:12", "warn"),
        ("22:00-06:00", "23:30", "pass"),
        ("22:00-06:00", "05:59", "pass"),
        ("22:00-06:00", "06:00", "warn"),
        ("22:00-06:00", "12:00", "warn"),
        ("9-17", "09:00", "pass"),
        ("9-17", "17:00", "warn"),
        ("00:00-24:00", "23:59", "pass"),
        ("8:30-8:30", "03:00", "pass"),
    ],
)
def test_tests_outside_of_business_hours_are_told(hours, moment, status):
    pair = moved(form={"busy_hours": hours} if hours else {}, local_time="2026-11-29T%s:41+01:00" % moment)
    finding = found(pair, "network.tests_outside_busy_hours")
    assert (finding["status"], finding["actual"]) == (status, int(status == "warn"))
    assert (
        status == "pass"
        or "The test of uploads began at %s; business hours are %s." % (moment, hours or "08:00-20:00") in finding["message"]
    )


def test_the_hosts_own_clock_counts_and_not_the_moment_in_utc():
    # 22:30 in UTC is half past seven in the morning nine hours to the east.
    assert found(moved(local_time="2026-11-30T07:30:00+09:00"), "network.tests_outside_busy_hours")["status"] == "warn"
    assert found(moved(local_time="2026-11-30T08:30:00+09:00"), "network.tests_outside_busy_hours")["status"] == "pass"


@pytest.mark.parametrize("moment", [None, "", 7, "noon", "2026-11-30", "2026-11-30T25:00:00", "2026-11-30T12:61:00", ["x"]])
def test_a_test_without_its_local_time_says_nothing_of_the_hour(moment):
    assert is_silent(moved(local_time=moment), "network.tests_outside_busy_hours")


def test_one_test_without_its_local_time_leaves_the_hour_unknown():
    document, inputs = moved("upload")
    document["measurements"].append(moved("download", local_time=None)[0]["measurements"][-1])
    assert judging.status(judging.judged(document, inputs), "network.tests_outside_busy_hours") == "unknown"


@pytest.mark.parametrize(
    "value, right",
    [
        ("08:00-20:00", True),
        (" 8 - 20 ", True),
        ("8:30\u201317", True),
        ("00:00-24:00", True),
        ("24:00-8:00", False),
        ("8", False),
        ("8-25", False),
        ("08:60-20:00", False),
        ("morning", False),
        (8, False),
        (True, False),
        ({"a": 1}, False),
        ("x" * 99, False),
    ],
)
def test_busy_hours_are_two_times_of_day(value, right):
    form, problems = workload.normalise({"busy_hours": value})
    assert bool(form) is right and bool(problems) is not right
    assert right or "hours of a day such as" in problems[0]


# --- whatever a result holds ----------------------------------------------------------------------------------------------------------


def test_every_network_metric_has_a_value_in_some_host_and_is_absent_in_another():
    document, inputs = loaded(RISING)
    judging.measure(document, "transfer_benchmark", "x", **moved("upload")[0]["measurements"][-1]["result"])
    download = dict(moved("download")[0]["measurements"][-1]["result"], hosts_at_once=2, alone_bytes_per_second=GB)
    judging.measure(document, "transfer_benchmark", "y", **download)
    full = metrics.derive(document, inputs, judging.NOW)["values"]
    empty = metrics.derive(*bare(), judging.NOW)["values"]
    names = {
        name
        for name in metrics.DEFINITIONS
        if name.startswith(
            ("network.upload", "network.download", "network.transfer", "network.re", "network.co", "network.tests", "network.distribution")
        )
    } - {"network.counter_growth"}
    assert len(names) >= 11 and names <= set(full) and not names & set(empty)
