# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Waiting for a job through lost connections, what is announced, and the file that a measurement is kept in."""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import re
import subprocess
import types

import pytest
import yaml
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_jobs, probe_outcome
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import (
    complaints,
    job_look,
    measurement_store,
    measuring,
    measuring_texts,
    option_sizes,
    run_directory,
    storage_jobs,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]

NOW = datetime.datetime(2026, 11, 30, 12, 0, 30, tzinfo=datetime.timezone.utc)
ANSWER = {"machine_id": "m1", "gpu_uuids": ["GPU-b", "GPU-a"], "measurement": {"read_bytes_per_second": 5}}
FACTS = {"platform": {"machine_id": "m1"}, "gpu": {"gpus": [{"uuid": "GPU-a"}, {"uuid": "GPU-b"}]}}


class Clock:
    """Time that only passes by sleeping."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds > 0
        self.now += seconds


def waited(answers, limit=60, grace=100):
    """(result, clock, lines said) of a job whose polls give these in turn, the last one again and again."""
    clock, said, left = Clock(), [], list(answers)

    def poll():
        answer = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return measuring.wait(poll, limit, grace, clock, clock.sleep, lambda elapsed, lost: said.append((elapsed, lost))), clock, said


def test_a_job_is_waited_for():
    result, clock, _said = waited([None, None, {"finished": 1}])
    assert result == {"finished": 1} and clock.now == 2


def test_lost_connections_are_ridden_out_and_told():
    result, clock, said = waited([None] + [measuring.Lost("no route")] * 5 + [{"finished": 1}])
    assert result == {"finished": 1} and clock.now < 60
    assert said[0][1] == "no route"


def test_a_long_job_is_asked_seldom_and_told_now_and_then():
    asked = [None] * 60 + [{"finished": 1}]
    _result, clock, said = waited(asked, limit=10000)
    assert clock.now > 300 and 5 < len(said) < clock.now / 25 and all(lost is None for _elapsed, lost in said)


def test_a_host_that_stays_away_is_given_up_and_its_job_may_be_fetched_later():
    with pytest.raises(measuring.JobError, match="out of reach.*no route.*taken over") as caught:
        waited([None, measuring.Lost("no route")])
    assert caught.value.kept


def test_a_job_without_an_end_is_given_up():
    with pytest.raises(measuring.JobError, match="within 60 s") as caught:
        waited([None])
    assert not caught.value.kept


def test_what_a_job_says_it_will_do_is_announced():
    plan = measuring.plan_of({"plan": {"seconds": 240, "bytes_written": 16 * 2**30, "notes": ["a quick look"]}})
    line = measuring.announcement("gpu-01", "storage_benchmark", "/data", plan)
    assert line == "gpu-01: storage_benchmark in /data: at most 4 min, writes up to 16.0 GiB; a quick look"


def test_what_a_job_says_it_will_do_is_announced_in_chinese():
    plan = measuring.plan_of({"plan": {"seconds": 90, "bytes_read": 2**30, "notes": ["ends after 30 iterations", "a tool's own words"]}})
    line = measuring.announcement("gpu-01", "storage_benchmark", "/data", plan, "zh")
    assert line == "gpu-01：storage_benchmark（/data）：最多 90 秒，最多读取 1.00 GiB；30 次迭代后结束；a tool's own words"
    assert measuring.announcement("gpu-01", "workload_probe", "python3", plan, "en").startswith("gpu-01: workload_probe of python3: at most 90 s")
    for language, shown in (("zh", "gpu-01：transfer_benchmark（http://nas/x 上传）：最多"), ("en", "gpu-01: transfer_benchmark of http://nas/x (upload): ")):
        assert measuring.announcement("gpu-01", "transfer_benchmark", "http://nas/x (upload)", plan, language).startswith(shown)


def test_a_job_is_looked_for_by_the_name_that_its_process_carries(tmp_path):
    def look(jid, folder=str(tmp_path)):
        # The shell alone, as where /proc shows nothing else: a test's own processes carry no such word.
        return job_look.seen(subprocess.run(["sh", "-c", job_look.script(jid, folder)], stdout=subprocess.PIPE, text=True, check=True).stdout)
    with subprocess.Popen(["sh", "-c", "read line", "wrapper", "j5501234", "60"], stdin=subprocess.PIPE) as wrapper:
        assert look("j5501234.77")["gone"] is False and look("j550123.77")["gone"] is True
        wrapper.kill()
    assert look("j5501234.77")["gone"] is True and not look("j5501234.77")["unwritten"]
    (tmp_path / "j5501234.77.tmp").touch()
    found = look("j5501234.77")
    assert found["unwritten"] and found["free_bytes"] is not None and "found no room in /d on the host" in job_look.why(found, "/d")
    subprocess.run(["sh", "-c", job_look.removal("j5501234.77", str(tmp_path))], check=True)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("output", [None, "", "sh: cat: not found", "alive\nx 1 2 3 4% /\ngone"])
def test_a_look_that_tells_nothing_ends_no_job(output):
    assert job_look.seen(output)["gone"] is False


@pytest.mark.parametrize("jid", ["j1; rm -rf /.5", "", "1.2", "j1", "j1.2\n"])
def test_only_a_job_of_ansibles_is_looked_for(jid):
    assert job_look.script(jid, "/d") is None and job_look.removal(jid, "/d") is None


def test_a_folder_is_no_part_of_the_shells_words():
    assert job_look.removal("j1.2", "~/a b;c") == "rm -f ~'/a b;c'/j1.2.tmp" and job_look.removal("j1.2", "/x") == "rm -f /x/j1.2.tmp"


@pytest.mark.parametrize("found", [{"unwritten": True, "free_bytes": 0}, {"unwritten": True, "free_bytes": None}, {"unwritten": False}])
def test_why_a_job_gave_nothing_is_said_in_chinese(found):
    for sentence in ("the job gives no result: %s", "the host knows nothing of the job any more: %s"):
        said = complaints.say(sentence % job_look.why(found, "~/.ansible_async"), "zh")
        assert re.search("[\u4e00-\u9fff]", said.partition("：")[2])
        assert not re.search("[a-z]{3} [a-z]{3}", said)
    assert re.search("无法读取其应答：x$", complaints.say(str(measuring.unreadable("x")), "zh"))


def test_a_place_for_results_is_tried_and_left_as_it_was(tmp_path):
    if os.geteuid() != 0:
        tmp_path.chmod(0o500)
        with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
            measuring.try_keeping(str(tmp_path), "h", "m", {"path": "/d"}, True)
        tmp_path.chmod(0o700)
    measuring.try_keeping(str(tmp_path / "a" / "b"), "h", "m", {"path": "/d"}, True)
    assert not any(tmp_path.iterdir())
    measuring.try_keeping(str(tmp_path / "a" / "b"), "h", "m", {"path": "/d"})
    folder = tmp_path / "a" / "b" / "measurements" / "h"
    assert folder.is_dir() and not any(folder.iterdir())
    (tmp_path / "file").write_text("")
    for checking in (True, False):
        with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
            measuring.try_keeping(str(tmp_path / "file"), "h", "m", {"path": "/d"}, checking)


@pytest.mark.parametrize("plan", [None, {}, {"seconds": "long"}, {"seconds": True}, {"seconds": -1}])
def test_nothing_without_an_end_is_started(plan):
    with pytest.raises(ValueError, match="plan.seconds"):
        measuring.plan_of({"plan": plan})


def test_the_watchdog_leaves_a_module_time_to_end_by_itself():
    assert measuring.time_limit(10) > 10 + 60 and measuring.time_limit(7200) > 7200 * 1.2


def test_secrets_of_a_command_never_reach_the_file():
    arguments = {"argv": ["/opt/venv/bin/python", "train.py", "--token=hunter2"], "chdir": "/w",
                 "environment": {"HF_TOKEN": "hunter2", "A": 1}}
    document = measuring.document("h", "workload_probe", arguments, ANSWER, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    assert "hunter2" not in json.dumps(document)
    assert document["options"] == {"argv": {"program": "python", "arguments": 2}, "environment": ["A", "HF_TOKEN"], "chdir": "/w"}
    assert document["target"] == "python train.py (/w)"


@pytest.mark.parametrize("argv, chdir, target", [
    (["python3", "train.py", "--token=x"], "/srv/a", "python3 train.py (/srv/a)"), (["/opt/v/bin/python3", "/srv/eval.py"], "/", "python3 /srv/eval.py"),
    (["python3", "-u", "-m", "pkg.train", "--lr", "1"], None, "python3 -m pkg.train"),
    (["torchrun", "--nproc_per_node=gpu", "train.py"], "/w/", "torchrun train.py (/w)"),
    (["python3", "-m", "torch.distributed.run", "train.py"], "/", "python3 -m torch.distributed.run train.py"),
    (["/srv/run.sh", "hunter2"], "/", "run.sh"), (["python3", "-c", "import hunter2", "x.py"], "/", "python3"),
    # Neither an option's value, nor another program's -m, nor a sentence.
    (["mysql", "-m", "hunter2"], "/", "mysql"), (["x", "--password", "hunter2.py"], "/", "x"), (["x", "--key=hunter2.py"], "/", "x"),
    (["x", "hunter2", "a b.py"], "/", "x"), (["python3"], None, "python3"), ([], "/", None), ("python3", "/w", "python3 (/w)")])
def test_a_probe_is_named_by_program_script_and_folder(argv, chdir, target):
    assert measuring.target_of({"argv": argv, "chdir": chdir}) == target


def probe(target, moment, outcome="completed", **more):
    result = {"outcome": outcome, "error": "argv: the command x isn't there" if outcome == "not_started" else None, "notes": []}
    return dict({"module": "workload_probe", "target": target, "machine_id": "m1", "gpu_uuids": [], "finished": "2026-11-30T%sZ" % moment,
                 "result": result}, **more)


def test_a_command_that_never_started_hides_no_result():
    good, wrong = probe("python3 a.py", "10:00:00"), probe("python3 a.py", "11:00:00", "not_started")
    (current,), stale = measurement_store.select([good, wrong], FACTS, NOW, 86400)
    assert current["result"]["outcome"] == "completed" and not stale
    assert current["result"]["notes"] == ["a later measurement (2026-11-30T11:00:00Z) failed: argv: the command x isn't there"]
    assert measurement_store.select([wrong], FACTS, NOW, 86400)[0] == [wrong]
    # One that ran and failed is the newest answer.
    assert measurement_store.select([good, probe("python3 a.py", "11:00:00", "failed")], FACTS, NOW, 86400)[0][0]["result"]["outcome"] == "failed"


def test_two_scripts_of_one_program_are_two_measurements_and_the_old_form_is_read():
    taken = [probe("python3 a.py (/w)", "10:00:00"), probe("python3 b.py (/w)", "11:00:00"), probe("python3", "09:00:00")]
    current, _stale = measurement_store.select(taken, FACTS, NOW, 86400)
    assert sorted(entry["target"] for entry in current) == ["python3", "python3 a.py (/w)", "python3 b.py (/w)"]


@pytest.mark.parametrize("argv", ["train.py --token=hunter2", ["train.py --token=hunter2"],
                                  ["train.py=hunter2", "python"], "train.py,hunter2"])
def test_a_command_written_in_another_way_is_as_secret(argv):
    document = measuring.document("h", "workload_probe", {"argv": argv}, ANSWER, "2026-11-30T12:00:00Z", "2026-11-30T12:01:00Z")
    assert "hunter2" not in json.dumps(document) and document["target"] == "train.py"


@pytest.mark.parametrize("ahead, reason", [(-60, None), (1800, None), (7200, "future"), (10 ** 9, "future")])
def test_a_measurement_from_the_future_does_not_count_and_hides_none(ahead, reason):
    now = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.timezone.utc)
    facts = {"platform": {"machine_id": "m"}}

    def taken(seconds):
        moment = (now + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {"module": "storage_benchmark", "target": "/d", "machine_id": "m", "finished": moment}
    current, stale = measurement_store.select([taken(ahead)], facts, now, 86400)
    assert [entry["reason"] for entry in stale] == ([reason] if reason else []) and len(current) == (0 if reason else 1)
    current, _stale = measurement_store.select([taken(ahead), taken(-3600)], facts, now, 86400)
    assert current == [taken(-3600) if reason else taken(ahead)]


def test_a_result_is_kept_where_the_audit_finds_it(tmp_path):
    document = measuring.document("h/1", "storage_benchmark", {"path": "/data"}, ANSWER, "2026-11-30T12:00:00Z", "2026-11-30T12:00:30Z")
    path = measuring.store(str(tmp_path), document)
    assert os.path.basename(path).startswith("storage_benchmark-20261130T120030Z-")
    found, broken = measurement_store.read_all(str(tmp_path), "h/1")
    assert (found, broken) == ([document], [])
    current, stale = measurement_store.select(found, FACTS, NOW, 60)
    assert current[0]["result"] == {"read_bytes_per_second": 5} and current[0]["gpu_uuids"] == ["GPU-a", "GPU-b"] and not stale


def test_a_failure_is_kept_with_the_machine_that_was_seen_before(tmp_path):
    failure = {"failed": True, "msg": "fio: not found"}
    document = measuring.document(
        "h", "storage_benchmark", {"path": "/d"}, failure, "2026-11-30T12:00:00Z", "2026-11-30T12:00:30Z", {"machine_id": "m1"}
    )
    assert document["error"] == "fio: not found" and "result" not in document
    assert measurement_store.select([document], FACTS, NOW, 60)[0] == [document]


def test_an_answer_without_a_measurement_is_a_failure():
    assert "no measurement" in measuring.document("h", "m", {}, {"measurement": [1]}, "s", "f")["error"]


def test_a_job_fetched_late_keeps_its_own_time():
    answer = dict(ANSWER, finished_at="2026-11-29T00:00:00Z", started="nonsense")
    document = measuring.document("h", "m", {}, answer, "2026-11-28T23:00:00Z", "2026-11-30T12:00:00Z")
    assert (document["started"], document["finished"]) == ("2026-11-28T23:00:00Z", "2026-11-29T00:00:00Z")


def test_a_running_job_is_remembered_and_forgotten(tmp_path):
    arguments, note = {"path": "/data", "size_bytes": 5}, {"jid": "j1.2", "started": "2026-11-30T12:00:00Z", "seconds": 60}
    assert measuring.pending(str(tmp_path), "h", "storage_benchmark", arguments) is None
    measuring.remember(str(tmp_path), "h", "storage_benchmark", arguments, note)
    found = measuring.pending(str(tmp_path), "h", "storage_benchmark", arguments)
    assert found["jid"] == "j1.2" and measuring.same_request(found, arguments)
    assert not measuring.same_request(found, dict(arguments, size_bytes=6))
    assert measurement_store.read_all(str(tmp_path), "h") == ([], [])
    measuring.forget(str(tmp_path), "h", "storage_benchmark", arguments)
    measuring.forget(str(tmp_path), "h", "storage_benchmark", arguments)
    assert measuring.pending(str(tmp_path), "h", "storage_benchmark", arguments) is None


def nested(levels):
    return {"a": nested(levels - 1)} if levels else {}


@pytest.mark.parametrize("result, why", [
    (nested(run_directory.DEPTH_LIMIT - 1), "nested too deeply"), (nested(800), "nested too deeply"),
    ({"text": ["x" * 4000] * 2300}, "too large"), ({"jobs": [{"rate": float("inf")}]}, r"result.jobs.0.rate \(inf\)")])
def test_what_no_audit_could_read_again_is_neither_written_nor_taken(tmp_path, result, why):
    measurement = measuring.document("h", "m", {"path": "/d"}, dict(ANSWER, measurement={}), "2026-11-30T12:00:00Z", "2026-11-30T12:00:30Z")
    with pytest.raises(run_directory.InvalidDocument, match=why):
        measuring.store(str(tmp_path), dict(measurement, result=result))
    path = pathlib.Path(measuring.store(str(tmp_path), measurement))
    path.write_text(json.dumps(dict(measurement, result=result)))
    found, broken = measurement_store.read_all(str(tmp_path), "h")
    assert found == [] and [entry["file"] for entry in broken] == [path.name]


@pytest.mark.parametrize("mode", ["file", "above", "closed"])
def test_a_folder_of_measurements_that_cannot_be_read_is_told(tmp_path, mode):
    folder = tmp_path / "measurements" / "h"
    assert measurement_store.read_all(str(tmp_path), "h") == ([], [])
    (tmp_path / "measurements").mkdir()
    if mode == "closed":
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        folder.mkdir(mode=0)
    elif mode == "file":
        folder.write_text("")
    else:
        folder.parent.rmdir()
        folder.parent.write_text("")
    found, ((broken),) = measurement_store.read_all(str(tmp_path), "h")
    assert found == [] and broken["file"] is None and re.match(re.escape(str(folder)) + ": cannot be read: (Not a dir|Permission)", broken["message"])


def test_measurements_that_would_make_the_document_unreadable_are_left_out():
    def taken(target, size):
        return {"module": "m", "target": target, "finished": "2026-11-30T12:00:00Z", "result": {"text": ["x" * 1000] * size}}
    large = [taken("/%d" % number, 3000) for number in range(5)]
    small = taken("/small", 1)
    current, stale, left_out = measurement_store.within([*large, small], [], FACTS)
    assert small in current and len(current) == 3 and len(left_out) == 3 and all(text.startswith("m, /") for text in left_out)
    facts = dict(FACTS, much=["x" * 1000] * 12000)
    current, stale, left_out = measurement_store.within([*large, small], [{"target": "t" * 4000} for _entry in range(2000)], facts)
    document = run_directory.to_json({"facts": facts, "measurements": current, "stale_measurements": stale})
    assert len(document) < run_directory.DOCUMENT_LIMIT_BYTES and len(current) == 2 and len(left_out) == 4
    assert measurement_store.within([small], [{"target": "t"}], FACTS) == ([small], [{"target": "t"}], [])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"schema": "trainops.gpu_audit/pending/1", "jid": 5}',
                                     '{"schema": "trainops.gpu_audit/pending/1", "jid": "../victim", "started": "2026-11-30T12:00:00Z", "seconds": 1}'])
def test_a_broken_note_is_none(tmp_path, content):
    measuring.remember(str(tmp_path), "h", "m", {"path": "/d"}, {"jid": "j", "started": "2026-11-30T12:00:00Z", "seconds": 1})
    next(tmp_path.glob("measurements/h/.pending-*")).write_text(content)
    assert measuring.pending(str(tmp_path), "h", "m", {"path": "/d"}) is None


def test_a_place_that_cannot_be_written_is_said(tmp_path):
    (tmp_path / "measurements").write_text("a file")
    with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
        measuring.store(str(tmp_path), measuring.document("h", "m", {}, ANSWER, "s", "2026-11-30T12:00:00Z"))


def test_a_summary_is_told_in_one_line():
    summary = {"read_bytes_per_second": 3 << 29, "epoch_seconds": None, "data_wait_fraction": 0.25, "outcome": "completed", "cached": False, "quick": True}
    assert measuring.told(summary) == "read 1.50 GiB/s, data wait 25 %, outcome completed, quick"
    assert measuring.told({"read_bytes_per_second": 1 << 30, "buffered_label": "memory"}) == "read 1.00 GiB/s, labelled memory"
    assert measuring.told({"read_bytes_per_second": 1 << 30, "buffered_label": None}) == "read 1.00 GiB/s"
    assert measuring.told({}) == "no figure"
    jobs = {"random_read_iops": 412000.4, "mixed_read_bytes_per_second": 1 << 30, "errors": {"small_files": "it gave no answer"}}
    said = measuring.told(jobs)
    assert said.startswith("random read IOPS ") and "mixed: read 1.00 GiB/s" in said
    assert said.endswith("small_files gave no result: it gave no answer") and measuring.told({"errors": {}}) == "no figure"
    why = {"outcome": "not_started", "error": "no such program: trian", "iterations": 0, "notes": ["GPUs not sampled", "a second"]}
    assert measuring.told(why) == "outcome not_started, error no such program: trian, iterations 0, notes GPUs not sampled; a second"
    assert measuring.told({"outcome": "completed", "notes": []}) == "outcome completed"


def test_every_job_of_a_storage_test_has_its_figure_on_the_console():
    pytest.importorskip("ansible.plugins.action")
    from ansible_collections.trainops.gpu_audit.plugins.action import storage_benchmark
    assert set(storage_jobs.FIGURES.values()) <= set(storage_benchmark.ActionModule.SUMMARY) and set(storage_jobs.FIGURES) == set(fio_jobs.NAMES)


def test_sizes_of_a_task_may_be_text():
    pytest.importorskip("ansible.plugins.action")
    from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import measuring_action

    class Sized(measuring_action.MeasuringAction):
        SIZES = {"sample_bytes": 0, "size_bytes": 0, "limit_bytes": 65536}

        def __init__(self, **args):
            self._task = types.SimpleNamespace(args=args)

    action = Sized(sample_bytes="150 KB", size_bytes=7, name="1 GiB")
    action._size_options()
    assert action._task.args == {"sample_bytes": 150000, "size_bytes": 7, "name": "1 GiB"}
    with pytest.raises(ValueError, match="limit_bytes: 'much' is no size"):
        Sized(limit_bytes="much")._size_options()
    # A variable of a role that was left as it is, on the command line.
    nothing = Sized(limit_bytes="0", size_bytes=0)
    nothing._size_options()
    assert nothing._task.args == {"size_bytes": 0}
    for small in (900, "900", "65535", 1):
        with pytest.raises(ValueError, match="limit_bytes: [0-9]+ bytes are too few to tell anything, give at least 64.0 KiB") as caught:
            Sized(limit_bytes=small)._size_options()
        assert "太少" in complaints.say(str(caught.value), "zh")
    Sized(limit_bytes=65536, sample_bytes=1)._size_options()


@pytest.mark.parametrize("size", ["0.4", "0.5 B", "0.01", 0.4, 0.5, True, False, -5, float("nan"), 1e30, [1]])
@pytest.mark.parametrize("least", [0, 65536])
def test_what_is_less_than_a_byte_or_no_size_is_not_taken_for_no_size_given(size, least):
    if not least and isinstance(size, float) and 0 < size < 1:
        assert option_sizes.as_bytes("limit_bytes", size, least) == 1
        return
    with pytest.raises(ValueError, match="limit_bytes: ") as caught:
        option_sizes.as_bytes("limit_bytes", size, least)
    assert complaints.say(str(caught.value), "zh") != str(caught.value)


@pytest.mark.parametrize(
    "name, value, left, advice, zh",
    [
        ("measure_network_upload_bytes", "900", "TiB", "(-e measure_network_upload_bytes=900TiB)", "请去掉空格"),
        ("measure_storage_sample_bytes", "1.5", "GiB more", "'{\"measure_storage_sample_bytes\": \"1.5 GiB\"}'", "JSON"),
        ("measure_network_timeout_seconds", "5", "min", "5 and not 5 min. Give a number in the unit of its name", "单位见变量名"),
        ("measure_network_link_udp_bits_per_second", "10", "Mbit/s", "Give a number", "只给出数字"),
        ("measure_network_link_udp_bits_per_second", "1", "Gbps", "Give a number", "只给出数字"),
        ("measure_network_link_udp_bits_per_second", "100", "kbps", "Give a number", "只给出数字"),
        ("probe_workload_output_tail_bytes", "64", "KiB", "Give a number", "只给出数字"),
    ],
)
def test_a_unit_that_the_command_line_lost_is_told(name, value, left, advice, zh):
    said = option_sizes.lost_unit({name: value, "_raw_params": left, "measure_network_attempts": "3"})
    assert said.startswith(name + ": -e ends a value") and advice in said
    assert complaints.say(said, "zh").startswith(name) and zh in complaints.say(said, "zh")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"measure_network_upload_bytes": "900"},
        {"measure_network_upload_bytes": 900, "_raw_params": "TiB"},
        {"measure_network_upload_bytes": "900 TiB", "_raw_params": "TiB"},
        {"other_bytes": "900", "_raw_params": "TiB"},
        # The rest of a password, not to be repeated.
        {"measure_network_upload_bytes": "900", "_raw_params": "Besecret"},
        {"measure_network_upload_bytes": "900", "_raw_params": None, 7: 8},
    ],
)
def test_other_words_are_no_lost_unit(variables):
    assert option_sizes.lost_unit(variables) is None


def test_a_summary_is_told_in_chinese():
    summary = {"read_bytes_per_second": 3 << 29, "data_wait_fraction": 0.25, "outcome": "completed", "buffered_label": "cached", "quick": True}
    assert measuring.told(summary, "zh") == "读取 1.50 GiB/s，等待数据 25 %，结局 正常完成，标注为缓存速度，快速初测"
    why = {"outcome": "not_started", "exit_code": None, "error": "chdir: /x is no folder: give the one that the command runs in",
           "notes": ["the driver doesn't tell which processes hold VRAM"]}
    assert measuring.told(why, "zh") == "结局 未启动，错误 chdir：/x 不是目录：请给出命令运行所在的目录，备注 驱动没有给出占用显存的进程"
    assert measuring.told({}, "zh") == "没有数据"


def test_every_figure_of_a_summary_has_its_chinese():
    pytest.importorskip("ansible.plugins.action")
    from ansible_collections.trainops.gpu_audit.plugins.action import storage_benchmark, workload_probe

    for key in (*storage_benchmark.ActionModule.SUMMARY, *workload_probe.ActionModule.SUMMARY):
        assert re.search("[\u4e00-\u9fff]", measuring.told({key: 1}, "zh")), key
    assert set(measuring_texts.WORDS["outcome"]) == set(probe_outcome.OUTCOMES)


def test_the_line_of_a_probe_says_why():
    pytest.importorskip("ansible.plugins.action")
    from ansible_collections.trainops.gpu_audit.plugins.action import workload_probe

    assert {"outcome", "error", "iterations", "notes"} <= set(workload_probe.ActionModule.SUMMARY)


@pytest.mark.parametrize("file, results", [
    ("measure_storage/tasks/main.yml", 1), ("measure_storage/tasks/together.yml", 1), ("probe_workload/tasks/main.yml", 1)])
def test_only_a_test_that_was_taken_may_fail(file, results):
    jinja2 = pytest.importorskip("jinja2")
    tasks = yaml.safe_load((ROOT / "roles" / file).read_text(encoding="utf-8"))
    assert not [task for task in tasks if task.get("ignore_errors")]
    measuring_tasks = [number for number, task in enumerate(tasks) if "failed_when" in task]
    assert len(measuring_tasks) == results
    for number in measuring_tasks:
        name, after = tasks[number]["register"], tasks[number + 1]
        jinja = jinja2.Environment(autoescape=True)
        jinja.tests["failed"] = lambda result: bool(result.get("failed"))
        failed, said = ([jinja.compile_expression(what)({name: result}) for result in (
            {"failed": True, "msg": "no such directory"}, {"failed": True, "measurement_file": "/m", "error": "fio broke"}, {"failed": False},
            {"skipped": True})] for what in (tasks[number]["failed_when"], after["when"]))
        # What was refused fails once, in its own task; what was measured and failed is told, once too.
        assert failed == [True, False, False, False] and said == [False, True, False, False]
        assert after["ansible.builtin.debug"]["msg"] == "{{ %s.error }}" % name


def test_whoever_waits_is_told_the_limit_that_was_announced_while_it_holds():
    assert [measuring.shown_limit(elapsed, 780, measuring.time_limit(780)) for elapsed in (32, 780, 781)] == [780, 780, 1290]
