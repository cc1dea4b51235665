#!/usr/bin/python
# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

from __future__ import annotations

DOCUMENTATION = r"""
module: link_server
short_description: Start or end an iperf3 server for a link test
version_added: 0.3.0
description:
  - Starts C(iperf3 -s) on one address and the first free port of a range, as a process that ends by itself after a given time, and says
    which port it is. Or ends what a test left on this host. Or looks only where a test would run.
  - The role P(trainops.gpu_audit.measure_network#role) does this for every round of a link test.
author:
  - The trainops.gpu_audit authors (@trainops)
extends_documentation_fragment:
  - trainops.gpu_audit.links
  - trainops.gpu_audit.measuring
options:
  state:
    description:
      - V(checked) looks and starts nothing - the address, its interface and line rate, iperf3's version, the interface's counters.
      - V(started) also starts a server.
      - V(stopped) ends every iperf3 of O(session) on this host, servers and clients.
    type: str
    choices: [checked, started, stopped]
    default: started
  port_range:
    description: The ports to try, in order.
    type: str
    default: 5201-5300
  lifetime_seconds:
    description: Seconds after which the server ends by itself, whatever happens.
    type: int
    default: 120
  session:
    description: A name that marks the processes of one test, so that V(stopped) finds them.
    type: str
    default: link
attributes:
  check_mode:
    details: Looks, as O(state=checked) does.
notes:
  - iperf3 has to be installed, and C(timeout) of the coreutils be there.
seealso:
  - module: trainops.gpu_audit.link_benchmark
"""

EXAMPLES = r"""
- name: Have a server for two minutes
  trainops.gpu_audit.link_server:
    address: eth1
    session: by-hand
  register: server

- name: End it
  trainops.gpu_audit.link_server:
    state: stopped
    address: eth1
    session: by-hand
"""

RETURN = r"""
address: {description: The address., type: str, returned: success, sample: 192.0.2.17}
interface: {description: Its interface., type: str, returned: success, sample: eth1}
link_kind:
  description: V(physical), or V(virtual) where no card with a speed of its own is behind it.
  type: str
  returned: success
  sample: physical
line_rate_bits_per_second:
  description: The interface's speed, of a bond that of its members. Null where it isn't known.
  type: int
  returned: success
  sample: 25000000000
mtu_bytes: {description: The interface's MTU., type: int, returned: success, sample: 9000}
counters:
  description: Errors, drops and flaps of the interface, of those below it and of their RDMA ports.
  type: dict
  returned: success
  sample: {"eth1.rx_errors": 0}
iperf3_version: {description: Version of iperf3., type: str, returned: unless O(state=stopped), sample: "3.12"}
iperf3: {description: Its path., type: str, returned: unless O(state=stopped), sample: /usr/bin/iperf3}
own_addresses:
  description: The host's addresses that others may reach it by.
  type: list
  elements: str
  returned: when O(state=checked)
  sample: [192.0.2.17]
sessions:
  description: Other tests of links of which some program runs on this host.
  type: list
  elements: str
  returned: success
  sample: []
machine_id: {description: The machine's id., type: str, returned: always, sample: 3d1219c7c4c5404aaa1f6d2a48adfda4}
gpu_uuids: {description: Always empty., type: list, elements: str, returned: always, sample: []}
local_time: {description: The host's own time with its offset., type: str, returned: always, sample: "2026-11-30T17:04:00+08:00"}
port: {description: The port., type: int, returned: when a server was started, sample: 5201}
pid: {description: Its process., type: int, returned: when a server was started, sample: 4711}
ended: {description: How many processes were ended., type: int, returned: when O(state=stopped), sample: 1}
left: {description: Processes that wouldn't end., type: list, elements: int, returned: when O(state=stopped), sample: []}
kind: {description: "The kind of a failure, C(local) or C(busy).", type: str, returned: failure, sample: busy}
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "state": {"type": "str", "choices": ["checked", "started", "stopped"], "default": "started"},
    "address": {"type": "str", "default": ""},
    "management": {"type": "str"},
    "port_range": {"type": "str", "default": "5201-5300"},
    "lifetime_seconds": {"type": "int", "default": 120},
    "session": {"type": "str", "default": "link"},
    "iperf3": {"type": "path"},
}


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import iperf3_run, link, link_place
    options = dict(module.params, state="checked" if module.check_mode else module.params["state"])
    known = link.identity()
    try:
        known.update(link.serve(options))
    except iperf3_run.NoServer as error:
        module.fail_json(msg=str(error), kind=error.kind, **known)
    except (link_place.NoAddress, iperf3_run.NoTool, ValueError) as error:
        module.fail_json(msg=str(error), kind="local", **known)
    module.exit_json(changed="port" in known or bool(known.get("ended")), **known)


if __name__ == "__main__":
    main()
