# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Where the lab keeps things, and the few names it uses on the machine under it."""
from __future__ import annotations

import os
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent
SCENARIOS = SOURCES / "scenarios"
SPECS = SOURCES / "specs"
NATIVE = SOURCES / "native"

HOME = Path(os.environ.get("GPU_AUDIT_LAB_HOME", "/var/cache/trainops-gpu-audit/lab"))
BASES = HOME / "bases"
BUILT = HOME / "native"             # the compiled stand-ins
RUN = HOME / "run"                  # everything of the fleet that is up; 'down' removes it
LOCK = HOME / "lock"

BRIDGE, PREFIX = "gplab0", "gpl"    # the bridge, and what the bridge's ends of the hosts' links begin with
NET = "10.88"                       # the controller is NET.0.1/16
CGROUP = "gpu-lab"                  # our own group in each cgroup v1 hierarchy
