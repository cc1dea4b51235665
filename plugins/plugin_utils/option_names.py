# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""What a measuring module refuses, in the names that a user of its role knows: the role's variables, not the module's options. Pure.

A test holds the names against the tasks of the roles.
"""

from __future__ import annotations

import re

from .variable_names import ROLES

# What a role puts before an option's name, beside its own prefix; the options whose variable is named otherwise.
_KINDS = {"request_benchmark": "request_", "fabric_benchmark": "fabric_", "link_benchmark": "link_"}
_OTHERWISE = {
    "request_benchmark": {"requests": "request_count", "latency_slo_seconds": "request_latency_seconds"},
    "link_benchmark": {"port range": "link_ports"},
}
# Option names that are no words of a sentence, beside those with an underscore: they are one wherever they stand.
_NO_WORDS = {"numjobs", "argv", "chdir", "quick"}
_BEFORE, _AFTER = r"(?<![A-Za-z0-9_./-])", r"(?![A-Za-z0-9_/-])"
_BOTH = r"(?: and | or | 和 | 与 | 或 |、)"


def variables(role, module, direction=None):
    """{what a sentence of a module calls an option: the variable of the role that sets it}; {} where the role is none of ours.

    >>> variables("measure_network", "transfer_benchmark", "upload")["bytes"]
    'measure_network_upload_bytes'
    """
    prefix = "%s_" % role
    kind = "%s_" % direction if module == "transfer_benchmark" and direction else _KINDS.get(module, "")
    rests = ROLES.get(prefix, ((), ()))[0]
    # A variable of this kind of test goes before one that all of them share.
    found = {rest: prefix + rest for rest in rests if not rest.startswith(("upload_", "download_", "request_", "fabric_", "link_"))}
    found.update({rest[len(kind):]: prefix + rest for rest in rests if kind and rest.startswith(kind)})
    found.update({option: prefix + rest for option, rest in _OTHERWISE.get(module, {}).items() if rest in rests})
    return found


def said(sentence, names):
    """A sentence, English or Chinese, with the variables (`variables`) in place of the options that it names.

    >>> said("bytes: '10Mbit' is no size", {"bytes": "measure_network_upload_bytes"})
    "measure_network_upload_bytes: '10Mbit' is no size"
    """
    if not names:
        return sentence
    plain = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    sure = "|".join(sorted((re.escape(name) for name in names if "_" in name or name in _NO_WORDS), key=len, reverse=True))
    # At the beginning, behind "value of", before "=" and beside another one a word is an option's name; elsewhere it may be a word.
    found = r"\A(?:value of )?(?:%s)%s|%s(?:%s)(?:%s(?:%s))+%s|%s(?:%s)(?==)" % (
        plain, _AFTER, _BEFORE, plain, _BOTH, plain, _AFTER, _BEFORE, plain)
    if sure:
        found += "|%s(?:%s)%s" % (_BEFORE, sure, _AFTER)
    one = re.compile("%s(?:%s)%s" % (_BEFORE, plain, _AFTER))
    return re.sub(found, lambda match: one.sub(lambda name: names[name.group(0)], match.group(0)), sentence)
