# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Scaling: every reference vector, and what is said about times."""

from __future__ import annotations

import math

import pytest
import yaml
from conftest import ROOT
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import scaling

VECTORS = yaml.safe_load((ROOT / "tests" / "unit" / "fixtures" / "reference" / "scaling_vectors.yml").read_text())["vectors"]


def _rates(inputs):
    return scaling.rate_efficiency(inputs["rate_per_gpu"], inputs["base_rate_per_gpu"])


# What each kind of vector asks for.
ASKED = {
    "efficiency_per_gpu_rate": _rates,
    # A step at a share `efficiency` of the rate takes that much longer.
    "speedup": lambda inputs: scaling.summarise({1: 1.0, inputs["n"]: 1.0 / inputs["efficiency"]}, "step")["points"][-1]["speedup"],
    "mfu_ratio": lambda inputs: scaling.rate_efficiency(inputs["mfu"], inputs["base_mfu"]),
    "amdahl": lambda inputs: scaling.amdahl(inputs["serial_fraction"], inputs["n"]),
    "karp_flatt": lambda inputs: scaling.karp_flatt(inputs["n"], inputs["speedup"]),
    # MFU is a rate against the board's: the same quotient.
    "mfu": lambda inputs: scaling.rate_efficiency(inputs["tflops"], inputs["peak_tflops"]),
}


@pytest.mark.parametrize("vector", [pytest.param(vector, id=vector["id"]) for vector in VECTORS])
def test_reference_vector(vector):
    if vector["expected"] is None:
        with pytest.raises(scaling.ScalingError, match="above 0"):
            ASKED[vector["kind"]](vector["inputs"])
        return
    assert ASKED[vector["kind"]](vector["inputs"]) == pytest.approx(vector["expected"], abs=vector["tolerance"])


@pytest.mark.parametrize(
    "vector", [pytest.param(v, id=v["id"]) for v in VECTORS if v["kind"] == "efficiency_per_gpu_rate" and v["expected"]]
)
def test_step_times_give_the_efficiency_of_the_rates(vector):
    inputs = vector["inputs"]
    times = {inputs["base_n"]: 1000.0 / inputs["base_rate_per_gpu"], inputs["n"]: 1000.0 / inputs["rate_per_gpu"]}
    found = scaling.summarise(times, "step")
    assert found["efficiency_fraction"] == pytest.approx(vector["expected"], abs=vector["tolerance"])
    assert found["base_gpus"] == inputs["base_n"] and "base_not_one" in found["notes"]


def test_every_kind_of_vector_is_asked():
    assert {vector["kind"] for vector in VECTORS} == set(ASKED)


def test_epochs_of_the_same_work():
    found = scaling.summarise({1: 800, 2: 420, 4: 230, 8: 160})
    assert [point["gpus"] for point in found["points"]] == [1, 2, 4, 8]
    assert [round(point["speedup"], 3) for point in found["points"]] == [1, 1.905, 3.478, 5.0]
    assert [round(point["efficiency"], 3) for point in found["points"]] == [1, 0.952, 0.87, 0.625]
    assert found["points"][0]["serial_fraction"] is None and found["points"][-1]["serial_fraction"] == pytest.approx(
        (1 / 5 - 1 / 8) / (7 / 8)
    )
    assert (found["worth_adding"], found["best_gpus"], found["efficiency_fraction"]) == ("marginal", 4, 0.625)
    # The four GPUs after the first four bring 1.52 of 4.
    assert found["points"][-1]["added_efficiency"] == pytest.approx((5.0 - 800 / 230) / 4)
    assert "communication" in found["notes"]


def test_the_same_times_read_as_steps_and_as_epochs_differ():
    times = {1: 1.0, 4: 1.0}
    assert scaling.summarise(times, "step")["efficiency_fraction"] == 1.0
    assert scaling.summarise(times, "epoch")["efficiency_fraction"] == 0.25


@pytest.mark.parametrize(("efficiency", "said"), [(0.8, "yes"), (0.7999, "marginal"), (0.6, "marginal"), (0.5999, "no"), (1.1, "yes")])
def test_the_limits_of_worth_adding(efficiency, said):
    assert scaling.worth(efficiency) == said


def test_a_serial_part_is_told_from_traffic():
    serial = {n: 100 / scaling.amdahl(0.05, n) for n in (1, 2, 4, 8)}
    found = scaling.summarise(serial)
    assert found["serial_fraction"] == pytest.approx(0.05) and found["speedup_limit"] == pytest.approx(20)
    assert found["notes"] == []
    traffic = {n: 100 / n + 2 * (n - 1) for n in (1, 2, 4, 8)}
    assert scaling.summarise(traffic)["notes"] == ["communication"]


def test_faster_than_possible_speaks_of_the_base():
    assert scaling.summarise({1: 100, 2: 40})["notes"] == ["superlinear"]
    assert scaling.summarise({1: 100, 2: 40})["speedup_limit"] is None


def test_more_gpus_that_take_longer():
    found = scaling.summarise({1: 100, 2: 60, 4: 80})
    assert "slower" in found["notes"] and found["worth_adding"] == "no" and found["best_gpus"] == 2


def test_one_number_of_gpus_says_nothing():
    found = scaling.summarise({2: 60})
    assert found["efficiency_fraction"] is None and found["worth_adding"] is None and found["best_gpus"] is None
    assert found["notes"] == ["base_not_one", "one_number"]


def test_keys_and_figures_may_be_text():
    assert scaling.summarise({"8": "20", "1": "100"}) == scaling.summarise({1: 100, 8: 20})


@pytest.mark.parametrize(
    "times",
    [
        {},
        [],
        "fast",
        {1: 0, 2: 5},
        {1: -1},
        {1: math.nan},
        {1: math.inf},
        {1: 10**400},
        {1: 10**5000},
        {1: 5e-324, 2: 1},
        {1: "9" * 5000},
        {1: True},
        {1: None},
        {1: "soon"},
        {0: 5},
        {"one": 5},
        {1.5: 5},
        {True: 5},
        {-2: 5},
        {1: 5, "1": 6},
    ],
)
def test_impossible_times_are_refused(times):
    with pytest.raises(scaling.ScalingError):
        scaling.summarise(times)


def test_an_unknown_basis_is_refused():
    with pytest.raises(scaling.ScalingError, match="epoch, step"):
        scaling.summarise({1: 5}, "weak")
