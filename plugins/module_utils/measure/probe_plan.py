# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a probe is asked for: its options, the numbers of GPUs that it can run on here, and what is announced before it begins."""

from __future__ import annotations

import os

from . import probe_output, probe_tree

DEFAULTS = {
    "chdir": None, "environment": None, "run_as": None, "interval_seconds": 0.5, "timeout_seconds": 600.0, "run_seconds": None,
    "iterations": None, "hang_seconds": 300.0, "grace_seconds": 5.0, "iteration_pattern": None, "epoch_pattern": None,
    "memory_pattern": None, "progress_file": None, "iterations_per_epoch": None, "reserves": "auto", "output_tail_bytes": 4000,
    "keep_command": False, "gpu_counts": None, "scaling_basis": "step"}
# Opening the driver's library before, ending what is stuck after.
SPARE_SECONDS = 45.0
HELPER_FILE = "gpu_audit_probe.py"
COUNT_SECONDS = 30.0
# A folder on a file server that doesn't answer.
LOOK_SECONDS = 30.0
# name -> (least, most)
_RANGES = {"interval_seconds": (0.1, 60), "timeout_seconds": (1, 7 * 86400), "run_seconds": (1, 7 * 86400), "iterations": (1, 10 ** 7),
           "hang_seconds": (0, 7 * 86400), "grace_seconds": (0, 600), "iterations_per_epoch": (1, 10 ** 10),
           "output_tail_bytes": (0, 65536)}


class ProbeError(Exception):
    """The probe can't be made; the text says what is wrong, where, and what to do."""


def check_options(given):
    """The options with their defaults; ProbeError (one sentence) for a wrong one."""
    options = dict(DEFAULTS)
    options.update({name: value for name, value in given.items() if value is not None})
    argv = options.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(word, str) for word in argv) or not argv[0].strip():
        raise ProbeError("argv: a list of words is needed, the program first, such as [python3, train.py]")
    options["environment"] = _environment(options["environment"] or {})
    _check_text(argv, options["environment"])
    for name, (least, most) in _RANGES.items():
        value = options[name]
        if value is not None and not least <= value <= most:
            raise ProbeError("%s: %s is not between %s and %s" % (name, _figure(value), _figure(least), _figure(most)))
    folder = options["chdir"] or "/"
    if not os.path.isabs(folder):
        raise ProbeError("chdir: %s is not an absolute path" % folder)
    options["chdir"] = folder
    if any("\0" in str(options[name] or "") for name in ("chdir", "run_as", "progress_file")):
        raise ProbeError("chdir, run_as and progress_file can't hold NUL characters")
    counts = options["gpu_counts"]
    if counts is not None and (not counts or len(set(counts)) != len(counts) or not all(1 <= count <= 1024 for count in counts)):
        raise ProbeError("gpu_counts: different numbers of GPUs are needed, such as [1, 2, 4]")
    try:
        probe_output.Progress(options["iteration_pattern"], options["epoch_pattern"], options["memory_pattern"])
    except probe_output.PatternError as error:
        raise ProbeError(str(error))
    return options


def _environment(given):
    """Names and values as text: numbers as they are, true and false as YAML spells them, null as nothing."""
    if not isinstance(given, dict) or any("=" in str(name) or not str(name) for name in given):
        raise ProbeError("environment: a map of names and values is needed")
    deep = sorted(str(name) for name, value in given.items() if isinstance(value, (list, dict)))
    if deep:
        raise ProbeError("environment: %s must be text or a number, not a list or a map" % ", ".join(deep[:5]))
    words = {True: "true", False: "false"}
    return {str(name): "" if value is None else words[value] if isinstance(value, bool) else str(value) for name, value in given.items()}


def _check_text(argv, environment):
    everything = argv + list(environment) + list(environment.values())
    if any("\0" in word for word in everything):
        raise ProbeError("argv and environment can't hold NUL characters")


def _figure(value):
    return "%d" % value if float(value).is_integer() else "%g" % value


# -- numbers of GPUs ----------------------------------------------------------------------------------------------------------


def visible_words(options):
    """What the command's CUDA_VISIBLE_DEVICES names, [] where it isn't set."""
    text = options["environment"].get("CUDA_VISIBLE_DEVICES")
    return [word.strip() for word in text.split(",")] if text else []


def gpus_text(count):
    return "%d GPU%s" % (count, "" if count == 1 else "s")


def _list_gpus():
    """{"gpus": [{"index", "uuid", "mig_uuid", "name"}], "error": None or the driver's words}"""
    from ..sources.nvml_ctypes import Binding
    from .sampler_gpu import driver_words, open_devices
    try:
        devices = open_devices(Binding())[0]
    except Exception as error:  # pylint: disable=broad-except
        # No library, no driver, no right: the words are told.
        return {"gpus": [], "error": driver_words(error)}
    return {"gpus": [{name: device.about[name] for name in ("index", "uuid", "mig_uuid", "name")} for device in devices], "error": None}


