# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The role prepare on this machine, its private environment in a folder of the test: check mode, first run, second run, damage, wheels only."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
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


# Runs a command in a copy of this machine that is thrown away: what is installed and removed there never reaches the machine.
COPY = """set -e; base=$1; prepared=$2; shift 2
mount --make-rprivate /
mount -t tmpfs none "$base"; mkdir "$base/upper" "$base/work" "$base/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$base/root"
for folder in proc sys dev; do mount --rbind "/$folder" "$base/root/$folder"; done
chroot "$base/root" sh -c "$prepared" >/dev/null 2>&1
cd /; exec chroot "$base/root" "$@"
"""
TOOLS = {"fio": ("fio-3.", "fio-3.99"), "iperf3": ("iperf 3.", "iperf 3.99 (cJSON 1.7.15)")}


def without(tool):
    return "apt-get remove -y %s; ! command -v %s" % (tool, tool)


@pytest.fixture(params=TOOLS)
def tool(request):
    return request.param


@pytest.fixture
def copied(tmp_path, tool):
    """`copied(prepared, arguments)`: the role with the tool switched on in a copy of this machine in which `prepared` (shell) was run before,
    `times` runs one after the other. Gives the completed process; its last line of output is the version of the tool there is then."""
    if os.geteuid() != 0 or not shutil.which("apt-get") or not shutil.which("unshare"):
        pytest.skip("needs root on a Debian machine")
    host = Host(tmp_path)
    variables = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable, "gpu_audit_prepare_" + tool: True}

    def go(prepared, *arguments, times=1, **more):
        (tmp_path / "values.json").write_text(json.dumps(dict(variables, **more)))
        (tmp_path / "copy").mkdir(exist_ok=True)
        play = "%s -i host, prepare.yml -e @values.json %s || code=$?" % (BIN / "ansible-playbook", " ".join(arguments))
        # Folders of a test may lie below a mount that an overlay of / doesn't show.
        command = "cd %s && code=0; %s; (%s --version 2>/dev/null || echo none) | head -1; exit $code" % (tmp_path, "; ".join([play] * times), tool)
        done = run(["unshare", "-m", "sh", "-c", COPY, "sh", str(tmp_path / "copy"), prepared, "sh", "-c", command], tmp_path, host.environ)
        if "PLAY RECAP" not in done.stdout:
            pytest.skip("no copy of this machine can be made: " + (done.stderr or done.stdout)[-300:])
        return done

    return go


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


def test_a_misspelt_variable_is_told(tmp_path):
    host = Host(tmp_path)
    done = host.prepare("--check", gpu_audit_prepare_iperf="true", gpu_audit_prepare_methode="auto")
    assert done.returncode == 0 and "gpu_audit_prepare_iperf is no variable of this audit" in done.stdout, done.stdout
    assert 'did you mean \\"gpu_audit_prepare_method\\"?' in done.stdout
    assert "is no variable" not in host.prepare("--check").stdout


def test_everything_is_said_in_the_language_of_the_run(tmp_path):
    host = Host(tmp_path)
    chinese = {"gpu_audit_language": "zh", "gpu_audit_prepare_pyton": "x"}
    done = host.prepare("--check", **chinese)
    assert "将安装在 %s/venv" % host.directory in done.stdout and "gpu_audit_prepare_pyton 不是本审计的变量" in done.stdout, done.stdout
    assert "已经存在，无需安装" in host.prepare(gpu_audit_prepare_method="auto", **chinese).stdout
    done = host.prepare(gpu_audit_prepare_wheelhouse=str(tmp_path), **chinese)
    assert done.returncode == 2 and "中必须有 nvidia-ml-py" in done.stdout + done.stderr


def test_a_tool_is_installed_once_from_the_distribution(copied, tool):
    done = copied(without(tool), times=2)
    if "Temporary failure resolving" in done.stdout or "Failed to fetch" in done.stdout:
        pytest.skip("no mirror can be reached")
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith(TOOLS[tool][0]), done.stdout
    first, second = (part.partition("\n\n")[0] for part in done.stdout.split("PLAY RECAP")[1:])
    assert "changed=0 " not in first and "changed=0 " in second
    assert ("https://github.com/NVIDIA/nccl-tests" in done.stdout) is (tool == "iperf3")


def test_a_tool_in_check_mode_is_only_announced(copied, tool):
    done = copied(without(tool), "--check")
    assert done.returncode == 0 and "changed=1 " in done.stdout and done.stdout.splitlines()[-1] == "none", done.stdout


def test_a_machine_without_package_lists_fetches_them_first(copied, tool):
    empty = without(tool) + "; rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin"
    done = copied(empty, "--check")
    assert done.returncode == 0 and "Without --check they are fetched anew" in done.stdout, done.stdout
    assert "不带 --check 运行时会先刷新列表再试" in copied(empty, "--check", gpu_audit_language="zh").stdout
    done = copied(empty)
    if "Failed to update apt cache" in done.stdout or "Failed to fetch" in done.stdout:
        pytest.skip("no mirror can be reached")
    assert done.returncode == 0 and done.stdout.splitlines()[-1].startswith(TOOLS[tool][0]), done.stdout


def test_a_tool_that_is_there_is_left_alone(copied, tool):
    said = TOOLS[tool][1]
    done = copied(without(tool) + "; printf '#!/bin/sh\\necho \"%s\"\\n' > /usr/local/bin/%s; chmod +x /usr/local/bin/%s" % (said, tool, tool))
    assert done.returncode == 0 and "changed=0 " in done.stdout and done.stdout.splitlines()[-1] == said, done.stdout


@pytest.mark.parametrize("language, words", [("en", "couldn't be installed on this host: "), ("zh", "无法在该主机上安装 .*：")])
def test_a_distribution_without_a_tool_is_told_how_to_get_it(copied, tool, language, words):
    nothing = without(tool) + "; rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin /etc/apt/sources.list /etc/apt/sources.list.d/*"
    done = copied(nothing, gpu_audit_language=language)
    said = " ".join(done.stdout.split())
    assert done.returncode == 2 and re.search(words + ".*no (available|package)", said, re.IGNORECASE), done.stdout
    assert {"fio": "measure_storage_fio", "iperf3": "measure_network_link_iperf3"}[tool] in said
    assert "Traceback" not in done.stdout + done.stderr
