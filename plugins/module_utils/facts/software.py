# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Facts about the software: kernel, distribution, driver, CUDA, container toolkit, Python frameworks.

Files are read first; a program is started only where none answers.
"""

from __future__ import annotations

import json
import os
import re
import time

from ..sources import mounts as mount_table
from ..sources import procfs
from ..sources.forked import run_forked
from .subject import Subject

# What a GPU workload's versions are judged by; other packages aren't kept.
_PACKAGES = frozenset((
    "torch", "torchvision", "torchaudio", "tensorflow", "jax", "jaxlib", "vllm", "sglang", "tensorrt", "tensorrt-llm", "onnxruntime-gpu",
    "transformers", "accelerate", "deepspeed", "flash-attn", "xformers", "bitsandbytes", "peft", "trl", "triton", "diffusers", "datasets",
    "lightning", "pytorch-lightning", "megatron-core", "transformer-engine", "apex", "horovod", "mxnet", "paddlepaddle-gpu", "cupy",
    "cupy-cuda11x", "cupy-cuda12x", "cupy-cuda13x", "numba", "numpy", "scipy", "ray", "nvidia-ml-py", "pynvml", "cuda-python",
    "llama-cpp-python", "safetensors", "tokenizers"))
# Compiled when first needed: on most hosts there is nothing to match.
_LIBRARIES = r"^nvidia-(cudnn|nccl|cublas|cuda-runtime|nvjitlink)(-cu\d+)?$"
_INFO = r"^(.+?)-(\d[^-]*)(?:-py[\d.]+)?\.(?:dist-info|egg-info)$"
_DRIVER = r"(?m)^NVRM version:\s+(.*?)\s(\d+\.\d+(?:\.\d+)*)\s"
_LIBRARY = r"^libcuda\.so\.(\d{3,}\.\d+(?:\.\d+)*)$"
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib/powerpc64le-linux-gnu", "/usr/lib64",
                    "/usr/lib/nvidia/current", "/usr/lib", "/run/nvidia/driver/usr/lib/x86_64-linux-gnu")
_FABRIC_MANAGER = ("/usr/bin/nv-fabricmanager", "/usr/sbin/nv-fabricmanager", "/usr/lib/systemd/system/nvidia-fabricmanager.service")
_TOOLKIT = ("/usr/bin/nvidia-ctk", "/usr/local/bin/nvidia-ctk", "/usr/local/nvidia/toolkit/nvidia-ctk")
_MAX_ENVIRONMENTS = 32
_MAX_TOOLKITS = 32
_PER_SERVER_SECONDS = 5.0


def collect(host, python_environments=(), timeout_seconds=10, run=run_forked, run_program=None):
    """The software document of a HostFiles.

    driver_version: of the user-space driver library on disk, else of the loaded module; driver_module_version: of the loaded kernel module.
    They differ after an upgrade without a reboot. python_environments: prefixes (or site-packages folders); none named means the
    system's Python. `torch_cuda_version` of an environment is null for a build without CUDA. Nothing of Python is started.
    """
    software = Subject(
        "kernel", "distribution_id", "distribution_version", "distribution_name", "driver_version", "driver_module_version",
        "driver_module_open", "nouveau_loaded", "cuda_toolkits", "container_toolkit_version", "fabric_manager_installed",
        "python_environments")
    software.put("/proc/sys/kernel/osrelease", {"kernel": host.text_or("/proc/sys/kernel/osrelease")})
    release = procfs.parse_assignments(host.text_or("/etc/os-release") or host.text_or("/usr/lib/os-release", ""))
    software.put("/etc/os-release", {
        "distribution_id": release.get("ID"), "distribution_version": release.get("VERSION_ID"),
        "distribution_name": release.get("PRETTY_NAME")})
    _put_driver(software, host)
    software.put("/sys/module", {"nouveau_loaded": host.exists("/sys/module/nouveau")})
    software.put("files", {"fabric_manager_installed": any(host.exists(path) for path in _FABRIC_MANAGER)})
    _put_maybe_elsewhere(software, host, list(python_environments)[:_MAX_ENVIRONMENTS], timeout_seconds, run, run_program)
    return software.document()


def _put_maybe_elsewhere(software, host, named, timeout_seconds, run, run_program):
    """/usr/local and named environments may lie on a dead disk or server: what isn't on the root is read in a child with a deadline."""
    deadline = time.monotonic() + timeout_seconds
    mounts = mount_table.by_mount_point(procfs.parse_mountinfo(host.text_or("/proc/self/mountinfo", "", 4 << 20)))
    value = _on_the_root(host, mounts, named)

    def elsewhere(function):
        left = deadline - time.monotonic()
        return run(function, min(left, _PER_SERVER_SECONDS)) if left > 0 else (False, "no time left to ask its server", "timeout")

    software.put("/usr/local/cuda*/version.json", {"cuda_toolkits": value["cuda_toolkits"]})
    if value["more_toolkits"]:
        ok, toolkits, _kind = elsewhere(lambda: cuda_toolkits(host, [
            path for path in value["cuda_folders"] or cuda_folders(host) if not _automount(host, mounts, path)]))
        if ok:
            software.values["cuda_toolkits"] = toolkits
        else:
            software.absent["cuda_toolkits"] = "failed: %s" % toolkits
    environments = value["python_environments"]
    for position, described in enumerate(environments):
        if described is None:
            path = named[position]
            ok, described, _kind = elsewhere(lambda: _environment(host, mounts, path))
            environments[position] = described if ok else dict(_nothing(path), error=described)
    software.put("*.dist-info", {"python_environments": environments})
    _put_container_toolkit(software, host, value["toolkit_program"], timeout_seconds, run_program)


