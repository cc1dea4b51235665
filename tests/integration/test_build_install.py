# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The Ansible way: build the collection, install the tarball without a network, audit this machine from it."""

from __future__ import annotations

import json
import pathlib
import sys
import tarfile

import pytest
from checkouts import copy_checkout, run, user_environment

BIN = pathlib.Path(sys.executable).parent
# What work in a checkout leaves behind.
LEFTOVERS = (".venv/pyvenv.cfg", ".cache/collections/x", ".ansible/x", ".pytest_cache/x", ".ruff_cache/x", "gpu-audit-runs/20260101T000000Z-abc/run.json",
             "tests/output/unit.log", "tests/browser/node_modules/axe/x.js", "plugins/__pycache__/x.pyc", "tests/tools/__pycache__/y.pyc", "wheelhouse/x.whl",
             "trainops-gpu_audit-0.0.1.tar.gz", "hosts.yml", "group_vars/all/vault.yml", "ansible.cfg", ".git/config")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(tarball, environment, working folder)"""
    base = tmp_path_factory.mktemp("built")
    checkout = copy_checkout(base / "checkout")
    for name in LEFTOVERS:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text("left behind\n")
    (checkout / "ansible.cfg").write_text("")
    environ = user_environment(base / "home", LC_ALL="C.UTF-8")
    done = run([BIN / "ansible-galaxy", "collection", "build", "--output-path", base / "dist"], checkout, environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (tarball,) = (base / "dist").glob("trainops-gpu_audit-*.tar.gz")
    return tarball, environ, base


def test_the_tarball_holds_the_collection_and_no_leftovers(built):
    with tarfile.open(built[0]) as archive:
        names = set(archive.getnames())
    assert {"plugins/modules/host_facts.py", "playbooks/audit.yml", "roles/audit/files/policies/base.yml", "roles/prepare/files/requirements.txt",
            "README.md", "LICENSE", "Makefile", "tests/tools/audit.py", "meta/runtime.yml"} <= names
    assert not names & set(LEFTOVERS)
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name or name.startswith((".venv", ".cache", "gpu-audit-runs"))]


def test_the_installed_collection_audits_this_machine(built):
    tarball, environ, base = built
    collections = base / "collections"
    done = run([BIN / "ansible-galaxy", "collection", "install", "--offline", tarball, "-p", collections], base, environ)
    assert done.returncode == 0, done.stdout + done.stderr
    (base / "hosts.yml").write_text("all: {hosts: {here: {ansible_connection: local, ansible_python_interpreter: '%s'}}}\n" % sys.executable)
    environ = dict(environ, ANSIBLE_COLLECTIONS_PATH=str(collections))
    done = run([BIN / "ansible-playbook", "-i", "hosts.yml", "trainops.gpu_audit.audit"], base, environ)
    assert done.returncode == 0, done.stdout + done.stderr
    run_folder = (base / "gpu-audit-runs" / "latest").resolve()
    assert [host["name"] for host in json.loads((run_folder / "report.json").read_text())["hosts"]] == ["here"]
    assert str(run_folder) in done.stdout, "the last task says where the report is, also without the callback"


@pytest.mark.parametrize(("kind", "name"), [("module", "host_facts"), ("filter", "nvidia_smi_facts"), ("callback", "progress"), ("role", "prepare"),
                                            ("role", "audit")])
def test_the_documentation_is_found(built, kind, name):
    tarball, environ, base = built
    collections = base / "documented"
    if not collections.exists():
        assert run([BIN / "ansible-galaxy", "collection", "install", "--offline", tarball, "-p", collections], base, environ).returncode == 0
    done = run([BIN / "ansible-doc", "-t", kind, "trainops.gpu_audit." + name], base, dict(environ, ANSIBLE_COLLECTIONS_PATH=str(collections)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout) > 200
