# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the tests of the make commands and of the tarball share: a copy of this checkout, and commands run in it as a user would."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ROOT / "tests" / "tools"
if str(TOOLS) not in sys.path:
    sys.path.insert(0, str(TOOLS))

import steps  # noqa: E402  (the tools lie beside the tests, not in a package)


def copy_checkout(folder: pathlib.Path) -> pathlib.Path:
    """The tracked and the new files of this checkout in a folder of their own, as a clone would have them."""
    folder.mkdir(parents=True)
    steps.copy_of_tree(folder)
    return folder


def user_environment(home: pathlib.Path, **more: str) -> dict:
    """The environment of a user who has set nothing for Ansible; pip's own cache and settings are kept, so that nothing is fetched twice."""
    environ = {name: value for name, value in os.environ.items()
               if not name.startswith(("ANSIBLE_", "GPU_AUDIT_", "MAKE", "MFLAGS", "PYTEST_", "LANGUAGE", "VIRTUAL_ENV"))}
    environ["PIP_CACHE_DIR"] = os.environ.get("PIP_CACHE_DIR", os.path.expanduser("~/.cache/pip"))
    # pyenv finds its versions in the home folder.
    environ.setdefault("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    home.mkdir(exist_ok=True)
    return dict(environ, HOME=str(home), **more)


def run(arguments: list, folder: pathlib.Path, environ: dict, timeout: int = 300) -> subprocess.CompletedProcess:
    """A command without standard input, its output as text."""
    return subprocess.run([str(argument) for argument in arguments], cwd=folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=timeout, check=False)


def has_nvidia_gpu() -> bool:
    """True where this machine has one: then the words about a machine without don't fit."""
    vendors = pathlib.Path("/sys/bus/pci/devices").glob("*/vendor")
    return any(path.read_text().strip() == "0x10de" for path in vendors) or pathlib.Path("/proc/driver/nvidia/version").exists()
