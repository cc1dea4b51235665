# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Queueing, links, loaders and checkpoints against every figure of the reference, each in the code where the formula is used."""

from __future__ import annotations

import pytest
import queueing_theory
import yaml
from conftest import ROOT
from judging import host, judged

from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import link_figures, queueing

VECTORS = yaml.safe_load((ROOT / "tests" / "unit" / "fixtures" / "reference" / "storage_net_vectors.yml").read_text())["vectors"]


def measured(module, **result):
    """A host with one GPU on which a measurement gave these figures; `form` is put into its workload form."""
    form = result.pop("form")

    def one_gpu(facts):
        facts["gpu"].update(reported_count=1, pci_device_count=1)
        del facts["gpu"]["gpus"][1:], facts["gpu"]["pci"][1:]

    document, inputs = host(change=one_gpu, inputs_change=lambda inputs: inputs["workload"].update(form))
    for measurement in document["measurements"]:
        if measurement["module"] == module:
            measurement["result"].update(result)
    return judged(document, inputs)["metrics"]


def loader_need(bytes_per_sample, batch, compute_s, au):
    """Of a GPU that computes a batch in compute_s and never waits, and of one that waits as much as `au` allows."""
    form = {"input_sample_bytes": bytes_per_sample, "batch_size": batch, "samples_per_second_per_gpu": None}
    metrics = measured("workload_probe", iteration_seconds={"mean": compute_s}, data_wait_fraction=0.0, form=form)
    needed = metrics["storage.needed_bytes_per_second"]
    return {"samples_s": needed / bytes_per_sample, "mb_s_full": needed / 1e6, "mb_s_pass": needed * au / 1e6}


def checkpoint_rate(gb, seconds):
    """How many times as fast as the 1 GB/s that were measured a checkpoint must be written to take no longer than it may."""
    form = {"checkpoint_bytes": gb * 10**9, "checkpoint_interval_minutes": seconds / 60}
    return measured("storage_benchmark", checkpoint_write_bytes_per_second=1e9, form=form)["storage.checkpoint_stall_fraction"]


def mmc(c, mu, **inputs):
    return queueing_theory.mmc(inputs["lambda"], mu, c)


HOW = {
    "mmc": mmc,
    "erlang_b": lambda a, c: queueing_theory.erlang_b(load=a, servers=c),
    "mm1_wq_service_units": queueing_theory.mg1_wait,
    "loader_need": loader_need,
    "checkpoint_rate": checkpoint_rate,
    "bdp_mb": lambda gbit, rtt_ms: link_figures.bandwidth_delay_bytes(gbit * 1e9, rtt_ms / 1e3) / 1e6,
    "window_limited_mbit": lambda window_bytes, rtt_ms: link_figures.window_limited_bits_per_second(window_bytes, rtt_ms / 1e3) / 1e6,
    "tcp_goodput_fraction": lambda mtu, timestamps: link_figures.tcp_goodput_fraction(mtu_bytes=mtu, timestamps=timestamps),
    "busbw_factor": lambda op, n: link_figures.busbw_factor(operation=op, ranks=n),
}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["id"] for vector in VECTORS])
def test_every_figure_of_the_reference(vector):
    if vector["expected"] is None:
        with pytest.raises(queueing_theory.Unstable):
            HOW[vector["kind"]](**vector["inputs"])
        return
    found = HOW[vector["kind"]](**vector["inputs"])
    expected, tolerance = vector["expected"], max(vector["tolerance_pct"] / 100, 1e-12)
    if isinstance(expected, dict):
        assert {key: found[key] for key in expected} == pytest.approx(expected, rel=tolerance)
    else:
        assert found == pytest.approx(expected, rel=tolerance)


def test_a_textbook_figure_of_erlang_c():
    assert queueing_theory.mmc(4, 1, 5)["p_wait"] == pytest.approx(0.5541, abs=5e-5)


def test_a_fixed_service_time_waits_half_as_long_as_a_random_one():
    assert queueing_theory.mg1_wait(0.8, 0) == pytest.approx(queueing_theory.mg1_wait(0.8) / 2) == pytest.approx(2)


def test_many_servers_overflow_nothing():
    found = queueing_theory.mmc(950, 1, 1000)
    assert 0 < found["p_wait"] < 1 and found["w"] == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("wrong", [(0, 1, 1), (1, 0, 1), (1, 1, 0), (float("nan"), 1, 1)])
def test_what_is_no_queue_is_refused(wrong):
    with pytest.raises(ValueError, match="above 0"):
        queueing_theory.mmc(*wrong)


def test_unknown_collectives_and_impossible_links_are_refused():
    with pytest.raises(ValueError, match="gossip"):
        link_figures.busbw_factor("gossip", 8)
    with pytest.raises(ValueError, match="MTU"):
        link_figures.tcp_goodput_fraction(40)
    assert link_figures.tcp_goodput_fraction(9000, False) == pytest.approx(0.991, abs=5e-4)
    assert link_figures.tcp_goodput_fraction(1500, ip_version=6) < link_figures.tcp_goodput_fraction(1500)


@pytest.mark.parametrize("steps, most", [
    ([(1, 10), (10, 90), (50, 120), (100, 118)], 120), ([(1, 10), (10, 90), (50, 120), (100, 121)], 121), ([(1, 5), (2, 5), (4, 5)], 5),
    # It still grows, or grew after it seemed full, or one step says nothing of the next.
    ([(1, 10), (10, 90), (50, 300)], None), ([(1, 10), (10, 10), (50, 40)], None), ([(50, 100)], None), ([], None), ([(10, 100), (12, 100)], None),
    # Too many at once cost it answers: what it did at best counts.
    ([(1, 20), (8, 100), (64, 60)], 100),
])
def test_a_capacity_is_known_where_more_clients_bring_no_more_answers(steps, most):
    assert queueing.capacity(steps) == most


def test_the_planned_rate_leaves_a_fifth():
    rate = queueing.planned_rate(100)
    assert rate == 80
    # With random arrivals at one server a request then takes five times its service time.
    assert queueing_theory.mmc(rate, 100, 1)["w"] * 100 == pytest.approx(5)
