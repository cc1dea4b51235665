# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Documentation of the action plugin of this name; nothing here runs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: link_rounds
short_description: The steps of a link test of a group of hosts
version_added: 0.3.0
description:
  - Tests the links of a group in rounds of pairs that share no host, so that no two tests disturb each other. The role
    P(trainops.gpu_audit.measure_network#role) has the steps in their order; they are of no use by themselves.
  - A round's clients are started without waiting, so that they run at the same time however few forks there are, and fetched afterwards.
  - What a link, a host or a server does wrong is a result of its pairs and fails no task.
  - O(address), O(management) and O(iperf3) are of V(look); what is asked of a test is given to V(plan), which keeps it for the other steps.
extends_documentation_fragment:
  - trainops.gpu_audit.links
  - trainops.gpu_audit.links.test
options:
  step:
    description:
      - V(look), on every host, says where it is tested, and fails where that can't be told.
      - V(plan) (once for all hosts, on the controller) pairs the hosts whose V(measure_network_link_place) says where they are tested.
      - V(serve), V(start), V(fetch) and V(stop), each on every host, are a round.
      - V(leave), on every host, ends what might be left there and reads the counters again.
      - V(finish) (once, on the controller) composes each host's measurement and keeps it.
    type: str
    choices: [look, plan, serve, start, fetch, stop, leave, finish]
    required: true
  session:
    description: What V(plan) returned as RV(session).
    type: str
  round:
    description: Which round, beginning with 0.
    type: int
  mode:
    description:
      - V(mesh) tests each host with every other one, V(log) in log2 of their number rounds, V(ring) each with its two neighbours.
      - V(auto) is V(mesh) up to 16 hosts, V(log) above.
    type: str
    choices: [auto, mesh, log, ring]
    default: auto
  ports:
    description: The range of ports that servers may use.
    type: str
  grace_seconds:
    description: How long a host may be out of reach beyond the time of its test, before its pair counts as failed.
    type: float
attributes:
  check_mode:
    support: full
    description: V(plan) says what would be done and starts nothing.
  diff_mode:
    support: none
    description: There is nothing to show.
author:
  - The trainops.gpu_audit authors (@trainops)
"""

EXAMPLES = r"""
- name: Pair the hosts
  trainops.gpu_audit.link_rounds:
    step: plan
    ports: 5201-5300
  register: measure_network_link_session
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
session: {description: The session's id., type: str, returned: by the step plan, sample: 20261130T090400Z-3f9a1c}
rounds: {description: How many rounds., type: int, returned: by the step plan, sample: 7}
plan:
  description:
    - "C(hosts), C(pairs), C(rounds), C(mode), and the C(seconds) that it usually takes."
    - "C(bytes) are what it moves at most; null where the line rate of a pair isn't known."
  type: dict
  returned: by the step plan
  sample: {"hosts": 8, "pairs": 28, "rounds": 7, "mode": "mesh", "seconds": 294, "bytes": 2310000000000}
port: {description: The port of the server that was started., type: int, returned: by the step serve, sample: 5201}
folder: {description: Where the session is kept., type: str, returned: by the step finish,
  sample: /home/admin/gpu-audit-runs/measurements/_links/20261130T090400Z-3f9a1c}
files: {description: The measurement of each host., type: dict, returned: by the step finish, sample: {}}
failures: {description: "For each host that has no figure, why.", type: dict, returned: by the step finish, sample: {}}
"""
