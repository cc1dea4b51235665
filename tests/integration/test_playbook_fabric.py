# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Tests of the fabric between GPUs by the playbook, with a stand-in for the test on the search path: announced, run, kept, judged."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest
from playbook_site import LOCAL, Site, recap

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit"))
import conftest as _unit_conftest  # noqa: E402,F401 puts the collection on the import path
import fabric_samples as samples  # noqa: E402

ARGV = ["all_reduce_perf", "-b", "16G", "-e", "16G", "-g", "8", "--secret=s3cret-word"]


@pytest.fixture
def site(tmp_path):
    made = Site(tmp_path)
    samples.program(
        tmp_path / "bin", "all_reduce_perf", samples.nccl(head="# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703")
    )
    made.path = "%s:%s" % (tmp_path / "bin", os.environ["PATH"])
    made.inventory(
        {"a": LOCAL},
        {
            "measure_network_fabric_argv": ARGV,
            "measure_network_fabric_environment": {"A_TOKEN": "s3cret-value"},
            "gpu_audit_policy": "base",
            "gpu_audit_expected": {"fabric_busbw_bytes_per_second": "500 GB/s"},
        },
    )
    return made


def kept(site):
    return [json.loads(path.read_text()) for path in sorted(site.output.glob("measurements/a/*.json"))]


def test_run_kept_and_judged_in_both_languages(site):
    done = site.play("measure", PATH=site.path)
    assert done.returncode == 0 and recap(done.stdout)["a"]["changed"] == 0, done.stdout
    assert (
        "a: fabric_benchmark of all_reduce_perf: at most" in done.stdout and "runs all_reduce_perf, which fills the links" in done.stdout
    ), done.stdout
    assert "busbw 448 GiB/s" in done.stdout, done.stdout
    (found,) = kept(site)
    assert (found["module"], found["target"]) == ("fabric_benchmark", "all_reduce_perf") and "error" not in found
    assert (found["result"]["busbw_bytes_per_second"], found["result"]["nodes"], found["result"]["ranks"]) == (481.04e9, 1, 8)
    assert found["options"]["argv"] == {"program": "all_reduce_perf", "arguments": 7} and found["options"]["environment"] == ["A_TOKEN"]
    assert "s3cret" not in json.dumps(found) and "s3cret" not in done.stdout
    assert (site.folder / "bin" / "all_reduce_perf.args").read_text().startswith("-b 16G -e 16G")
    for language, words in (
        ("en", "The fabric carries 448 GiB/s where you expect 466 GiB/s"),
        ("zh", "互联带宽 448 GiB/s，期望 466 GiB/s"),
    ):
        assert site.play("audit", "-e", "gpu_audit_language=" + language).returncode == 0
        told = {finding["check"]: finding for finding in site.report()["hosts"][0]["findings"]}
        assert (
            told["network.fabric_fraction_of_expected"]["status"] == "warn"
            and words in told["network.fabric_fraction_of_expected"]["message"]
        )
        assert told["network.fabric_wrong_values"]["status"] == "pass"


def test_check_only_announces_and_a_missing_program_is_refused(site):
    done = site.play("measure", "--check", "-e", "gpu_audit_language=zh", PATH=site.path)
    assert done.returncode == 0 and "运行 all_reduce_perf，会占满 GPU 或主机之间的链路" in done.stdout, done.stdout
    done = site.play("measure")
    assert done.returncode == 2 and "Build NVIDIA's nccl-tests" in done.stdout, done.stdout
    assert "本机未安装 all_reduce_perf" in site.play("measure", "-e", "gpu_audit_language=zh").stdout and kept(site) == []


def test_wrong_values_fail_and_a_test_that_fails_is_kept_as_a_failure(site):
    samples.program(site.folder / "bin", "all_reduce_perf", samples.nccl(wrong=1), status=1)
    assert site.play("measure", PATH=site.path).returncode == 0 and site.play("audit").returncode == 0
    told = {finding["check"]: finding for finding in site.report()["hosts"][0]["findings"]}
    assert told["network.fabric_wrong_values"]["status"] == "fail"
    samples.program(site.folder / "bin", "all_reduce_perf", "node-1: Test CUDA failure common.cu:892 'out of memory'\n", status=2)
    done = site.play("measure", PATH=site.path)
    assert done.returncode == 0 and "Test CUDA failure" in done.stdout, done.stdout
    assert sorted("error" in found for found in kept(site)) == [False, True]