def _automount(host, mounts, path):
    """Why a path isn't looked at: it lies below an automount, or its links go round; None where nothing speaks against it."""
    try:
        where, mount, _resolved = mount_table.place_on(host, mounts, path)
    except OSError as error:
        return error.strerror
    return mount_table.not_mounted(mount) if where == mount_table.AUTOMOUNT else None


def _environment(host, mounts, path):
    stop = _automount(host, mounts, path)
    return dict(_nothing(path), error=stop) if stop else environment(host, path)


def _on_the_root(host, mounts, named):
    """What lies on the root file system, and None for an environment that lies elsewhere. Automounts are left alone."""

    def where(path):
        try:
            return mount_table.place_on(host, mounts, path, mount_table.off_the_root)[0]
        except OSError:
            return None

    environments = [None if where(path) == mount_table.REMOTE else _environment(host, mounts, path) for path in named]
    usr_local = where("/usr/local/lib")
    here = usr_local == mount_table.LOCAL
    folders = cuda_folders(host) if here else []
    places = dict((path, where(path)) for path in folders)
    return {
        "cuda_toolkits": cuda_toolkits(host, [path for path in folders if places.get(path) == mount_table.LOCAL]),
        "cuda_folders": [path for path in folders if places.get(path) in (mount_table.LOCAL, mount_table.REMOTE)],
        "more_toolkits": mount_table.REMOTE in places.values() or usr_local == mount_table.REMOTE,
        "toolkit_program": next((path for path in _TOOLKIT if where(path) == mount_table.LOCAL and host.exists(path)), None),
        "python_environments": environments if named else system_environments(host, ("/usr", "/usr/local") if here else ("/usr",)),
    }


def parse_driver(text):
    """/proc/driver/nvidia/version -> (version, whether it is the open module); (None, None) where it isn't that file."""
    match = re.search(_DRIVER, text) if text else None
    return (match.group(2), "Open Kernel Module" in match.group(1)) if match else (None, None)


def _put_driver(software, host):
    text = host.text_or("/proc/driver/nvidia/version", "")
    loaded, is_open = parse_driver(text)
    software.put("/proc/driver/nvidia/version", {"driver_module_open": is_open})
    module = loaded or host.text_or("/sys/module/nvidia/version")
    software.put("/proc/driver/nvidia/version" if loaded else "/sys/module/nvidia/version", {"driver_module_version": module})
    for folder in _LIBRARY_FOLDERS:
        names = [name for name in host.names(folder) if name.startswith("libcuda.so.")]
        versions = [match.group(1) for match in (re.match(_LIBRARY, name) for name in names) if match]
        if versions:
            newest = max(versions, key=lambda version: [int(number) for number in version.split(".")])
            software.put("%s/libcuda.so.%s" % (folder, newest), {"driver_version": newest})
            return
    software.put("loaded module", {"driver_version": module})


def cuda_folders(host):
    return ["/usr/local/" + name for name in host.names("/usr/local") if name.startswith("cuda")][:_MAX_TOOLKITS]


def cuda_toolkits(host, folders):
    """[{"path", "version"}] of the toolkits in some folders, or else the distribution's own; version null where no file tells it."""
    found, seen = [], set()
    # Real folders first: /usr/local/cuda and cuda-12 are links to one of them.
    for folder in sorted(folders, key=lambda path: (host.link(path) is not None, path)):
        real = os.path.realpath(host.path(folder))
        if real in seen:
            continue
        seen.add(real)
        version = None
        try:
            version = json.loads(host.text(folder + "/version.json"))["cuda"]["version"]
        except (OSError, ValueError, KeyError, TypeError):
            match = re.search(r"CUDA Version ([\d.]+)", host.text_or(folder + "/version.txt", ""))
            version = match.group(1) if match else None
        if version or host.exists(folder + "/bin/nvcc"):
            name = re.match(r".*/cuda-([\d.]+)$", folder)
            found.append({"path": folder, "version": str(version) if version else name.group(1) if name else None})
    if not found and host.exists("/usr/bin/nvcc"):
        found.append({"path": "/usr", "version": None})
    return found


