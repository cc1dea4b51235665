# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Every sentence that the code warns with, raises, or notes beside a measurement has its Chinese: found by reading the code."""

from __future__ import annotations

import ast
import itertools
import pathlib
import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"
# Filters and lookups speak inside a template, where no run and no language is known.
ROOMS = ("action/*.py", "callback/*.py", "plugin_utils/**/*.py", "module_utils/measure/*.py", "modules/storage_benchmark.py", "modules/workload_probe.py")
NOTED = {"notes", "problems", "strangers"}
# A file and the beginning of a sentence in it that nobody reads, or that is a tool's.
SILENT = {
    ("registry.py", "metric "): "a mistake in this code, seen by its tests",
    ("run_directory.py", "unknown kind of error"): "a mistake in this code",
    ("run_directory.py", " is not a number JSON knows"): "part of `not JSON`, as the reader of JSON said it",
    ("report/__init__.py", "no report format"): "asked of gpu_audit_formats before",
    ("expressions.py", ""): "part of `is no valid expression` and of messages.py's",
    ("sampler_gpu.py", ""): "the driver's words",
    ("scaling.py", ""): "the filter's; the form says the same in workload.py",
    ("plan.py", "note."): "a key of plan_texts.py",
    ("metrics/storage.py", ""): "evidence, said by the report",
    ("peer_http.py", ""): "what the stand-in server answers to a client",
    ("peer_server.py", ""): "what the stand-in server answers to a client",
    ("link_figures.py", ""): "a mistake in this code: what it is asked is checked before",
}


def literals(node):
    """The texts that an expression may be, each as its % format."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return literals(node.left)
    if isinstance(node, ast.IfExp):
        return literals(node.body) + literals(node.orelse)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [text for element in node.elts for text in literals(element)]
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return literals(node.elt)
    return []


def name_of(node):
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def spoken(node):
    """The expressions of a node of the syntax tree that a user gets to read."""
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return node.exc.args[-1:]
    if isinstance(node, ast.Call) and name_of(node.func) in ("warn", "_warn"):
        return node.args
    if isinstance(node, ast.Call) and name_of(node.func) == "append" and name_of(node.func.value) in NOTED:
        return node.args[:1]
    if isinstance(node, ast.AugAssign) and name_of(node.target) in NOTED:
        return [node.value]
    return []


def sentences():
    """[(file, line, sentence with its placeholders filled)]"""
    found = []
    for room in ROOMS:
        for path in sorted(PLUGINS.glob(room)):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                for text in (text for part in spoken(node) for text in literals(part)):
                    found.append((path, node.lineno, text))
    return found


PLACEHOLDER = re.compile(r"%(?:\(\w+\))?[\d.*]*([srdgf%])")
# What a text may be filled with: a name, another sentence of the table, a "did you mean", what is wanted, nothing.
FILLINGS = ("x1", "not an object", "text", "", "there are no GPUs", "Install it with: x (or the role prepare with gpu_audit_prepare_fio: true)",
            "user x", "; runs there: x", "was removed", "Leave gpu_counts out")


def filled(text):
    """Each way to fill the placeholders of a text."""
    kinds = [kind for kind in PLACEHOLDER.findall(text) if kind != "%"]
    for words in itertools.product(*(FILLINGS if kind == "s" else ("'x1'",) if kind == "r" else ("5",) for kind in kinds)):
        left = list(words)
        yield PLACEHOLDER.sub(lambda found: "%" if found.group(1) == "%" else left.pop(0), text)  # pylint: disable=cell-var-from-loop


def silent(path, text):
    return any(str(path).endswith("/" + name) and begin in text for name, begin in SILENT)


FOUND = [pytest.param(text, id="%s:%d" % (path.relative_to(PLUGINS), line)) for path, line, text in sentences() if not silent(path, text)]


def test_the_code_was_read():
    assert len(FOUND) > 120
    assert {"raise": 1, "warn": 1, "note": 1} == {
        "raise": len([1 for param in FOUND if "is a file; give a directory" in param.values[0]]),
        "warn": len([1 for param in FOUND if "the last audit was interrupted" in param.values[0]]),
        "note": len([1 for param in FOUND if "no sample for %d s" in param.values[0]]),
    }


@pytest.mark.parametrize("text", FOUND)
def test_every_sentence_has_its_chinese(text):
    # Without a word of its own it only joins what others said.
    if not re.search("[a-z]{3}", PLACEHOLDER.sub("", text)):
        return
    assert any(re.search("[\u4e00-\u9fff]", complaints.say(sentence, "zh")) for sentence in filled(text)), text
