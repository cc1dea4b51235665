# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What the pages of the modules that test links share."""

from __future__ import annotations


class ModuleDocFragment:
    """`trainops.gpu_audit.links`: where a host is tested; `.test`: what a test is."""

    DOCUMENTATION = r"""
options:
  address:
    description:
      - The address of this host that is tested, or the name of one of its interfaces, whose address is then taken. V(management) takes
        the address that Ansible reaches the host by (O(management)). There is no default.
    type: str
    default: ""
  management:
    description: What Ansible reaches this host by, for O(address=management).
    type: str
  iperf3:
    description: Path of the iperf3 program. Looked for when not given.
    type: path
"""

    TEST = r"""
options:
  seconds:
    description: Seconds that each direction is measured.
    type: int
    default: 10
  omit_seconds:
    description: Seconds before that, while TCP finds its speed, that don't count.
    type: int
    default: 1
  parallel:
    description: Parallel streams. 0 begins with one and takes 4 and 8 where fewer don't fill the link, or where a core is what is full.
    type: int
    default: 0
  udp:
    description: Whether jitter and loss are measured too, with UDP packets in each direction, for half of O(seconds).
    type: bool
    default: false
  udp_bits_per_second:
    description: The rate of these packets. A small one, so that what is lost isn't lost for want of room.
    type: int
    default: 10000000
"""