def listed_gpus():
    """_list_gpus() in a child of its own: the driver's library may hang, or end whoever calls it."""
    from ..sources.forked import run_forked
    done, value, dummy = run_forked(_list_gpus, COUNT_SECONDS, "gpu-audit-count")
    return value if done else {"gpus": [], "error": value}


def counts_to_run(options, listed=None):
    """([numbers of GPUs that the command can be run on here, the smallest first], notes on the others); ProbeError where there is none."""
    from .probe_summary import visible_numbers
    found, words = listed() if listed else listed_gpus(), visible_words(options)
    if found["error"]:
        raise ProbeError("gpu_counts: the GPUs of this host can't be counted (%s), so that nothing can be run on some of them: see that "
                         "nvidia-smi works there, or leave gpu_counts out" % found["error"])
    present = len({about["index"] for about in found["gpus"]})
    if words:
        numbers = visible_numbers(found["gpus"], options["environment"])
        present = min(len(words), len(found["gpus"]) if numbers is None else len(numbers))
    where = " that CUDA_VISIBLE_DEVICES leaves" if words else ""
    there = "there %s %s%s" % ("is" if present == 1 else "are", gpus_text(present) if present else "no GPUs", where)
    counts = sorted(options["gpu_counts"])
    if counts[0] > present:
        if not present:
            raise ProbeError("gpu_counts: not even %s can be used: %s. Leave gpu_counts out" % (gpus_text(counts[0]), there))
        raise ProbeError("gpu_counts: not even %s can be used: %s. Give numbers up to %d" % (gpus_text(counts[0]), there, present))
    return ([count for count in counts if count <= present],
            ["not run on %s: %s" % (gpus_text(count), there) for count in counts if count > present])


# -- the announcement ---------------------------------------------------------------------------------------------------------


def helper_seen(options):
    """Whether the helper lies where the command would import it: in PYTHONPATH, its folder, or beside one of its .py files.

    A folder of PYTHONPATH that isn't there yet counts: with --check a play has not made it.
    """
    folder = options["chdir"]
    imported = [os.path.join(folder, part) for part in options["environment"].get("PYTHONPATH", "").split(":") if part]
    if any(not os.path.exists(part) for part in imported):
        return True
    beside = [os.path.dirname(os.path.join(folder, word)) for word in options["argv"] if word.endswith(".py")]
    return any(os.path.isfile(os.path.join(part, HELPER_FILE)) for part in imported + beside + [folder])


def _uncounted(options):
    """The warning that nothing will tell what is to be counted or compared; None where something may."""
    if options["progress_file"] or helper_seen(options):
        return None
    compared = bool(options["gpu_counts"])
    if compared and options["scaling_basis"] == "epoch" and not options["epoch_pattern"] and not (
            options["iteration_pattern"] and options["iterations_per_epoch"]):
        return ("warning: scaling_basis is epoch, and nothing will tell epochs: give epoch_pattern, or iteration_pattern and "
                "iterations_per_epoch, or progress_file, or wrap the loop with the helper gpu_audit_probe.py (docs/probe.md)")
    if options["iteration_pattern"] or not (options["iterations"] or compared and options["scaling_basis"] == "step"):
        return None
    return ("warning: nothing will count iterations, so that the command runs to its end or its time limit: give iteration_pattern or "
            "progress_file, or wrap the loop with the helper gpu_audit_probe.py (docs/probe.md)")


def check_command(options):
    """ProbeError where program, folder or user aren't there or may not be used: looked at as the command's user, with its PATH.

    What can't be found out (a file server that hangs) is left to the start.
    """
    from ..sources.forked import run_forked
    user = None
    try:
        if options["run_as"]:
            user = probe_tree.account(options["run_as"])
    except probe_tree.StartError as error:
        raise ProbeError(str(error))
    environment = probe_tree.job_environment(options["environment"], user)
    done, why, dummy = run_forked(lambda: probe_tree.why_not(options["argv"], environment, options["chdir"], user), LOOK_SECONDS,
                                  "gpu-audit-look")
    if done and why:
        raise ProbeError(why)


def plan(given, listed=None):
    """{"seconds": how long the probe takes at most, "notes": [text]}; ProbeError for a wrong option. Starts nothing of the command."""
    options = check_options(given)
    check_command(options)
    once = min(options["timeout_seconds"], options["run_seconds"] or options["timeout_seconds"]) + options["grace_seconds"] + SPARE_SECONDS
    counts, left_out = counts_to_run(options, listed) if options["gpu_counts"] else ([], [])
    notes = [_uncounted(options)]
    if options["iterations"] and not notes[0]:
        notes.append("ends after %d iterations" % options["iterations"])
    if counts:
        notes.append("runs on %s GPUs, one after the other" % ", ".join("%d" % count for count in counts))
    return {"seconds": once * max(1, len(counts)), "bytes_written": None, "bytes_read": None,
            "notes": [note for note in notes + left_out if note]}
