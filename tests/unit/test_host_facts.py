# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The facts document: which subjects, what a crash costs, how large it gets, on which Pythons."""

from __future__ import annotations

import base64
import glob
import json
import os
import shutil
import subprocess
import sys
import zlib

import pytest
from host_tree import make_host

from ansible_collections.trainops.gpu_audit.plugins.module_utils import host_facts

ALL = host_facts.SUBJECTS


@pytest.mark.parametrize("names, expected", [
    (["all"], ALL), ([], ALL), (["gpu"], ("gpu",)), (["memory", "cpu"], ("cpu", "memory")), (["!gpu"], ALL[1:]),
    (["all", "!gpu", "!storage"], ("cpu", "memory", "network", "software", "platform")), (["!all", "gpu"], ("gpu",)),
    (["cpu", "cpu"], ("cpu",)),
])
def test_subsets(names, expected):
    assert host_facts.choose_subsets(names) == expected


@pytest.mark.parametrize("names, message", [
    (["gpus"], "'gpus' is none of all, gpu, cpu"), (["!"], "'' is none of"), (["!gpus"], "'!gpus'"), (["!all"], "leaves nothing"),
    (["gpu", "!gpu"], "leaves nothing"),
])
def test_wrong_subsets(names, message):
    with pytest.raises(ValueError, match="gather_subset: .*") as caught:
        host_facts.choose_subsets(names)
    assert message.replace("'' is", "'!' is") in str(caught.value)


@pytest.mark.parametrize("options, message", [
    ({"timeout": 0}, "timeout: 0"), ({"timeout": -1}, "timeout: -1"), ({"timeout": 601}, "up to 600"),
    ({"timeout": float("nan")}, "timeout: nan"),
    ({"paths": [{"path": "data"}]}, "paths: 'data' is no absolute path"),
    ({"python_environments": ["venv"]}, "python_environments: 'venv'"),
    ({"paths": [{"path": "/a\0b"}]}, "paths: "),
])
def test_wrong_options(options, message):
    with pytest.raises(ValueError) as caught:
        host_facts.gather(["platform"], options)
    assert message in str(caught.value)


def _tree(tmp_path):
    return make_host(tmp_path, {
        "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: X\n", "/proc/self/status": "Cpus_allowed_list:\t0\n",
        "/proc/meminfo": "MemTotal: 1024 kB\n", "/proc/self/mountinfo": "", "/proc/self/cgroup": "0::/\n"}).root


def test_only_what_was_asked_for(tmp_path):
    found = host_facts.gather(["memory", "cpu"], {"root": _tree(tmp_path)})
    assert list(found) == ["schema", "cpu", "memory"]
    assert found["schema"] == "trainops.gpu_audit/facts/1"
    assert (found["cpu"]["model"], found["memory"]["total_bytes"]) == ("X", 1048576)


def test_a_crash_costs_its_own_subject_only():
    def collect(subject, host, options):
        if subject == "cpu":
            return {}["nothing"]
        return {"subject": subject}

    found = host_facts.gather(["cpu", "memory"], {}, collect=collect)
    assert found["memory"] == {"subject": "memory"}
    assert found["cpu"]["error"].startswith("KeyError: 'nothing' (test_host_facts.py, line ")


def test_hostile_texts_are_tamed():
    found = host_facts.bounded({
        "schema": "s", "name": "x" * 10000000, "bytes": b"\xff\xfe<script>", "surrogate": "a\udcffb", "number": float("nan"),
        "list": list(range(5000)), "float": 1.5, "flag": True, "none": None})
    text = json.dumps(found, allow_nan=False)
    assert len(found["name"]) == 4096 and found["name"].endswith("\u2026")
    assert found["bytes"] == "\ufffd\ufffd<script>" and found["surrogate"] == "a?b"
    assert found["number"] is None and len(found["list"]) == 1024
    assert (found["float"], found["flag"], found["none"]) == (1.5, True, None)
    assert "truncated" not in found and len(text) < host_facts.MAX_DOCUMENT_BYTES


def test_a_document_stays_below_its_limit_whatever_a_host_says():
    monster = {"schema": "s", "gpu": {"gpus": [{"name": "\u4e2d" * 5000, "processes": [{"name": "y" * 5000}] * 2000}] * 2000}}
    found = host_facts.bounded(monster)
    assert len(json.dumps(found)) <= host_facts.MAX_DOCUMENT_BYTES
    assert found["truncated"] is True and found["gpu"]["gpus"]
    deep = value = {}
    for _level in range(100):
        value["x"] = {}
        value = value["x"]
    assert json.dumps(host_facts.bounded({"deep": deep})).count("x") < 20


