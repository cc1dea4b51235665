# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Software facts: driver, CUDA, container toolkit and Python frameworks, read from files."""

from __future__ import annotations

import types

import pytest
from host_tree import make_host, mountinfo, run_here

from ansible_collections.trainops.gpu_audit.plugins.module_utils.facts import software
from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.host_files import HostFiles

PROPRIETARY = ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC 2024\n"
               "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n")
OPEN = ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)  Thu Jan 16\n"
        "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)\n")
ARM = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build\n"


def _collect(tmp_path, files=None, links=None, **options):
    return software.collect(make_host(tmp_path, files or {}, links), run=run_here, **options)


@pytest.mark.parametrize("text, expected", [
    (PROPRIETARY, ("550.54.15", False)), (OPEN, ("570.86.15", True)), (ARM, ("580.65.06", True)), ("", (None, None)),
    ("NVRM version:", (None, None)),
])
def test_driver_version_file(text, expected):
    assert software.parse_driver(text) == expected


def test_an_upgraded_driver_whose_old_module_is_loaded(tmp_path):
    found = _collect(tmp_path, {"/proc/driver/nvidia/version": PROPRIETARY, "/usr/lib/x86_64-linux-gnu/libcuda.so.550.163.01": "",
                                "/usr/lib/x86_64-linux-gnu/libcuda.so.1": "", "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15": "",
                                "/sys/module/nouveau/version": ""})
    assert (found["driver_version"], found["driver_module_version"], found["driver_module_open"]) == ("550.163.01", "550.54.15", False)
    assert found["nouveau_loaded"] is True


def test_module_version_without_the_proc_file(tmp_path):
    found = _collect(tmp_path, {"/sys/module/nvidia/version": "535.183.01\n"})
    assert (found["driver_version"], found["driver_module_version"], found["driver_module_open"]) == ("535.183.01", "535.183.01", None)
    assert found["nouveau_loaded"] is False


def test_distribution(tmp_path):
    found = _collect(tmp_path, {"/proc/sys/kernel/osrelease": "6.8.0-60-generic\n",
                                "/etc/os-release": '# x\nID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu \\"Noble\\" LTS"\nbroken\n'})
    assert [found[key] for key in ("kernel", "distribution_id", "distribution_version", "distribution_name")] == [
        "6.8.0-60-generic", "ubuntu", "24.04", 'Ubuntu "Noble" LTS']


def test_cuda_toolkits_each_once(tmp_path):
    found = _collect(tmp_path, {
        "/usr/local/cuda-12.4/version.json": '{"cuda": {"name": "CUDA SDK", "version": "12.4.1"}}',
        "/usr/local/cuda-10.2/version.txt": "CUDA Version 10.2.89\n", "/usr/local/cuda-13.0/bin/nvcc": "",
        "/usr/local/cuda-11.8/README": "",
        "/usr/local/cuda-9.9/version.json": "[]", "/usr/local/cuda-9.9/bin/nvcc": ""},
        {"/usr/local/cuda": "cuda-12", "/usr/local/cuda-12": "cuda-12.4"})["cuda_toolkits"]
    assert found == [{"path": "/usr/local/cuda-10.2", "version": "10.2.89"}, {"path": "/usr/local/cuda-12.4", "version": "12.4.1"},
                     {"path": "/usr/local/cuda-13.0", "version": "13.0"}, {"path": "/usr/local/cuda-9.9", "version": "9.9"}]


def _result(**values):
    return types.SimpleNamespace(**dict({"rc": 0, "stdout": "", "stderr": "", "timed_out": False}, **values))


def test_container_toolkit_from_the_package_files_without_a_program(tmp_path):
    found = _collect(tmp_path, {
        "/usr/bin/nvidia-ctk": "", "/var/lib/dpkg/info/nvidia-container-toolkit.list": "",
        "/var/lib/dpkg/status": "Package: nvidia-container-toolkit-base\nVersion: 9\n\n"
                                "Package: nvidia-container-toolkit\nStatus: x\nVersion: 1.17.8-1\n\n"
                                "Package: z\nVersion: 3\n"}, run_program=None)
    assert found["container_toolkit_version"] == "1.17.8-1"


