# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Short ways for tests to build a host, change one thing of it and judge it."""

from __future__ import annotations

import functools

import fleet_maker
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import judge, policy

NOW = fleet_maker.NOW


@functools.lru_cache(maxsize=None)
def shipped(name):
    return policy.resolve(name)


def host(model="h100", trouble="none", measured=True, change=None, inputs_change=None):
    """(document, inputs) of a host with a calm probe (70 % VRAM); `change(facts)` and `inputs_change(inputs)` work in place."""
    inputs, document = fleet_maker.make_host("node-01", model, trouble, measured=measured)
    if measured and document and document["facts"]:
        document["measurements"] = fleet_maker.make_measurements(document["facts"], "node-01", peak=0.7)
    if change:
        change(document["facts"])
    if inputs_change:
        inputs_change(inputs)
    return document, inputs


def judged(document, inputs, name="training", language="en"):
    return judge.judge_host(document, inputs, shipped(name), NOW, language)


def finding(entry, check):
    """The finding on a check; KeyError where there is none."""
    return {found["check"]: found for found in entry["findings"]}[check]


def status(entry, check):
    return finding(entry, check)["status"]


def measure(document, module, target="x", options=None, **result):
    """Puts a measurement of this module and target into a host's document (in the place of one of the same) and hands it back."""
    entry = {
        "schema": "trainops.gpu_audit/measurement/1",
        "name": document["name"],
        "machine_id": document["machine_id"],
        "gpu_uuids": [],
        "module": module,
        "target": target,
        "options": options or {},
        "started": "2026-11-29T12:10:00Z",
        "finished": "2026-11-29T12:20:00Z",
        "result": result,
    }
    kept = [other for other in document["measurements"] if (other["module"], other["target"]) != (module, target)]
    document["measurements"] = [*kept, entry]
    return entry