def test_packing():
    facts = {"schema": "s", "name": "\u4e2d"}
    packed = host_facts.pack(facts)
    assert packed.isascii() and json.loads(zlib.decompress(base64.b64decode(packed)).decode()) == facts


def _pythons():
    """The oldest to the newest host Python that is on this machine."""
    found = {}
    for minor in range(7, 15):
        name = "python3.%d" % minor
        places = sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.%d.*/bin/%s" % (minor, name))))
        program = shutil.which(name)
        for place in places + ([program] if program else []):
            # A pyenv shim is on the path for versions that can't be run.
            if name not in found and subprocess.run([place, "-c", ""], stdin=subprocess.DEVNULL, capture_output=True,
                                                    check=False).returncode == 0:
                found[name] = place
    return found or {"python3": sys.executable}


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.trainops.gpu_audit.plugins.module_utils import host_facts
facts = host_facts.gather(["!gpu"], {"paths": [{"path": "/tmp", "purpose": "logs"}]})
print(json.dumps(facts))
"""


def _import_root():
    return next(path for path in sys.path if os.path.isdir(os.path.join(path, "ansible_collections", "trainops", "gpu_audit")))


@pytest.mark.parametrize("python", sorted(_pythons().items()), ids=lambda pair: pair[0])
def test_every_host_python(python):
    done = subprocess.run([python[1], "-I", "-B", "-W", "error", "-c", PROGRAM, _import_root()], stdin=subprocess.DEVNULL,
                          capture_output=True,
                          timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    facts = json.loads(done.stdout.decode())
    assert [subject for subject in facts if "error" in facts[subject]] == []
    assert facts["memory"]["total_bytes"] > 0 and facts["storage"]["paths"][0]["free_bytes"] >= 0


def _run_module(arguments):
    """Runs the module as Ansible's debugging documentation does: a program with its arguments on standard input."""
    pytest.importorskip("ansible.module_utils.basic")
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([_import_root(), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run([sys.executable, "-m", "ansible_collections.trainops.gpu_audit.plugins.modules.host_facts"], timeout=60,
                          check=False,
                          input=json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode(), capture_output=True, env=environment)
    return done.returncode, json.loads(done.stdout.decode().strip().splitlines()[-1])


def test_the_module_returns_facts():
    status, answer = _run_module({"gather_subset": ["cpu", "platform"], "_ansible_check_mode": True})
    assert status == 0 and answer["changed"] is False
    assert set(answer["ansible_facts"]["gpu_audit"]) == {"schema", "cpu", "platform"}


def test_the_module_packs_facts():
    status, answer = _run_module({"gather_subset": ["memory"], "packed": True})
    assert status == 0 and "ansible_facts" not in answer
    assert json.loads(zlib.decompress(base64.b64decode(answer["packed_facts"])).decode())["memory"]["total_bytes"] > 0


@pytest.mark.parametrize("arguments, words", [
    ({"gather_subset": ["gpus"]}, "gather_subset: 'gpus' is none of"), ({"timeout": 0}, "timeout: 0"), ({"gpu_source": "x"}, "gpu_source"),
    ({"paths": [{"purpose": "logs"}]}, "path"), ({"paths": [{"path": "/a", "purpose": "x"}]}, "purpose"), ({"unknown": 1}, "unknown"),
    ({"paths": [{"path": "relative"}]}, "no absolute path"),
])
def test_the_module_refuses_wrong_options_with_one_message(arguments, words):
    status, answer = _run_module(dict({"gather_subset": ["platform"]}, **arguments))
    assert status == 1 and answer["failed"] is True
    assert words in answer["msg"] and "Traceback" not in answer["msg"]


def test_documented_return_values_are_the_ones_returned(tmp_path):
    yaml = pytest.importorskip("yaml")
    module = os.path.join(_import_root(), "ansible_collections", "trainops", "gpu_audit", "plugins", "modules", "host_facts.py")
    with open(module, encoding="utf-8") as stream:
        text = stream.read()
    documented = yaml.safe_load(text.split('RETURN = r"""')[1].split('"""')[0])["ansible_facts"]["contains"]["gpu_audit"]["contains"]
    facts = host_facts.gather(["!gpu"], {"paths": [{"path": "/"}], "python_environments": [sys.prefix]})
    for subject in ALL[1:]:
        assert set(documented[subject]["contains"]) - {"error"} == set(facts[subject]), subject
        for field, value in facts[subject].items():
            inner = documented[subject]["contains"][field].get("contains")
            if inner and value:
                assert set(inner) == set(value[0]), field
