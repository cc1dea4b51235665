# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Ctrl-C in the middle of a link test between lab hosts: the client ends at once, the user is told, the next test clears the rest and measures."""

from __future__ import annotations

import json
import re
import time

import pytest
from ansible_matrix import MAIN, PYTHONS, Core
from fleet_runs import Controller, lab, ready, why_no_lab
from gpulab.host import from_row
from test_fleet_links import PLAY, inside, measurement, nothing_left, play

pytestmark = pytest.mark.skipif(bool(why_no_lab()), reason=why_no_lab() or "-")

NAMES = ["g1", "g2"]


def test_ctrl_c_ends_the_client_and_the_next_test_the_rest(tmp_path):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    fields = {"rate": "100mbit", "vars": {"gpu_audit_link_address": "eth0"}}
    with lab([from_row({"name": name, **fields}, index) for index, name in enumerate(NAMES)]):
        controller = Controller(core, tmp_path)
        (tmp_path / "links.yml").write_text(PLAY)
        asked = json.dumps({"measure_network_link_seconds": 40, "measure_network_link_udp": False})

        def runs(output):
            return bool(list((output / "measurements" / "_links").glob("*/.work/job-1.json"))) and any(
                "-c 10." in inside(name, "ps ax -o args=") for name in NAMES)

        done = controller.play(str(tmp_path / "links.yml"), "-e", asked, seconds=120, interrupt_when=runs)
        assert "interrupted: what the link test ran here was ended" in done.out, done.out[-3000:]
        # The other host's server isn't reached from here: which, where and until when is said, and how it is ended.
        left = re.search(r"ends by itself there: (g[12]) \(a server at port 52\d\d, until [-0-9]+ [0-9:]+ UTC\)\. To end it at once: (ansible .+)", done.out)
        assert left and "iperf3 -s" in inside(left[1], "ps ax -o args="), done.out[-3000:]
        # Ansible's own watchdog of a job looks every five seconds.
        for name in NAMES:
            left = inside(name, "ps ax -o args= | grep -E 'iperf3 -c|link_benchmark' | grep -vE 'grep|async_wrapper'; ls ~/.ansible_async 2>/dev/null")
            assert not left, (name, left)
        done = play(controller, NAMES, measure_network_link_udp=False)
        assert done.code == 0, done.out[-3000:]
        result = measurement(controller, "g1")["result"]
        assert result["send_bytes_per_second"] == pytest.approx(95.5e6 / 8, rel=0.1) and not result["pairs"][0]["error"]
        nothing_left(NAMES)
        assert not any(inside(name, "ls ~/.ansible_async 2>/dev/null") for name in NAMES)


def test_ctrl_c_while_a_client_is_only_being_started_ends_it_too(tmp_path):
    core = ready(Core(MAIN, PYTHONS[MAIN][0]))
    fields = {"rate": "100mbit", "vars": {"gpu_audit_link_address": "eth0"}}
    with lab([from_row({"name": name, **fields}, index) for index, name in enumerate(NAMES)]):
        controller = Controller(core, tmp_path)
        (tmp_path / "links.yml").write_text(PLAY)
        asked = json.dumps({"measure_network_link_seconds": 40, "measure_network_link_udp": False})

        def begins(_output):
            return any("async_wrapper" in inside(name, "ps ax -o args=") for name in NAMES)

        for _try in range(3):
            done = controller.play(str(tmp_path / "links.yml"), "-e", asked, seconds=120, interrupt_when=begins)
            if "A worker was found in a dead state" not in done.out:
                break
            # Ansible was forking a worker just then: it died before a line of ours ran in it. What was started ends by itself.
            nothing_left(NAMES, seconds=120)
        assert "interrupted: what the link test ran here was ended" in done.out, done.out[-3000:]
        # Later than whatever was on its way would have begun.
        time.sleep(4)
        for name in NAMES:
            left = inside(name, "ps ax -o args= | grep -E 'iperf3 -c|link_benchmark' | grep -vE 'grep|async_wrapper'; ls ~/.ansible_async 2>/dev/null")
            assert not left, (name, left, done.out[-3000:])