def _put_container_toolkit(software, host, program, timeout_seconds, run_program):
    if program is None:
        software.put("files", {"container_toolkit_version": None})
        return
    version = _debian_version(host, "nvidia-container-toolkit")
    if version:
        software.put("/var/lib/dpkg/status", {"container_toolkit_version": version})
        return
    if run_program is None:
        from ..sources.run_program import run_program
    result = run_program([host.path(program), "--version"], timeout_seconds)
    match = re.search(r"version (\d[\w.~+-]*)", result.stdout or "")
    if match:
        software.put(program + " --version", {"container_toolkit_version": match.group(1)})
    else:
        software.absent["container_toolkit_version"] = "failed: %s --version: %s" % (
            program,
            "no answer within %g s" % timeout_seconds if result.timed_out else (result.stderr or "exit %s" % result.rc).strip()[:500])


def _debian_version(host, package):
    if not host.exists("/var/lib/dpkg/info/%s.list" % package):
        return None
    text = host.text_or("/var/lib/dpkg/status", "", 64 << 20)
    start = text.find("\nPackage: %s\n" % package)
    match = re.search(r"^Version: (\S+)", text[start:text.find("\n\n", start + 1)], re.M) if start >= 0 else None
    return match.group(1) if match else None


def _nothing(path):
    return {"path": path, "python_version": None, "packages": {}, "torch_cuda_version": None, "error": None}


def _packages(host, folder):
    """{name: version} of the known packages in a site-packages folder, by the names of their *.dist-info folders. Raises OSError."""
    packages = {}
    for name in os.listdir(host.path(folder)):
        match = re.match(_INFO, name) if name.endswith("-info") else None
        if match:
            package = re.sub(r"[-_.]+", "-", match.group(1)).lower()
            if package in _PACKAGES or re.match(_LIBRARIES, package):
                packages[package] = match.group(2)
    return packages


def _torch_cuda(host, folder, version):
    """The CUDA that a torch build carries: '+cu130' of its version, else torch/version.py."""
    local = re.search(r"\+cu(\d+)(\d)$", version)
    if local:
        return "%s.%s" % local.groups()
    text = host.text_or(folder + "/torch/version.py", "", _ENOUGH)
    match = re.search(r"^cuda(?:\s*:[^=]*)?\s*=\s*['\"]([\d.]+)['\"]", text, re.M)
    return match.group(1) if match else None


_ENOUGH = 65536
_SITE = re.compile(r"^python(\d+\.\d+)t?$")


def _sites(host, prefix):
    """[(folder, Python version or None)] of a prefix's package folders."""
    found = []
    for library in ("/lib", "/lib64"):
        for name in host.names(prefix + library):
            match = _SITE.match(name)
            if match:
                for kind in ("site-packages", "dist-packages"):
                    folder = "%s%s/%s/%s" % (prefix, library, name, kind)
                    # /lib64 is a link to /lib in a virtual environment.
                    if host.exists(folder) and not any(os.path.samefile(host.path(folder), host.path(other)) for other, _version in found):
                        found.append((folder, match.group(1)))
    return found


def environment(host, path):
    """{"path", "python_version", "packages", "torch_cuda_version", "error"} of a prefix or a site-packages folder. May block."""
    described = _nothing(path)
    path = path.rstrip("/")
    if path.endswith(("/site-packages", "/dist-packages")):
        version = re.search(r"/python(\d+\.\d+)", path)
        sites = [(path, version.group(1) if version else None)]
    else:
        sites = _sites(host, path)
    if not sites:
        described["error"] = "no Python environment: no lib/python3*/site-packages in it" if host.exists(path) else "no such folder"
        return described
    settings = procfs.parse_assignments(host.text_or(path + "/pyvenv.cfg", "").replace(" = ", "="))
    described["python_version"] = settings.get("version") or settings.get("version_info") or sites[0][1]
    try:
        for folder, _version in sites:
            packages = _packages(host, folder)
            if "torch" in packages and "torch" not in described["packages"]:
                described["torch_cuda_version"] = _torch_cuda(host, folder, packages["torch"])
            described["packages"] = dict(packages, **described["packages"])
    except OSError as error:
        described["error"] = "%s: %s" % (folder, error.strerror)
    return described


def system_environments(host, prefixes=("/usr", "/usr/local")):
    """The distribution's Python and what was installed for everybody under /usr/local, where they carry a known package."""
    found = []
    if host.exists("/usr/lib/python3/dist-packages"):
        described = environment(host, "/usr/lib/python3/dist-packages")
        described["python_version"] = next((match.group(1) for match in map(_SITE.match, host.names("/usr/lib")) if match), None)
        found.append(described)
    found += [environment(host, prefix) for prefix in prefixes if _sites(host, prefix)]
    return [described for described in found if described["packages"]]
