# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a module as Ansible does on a host: a program of its own that is given its options and prints its answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import conftest

_RUN = """
import sys
from ansible.module_utils import basic
basic._ANSIBLE_ARGS = sys.stdin.buffer.read()
basic._ANSIBLE_PROFILE = "legacy"
from ansible_collections.trainops.gpu_audit.plugins.modules import {0}
{0}.main()
"""


def start(module, options, check=False, before=(), **environment):
    """The module, started; `before`: a program to run it through (setpriv); `environment`: variables beside this process's."""
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join(path for path in sys.path if path), PYTHONDONTWRITEBYTECODE="1", **environment)
    process = subprocess.Popen([*before, sys.executable, "-c", _RUN.format(module)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environ, cwd=str(conftest.ROOT))
    process.stdin.write(json.dumps({"ANSIBLE_MODULE_ARGS": dict(options, _ansible_check_mode=check)}))
    process.stdin.close()
    process.stdin = None
    return process


def answered(process):
    """(the module's answer, all that it printed)"""
    out, error = process.communicate(timeout=120)
    assert out.strip().startswith("{"), error
    return json.loads(out), out + error
