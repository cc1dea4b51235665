# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The run directory: names, writing, and reading what nobody should trust."""

from __future__ import annotations

import datetime
import json
import os

import hypothesis
import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import run_directory, run_pointer, run_reader
from hypothesis import strategies

NAMES = ["node-1", "GPU01", "gpu01", "../../x", "..", ".", "", "/etc/passwd", "a/b", "a%2fb", "%", "%25", "_links", "-x", "节点一",
         "a\0b", "\udc80", "x" * 250, "x" * 251, "x" * 5000, "con.", "a b", "a\nb"]


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "runs" / run_directory.new_run_id()
    run_directory.make_run_directory(str(path))
    return str(path)


def write_host(run, name, content):
    with open(run_directory.host_path(run, name), "wb") as stream:
        stream.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def good(name):
    return {"schema": run_directory.HOST_SCHEMA, "name": name, "collected_at": None, "machine_id": None,
            "facts": {"schema": "f", "gpu": {}}, "measurements": [], "stale_measurements": [], "errors": []}


def test_safe_names_never_leave_the_folder_and_never_meet():
    safe = [run_directory.safe_name(name) for name in NAMES]
    assert len({name.lower() for name in safe}) == len(NAMES)
    for name in safe:
        assert os.sep not in name and "\0" not in name and not name.startswith((".", "_")) and 0 < len(name.encode()) <= 200


def test_plain_names_stay_readable():
    assert run_directory.safe_name("gpu-01.example.com") == "gpu-01.example.com"
    assert run_directory.safe_name("../../x") == "%2e.%2f..%2fx"


@hypothesis.given(strategies.text(max_size=300), strategies.text(max_size=300))
def test_safe_names_are_injective_and_reversible(one, other):
    assert (run_directory.safe_name(one).lower() == run_directory.safe_name(other).lower()) == (one == other)
    found = run_reader.name_of(run_directory.safe_name(one))
    assert found == one or (found is None and "%+" in run_directory.safe_name(one))


@pytest.mark.parametrize("file_name", ["A", "%4", "%zz", "%41%", "%61", "_x", ".x", "ü", "x%+y"])
def test_a_file_name_of_nobody_gives_no_name(file_name):
    assert run_reader.name_of(file_name) is None


def test_run_ids_sort_by_time():
    early = run_directory.new_run_id(datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), "ffffff")
    late = run_directory.new_run_id(datetime.datetime(2026, 1, 2, 3, 4, 6, tzinfo=datetime.timezone.utc), "000000")
    assert early == "20260102T030405Z-ffffff" and early < late


def test_the_same_document_gives_the_same_bytes(run):
    path = os.path.join(run, "x.json")
    run_directory.write_json(path, {"b": 1, "a": [2, "ü"]})
    first = open(path, "rb").read()
    run_directory.write_json(path, {"a": [2, "ü"], "b": 1})
    assert open(path, "rb").read() == first
    assert not [name for name in os.listdir(run) if name.startswith(".")]


def test_a_new_document_never_replaces_one(run):
    path = os.path.join(run, "x.json")
    assert run_directory.write_new_json(path, {"n": 1}) is True
    assert run_directory.write_new_json(path, {"n": 2}) is False
    assert run_directory.read_json(path) == {"n": 1}


def test_a_failing_write_leaves_the_old_file_and_no_other(run):
    path = os.path.join(run, "x.json")
    run_directory.write_json(path, {"n": 1})
    with pytest.raises(ValueError):
        run_directory.write_json(path, {"n": float("nan")})
    assert run_directory.read_json(path) == {"n": 1}
    with pytest.raises(run_directory.RunDirectoryError, match="nowhere"):
        run_directory.write_json(os.path.join(run, "nowhere", "x.json"), {})


