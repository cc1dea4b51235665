#!/usr/bin/env python3
# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""A fleet of GPU servers on one Linux machine, each reachable by real ssh: see README.md beside this file."""
from __future__ import annotations

import sys

from gpulab.cli import main

if __name__ == "__main__":
    sys.exit(main())