def test_container_toolkit_by_its_program_and_its_failure(tmp_path):
    started = []

    def run_program(argv, timeout_seconds):
        started.append(argv[1:])
        return _result(stdout="NVIDIA Container Toolkit CLI version 1.16.2\ncommit: abc\n")

    assert _collect(tmp_path, {"/usr/bin/nvidia-ctk": ""}, run_program=run_program)["container_toolkit_version"] == "1.16.2"
    assert started == [["--version"]]
    found = _collect(tmp_path, run_program=lambda *unused: _result(rc=1, stderr="cannot open shared object\n"))
    assert found["absent"]["container_toolkit_version"] == "failed: /usr/bin/nvidia-ctk --version: cannot open shared object"
    assert _collect(tmp_path / "none")["absent"]["container_toolkit_version"] == "not_supported"


def _environment(prefix="/opt/train", version="3.12", names=(), **files):
    folder = "%s/lib/python%s/site-packages/" % (prefix, version)
    tree = {folder + name + "/METADATA": "" for name in names}
    tree.update((folder + name.replace("__", "/"), text) for name, text in files.items())
    return tree


def test_frameworks_of_a_named_environment(tmp_path):
    files = _environment(names=("torch-2.9.0+cu130.dist-info", "numpy-2.1.3.dist-info", "flash_attn-2.8.1.dist-info",
                                "requests-2.32.dist-info",
                                "nvidia_nccl_cu12-2.27.5.dist-info", "nonsense.dist-info", "torch"))
    files["/opt/train/pyvenv.cfg"] = "home = /usr/bin\nversion = 3.12.3\n"
    (found,) = _collect(tmp_path, files, python_environments=["/opt/train"])["python_environments"]
    assert found == {
        "path": "/opt/train", "python_version": "3.12.3", "torch_cuda_version": "13.0", "error": None,
        "packages": {"torch": "2.9.0+cu130", "numpy": "2.1.3", "flash-attn": "2.8.1", "nvidia-nccl-cu12": "2.27.5"}}


