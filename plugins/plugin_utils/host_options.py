# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""The variables that become host_facts' options: checked by the module's own rules before a host is contacted. No Ansible.

Those rules are imported where they are asked: few hosts set an option, and every audit imports this file.
"""

from __future__ import annotations

import os

from . import run_directory

# Variable -> option of the module.
MODULE_VARIABLES = {
    "gpu_audit_gather_subset": "gather_subset",
    "gpu_audit_gpu_source": "gpu_source",
    "gpu_audit_nvidia_smi": "nvidia_smi",
    "gpu_audit_nvidia_smi_output": "nvidia_smi_output",
    "gpu_audit_timeout": "timeout",
    "gpu_audit_python_environments": "python_environments",
}
SAVED_OUTPUT, SAVED_OUTPUT_FILE = "gpu_audit_nvidia_smi_output", "gpu_audit_nvidia_smi_output_file"
VARIABLES = (*MODULE_VARIABLES, SAVED_OUTPUT_FILE)
GPU_SOURCES = ("auto", "nvml", "nvidia_smi")
# nvidia-smi -q -x of 16 GPUs with their processes is below 1 MB.
SAVED_LIMIT_BYTES = 8 * 1024 * 1024


def module_options(values):
    """The module's options of the variables that are given; as Ansible's own, an empty one stands for the module's default."""
    return {option: values[variable] for variable, option in MODULE_VARIABLES.items() if values.get(variable) not in (None, "", [])}


def problems(values):
    """{variable: message} for what the module would refuse; a wrong value is taken out of `values`, a right one gets the module's type."""
    found = {}
    for variable, option in MODULE_VARIABLES.items():
        if values.get(variable) in (None, "", []):
            continue
        try:
            values[variable] = _CHECKS[option](values[variable])
        except ValueError as error:
            # The module names its option; a user knows the variable.
            found[variable] = str(error).removeprefix(option + ": ")
            del values[variable]
    return found


def _subset(value):
    from ..module_utils import host_facts

    names = _list(value)
    host_facts.choose_subsets(names)
    return names


def _list(value):
    """A list of texts; from the command line it comes as one text with commas."""
    entries = [entry.strip() for entry in value.split(",")] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) and entry for entry in entries):
        raise ValueError("must be a list of texts, not %s" % _shown(value))
    return entries


def _environments(value):
    from ..module_utils import host_facts

    paths = _list(value)
    # The module puts the home folder and variables of the host in before it looks at a path.
    host_facts.check_options({"python_environments": [path for path in paths if not path.startswith(("~", "$"))]})
    return paths


def _seconds(value):
    from ..module_utils import host_facts

    try:
        seconds = None if isinstance(value, bool) else float(value)
        if seconds is not None:
            host_facts.check_options({"timeout": seconds})
            return seconds
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError("must be a number of seconds above 0 and up to %d, not %s" % (host_facts.MAX_TIMEOUT_SECONDS, _shown(value)))


def _source(value):
    if value not in GPU_SOURCES:
        raise ValueError("must be one of %s, not %s" % (", ".join(GPU_SOURCES), _shown(value)))
    return value


def _text(value):
    if not isinstance(value, str) or "\0" in value:
        raise ValueError("must be text, not %s" % _shown(value))
    return value


def _shown(value):
    return repr(run_directory.shorten(value, 60) if isinstance(value, str) else value)[:100]


_CHECKS = {
    "gather_subset": _subset, "gpu_source": _source, "nvidia_smi": _text, "nvidia_smi_output": _text, "timeout": _seconds,
    "python_environments": _environments,
}


def read_saved(values, folders):
    """Put the text of the file SAVED_OUTPUT_FILE (looked for in `folders`) under SAVED_OUTPUT; gives {variable: message}."""
    wanted = values.get(SAVED_OUTPUT_FILE)
    if wanted in (None, ""):
        return {}
    if values.get(SAVED_OUTPUT) not in (None, ""):
        return {SAVED_OUTPUT_FILE: "give this or %s, not both" % SAVED_OUTPUT}
    if not isinstance(wanted, str) or "\0" in wanted:
        return {SAVED_OUTPUT_FILE: "must be the path of a file on the controller, not %s" % _shown(wanted)}
    places = [os.path.join(folder, os.path.expanduser(wanted)) for folder in folders]
    path = next((place for place in places if os.path.isfile(place)), None)
    if path is None:
        looked = ", ".join(dict.fromkeys(places))
        return {SAVED_OUTPUT_FILE: "no such file on the controller: %s (looked for %s)" % (_shown(wanted), looked)}
    try:
        with open(path, "rb") as stream:
            raw = stream.read(SAVED_LIMIT_BYTES + 1)
    except OSError as error:
        return {SAVED_OUTPUT_FILE: "cannot read %s: %s" % (path, error.strerror or error)}
    text = raw.decode("utf-8", "replace")
    # An empty one would be taken for none, and this machine's own GPUs be judged under the name of the saved one.
    if not text.strip() or len(raw) > SAVED_LIMIT_BYTES:
        return {SAVED_OUTPUT_FILE: "%s is %s; it takes what nvidia-smi -q -x printed"
                                   % (path, "empty" if not text.strip() else "larger than %d bytes" % SAVED_LIMIT_BYTES)}
    values[SAVED_OUTPUT] = text
    return {}
