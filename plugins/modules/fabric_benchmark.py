# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Runs a test of the fabric between GPUs; the work is done in module_utils/measure/fabric.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: fabric_benchmark
short_description: Run a test of NCCL or perftest and keep what it measured
version_added: 0.3.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - Runs a command of yours that ends in one of NVIDIA's nccl-tests (C(all_reduce_perf) and the others) or a bandwidth test of perftest
    (C(ib_write_bw), C(ib_read_bw), C(ib_send_bw)), and reads the rates from what it prints. Audits judge the measurement.
  - No shell is started, nothing is installed, and whatever the command started is ended with it.
  - Nothing is measured where the test isn't installed, ends in an error or gives a broken result. That is said, and no figure is
    taken from it.
  - As a task it is announced (seconds) before it begins, runs as a job on the host that outlives a lost connection, and its measurement is
    kept on the controller. With C(--check) it is only announced.
options:
  argv:
    description:
      - The command as a list of words, the program first, for example C([mpirun, -np, 16, -H, "gpu01:8,gpu02:8",
        all_reduce_perf, -b, 8G, -e, 8G]).
      - A client of perftest needs its other end, which you start before. The output of both ends in one is read as well.
    type: list
    elements: str
    required: true
  tool:
    description:
      - Which of them the command runs. Recognised by the name of a word of O(argv) when not given; needed where a script runs the test.
    type: str
    choices: [nccl, perftest]
  nodes:
    description:
      - On how many hosts the test runs. Tests of NCCL list their devices, so that it is known without.
    type: int
  chdir:
    description:
      - The folder to run it in, an absolute path.
    type: path
    default: /
  environment:
    description:
      - Variables added to the command's environment, such as C(NCCL_DEBUG=VERSION), with which the version of NCCL is recorded.
    type: dict
    default: {}
  timeout_seconds:
    description:
      - A command that takes longer is ended, 3600 at most.
    type: int
    default: 600
extends_documentation_fragment:
  - trainops.gpu_audit.measuring
attributes:
  check_mode:
    details: Looks at the host and returns RV(plan).
notes:
  - Sizes of 1 GiB and more say what the fabric carries, small ones how long a message takes.
seealso:
  - module: trainops.gpu_audit.link_benchmark
"""

EXAMPLES = r"""
- name: Measure what the GPUs of a host reach together
  trainops.gpu_audit.fabric_benchmark:
    argv: [/opt/nccl-tests/build/all_reduce_perf, -b, 16G, -e, 16G, -g, 8]

- name: Measure one InfiniBand port against another host where ib_write_bw waits
  trainops.gpu_audit.fabric_benchmark:
    argv: [ib_write_bw, -d, mlx5_0, -s, "8388608", --report_gbits, 192.0.2.18]
    nodes: 2
"""

RETURN = r"""
plan:
  description: What the test does at most.
  returned: in check mode
  type: dict
  contains:
    seconds: {description: Time that it takes at most., type: int, returned: always, sample: 650}
    notes: {description: What else should be known beforehand., type: list, elements: str, returned: always, sample: []}
measurement:
  description: The figures. What wasn't measured is null.
  returned: success, not in check mode
  type: dict
  contains:
    tool: {description: C(nccl) or C(perftest)., type: str, returned: always, sample: nccl}
    tool_version: {description: Its version where it says one., type: str, returned: always, sample: nccl-tests 2.17.1}
    library_version: {description: The version of NCCL where it is said., type: str, returned: always, sample: 2.27.3}
    operation: {description: "What was run, such as C(all_reduce) or C(write).", type: str, returned: always, sample: all_reduce}
    nodes: {description: On how many hosts., type: int, returned: always, sample: 1}
    ranks: {description: On how many GPUs., type: int, returned: always, sample: 8}
    rows:
      description: >-
        One for each message size - C(bytes), C(algbw_bytes_per_second), C(busbw_bytes_per_second), C(in_place_busbw_bytes_per_second),
        C(time_seconds), C(wrong). Of perftest both rates are its average.
      type: list
      elements: dict
      returned: always
      sample: [{"bytes": 17179869184, "algbw_bytes_per_second": 2.75e+11, "busbw_bytes_per_second": 4.81e+11, "wrong": 0}]
    busbw_bytes_per_second: {description: The bus bandwidth at the largest message., type: float, returned: always, sample: 481000000000.0}
    message_bytes: {description: The largest message., type: int, returned: always, sample: 17179869184}
    wrong_values: {description: Values that were wrong. Null where the test didn't look., type: int, returned: always, sample: 0}
    link: {description: Of perftest C(IB) or C(Ethernet)., type: str, returned: always, sample: null}
    device: {description: Of perftest the device., type: str, returned: always, sample: null}
    local_time: {description: The host's own time with its offset., type: str, returned: always, sample: "2026-11-30T17:04:00+08:00"}
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids:
  description: UUIDs of the host's GPUs for a test of NCCL. Empty for one of perftest.
  type: list
  elements: str
  returned: always
  sample: []
target: {description: What was measured., type: str, returned: always, sample: all_reduce_perf nodes=2}
started_at: {description: When it began (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T09:04:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T09:04:24Z"}
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "argv": {"type": "list", "elements": "str", "required": True, "no_log": True},
    "tool": {"type": "str", "choices": ["nccl", "perftest"]},
    "nodes": {"type": "int"},
    "chdir": {"type": "path", "default": "/"},
    "environment": {"type": "dict", "default": {}, "no_log": True},
    "timeout_seconds": {"type": "int", "default": 600},
}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import fabric
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure.tame import tame
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.sources.texts import without_surrogates
    options, known = module.params, {}
    # Ansible hides each word of such an option wherever it stands, "8" and the program's name included: our answers repeat none of them,
    # and its own record of the options is replaced.
    module.no_log_values = set()
    hidden = {"invocation": {"module_args": dict((key, value) for key, value in options.items() if not ARGUMENTS[key].get("no_log"))}}
    try:
        planned = fabric.plan(options)
        known = dict(fabric.known_of(planned["tool"]), target=fabric.target_of(options, planned), **hidden)
        if module.check_mode:
            shown = ("seconds", "bytes_written", "bytes_read", "notes")
            module.exit_json(changed=False, plan=dict((key, planned[key]) for key in shown), **known)
        # Not "started": async_status takes a result with that key for one of a job that still runs.
        known["started_at"] = _now()
        measured = fabric.run(options, planned)
    except (fabric.FabricError, fabric.Interrupted) as error:
        module.fail_json(msg=without_surrogates(str(error)), finished_at=_now(), **(known or hidden))
    module.exit_json(changed=False, measurement=tame(measured), finished_at=_now(), **known)


if __name__ == "__main__":
    main()
