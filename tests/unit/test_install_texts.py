# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A tool that is missing: each distribution's line that installs it, and the role that does, in both languages."""

from __future__ import annotations

import re

import pytest
from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fio_run, iperf3_run
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import complaints

FAMILIES = ("debian", "rhel", "fedora", "suse", "arch", "alpine", "somebody-elses")


def missing_fio(os_release):
    with pytest.raises(fio_run.NoFio) as caught:
        fio_run.version(None, os_release)
    return str(caught.value)


def missing_iperf3(os_release, monkeypatch):
    monkeypatch.setattr(iperf3_run, "_found", lambda path: None)
    with pytest.raises(iperf3_run.NoTool) as caught:
        iperf3_run.tool(None, os_release)
    return str(caught.value)


@pytest.mark.parametrize("family", FAMILIES)
def test_how_to_install_it_is_said_in_both_languages(family, monkeypatch):
    os_release = "ID=%s\n" % family
    for said, module, switch in (
        (missing_fio(os_release), fio_run, "gpu_audit_prepare_fio"),
        (missing_iperf3(os_release, monkeypatch), iperf3_run, "gpu_audit_prepare_iperf3"),
    ):
        line = module.install_line(os_release)
        assert line in said and said.endswith("(or the role prepare with %s: true)" % switch)
        chinese = complaints.say(said, "zh")
        assert "未安装" in chinese and switch in chinese and not re.search("Install it|isn't", chinese)
        assert (line in chinese) is (family != "somebody-elses")
