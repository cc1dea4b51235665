#!/usr/bin/python
# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: link_benchmark
short_description: Measure the link to a host where an iperf3 server listens
version_added: 0.3.0
description:
  - Measures with iperf3 how fast data goes to a peer and back, with as many parallel streams as it takes, the round trip, on request
    jitter and loss of UDP packets, the path's MTU, and which counters of the interface grew meanwhile. Figures are as received.
  - The peer needs a server, which M(trainops.gpu_audit.link_server) starts. For the links of a whole group, where a slow host is to be
    told from its partners, take the role P(trainops.gpu_audit.measure_network#role), which tests them in rounds of disjoint pairs.
  - What a link does wrong is a result with C(error). The task fails where nothing could be tried - no such address here, no iperf3.
author:
  - The trainops.gpu_audit authors (@trainops)
extends_documentation_fragment:
  - trainops.gpu_audit.links
  - trainops.gpu_audit.links.test
  - trainops.gpu_audit.measuring
options:
  peer:
    description: Address of the peer, where the server listens.
    type: str
    required: true
  port:
    description: Port of the server.
    type: int
    default: 5201
  directions:
    description: V(send) is from this host to the peer, V(receive) from the peer to this host.
    type: list
    elements: str
    choices: [send, receive]
    default: [send, receive]
  session:
    description: A name that marks the processes of one test, so that M(trainops.gpu_audit.link_server) finds them.
    type: str
    default: link
attributes:
  check_mode:
    details: Looks at the host and returns RV(plan).
notes:
  - iperf3 3.1 or newer has to be installed on both hosts. Before 3.16 all its streams share one thread, which may hold a fast link up.
seealso:
  - module: trainops.gpu_audit.link_server
  - plugin: trainops.gpu_audit.iperf3_facts
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Measure the link to a host whose server listens
  trainops.gpu_audit.link_benchmark:
    peer: 192.0.2.18
    address: eth1
"""

RETURN = r"""
plan:
  description: What the test does at most.
  returned: in check mode
  type: dict
  contains:
    seconds: {description: Time that it takes at most., type: int, returned: always, sample: 110}
    notes: {description: What else should be known beforehand., type: list, elements: str, returned: always, sample: []}
measurement:
  description: The figures. What wasn't measured is null.
  returned: success, not in check mode
  type: dict
  contains:
    client_address: {description: Where it was measured from., type: str, returned: always, sample: 192.0.2.17}
    server_address: {description: The peer., type: str, returned: always, sample: 192.0.2.18}
    port: {description: Port of the server., type: int, returned: always, sample: 5201}
    interface: {description: The interface that the packets leave by., type: str, returned: always, sample: eth1}
    tool: {description: What measured., type: str, returned: always, sample: iperf3}
    iperf3_version: {description: Its version., type: str, returned: always, sample: "3.12"}
    send:
      description: "To the peer - C(bytes_per_second) as received, C(retransmits), C(seconds), C(streams)."
      type: dict
      returned: always
      sample: {"bytes_per_second": 2937500000.0, "retransmits": 0, "seconds": 10.0, "streams": 4}
    receive: {description: The same from the peer., type: dict, returned: always, sample: null}
    udp:
      description: C(bytes_per_second), C(jitter_seconds) and C(lost_fraction) of UDP packets to the peer.
      type: dict
      returned: always
      sample: null
    udp_receive: {description: The same of those from the peer., type: dict, returned: always, sample: null}
    udp_error:
      description: Why UDP packets weren't measured, C(kind) and C(message); null where nothing went wrong or nobody asked.
      type: dict
      returned: always
      sample: null
    rtt_seconds: {description: The shortest round trip seen., type: float, returned: always, sample: 0.00011}
    rtt_loaded_seconds: {description: The mean one while the link was full., type: float, returned: always, sample: 0.0009}
    path_mtu_bytes: {description: The largest packet that the path takes in one piece., type: int, returned: always, sample: 9000}
    interface_mtu_bytes: {description: The interface's MTU., type: int, returned: always, sample: 9000}
    black_hole:
      description: Whether packets of that size get lost though small ones arrive. Null where the peer doesn't say.
      type: bool
      returned: always
      sample: false
    parallel: {description: Streams at most., type: int, returned: always, sample: 4}
    line_rate_bits_per_second:
      description: The interface's speed. Null where it isn't known.
      type: int
      returned: always
      sample: 25000000000
    link_kind: {description: C(physical) or C(virtual)., type: str, returned: always, sample: physical}
    counters: {description: "Which counters of the interface grew meanwhile, and by how much.", type: dict, returned: always, sample: {}}
    error:
      description: >-
        What went wrong, C(kind) (C(refused), C(timeout), C(unreachable), C(dns), C(reset), C(busy), C(stalled), C(protocol), C(local)) and
        C(message); null where nothing did.
      type: dict
      returned: always
      sample: null
    local_time: {description: The host's own time with its offset., type: str, returned: always, sample: "2026-11-30T17:04:00+08:00"}
    notes: {description: What a reader should know., type: list, elements: str, returned: always, sample: []}
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: "Always empty, the test has nothing to do with GPUs.", type: list, elements: str, returned: always, sample: []}
started_at: {description: When it began (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T09:04:00Z"}
finished_at: {description: When it ended (UTC)., type: str, returned: not in check mode, sample: "2026-11-30T09:04:24Z"}
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "peer": {"type": "str", "required": True},
    "port": {"type": "int", "default": 5201},
    "address": {"type": "str", "default": ""},
    "management": {"type": "str"},
    "seconds": {"type": "int", "default": 10},
    "omit_seconds": {"type": "int", "default": 1},
    "parallel": {"type": "int", "default": 0},
    "directions": {"type": "list", "elements": "str", "choices": ["send", "receive"], "default": ["send", "receive"]},
    "udp": {"type": "bool", "default": False},
    "udp_bits_per_second": {"type": "int", "default": 10000000},
    "session": {"type": "str", "default": "link"},
    "iperf3": {"type": "path"},
}


def _now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_run, link, link_place
    known = link.identity()
    del known["local_time"]
    known["target"] = module.params["peer"]
    try:
        planned = link.plan(module.params)
        if module.check_mode:
            shown = ("seconds", "bytes_written", "bytes_read", "notes")
            module.exit_json(changed=False, plan=dict((key, planned[key]) for key in shown), **known)
        # Not "started": async_status takes a result with that key for one of a job that still runs.
        known["started_at"] = _now()
        measured = link.run(module.params, planned)
    except (link_place.NoAddress, link.Interrupted, iperf3_run.NoTool, ValueError) as error:
        module.fail_json(msg=str(error), finished_at=_now(), **known)
    module.exit_json(changed=False, measurement=measured, finished_at=_now(), **known)


if __name__ == "__main__":
    main()
