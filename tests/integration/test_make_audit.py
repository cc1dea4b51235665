# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`make audit` and its neighbours from a fresh checkout in a folder with a space and a quote in its name, as a new user would run them."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys

import pytest
from checkouts import copy_checkout, has_nvidia_gpu, run, user_environment

NO_INDEX = ("NewConnectionError", "Temporary failure in name resolution", "Network is unreachable", "Connection refused")


class User:
    """A user at a fresh checkout."""

    def __init__(self, base: pathlib.Path):
        self.checkout = copy_checkout(base / "o'neil's gpu audit")
        self.environ = user_environment(base / "home", LC_ALL="C", LANGUAGE="de_DE:en")

    def make(self, *arguments: str, **more: str):
        return run(["make", "--no-print-directory", *arguments, "PYTHON=" + sys.executable], self.checkout, dict(self.environ, **more))


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The environment is made here once; without a package index there is nothing to test."""
    fresh = User(tmp_path_factory.mktemp("fresh"))
    made = fresh.make("venv")
    if made.returncode != 0 and any(words in made.stdout + made.stderr for words in NO_INDEX):
        pytest.skip("no package index can be reached")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "making .venv" in made.stdout and "installing controller-" in made.stdout and "ready" in made.stdout
    return fresh


def report_of(out: pathlib.Path) -> dict:
    return json.loads((out / "latest" / "report.json").read_text())


def test_this_machine_is_audited(user):
    done = user.make("audit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    out = user.checkout / "gpu-audit-runs"
    report = report_of(out)
    assert [host["name"] for host in report["hosts"]] == ["localhost"]
    where = str((out / "latest").resolve() / "report.html")
    assert where in done.stdout and pathlib.Path(where).is_file()
    assert "localhost" in done.stdout
    if not has_nvidia_gpu():
        assert "no NVIDIA GPU (PCI)" in done.stdout
        assert report["hosts"][0]["verdict"] == "not_ready"


def test_the_second_run_installs_nothing(user):
    stamp = user.checkout / ".venv" / "gpu-audit.stamp"
    before = stamp.stat().st_mtime_ns
    done = user.make("audit", PIP_INDEX_URL="http://127.0.0.1:9/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "installing" not in done.stdout and stamp.stat().st_mtime_ns == before


def test_names_with_spaces_and_quotes_survive(user):
    inventory = user.checkout / 'my "hosts" $1 & co'
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "hosts.yml").write_text("all: {children: {racks: {hosts: {one: {}, two: {}, three: {}}}}}\n")
    (inventory / "group_vars" / "all.yml").write_text("ansible_connection: local\nansible_python_interpreter: '{{ ansible_playbook_python }}'\n")
    out = user.checkout / "runs of 'today'; touch ran"
    done = user.make("audit", "INVENTORY=" + str(inventory.name), "OUT=" + out.name, "LIMIT=racks:!two", "FORKS=2", "LANGUAGE=zh", "POLICY=inference",
                     "EXTRA=-e 'gpu_audit_hide_serials=true' --tags all")
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(out)
    assert sorted(host["name"] for host in report["hosts"]) == ["one", "three"]
    assert {host["policy"] for host in report["hosts"]} == {"inference"}
    assert report["run"]["language"] == "zh"
    assert not (user.checkout / "ran").exists()


def test_an_inventory_that_cannot_be_read_is_no_success(user):
    (user.checkout / "garbage.yml").write_text("hosts: [\n")
    done = user.make("audit", "INVENTORY=garbage.yml", "OUT=nothing")
    assert done.returncode != 0
    assert "Traceback" not in done.stdout + done.stderr


def test_a_limit_that_matches_nothing_is_no_success(user):
    assert user.make("audit", "LIMIT=nobody", "OUT=nothing").returncode != 0


@pytest.mark.skipif(has_nvidia_gpu(), reason="this machine has a GPU, so it may pass the gate")
def test_the_gate_refuses_and_still_reports(user):
    out = user.checkout / "gated"
    done = user.make("gate", "OUT=gated")
    assert done.returncode != 0
    assert (out / "latest" / "report.html").is_file()
    assert "Traceback" not in done.stdout + done.stderr


def test_a_stored_run_is_judged_again(user):
    out = user.checkout / "twice"
    assert user.make("audit", "OUT=twice").returncode == 0
    before = report_of(out)
    done = user.make("rejudge", "OUT=twice", "RUN=twice/latest", "POLICY=rendering")
    assert done.returncode == 0, done.stdout + done.stderr
    after = report_of(out)
    assert before["hosts"][0]["policy"] != "rendering" and after["hosts"][0]["policy"] == "rendering"
    assert after["run"]["id"] == before["run"]["id"]


@pytest.mark.parametrize(("language", "words"), [("en", "Set measure_storage_path"), ("zh", "测量存储请设 measure_storage_path")])
def test_measuring_without_a_setting_says_what_to_set(user, language, words):
    done = user.make("measure", "LANGUAGE=" + language)
    assert done.returncode == 0 and words in done.stdout and "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_measuring_in_check_mode_announces_and_says_what_is_missing(user):
    done = user.make("measure", "EXTRA=--check -e '{\"measure_storage_path\": \"/nowhere of mine\"}'")
    assert done.returncode == 2 and "/nowhere of mine" in done.stdout and "make the directory first" in done.stdout, done.stdout + done.stderr


def test_a_plan_is_made_without_an_inventory_and_without_a_warning(user):
    (user.checkout / "model.yml").write_text(
        "gpu_audit_workload: {kind: training, input_sample_bytes: 32 KiB, batch_size: 1, hours_per_day: 20}\n"
        "gpu_audit_model: {parameters: 8.03B, layers: 32, hidden_size: 4096, heads: 32, sequence_length: 4096, sharding: fsdp, gpus: 8}\n")
    done = user.make("plan", "EXTRA=-e @model.yml")
    assert done.returncode == 0 and "boards" in done.stdout and "WARNING" not in done.stdout + done.stderr, done.stdout + done.stderr
    assert "显存" in user.make("plan", "EXTRA=-e @model.yml", "LANGUAGE=zh").stdout


@pytest.mark.parametrize(("argument", "words"), [
    ("INVENTORY=gone.yml", "INVENTORY: no such file or folder: gone.yml"),
    ("LANGUAGE=french", "LANGUAGE: 'french' is none of en, zh"),
    ("FORKS=-1", "FORKS: a whole number above 0, not '-1'"),
    ("POLICY=./gone.yml", "POLICY: no such policy file"),
    ("POLICY=trainin", "POLICY: no policy 'trainin' (did you mean training?)"),
    ("INVENTRY=gone.yml", "there is no variable INVENTRY; did you mean INVENTORY?"),
    ("WHEELHOUSE=gone", "WHEELHOUSE: no such folder: gone"),
])
def test_a_wrong_variable_is_one_clear_line(user, argument, words):
    done = user.make("audit", argument)
    assert done.returncode == 2
    assert words in done.stderr and "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.strip() and not line.startswith("make: ***")]) == 1


def test_a_users_ansible_cfg_is_not_overridden(user):
    config = user.checkout / "ansible.cfg"
    config.write_text("[defaults]\nstdout_callback = minimal\n")
    try:
        done = user.make("audit", "OUT=configured")
    finally:
        config.unlink()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "localhost | SUCCESS" in done.stdout
    assert (user.checkout / "configured" / "latest" / "report.json").is_file()


@pytest.mark.parametrize("damage", ["python", "stamp", "packages"])
def test_a_broken_environment_is_repaired(user, damage):
    venv = user.checkout / ".venv"
    if damage == "python":
        for link in (venv / "bin").glob("python*"):
            link.unlink()
    else:
        (venv / "gpu-audit.stamp").write_text("of other requirements")
    if damage == "packages":
        shutil.rmtree(venv / "lib")
    done = user.make("venv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert run([venv / "bin" / "ansible-playbook", "--version"], user.checkout, dict(user.environ, LC_ALL="C.UTF-8")).returncode == 0


def test_a_folder_that_is_no_environment_is_left_alone(user, tmp_path):
    other = User(tmp_path)
    (other.checkout / ".venv").mkdir()
    (other.checkout / ".venv" / "mine.txt").write_text("keep me")
    done = other.make("venv")
    assert done.returncode == 2 and "is in the way" in done.stderr
    assert (other.checkout / ".venv" / "mine.txt").read_text() == "keep me"


def test_an_air_gapped_machine_installs_from_a_folder(user, tmp_path):
    """Also without ensurepip, as on a Debian without python3-venv: pip comes from the folder too."""
    version = "%d.%d" % sys.version_info[:2]
    fetched = user.make("wheelhouse", "WHEELHOUSE=wheels of ours", "PYTHONS=" + version)
    assert fetched.returncode == 0, fetched.stdout + fetched.stderr
    broken = tmp_path / "without"
    broken.mkdir()
    (broken / "ensurepip.py").write_text("raise ImportError('not shipped')\n")
    dark = {name: "" for name in os.environ if name.startswith("PIP_") and name != "PIP_CACHE_DIR"}
    done = run(["make", "--no-print-directory", "venv", "WHEELHOUSE=" + str(user.checkout / "wheels of ours"), "PYTHON=" + sys.executable],
               copy_checkout(tmp_path / "dark"), dict(user.environ, **dict(dark, PIP_INDEX_URL="http://127.0.0.1:9/", PYTHONPATH=str(broken))))
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "dark" / ".venv" / "bin" / "ansible-playbook").is_file()