@pytest.mark.parametrize("name, text, expected", [
    ("torch-2.9.0.dist-info", "cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "12.8"),
    ("torch-1.8.0.dist-info", "cuda = '10.2'\n", "10.2"),
    ("torch-2.9.0+cpu.dist-info", "cuda: Optional[str] = None\n", None), ("torch-2.1.0+cu118.dist-info", "", "11.8"),
    ("torch-2.9.0.dist-info", "garbage", None),
])
def test_cuda_of_torch(tmp_path, name, text, expected):
    files = _environment(names=(name,), torch__version=text)
    files["/opt/train/lib/python3.12/site-packages/torch/version.py"] = files.pop("/opt/train/lib/python3.12/site-packages/torch/version")
    (found,) = _collect(tmp_path, files, python_environments=["/opt/train/"])["python_environments"]
    assert found["torch_cuda_version"] == expected


def test_environments_that_are_none(tmp_path):
    found = _collect(tmp_path, {"/opt/empty/x": ""}, python_environments=["/opt/empty", "/opt/gone"])["python_environments"]
    assert [each["error"] for each in found] == ["no Python environment: no lib/python3*/site-packages in it", "no such folder"]


def test_what_lies_on_the_root_needs_no_child(tmp_path):
    host = make_host(tmp_path,
                     dict(_environment(names=("torch-2.9.0.dist-info",)), **{"/usr/local/cuda-12.8/version.txt": "CUDA Version 12.8.1"}))
    found = software.collect(host, ["/opt/train"], run=None)
    assert (len(found["cuda_toolkits"]), found["python_environments"][0]["packages"]) == (1, {"torch": "2.9.0"})


def test_an_environment_on_another_disk_is_read_in_a_child(tmp_path):
    files = _environment("/data/train", names=("torch-2.9.0.dist-info",))
    files["/proc/self/mountinfo"] = mountinfo("8:1 / / rw - ext4 /dev/sda1 rw", "8:17 / /data rw - xfs /dev/sdb1 rw")
    host, limits = make_host(tmp_path, files), []
    found = software.collect(host, ["/data/train"], run=lambda function, seconds: limits.append(seconds) or (True, function(), None))
    assert limits == [5.0] and found["python_environments"][0]["packages"] == {"torch": "2.9.0"}


def test_a_dead_server_costs_only_what_lies_on_it(tmp_path):
    files = {"/proc/self/mountinfo": mountinfo("8:1 / / rw - ext4 /dev/sda1 rw", "0:70 / /nfs rw - nfs4 filer:/x rw"),
             "/usr/local/cuda-11.8/version.txt": "CUDA Version 11.8.0\n"}
    files.update(_environment("/opt/train", names=("torch-2.9.0.dist-info",)))
    host = make_host(tmp_path, files, {"/usr/local/cuda": "/nfs/cuda"})
    calls = []

    def run(function, timeout_seconds):
        calls.append(timeout_seconds)
        return False, "no answer within 5 s", "timeout"

    found = software.collect(host, ["/nfs/env", "/opt/train"], timeout_seconds=60, run=run)
    assert calls == [5.0, 5.0]
    assert found["cuda_toolkits"] == [{"path": "/usr/local/cuda-11.8", "version": "11.8.0"}]
    assert found["absent"]["cuda_toolkits"] == "failed: no answer within 5 s"
    assert [(each["error"], each["packages"]) for each in found["python_environments"]] == [
        ("no answer within 5 s", {}), (None, {"torch": "2.9.0"})]


@pytest.mark.parametrize("at", ["/usr/local", "/"])
def test_usr_local_on_a_server(tmp_path, at):
    files = {"/proc/self/mountinfo": mountinfo("8:1 / / rw - ext4 /dev/sda1 rw", "0:70 / %s rw - nfs4 filer:/x rw" % at),
             "/usr/local/cuda-11.8/version.txt": "CUDA Version 11.8.0\n"}
    assert _collect(tmp_path, files)["cuda_toolkits"] == [{"path": "/usr/local/cuda-11.8", "version": "11.8.0"}]


def test_automounts_are_not_touched(tmp_path):
    files = {"/proc/self/mountinfo": mountinfo("8:1 / / rw - ext4 /dev/sda1 rw", "0:70 / /net rw - autofs systemd-1 rw"),
             "/net/cuda/version.txt": "CUDA Version 12.8\n", "/usr/local/cuda-11.8/version.txt": "CUDA Version 11.8.0\n"}
    found = _collect(tmp_path, dict(files, **_environment("/net/env", names=("torch-2.9.0.dist-info",))), {"/usr/local/cuda": "/net/cuda"},
                     python_environments=["/net/env"])
    assert found["cuda_toolkits"] == [{"path": "/usr/local/cuda-11.8", "version": "11.8.0"}]
    assert "automount point /net" in found["python_environments"][0]["error"] and found["python_environments"][0]["packages"] == {}


def test_system_python_where_nothing_is_named(tmp_path):
    found = _collect(tmp_path, {
        "/usr/lib/python3/dist-packages/numpy-1.24.2.egg-info": "", "/usr/lib/python3.11/os.py": "",
        "/usr/lib/python3/dist-packages/foo-1.egg-info": "",
        "/usr/local/lib/python3.11/dist-packages/torch-2.6.0.dist-info/METADATA": ""})["python_environments"]
    assert [(each["path"], each["python_version"], each["packages"]) for each in found] == [
        ("/usr/lib/python3/dist-packages", "3.11", {"numpy": "1.24.2"}), ("/usr/local", "3.11", {"torch": "2.6.0"})]


def test_an_empty_host_knows_nothing(tmp_path):
    found = software.collect(HostFiles(str(tmp_path)), run=run_here)
    for field in ("kernel", "distribution_id", "driver_version", "driver_module_open", "container_toolkit_version"):
        assert found[field] is None and found["absent"][field] == "not_supported"
    assert (found["cuda_toolkits"], found["python_environments"], found["fabric_manager_installed"]) == ([], [], False)


def test_this_machine():
    assert software.collect(HostFiles())["kernel"]
