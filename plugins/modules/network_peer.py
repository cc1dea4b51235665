# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Starts and ends the small HTTP server that networks are measured against; the work is done in module_utils/measure/peer_process.py."""

from __future__ import annotations

DOCUMENTATION = r"""
module: network_peer
short_description: Start or end a small HTTP server to measure a network against
version_added: 0.3.0
author:
  - The trainops.gpu_audit authors (@trainops)
description:
  - A stand-in for machines that have no service yet, so that the wire and the host are measured alone, and the other end of transfers
    between two audited hosts. It needs nothing but Python, reads and writes no file of yours, and moves bytes from and to memory only.
  - The server is a process of its own that listens on O(address) only, answers nobody without the token, and ends after
    O(lifetime_seconds), whatever became of the task or the connection that started it. It is plain HTTP, so the token crosses the
    network unencrypted; take a new one each time.
  - It answers C(GET /bytes/<n>) (a header C(X-Checksum-Sha256) has the digest; C(HEAD) first has it computed beforehand), C(PUT /sink)
    (reads everything and answers how many bytes came and their SHA-256), C(POST /answer?delay_seconds=&bytes=) (reads the body, waits,
    answers), C(POST /v1/chat/completions?first_token_seconds=&tokens_per_second=) (an OpenAI-compatible stand-in at a fixed pace) and
    C(POST /end), which ends it.
options:
  state:
    description:
      - V(started) starts a server. V(stopped) ends those that this module started as the same user, on the ports of O(port) or
        O(port_range) or, without these, all of them. No other process is ever ended. With O(url) and O(token) it ends the one there, on
        whatever host that is.
    type: str
    choices: [started, stopped]
    default: started
  address:
    description:
      - The address of this host that the server listens on, one that the other hosts reach, or the name of the interface that has it.
        Needed for V(started). All addresses at once (C(0.0.0.0)) are refused.
    type: str
  url:
    description:
      - Of a server on another host that V(stopped) is to end, as V(started) returned it.
    type: str
  port:
    description:
      - The port. With neither this nor O(port_range) the system chooses a free one.
    type: int
  port_range:
    description:
      - Ports such as C(47800-47899), of which the first free one is taken.
    type: str
  lifetime_seconds:
    description:
      - Seconds after which the server ends by itself, at most 86400.
    type: int
    default: 3600
  slots:
    description:
      - How many C(/answer) and completion requests the server works on at the same time, like an inference server with so many places; the
        others wait for their turn. All of them when not given.
    type: int
  token:
    description:
      - What requests must have in C(Authorization) as C(Bearer <token>), or in C(X-Peer-Token). 16 to 200 letters, digits, C(-) and C(_).
        When not given, one is made and returned; give one, or set C(no_log) on the task, where the output is kept.
    type: str
extends_documentation_fragment:
  - trainops.gpu_audit.measuring
attributes:
  check_mode:
    details: Starts nothing; the port that would be taken is returned.
seealso:
  - module: trainops.gpu_audit.request_benchmark
  - module: trainops.gpu_audit.transfer_benchmark
notes:
  - A firewall of the host has to let the port through.
  - Where systemd-logind is set to end a user's processes at logout (C(KillUserProcesses)), the server ends with the connection of a user
    other than root, unless lingering is on for that user.
"""

EXAMPLES = r"""
- name: Start a server that lives for ten minutes
  trainops.gpu_audit.network_peer:
    address: "{{ ansible_host }}"
    port_range: 47800-47899
    lifetime_seconds: 600
  register: peer
  no_log: true

- name: Measure how it answers from another host
  trainops.gpu_audit.request_benchmark:
    url: "{{ peer.url }}/answer?delay_seconds=0.2"
    method: POST
    headers:
      Authorization: "Bearer {{ peer.token }}"
  delegate_to: node-2

- name: End it
  trainops.gpu_audit.network_peer:
    state: stopped
    port: "{{ peer.port }}"
"""