def test_a_place_that_cannot_be_made_says_what_to_do(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(run_directory.RunDirectoryError, match="gpu_audit_output_dir"):
        run_directory.make_run_directory(str(tmp_path / "file" / "run"))


@pytest.mark.parametrize("content, said", [
    (b"", "empty"),
    (b"  \n", "empty"),
    (b'{"schema": "trainops.gpu_audit/host/1", "na', "cut off at line 1"),
    (b"{'a': 1}", "wrong at line 1 column 2"),
    (b"\xff\xfe{}", "not UTF-8"),
    (b"[1, 2]", "array instead of an object"),
    (b"null", "null instead of an object"),
    (b"[" * 100000, "nested too deeply"),
    (b'{"a": NaN}', "NaN is not a number"),
    (b'{"a": 1' + b"0" * 5000 + b"}", "not JSON"),
    ({"schema": "other/1"}, "schema 'other/1'"),
    (dict(good("n"), name="another"), "another host, 'another'"),
    (dict(good("n"), facts=[1]), "facts: array"),
    (dict(good("n"), facts={"gpu": "x"}), "facts.gpu: string"),
    (dict(good("n"), facts=None), "neither facts nor errors"),
    (dict(good("n"), measurements={"a": 1}), "measurements: not a list"),
    (dict(good("n"), errors=[{"kind": 1}]), "without kind and message"),
])
def test_a_broken_host_document_is_an_error_that_says_why(run, content, said):
    write_host(run, "n", content)
    document = run_reader.read_host(run, "n")
    assert document["facts"] is None
    assert [entry["kind"] for entry in document["errors"]] == ["invalid"]
    assert said in document["errors"][0]["message"] and "hosts/n.json" in document["errors"][0]["message"]


def test_a_link_a_pipe_a_folder_and_a_giant_are_not_read(run, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(good("n")))
    os.symlink(secret, run_directory.host_path(run, "link"))
    os.mkfifo(run_directory.host_path(run, "pipe"))
    os.mkdir(run_directory.host_path(run, "folder"))
    with open(run_directory.host_path(run, "giant"), "wb") as stream:
        stream.truncate(run_directory.DOCUMENT_LIMIT_BYTES + 1)
    said = {name: run_reader.read_host(run, name)["errors"][0]["message"] for name in ("link", "pipe", "folder", "giant")}
    assert "symbolic link" in said["link"] and "too large" in said["giant"]
    assert "not a regular file" in said["pipe"] and "not a regular file" in said["folder"]


def test_a_dangling_link_is_not_a_missing_document(run):
    os.symlink("/nonexistent", run_directory.host_path(run, "n"))
    assert run_reader.read_host(run, "n")["errors"][0]["kind"] == "invalid"
    assert run_reader.read_host(run, "other") is None


def test_long_strings_and_lone_surrogates_are_tamed(run):
    document = good("n")
    document["facts"]["gpu"] = {"name": "A" * 1000000, "other": "\udc80x", "list": ["B" * 5000]}
    write_host(run, "n", document)
    gpu = run_reader.read_host(run, "n")["facts"]["gpu"]
    assert len(gpu["name"]) < 4200 and "1000000 characters" in gpu["name"]
    assert gpu["other"] == "?x" and len(gpu["list"][0]) < 4200


def test_a_good_document_comes_back_as_it_was(run):
    write_host(run, "n", good("n"))
    assert run_reader.read_host(run, "n") == good("n")


def test_inputs_missing_broken_and_good(run):
    assert run_reader.read_inputs(run, "n") == run_directory.empty_inputs("n")
    with open(run_directory.inputs_path(run, "n"), "w") as stream:
        stream.write('{"schema": "%s", "name": "n", "workload": []}' % run_directory.INPUTS_SCHEMA)
    broken = run_reader.read_inputs(run, "n")
    assert broken["errors"][0]["variable"] == "inputs/n.json" and "workload" in broken["errors"][0]["message"]
    run_directory.write_json(run_directory.inputs_path(run, "n"), dict(run_directory.empty_inputs("n"), policy="training"))
    assert run_reader.read_inputs(run, "n")["policy"] == "training"


def test_a_broken_manifest_still_gives_one(run):
    manifest, problems = run_reader.read_manifest(run)
    assert manifest["expected"] == [] and manifest["partial"] is True and "run.json" in problems[0]
    run_directory.write_json(run_directory.manifest_path(run), {"schema": run_directory.RUN_SCHEMA, "expected": [1]})
    assert "expected" in run_reader.read_manifest(run)[1][0]


def test_every_host_of_a_run_is_named(run):
    long = "long-" + "x" * 400
    manifest = {"schema": run_directory.RUN_SCHEMA, "expected": ["a", "../b"], "policies": {}}
    run_directory.write_json(run_directory.manifest_path(run), manifest)
    run_directory.write_json(run_directory.inputs_path(run, "c"), run_directory.empty_inputs("c"))
    run_directory.write_json(run_directory.host_path(run, long), good(long))
    write_host(run, "d", b"garbage")
    for stray in ("README.json", "x%+y.json"):
        with open(os.path.join(run, "hosts", stray), "w") as stream:
            stream.write("{}")
    names = run_reader.host_names(run, ["e"])
    assert names.names == tuple(sorted(["a", "../b", "c", "d", "e", long]))
    assert names.strays == ("hosts/README.json", "hosts/x%+y.json")


def test_finding_a_run(tmp_path, run):
    output = os.path.dirname(run)
    run_directory.write_json(run_directory.manifest_path(run), {"schema": run_directory.RUN_SCHEMA})
    assert run_reader.find_run(output) == run
    assert run_directory.point_latest(output, run) is None
    assert os.readlink(os.path.join(output, "latest")) == os.path.basename(run)
    for folder, wanted in ((output, "latest"), (output, os.path.basename(run)), ("/", run)):
        assert run_reader.find_run(folder, wanted) == run
    with pytest.raises(run_directory.RunDirectoryError, match="no run 'nope' .*runs there"):
        run_reader.find_run(output, "nope")
    with pytest.raises(run_directory.RunDirectoryError, match="run an audit first"):
        run_reader.find_run(str(tmp_path / "empty"))


def test_latest_moves_and_a_folder_of_that_name_stays(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert run_directory.point_latest(str(tmp_path), str(tmp_path / name)) is None
        assert os.readlink(tmp_path / "latest") == name
    os.unlink(tmp_path / "latest")
    (tmp_path / "latest").mkdir()
    assert "left alone" in run_directory.point_latest(str(tmp_path), str(tmp_path / "one"))


@pytest.mark.parametrize("length", [run_directory.STRING_LIMIT - 1, run_directory.STRING_LIMIT, run_directory.STRING_LIMIT + 1, 10**6])
def test_only_texts_beyond_the_limit_are_shortened(run, length):
    write_host(run, "x", dict(good("x"), machine_id="y" * length))
    found = run_reader.read_host(run, "x")["machine_id"]
    assert len(found) < run_directory.STRING_LIMIT + 40 and (found == "y" * length) == (length <= run_directory.STRING_LIMIT)


def test_depth_is_limited_and_brackets_in_texts_are_no_depth(run):
    write_host(run, "flat", dict(good("flat"), machine_id="[" * 200))
    assert run_reader.read_host(run, "flat")["machine_id"] == "[" * 200
    deepest = json.loads("[" * (run_directory.DEPTH_LIMIT - 1) + "]" * (run_directory.DEPTH_LIMIT - 1))
    write_host(run, "deep", dict(good("deep"), more=deepest))
    assert run_reader.read_host(run, "deep")["errors"] == []
    write_host(run, "deeper", dict(good("deeper"), more=[deepest]))
    assert "nested too deeply" in run_reader.read_host(run, "deeper")["errors"][0]["message"]


def test_the_first_to_begin_decides_where_the_run_lies(tmp_path):
    process = str(tmp_path / "process")
    os.mkdir(process)
    assert run_pointer.current(process) is None
    first = run_pointer.begin(process, str(tmp_path / "a"), {"expected": ["x"], "language": "zh"}, {"gpu_audit_language": "zh"})
    second = run_pointer.begin(process, str(tmp_path / "b"), {"expected": ["y"], "language": "en"}, {})
    assert first.pop("begun_here") is True and first == second == run_pointer.current(process)
    assert first["output_dir"] == str(tmp_path / "a") and not (tmp_path / "b").exists()
    assert run_reader.read_manifest(first["run_directory"])[0]["expected"] == ["x"]


def test_a_policy_is_loaded_once_and_recorded(tmp_path):
    process = str(tmp_path)
    run = run_pointer.begin(process, str(tmp_path / "runs"), {"expected": []}, {})["run_directory"]
    calls = []

    def load():
        calls.append(1)
        return {"policy": {"name": "p", "checks": {}}}

    for _turn in range(3):
        assert run_pointer.policy_once(process, "p", load, run)["policy"]["name"] == "p"
    assert len(calls) == 1
    assert list(run_reader.read_manifest(run)[0]["policies"]) == ["p"]
    assert run_pointer.policy_once(process, "q", lambda: {"error": "line 3"}, run) == {"error": "line 3"}
    assert list(run_reader.read_manifest(run)[0]["policies"]) == ["p"]
