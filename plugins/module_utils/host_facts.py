# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Puts the subjects' documents together into the facts document of one host."""

from __future__ import annotations

import base64
import itertools
import json
import math
import os
import zlib

from .sources.host_files import HostFiles
from .sources.texts import without_surrogates

SCHEMA = "trainops.gpu_audit/facts/1"
SUBJECTS = ("gpu", "cpu", "memory", "storage", "network", "software", "platform")
DEFAULT_TIMEOUT_SECONDS = 30
MAX_TIMEOUT_SECONDS = 600
# A host is untrusted: (characters a string, entries a list, entries a map) in turn, until the document is small enough.
# A GPU has about 110 fields.
MAX_DOCUMENT_BYTES = 1000000
_LIMITS = ((4096, 1024, 1024), (512, 256, 512), (128, 64, 256), (64, 16, 256))
_MAX_DEPTH = 12


def choose_subsets(names):
    """['all'], ['gpu', 'cpu'] or ['!storage'] -> the subjects meant, in their order. ValueError with a clear message for anything else."""
    named, left_out = set(), set()
    for name in names:
        bare = name[1:] if name.startswith("!") else name
        if bare not in SUBJECTS and bare != "all":
            raise ValueError("gather_subset: %r is none of all, %s (or one of these with '!' in front)" % (name, ", ".join(SUBJECTS)))
        (left_out if name.startswith("!") else named).update(SUBJECTS if name == "all" else [bare])
    # As with Ansible's own setup, nothing but exclusions means all but these.
    chosen = [subject for subject in SUBJECTS if (subject in named or (not named and "all" not in left_out)) and subject not in left_out]
    if not chosen:
        raise ValueError("gather_subset: %s leaves nothing to gather" % ", ".join(names))
    return tuple(chosen)


def check_options(options):
    """ValueError that says which option is wrong and what it takes."""
    timeout = options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    if not 0 < timeout <= MAX_TIMEOUT_SECONDS:
        raise ValueError("timeout: %s is not a number of seconds above 0 and up to %d" % (timeout, MAX_TIMEOUT_SECONDS))
    for each in options.get("paths") or ():
        if not each["path"].startswith("/") or "\0" in each["path"]:
            raise ValueError("paths: %r is no absolute path (one that begins with '/')" % each["path"])
    for path in options.get("python_environments") or ():
        if not path.startswith("/") or "\0" in path:
            raise ValueError("python_environments: %r is no absolute path (one that begins with '/')" % path)


def _collect(subject, host, options):
    """One subject's document. A subject's code is imported only when it is asked for: compiling it is most of an audit's cost."""
    timeout = options.get("timeout", DEFAULT_TIMEOUT_SECONDS)
    if subject == "gpu":
        from .facts import gpu
        return gpu.collect(options.get("gpu_source", "auto"), options.get("nvidia_smi") or "nvidia-smi", options.get("nvidia_smi_output"),
                           timeout,
                           host.root or "/")
    if subject == "cpu":
        from .facts import cpu
        return cpu.collect(host)
    if subject == "memory":
        from .facts import memory
        return memory.collect(host)
    if subject == "storage":
        from .facts import storage
        return storage.collect(host, options.get("paths") or (), timeout)
    if subject == "network":
        from .facts import network
        return network.collect(host, timeout)
    if subject == "software":
        from .facts import software
        return software.collect(host, options.get("python_environments") or (), timeout)
    from .facts import platform
    return platform.collect(host)


def gather(subsets, options, collect=_collect):
    """The facts document {"schema", subject: document, ...} of this host, or of the tree in options["root"].

    subsets: as choose_subsets() takes them. options: gpu_source, nvidia_smi, nvidia_smi_output, timeout (seconds), paths
    [{"path", "purpose"}], python_environments; all optional. ValueError for a wrong one. A subject that crashes is {"error": text}
    and costs none of the others.
    """
    chosen = choose_subsets(subsets)
    check_options(options)
    host = HostFiles(options.get("root") or "/")
    facts = {"schema": SCHEMA}
    for subject in chosen:
        try:
            facts[subject] = collect(subject, host, options)
        except Exception as error:  # pylint: disable=broad-except
            facts[subject] = {"error": described(error)}
    return bounded(facts)


def described(error):
    """'KeyError: 'x' (cpu.py, line 12)': what went wrong and where."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else " (%s, line %d)" % (os.path.basename(place.tb_frame.f_code.co_filename), place.tb_lineno)
    return "%s: %s%s" % (type(error).__name__, error, where)


class _TooLarge(Exception):
    """The document is past its size: the walk over it ends here, however much more there is."""


def _tame(value, limits, budget, depth=0):
    characters, items, keys = limits
    budget[0] -= 4
    if value is None:
        pass
    elif isinstance(value, int):
        budget[0] -= value.bit_length() >> 3
    elif isinstance(value, float):
        value = value if math.isfinite(value) else None
    elif isinstance(value, (str, bytes)):
        value = _tame_text(value, characters)
        budget[0] -= len(value)
    elif depth >= _MAX_DEPTH:
        value = None
    elif isinstance(value, dict):
        tamed = {}
        for key in itertools.islice(value, keys):
            text = _tame_text(key if isinstance(key, str) else str(key), characters)
            budget[0] -= len(text) + 4
            tamed[text] = _tame(value[key], limits, budget, depth + 1)
        value = tamed
    elif isinstance(value, (list, tuple)):
        value = [_tame(item, limits, budget, depth + 1) for item in value[:items]]
    if budget[0] < 0:
        raise _TooLarge()
    return value


def _tame_text(value, characters):
    if isinstance(value, bytes):
        value = value[:4 * characters].decode("utf-8", "replace")
    if len(value) > characters:
        value = value[:characters - 1] + "\u2026"
    return without_surrogates(value)


def bounded(facts):
    """The facts with strings, lists and maps cut so that their JSON stays below MAX_DOCUMENT_BYTES; `truncated` is true when more
    than the ordinary limits (4096 characters a string, 1024 entries) had to be cut."""
    for number, limits in enumerate(_LIMITS):
        budget = [MAX_DOCUMENT_BYTES]
        try:
            tamed = _tame(facts, limits, budget)
        except _TooLarge:
            continue
        if number:
            tamed["truncated"] = True
        # JSON makes at most eight characters of one that was counted.
        if 8 * (MAX_DOCUMENT_BYTES - budget[0]) <= MAX_DOCUMENT_BYTES or len(json.dumps(tamed)) <= MAX_DOCUMENT_BYTES:
            return tamed
    return {"schema": SCHEMA, "truncated": True}


def pack(facts):
    """The facts as one text: JSON, zlib, base64. Ansible's cost grows with every nested value, not with the length of a string."""
    return base64.b64encode(zlib.compress(json.dumps(facts, separators=(",", ":")).encode("ascii"), 6)).decode("ascii")
