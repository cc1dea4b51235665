# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts this checkout on the import path as ansible_collections.trainops.gpu_audit and finds the optional captures."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import shutil
import sys
import tempfile
import time

import pytest

try:
    import hypothesis
except ImportError:
    # The host side's tests run on Pythons that it doesn't support.
    hypothesis = None

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _import_root():
    """A folder with ansible_collections/trainops/gpu_audit in it: the one this checkout lies in, else a private symlink."""
    if ROOT.parts[-3:] == ("ansible_collections", "trainops", "gpu_audit"):
        return ROOT.parents[2]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpu-audit-import-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "ansible_collections" / "trainops").mkdir(parents=True)
    os.symlink(ROOT, folder / "ansible_collections" / "trainops" / "gpu_audit")
    return folder


if "ansible_collections.trainops.gpu_audit" not in sys.modules:
    sys.path.insert(0, str(_import_root()))


if hypothesis is not None:
    # How long an example takes is the machine's business: one that stands still for a moment is no failure.
    hypothesis.settings.register_profile("any-speed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.load_profile("any-speed")


def shared_folder(name):
    """The folder of captures or traps beside the checkout (or under GPU_AUDIT_SHARED), None where it is not there."""
    base = pathlib.Path(os.environ.get("GPU_AUDIT_SHARED", ROOT.parent / "shared"))
    folder = base / name
    return folder if folder.is_dir() else None


def _needed(name):
    folder = shared_folder(name)
    if folder is None:
        pytest.skip("no %s folder beside the checkout" % name)
    return folder


@pytest.fixture(scope="session")
def captures():
    return _needed("captures")


@pytest.fixture(scope="session")
def traps():
    return _needed("traps")


def wait_until(true, seconds=20):
    """Whether `true()` came true."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if true():
            return True
        time.sleep(0.02)
    return bool(true())


@pytest.fixture
def no_proxies(monkeypatch):
    """The proxies of this machine are not for the servers of tests."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def orphans_go_to_init():
    """A module that ends orphans makes its process their parent for as long as it lives; here that process is the tests', which live on."""
    yield
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0), ctypes.c_ulong(0))  # PR_SET_CHILD_SUBREAPER
