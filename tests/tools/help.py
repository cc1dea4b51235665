# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`make help`: the targets from the Makefile's own comments, and the variables."""

from __future__ import annotations

import pathlib
import re

VARIABLES = (
    ("INVENTORY", "inventory file or folder, or hosts as a list with a comma; without it this machine", "INVENTORY=hosts.yml"),
    ("LIMIT", "only these hosts or groups", "LIMIT='rack1:!gpu07'"),
    ("POLICY", "base, training, finetuning, inference, rendering, transcoding, or a file of your own", "POLICY=inference"),
    ("OUT", "folder for the runs (default: gpu-audit-runs)", "OUT=/srv/audits"),
    ("RUN", "the stored run to judge again (default: the latest)", "RUN=gpu-audit-runs/latest"),
    ("FORKS", "hosts at once (default: 20, or what ansible.cfg says)", "FORKS=50"),
    ("LANGUAGE", "language of the report, the plan and what measuring says: en or zh", "LANGUAGE=zh"),
    ("GATE", "what the gate refuses: fail, unproven or warn", "GATE=unproven"),
    ("EXTRA", "more arguments for ansible-playbook", "EXTRA='-e @site.yml --ask-vault-pass'"),
    ("PYTHON", "the controller's Python, 3.10 to 3.13", "PYTHON=python3.12"),
    ("WHEELHOUSE", "install from this folder of wheels, without a network", "WHEELHOUSE=wheelhouse"),
    ("STEPS", "which steps of the tests to run", "STEPS='unit lint'"),
)


def targets(makefile):
    """[(name, text)] of the targets that carry a `##` comment."""
    return re.findall(r"^([a-z%-]+):[^#\n]*## (.+)$", makefile, flags=re.MULTILINE)


def main():
    """Print the help."""
    makefile = pathlib.Path(__file__).resolve().parents[2] / "Makefile"
    for name, text in targets(makefile.read_text()):
        print("make %-11s %s" % (name, text))
    print("\nVariables:")
    for name, text, example in VARIABLES:
        print("  %-11s %s\n  %-11s   %s" % (name, text, "", example))


if __name__ == "__main__":
    main()
