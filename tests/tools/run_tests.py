# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""`make test`: every step that this machine allows, to the end; steps by name as arguments or in STEPS."""

from __future__ import annotations

import difflib
import os
import sys

import environment
import runner
import steps
from environment import ToolError, say


def selected(names):
    """The steps of these names, in the order in which they run; all without names."""
    known = {step.name: step for step in steps.STEPS}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, list(known), n=1)
            raise ToolError("no step %r%s; there are: %s" % (name, " (did you mean %s?)" % near[0] if near else "", " ".join(known)))
    return [step for step in steps.STEPS if not names or step.name in names]


def main(arguments):
    """Exit code: 0 when something was tested and nothing failed."""
    names = arguments or os.environ.get("GPU_AUDIT_MAKE_STEPS", "").replace(",", " ").split()
    try:
        chosen = selected(names)
        python, version = environment.choose_python()
        say("Testing with Python %s (%s)" % (version[2], python))
        environment.collections_path()
        # A step's needs are looked for after the packages are in.
        packages = runner.Step("packages", "Debian packages", steps.packages, (), False, False)
        before = packages if len(chosen) > 1 or any(step.needs for step in chosen) else None
        return runner.run_all(chosen, before=before, workers=runner.workers_here())
    except ToolError as error:
        print("make test: %s" % error, file=sys.stderr)
    except KeyboardInterrupt:
        print("make test: interrupted", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
