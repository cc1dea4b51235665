# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The importer of the zip archive that Ansible sends: what it imports is like Python's own, and compiled once."""

from __future__ import annotations

import base64
import importlib
import json
import os
import subprocess
import sys
import zipfile
import zlib

import pytest

from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing
from test_host_facts import _import_root, _pythons

FILES = {"zipped_one/__init__.py": "", "zipped_one/inner/__init__.py": "WORD = 'package'\n",
         "zipped_one/inner/leaf.py": "from . import WORD\nfrom .. import inner\ndef fails():\n    return 1 // 0\n",
         "zipped_one/broken.py": "def (:\n"}


@pytest.fixture
def archive(tmp_path, monkeypatch):
    """A zip on the path whose package zipped_one goes through the importer; leaves nothing behind."""
    with zipfile.ZipFile(tmp_path / "payload.zip", "w", zipfile.ZIP_DEFLATED) as stream:
        for name, text in FILES.items():
            stream.writestr(name, text)
    monkeypatch.syspath_prepend(str(tmp_path / "payload.zip"))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    importing.compile_once("zipped_one")
    yield tmp_path / "payload.zip"
    for name in [name for name in sys.modules if name.startswith("zipped_one")]:
        del sys.modules[name]


def test_modules_and_packages(archive):
    leaf = importlib.import_module("zipped_one.inner.leaf")
    assert (leaf.WORD, leaf.inner.__path__, leaf.__package__) == ("package", ["%s/zipped_one/inner" % archive], "zipped_one.inner")
    assert leaf.__file__ == "%s/zipped_one/inner/leaf.py" % archive and isinstance(leaf.__spec__.loader, importing.ZipModules)
    # What went wrong where is told by this name (host_facts.described).
    assert leaf.fails.__code__.co_filename == leaf.__file__


def test_what_is_not_there_or_broken_is_told_as_ever(archive):
    with pytest.raises(ModuleNotFoundError, match="zipped_one.none"):
        importlib.import_module("zipped_one.none")
    with pytest.raises(SyntaxError) as raised:
        importlib.import_module("zipped_one.broken")
    assert raised.value.filename == "%s/zipped_one/broken.py" % archive


def test_what_lies_in_folders_is_left_to_python(tmp_path, monkeypatch):
    (tmp_path / "plain_one").mkdir()
    (tmp_path / "plain_one" / "leaf.py").write_text("WORD = 1\n")
    finder = importing.ZipModules("plain_one")
    assert finder.find_spec("plain_one.leaf", [str(tmp_path / "plain_one")]) is None
    assert finder.find_spec("plain_one.leaf", None) is None and finder.find_spec("other.leaf", [str(tmp_path)]) is None


PROGRAM = """
import builtins, json, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing
compiled, own = [], builtins.compile
builtins.compile = lambda source, name, *rest, **more: (compiled.append(name), own(source, name, *rest, **more))[1]
importing.compile_once(importing.__package__)
from ansible_collections.trainops.gpu_audit.plugins.module_utils import host_facts
text = host_facts.pack(host_facts.gather(["!gpu"], {}))
print(json.dumps([text, [name for name in compiled if "module_utils" in name]]))
"""


@pytest.mark.parametrize("python", sorted(_pythons().items()), ids=lambda pair: pair[0])
def test_every_host_python_gathers_out_of_a_zip(python, tmp_path):
    root = _import_root()
    with zipfile.ZipFile(tmp_path / "payload.zip", "w") as stream:
        folder = importing.__file__.rpartition("/plugins/")[0] + "/plugins/module_utils"
        package = "ansible_collections/trainops/gpu_audit/plugins/module_utils"
        for depth in range(1, 5):
            stream.writestr("/".join(package.split("/")[:depth]) + "/__init__.py", "")
        for where, _folders, names in os.walk(folder):
            for name in sorted(names):
                if name.endswith(".py"):
                    stream.write(os.path.join(where, name), package + where[len(folder):] + "/" + name)
    done = subprocess.run([python[1], "-I", "-B", "-W", "error", "-c", PROGRAM, str(tmp_path / "payload.zip")], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False, cwd=root)
    assert done.returncode == 0, done.stderr.decode()
    text, compiled = json.loads(done.stdout.decode())
    facts = json.loads(zlib.decompress(base64.b64decode(text)).decode())
    assert [subject for subject in facts if "error" in facts[subject]] == [] and facts["memory"]["total_bytes"] > 0
    assert len(compiled) > 10 and len(compiled) == len(set(compiled))