RETURN = r"""
port: {description: "The port it listens on, or would in check mode.", returned: with O(state=started), type: int, sample: 47800}
pid: {description: The number of its process., returned: when it was started, type: int, sample: 4242}
url: {description: "Where it is, or would be in check mode.", returned: with O(state=started), type: str, sample: "http://192.0.2.7:47800"}
token:
  description: The token that was made.
  returned: when it was started and O(token) was not given
  type: str
  sample: 3aV9u0w6Kq2xGzVfZQ1b8R
ends_at: {description: When it ends by itself (UTC)., returned: when it was started, type: str, sample: "2026-11-30T12:00:00Z"}
stopped: {description: Ports of the servers that were ended., returned: with O(state=stopped), type: list, elements: int, sample: [47800]}
"""

import os
import re
import secrets
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.trainops.gpu_audit.plugins.module_utils import importing

ARGUMENTS = {
    "state": {"type": "str", "choices": ["started", "stopped"], "default": "started"},
    "address": {"type": "str"},
    "url": {"type": "str"},
    "port": {"type": "int"},
    "port_range": {"type": "str"},
    "lifetime_seconds": {"type": "int", "default": 3600},
    "slots": {"type": "int"},
    "token": {"type": "str", "no_log": True},
}


def _url(address, port):
    return "http://%s:%d" % ("[%s]" % address if ":" in address else address, port)


def _started(module, peer_process, choice):
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import link_place
    options = module.params
    address = options["address"]
    if address and "/" not in address and os.path.isdir("/sys/class/net/" + address):
        address = link_place.of_interface(address, variable="address")["address"]
    for name, most in (("lifetime_seconds", peer_process.MAX_LIFETIME_SECONDS), ("slots", 1000)):
        if options[name] is not None and not 1 <= options[name] <= most:
            raise ValueError("%s must be between 1 and %d, not %d" % (name, most, options[name]))
    if options["token"] is not None and not re.match(r"[A-Za-z0-9_-]{16,200}\Z", options["token"]):
        raise ValueError("token must be 16 to 200 letters, digits, - and _")
    if module.check_mode:
        with peer_process.listen(address, choice) as listener:
            place = listener.getsockname()
        return {"changed": True, "port": place[1], "url": _url(place[0], place[1])}
    token = options["token"] or secrets.token_urlsafe(24)
    note = peer_process.start(address, choice, options["lifetime_seconds"], token, options["slots"])
    made = {"changed": True, "port": note["port"], "pid": note["pid"], "url": _url(note["address"], note["port"]),
            "ends_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + options["lifetime_seconds"]))}
    return made if options["token"] else dict(made, token=token)


def _stopped_there(module):
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import http_connection, peer_remote
    url = module.params["url"]
    port = http_connection.target(url).port
    if not module.params["token"]:
        raise ValueError("url: a server on another host is ended by its token only: give token")
    ended = module.check_mode or peer_remote.end(url, module.params["token"])
    return {"changed": ended, "stopped": [port] if ended else []}


def _stopped(module, peer_process, choice):
    if module.params["url"]:
        return _stopped_there(module)
    wanted = None if choice == range(1) else choice
    if module.check_mode:
        notes = [note for note in peer_process.running() if wanted is None or note["port"] in wanted]
    else:
        notes = peer_process.stop(wanted)
    return {"changed": bool(notes), "stopped": sorted(note["port"] for note in notes)}


def main():
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True, mutually_exclusive=[("port", "port_range", "url")],
                           required_if=[("state", "started", ("address",))])
    importing.compile_once(importing.__package__)
    from ansible_collections.trainops.gpu_audit.plugins.module_utils.measure import http_errors, link_place, peer_process
    try:
        given = module.params["port"] if module.params["port"] is not None else module.params["port_range"]
        choice = peer_process.ports(0 if given is None else given)
        made = (_started if module.params["state"] == "started" else _stopped)(module, peer_process, choice)
    except (link_place.NoAddress, peer_process.PeerError, http_errors.Failure, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(**made)


if __name__ == "__main__":
    main()
