# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The HTML report in headless Chromium (check.mjs): small, middle, large and hostile fleets, both languages.

Needs Chromium, node and npm; skipped with the reason where one is missing. CHROMIUM names a browser elsewhere.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "unit"))

if "ansible_collections.trainops.gpu_audit" not in sys.modules:
    _spec = importlib.util.spec_from_file_location("gpu_audit_import_path", HERE.parent / "unit" / "conftest.py")
    _spec.loader.exec_module(importlib.util.module_from_spec(_spec))

import fleet_maker  # noqa: E402
import measured_samples  # noqa: E402
import network_samples  # noqa: E402
import report_samples  # noqa: E402
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import report as renderer  # noqa: E402

CHROMIUM = next(
    (
        path
        for path in (os.environ.get("CHROMIUM"), "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
        if path and pathlib.Path(path).exists()
    ),
    None,
)


@pytest.fixture(scope="session")
def node():
    """The node program, with the packages of package-lock.json beside the checks."""
    missing = [name for name in ("node", "npm") if not shutil.which(name)] + ([] if CHROMIUM else ["chromium"])
    if missing:
        pytest.skip("not installed: " + ", ".join(missing))
    if not (HERE / "node_modules" / "puppeteer-core").is_dir():
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=HERE, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode:
            pytest.skip("npm ci: " + done.stderr.strip()[-300:])
    return shutil.which("node")


def check(node, path):
    done = subprocess.run([node, "check.mjs", str(path)], cwd=HERE, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("hosts, language", [(3, "zh"), (16, "en"), (1000, "en")])
def test_a_judged_fleet(node, tmp_path, hosts, language):
    pairs = {inputs["name"]: (inputs, document) for inputs, document in fleet_maker.make_documents(hosts)}
    report = fleet_maker.make_report(hosts, language=language)
    renderer.render(report, tmp_path, language, ("html",), lambda name: pairs[name][1], inputs=lambda name: pairs[name][0])
    check(node, tmp_path / "report.html")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_measured_fleet(node, tmp_path, language):
    report, documents, inputs = measured_samples.report(measured_samples.page(), language)
    renderer.render(report, tmp_path, language, ("html",), documents, inputs=inputs)
    check(node, tmp_path / "report.html")


@pytest.mark.parametrize("kind, language", [("page", "zh"), ("pairs of 16", "en"), ("pairs of 64", "en")])
def test_a_fleet_whose_network_was_measured(node, tmp_path, kind, language):
    pairs = network_samples.page() if kind == "page" else network_samples.fleet(int(kind.split()[-1]), {"gpu11": 0.3}, mode="mesh")
    report, documents, inputs = measured_samples.report(pairs, language)
    renderer.render(report, tmp_path, language, ("html",), documents, inputs=inputs)
    if kind == "page":
        # What is checked has each kind of chart, bandwidth over message size too.
        assert "带宽与消息大小（all_reduce_perf）" in (tmp_path / "report.html").read_text(encoding="utf-8")
    check(node, tmp_path / "report.html")


@pytest.mark.parametrize("copies", [1, 3])
def test_a_hostile_fleet(node, tmp_path, copies):
    report = report_samples.hostile_report(copies=copies)
    renderer.render(report, tmp_path, "en", ("html",), report_samples.hostile_document)
    check(node, tmp_path / "report.html")
