# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The role prepare on this machine, its private environment in a folder of the test: check mode, first run, second run, damage, wheels only."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest
from checkouts import ROOT, run, user_environment

BIN = pathlib.Path(sys.executable).parent
PLAYBOOK = "- hosts: all\n  gather_facts: false\n  roles: [trainops.gpu_audit.prepare]\n"
WANTED = [line for line in (ROOT / "roles" / "prepare" / "files" / "requirements.txt").read_text().splitlines() if "==" in line]


class Host:
    """A folder that stands for a host's /opt/trainops-gpu-audit."""

    def __init__(self, base: pathlib.Path):
        self.base, self.directory = base, base / "opt"
        tree = base / "collections" / "ansible_collections" / "trainops"
        tree.mkdir(parents=True)
        (tree / "gpu_audit").symlink_to(ROOT)
        (base / "prepare.yml").write_text(PLAYBOOK)
        self.environ = user_environment(base / "home", LC_ALL="C.UTF-8", ANSIBLE_COLLECTIONS_PATH=str(base / "collections"))

    def prepare(self, *arguments: str, **variables: str):
        values = dict({"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "gpu_audit_prepare_method": "venv",
                       "gpu_audit_prepare_directory": str(self.directory)}, **variables)
        return run([BIN / "ansible-playbook", "-i", "host,", "prepare.yml", "-e", json.dumps(values), *arguments], self.base, self.environ)

    def versions(self):
        code = "import psutil, pynvml; print(psutil.__version__)"
        return subprocess.run([self.directory / "venv" / "bin" / "python", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def changed(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return "changed=0 " not in done.stdout


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """A folder of the two wheels, fetched once."""
    folder = tmp_path_factory.mktemp("wheels")
    done = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, *WANTED],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("no package index can be reached")
    return folder


def test_check_mode_says_what_it_would_do_and_does_nothing(tmp_path):
    host = Host(tmp_path)
    done = host.prepare("--check")
    assert changed(done) and "would be in %s" % host.directory in done.stdout.replace("\\\"", "")
    assert not host.directory.exists()


def test_wheels_are_enough_and_a_second_run_changes_nothing(tmp_path, wheels):
    host = Host(tmp_path)
    assert changed(host.prepare(gpu_audit_prepare_wheelhouse=str(wheels)))
    assert "psutil==" + host.versions() in WANTED
    assert (host.directory / "python" / "pynvml.py").is_file()
    done = host.prepare(gpu_audit_prepare_wheelhouse=str(wheels))
    assert not changed(done) and "ansible_python_interpreter: %s/venv/bin/python" % host.directory in done.stdout
    # As after an upgrade of the distribution's Python: the packages of the old one are no use.
    (next((host.directory / "venv" / "lib").iterdir())).rename(host.directory / "venv" / "lib" / "python3.4")
    assert changed(host.prepare(gpu_audit_prepare_wheelhouse=str(wheels)))
    assert host.versions()


def test_the_index_is_used_without_wheels(tmp_path, wheels):
    host = Host(tmp_path)
    assert changed(host.prepare())
    assert "psutil==" + host.versions() in WANTED


def test_packages_that_are_there_are_left_alone(tmp_path):
    host = Host(tmp_path)
    done = host.prepare(gpu_audit_prepare_method="auto")
    assert not changed(done) and "nothing done" in done.stdout
    assert not host.directory.exists()


def test_a_folder_without_the_wheels_is_refused(tmp_path):
    host = Host(tmp_path)
    done = host.prepare(gpu_audit_prepare_wheelhouse=str(tmp_path))
    assert done.returncode == 2 and "must hold one wheel of nvidia-ml-py and one of psutil" in done.stdout + done.stderr
    assert not host.directory.exists()
