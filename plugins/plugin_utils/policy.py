# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Policies: YAML files of checks; reading them with line numbers, extending one by another, thresholds of groups and hosts on top."""

from __future__ import annotations

import hashlib
import json
import operator
import os

import yaml

from . import expressions, policy_files
from .metrics.registry import DEFINITIONS, NUMBER_LIMIT
from .numbers import is_number
from .words import COMPARISONS, ITEMS, NEVER_FAIL_ITEMS, NUMERIC_COMPARISONS, nearest
from .workload import LEANINGS, parse_size

SCHEMA = "trainops.gpu_audit/policy/1"
TOP_KEYS = ("schema", "name", "title", "extends", "leans_on", "checks")
CHECK_KEYS = (
    "item",
    "metric",
    "answers",
    "warn",
    "fail",
    "satisfied_by",
    "tolerance",
    "max_status",
    "enabled",
    "title",
    "advice",
    "advice_unsized",
    "command",
    "source",
    "when",
    "value",
)
THRESHOLD_KEYS = ("warn", "fail", "tolerance", "enabled")
FILE_LIMIT = 1024 * 1024
ENTRIES_LIMIT = 20000
# Runs stored before there was advice_unsized have none.
_COMPLETE = frozenset(CHECK_KEYS) - {"advice_unsized"}

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class PolicyError(ValueError):
    """A policy or threshold that can't be used; the text is one line that says where, what and what to do."""


def _one_line(text):
    """One line of at most 400 characters; what a terminal would obey (escapes, text turned round) is spelt out."""
    line = " ".join(str(text)[:4000].split())[:400]
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line)


class _Place:
    """Where something was written: a file with lines per key path, or a variable without."""

    def __init__(self, where, lines=None):
        self.where = where
        self.lines = lines

    def error(self, path, text):
        line = None
        if self.lines is not None:
            probe = tuple(path)
            while probe not in self.lines and probe:
                probe = probe[:-1]
            line = self.lines.get(probe)
        key = ".".join(str(part) for part in path) if not path or path[0] != "checks" else ": ".join(str(part) for part in path[1:])
        where = self.where if line is None else "%s, line %d" % (self.where, line)
        return PolicyError(_one_line("%s: %s%s" % (where, key + ": " if key else "", text)))


def _read(path):
    """(plain data, {key path: line}) of a YAML file; PolicyError for anything unreadable, duplicate keys included."""
    try:
        if os.path.getsize(path) > FILE_LIMIT:
            raise PolicyError("%s: a policy of more than 1 MiB is refused" % path)
        with open(path, encoding="utf-8") as handle:
            text = handle.read()
    except OSError as error:
        raise PolicyError("%s: can't read the policy: %s" % (path, error.strerror)) from error
    except UnicodeDecodeError as error:
        raise PolicyError("%s: the policy is not UTF-8 text (byte %d): save it as UTF-8" % (path, error.start)) from error
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else ", line %d" % (mark.line + 1)
        raise PolicyError(_one_line("%s%s: not valid YAML: %s" % (path, line, getattr(error, "problem", None) or error))) from error
    lines = {}
    if node is None:
        raise PolicyError("%s: the policy is empty: it needs at least name and checks" % path)
    data = _plain(node, (), lines, path, 0)
    if not isinstance(data, dict):
        raise PolicyError("%s, line %d: a policy is a map with name, extends and checks" % (path, node.start_mark.line + 1))
    return data, lines


def _plain(node, at, lines, path, depth):
    """Plain data of a YAML node, the line of each key path noted. Aliases are followed, so entries are counted."""
    lines.setdefault(at, node.start_mark.line + 1)
    if depth > 12 or len(lines) > ENTRIES_LIMIT:
        raise PolicyError("%s, line %d: nested too deep or too many entries" % (path, node.start_mark.line + 1))
    if isinstance(node, yaml.MappingNode):
        result = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise PolicyError("%s, line %d: a key must be plain text" % (path, line))
            key = key_node.value
            if key in result:
                where = ".".join(map(str, at)) or "top level"
                raise PolicyError(_one_line('%s, line %d: %s: key "%s" is given twice: remove one' % (path, line, where, key)))
            lines[at + (key,)] = line
            result[key] = _plain(value_node, at + (key,), lines, path, depth + 1)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, at + (index,), lines, path, depth + 1) for index, child in enumerate(node.value)]
    try:
        return yaml.constructor.SafeConstructor().construct_object(node)
    # What PyYAML's constructors of numbers, dates and unknown tags raise.
    except (yaml.YAMLError, ValueError, AttributeError, KeyError, TypeError, OverflowError) as error:
        written = "%s %s" % (node.tag.replace("tag:yaml.org,2002:", "!!"), node.value)
        problem = 'a value can\'t be read: "%s": write a plain number, word or text' % _one_line(written)[:80]
        raise _Place(path, lines).error(at, problem) from error


def _is_number(value):
    return is_number(value) and -NUMBER_LIMIT < value < NUMBER_LIMIT


def _texts(value, path, place):
    """{"en", "zh"} of a title or advice; plain text stands for both."""
    if isinstance(value, str):
        return {"en": value, "zh": value}
    if isinstance(value, dict) and value and all(key in ("en", "zh") and isinstance(text, str) for key, text in value.items()):
        first = value.get("en") or value.get("zh")
        return {"en": value.get("en", first), "zh": value.get("zh", first)}
    raise place.error(path, "must be text or {en: ..., zh: ...}")


def _bound(comparison, value, unit, path, place):
    """The checked right-hand side of a comparison."""
    if comparison in NUMERIC_COMPARISONS:
        if unit == "bytes" and isinstance(value, str):
            value = parse_size(value)
        if not _is_number(value):
            raise place.error(path, "%s needs a number, not %r" % (comparison, value))
        return value
    if comparison in ("one_of", "none_of"):
        if not isinstance(value, list) or not value or not all(isinstance(entry, (str, int, float, bool)) for entry in value):
            raise place.error(path, "%s needs a list of words or numbers" % comparison)
        return value
    if not isinstance(value, (str, int, float, bool)):
        raise place.error(path, "%s needs a word, a number or true/false" % comparison)
    return value


def _limit(value, base, other, unit, path, place):
    """A limit {comparison: bound} from a map, a bare value (keeps the comparison of `base`, else of `other`) or None (off)."""
    if value is None:
        return None
    if isinstance(value, dict):
        if len(value) != 1:
            raise place.error(path, "must hold exactly one comparison: " + ", ".join(COMPARISONS))
        ((comparison, bound),) = value.items()
        if comparison not in COMPARISONS:
            raise place.error(
                path + (comparison,), "is no comparison%s: use %s" % (nearest(comparison, COMPARISONS), ", ".join(COMPARISONS))
            )
        return {comparison: _bound(comparison, bound, unit, path + (comparison,), place)}
    known = base or other
    if not known:
        raise place.error(path, "a bare value needs a comparison to keep: write for example {below: %s}" % (value,))
    ((comparison, _old),) = known.items()
    return {comparison: _bound(comparison, value, unit, path, place)}


def _unit(check):
    found = DEFINITIONS.get(check.get("metric", ""))
    return found["unit"] if found else ""


def _check_key(key, value, base, path, place):
    """The checked value of one key of a check, limits aside."""
    if key in ("title", "advice", "advice_unsized"):
        return _texts(value, path, place)
    if key == "item":
        if value not in ITEMS:
            raise place.error(path, "%r is no item%s: use %s" % (value, nearest(value, ITEMS), ", ".join(ITEMS)))
    elif key == "metric":
        _known_metric(value, path, place)
    elif key == "answers":
        if isinstance(value, list):
            for entry in value:
                if entry not in LEANINGS:
                    raise place.error(path, "%r is no leaning%s: use %s" % (entry, nearest(entry, LEANINGS), ", ".join(LEANINGS)))
        elif not isinstance(value, bool):
            raise place.error(path, "must be true, false or a list of " + ", ".join(LEANINGS))
    elif key == "tolerance":
        if not _is_number(value) or value < 0:
            raise place.error(path, "must be a number that is not negative")
    elif key == "max_status":
        if value not in ("pass", "warn", "fail"):
            raise place.error(path, "must be pass, warn or fail")
    elif key == "enabled":
        if not isinstance(value, bool):
            raise place.error(path, "must be true or false")
    elif key in ("when", "value"):
        problem = "must be an expression in text" if not isinstance(value, str) else expressions.problem(value)
        if problem:
            raise place.error(path, problem)
    elif key == "satisfied_by":
        return _satisfied_by(value, path, place)
    elif not isinstance(value, str):
        raise place.error(path, "must be text")
    return value


def _known_metric(name, path, place):
    if not isinstance(name, str) or name not in DEFINITIONS:
        raise place.error(path, '"%s" is no metric%s: docs/metrics.md lists them' % (name, nearest(name, DEFINITIONS)))


def _satisfied_by(value, path, place):
    if value is None:
        return None
    if not isinstance(value, dict) or "metric" not in value or len(value) != 2:
        raise place.error(path, "must be {metric: <name>, <comparison>: <value>}")
    metric = value["metric"]
    _known_metric(metric, path + ("metric",), place)
    limit = _limit(_unnamed(value), None, None, DEFINITIONS[metric]["unit"], path, place)
    return dict(limit, metric=metric)


def _merge_check(name, base, changes, allowed, path, place):
    """A new check: `base` with `changes` laid over it key by key."""
    if not isinstance(changes, dict):
        raise place.error(path, "must be a map of " + ", ".join(allowed))
    check = dict(base)
    for key in changes:
        if key not in allowed:
            raise place.error(path + (key,), "is no key of a check%s: use %s" % (nearest(key, allowed), ", ".join(allowed)))
        if key not in ("warn", "fail"):
            check[key] = _check_key(key, changes[key], base, path + (key,), place)
    if "metric" not in check and "value" not in check:
        if name not in DEFINITIONS:
            raise place.error(
                path, '"%s" is no metric%s: give metric or value, docs/metrics.md lists the metrics' % (name, nearest(name, DEFINITIONS))
            )
        check["metric"] = name
    unit = _unit(check)
    for key, other in (("warn", "fail"), ("fail", "warn")):
        if key in changes:
            check[key] = _limit(
                changes[key],
                base.get(key),
                base.get(other) or (changes.get(other) if isinstance(changes.get(other), dict) else None),
                unit,
                path + (key,),
                place,
            )
    return check


def _warns_never(check):
    """Whether every value that breaks the warn limit breaks the fail limit too, with more besides: the two were mixed up."""
    warn, fail = check.get("warn") or {}, check.get("fail") or {}
    for comparisons, laxer in ((("below", "at_most"), operator.gt), (("above", "at_least"), operator.lt)):
        sides = [next((limit[key] for key in comparisons if key in limit), None) for limit in (warn, fail)]
        if None not in sides and laxer(sides[1], sides[0]):
            return True
    return False


def never_warning(policy):
    """{check id: check} of the checks that are on and whose fail limit is reached before their warn limit."""
    return {name: check for name, check in policy["checks"].items() if check["enabled"] and _warns_never(check)}


def _complete(name, check, place):
    """The check with every default filled in."""
    if "item" not in check:
        raise place.error(("checks", name), "a new check needs an item: " + ", ".join(ITEMS))
    title = check.get("title") or {"en": name, "zh": name}
    check = dict(
        {
            "answers": False,
            "warn": None,
            "fail": None,
            "satisfied_by": None,
            "tolerance": 0,
            "enabled": True,
            "advice": None,
            "advice_unsized": None,
            "command": None,
            "source": None,
            "when": None,
            "value": None,
            "metric": None,
            "max_status": "fail",
        },
        **check,
    )
    check["title"] = title
    if check["item"] in NEVER_FAIL_ITEMS and check["max_status"] == "fail":
        check["max_status"] = "warn"
    return check


def _locate(name_or_path, shipped_dir, beside=None):
    """(label for people, real path) of a shipped name or a path (relative ones beside `beside`)."""
    name = str(name_or_path)
    if policy_files.is_shipped(name, shipped_dir):
        return name, os.path.join(shipped_dir, name + ".yml")
    path = os.path.expanduser(name)
    if beside and not os.path.isabs(path):
        path = os.path.join(beside, path)
    if os.path.isfile(path):
        return path, path
    known = sorted(entry[:-4] for entry in os.listdir(shipped_dir) if entry.endswith(".yml")) if os.path.isdir(shipped_dir) else []
    raise PolicyError(
        'policy "%s" is neither a file nor a shipped policy%s: give a path or one of %s'
        % (_one_line(name)[:200], nearest(name, known), ", ".join(known))
    )


def _load(name_or_path, shipped_dir, seen, beside=None):
    """(top-level values, checks by name, labels of the files read) with everything it extends merged in, base first."""
    label, path = _locate(name_or_path, shipped_dir, beside)
    real = os.path.realpath(path)
    if real in seen:
        raise PolicyError(
            "%s: policies extend each other in a circle: %s" % (label, " -> ".join([os.path.basename(entry) for entry in seen + [real]]))
        )
    if len(seen) > 20:
        raise PolicyError("%s: more than 20 policies extend each other" % label)
    data, lines = _read(path)
    place = _Place(label if label == path else path, lines)
    for key in data:
        if key not in TOP_KEYS:
            raise place.error((key,), "is no key of a policy%s: use %s" % (nearest(key, TOP_KEYS), ", ".join(TOP_KEYS)))
    if "schema" in data and data["schema"] != SCHEMA:
        raise place.error(("schema",), "must be %s" % SCHEMA)
    for key in ("name", "extends"):
        if not isinstance(data.get(key, ""), str):
            raise place.error((key,), "must be text")
    if not data.get("name"):
        raise place.error((), "a policy needs a name: write for example name: mine")
    if not data.get("extends") and not data.get("checks"):
        raise place.error((), "a policy needs checks of its own or extends: write for example extends: training")
    if "schema" not in data:
        raise place.error((), "a policy says which form it is written in: add schema: %s" % SCHEMA)
    top, checks, files = {}, {}, []
    if data.get("extends"):
        try:
            top, checks, files = _load(data["extends"], shipped_dir, seen + [real], os.path.dirname(real))
        except PolicyError as error:
            if str(error).startswith('policy "'):
                raise place.error(("extends",), str(error)) from error
            raise
    top = dict(top)
    top["name"] = data["name"]
    # The title of what it extends says what that one is for.
    top["title"] = _texts(data["title"], ("title",), place) if data.get("title") else {"en": top["name"], "zh": top["name"]}
    if data.get("leans_on") is not None:
        leanings = data["leans_on"]
        if not isinstance(leanings, list) or any(entry not in LEANINGS for entry in leanings):
            raise place.error(("leans_on",), "must be a list of " + ", ".join(LEANINGS))
        top["leans_on"] = leanings
    entries = data.get("checks")
    if entries is not None and not isinstance(entries, dict):
        raise place.error(("checks",), "must be a map of check ids")
    checks = dict(checks)
    for name, changes in (entries or {}).items():
        checks[name] = _merge_check(name, checks.get(name, {}), changes, CHECK_KEYS, ("checks", name), place)
        if "item" not in checks[name]:
            raise place.error(
                ("checks", name),
                "is no check of the policy it extends%s; a new check needs an item: %s"
                % (nearest(name, [entry for entry in checks if entry != name]), ", ".join(ITEMS)),
            )
    return top, checks, files + [label]


def resolve(name_or_path, shipped_dir=None):
    """The resolved policy {"schema", "name", "title", "sha256", "files", "leans_on", "checks": {id: complete check}}.

    `name_or_path` is a shipped name ("training") or the path of a file. PolicyError says where, what, the nearest
    valid name and what to do.
    The digest covers what the policy says, not where its files lie.
    """
    top, checks, files = _load(name_or_path, shipped_dir or policy_files.SHIPPED_DIR, [])
    place = _Place(files[-1])
    resolved = {
        "schema": SCHEMA,
        "name": top["name"],
        "title": top["title"],
        "leans_on": top.get("leans_on", []),
        "checks": {name: _complete(name, checks[name], place) for name in sorted(checks)},
    }
    resolved["sha256"] = hashlib.sha256(json.dumps(resolved, sort_keys=True, ensure_ascii=True).encode("ascii")).hexdigest()
    resolved["files"] = files
    return resolved


def is_resolved(policy):
    """Whether a value has the shape that resolve() gives: a policy read back from a stored run is trusted no further."""
    if not isinstance(policy, dict) or not isinstance(policy.get("checks"), dict) or not isinstance(policy.get("name"), str):
        return False
    leans = policy.get("leans_on", [])
    if not isinstance(leans, list) or any(entry not in LEANINGS for entry in leans):
        return False
    return all(_is_complete(check) for check in policy["checks"].values())


def _is_complete(check):
    """Whether this is a check as _complete() makes it, each value of its kind."""
    if not isinstance(check, dict) or not _COMPLETE <= set(check):
        return False
    answers, satisfied = check["answers"], check["satisfied_by"]
    return (
        check["item"] in ITEMS
        and _is_texts(check["title"])
        and all(check.get(key) is None or _is_texts(check[key]) for key in ("advice", "advice_unsized"))
        and all(check[key] is None or isinstance(check[key], str) for key in ("command", "source"))
        and all(check[key] is None or isinstance(check[key], str) and not expressions.problem(check[key]) for key in ("when", "value"))
        and (check["value"] is not None if check["metric"] is None else _is_metric(check["metric"]))
        and (isinstance(answers, bool) or isinstance(answers, list) and all(entry in LEANINGS for entry in answers))
        and isinstance(check["enabled"], bool)
        and check["max_status"] in ("pass", "warn", "fail")
        and _is_number(check["tolerance"])
        and check["tolerance"] >= 0
        and all(check[key] is None or _is_limit(check[key]) for key in ("warn", "fail"))
        and (satisfied is None or isinstance(satisfied, dict) and _is_metric(satisfied.get("metric")) and _is_limit(_unnamed(satisfied)))
    )


def _is_metric(name):
    return isinstance(name, str) and name in DEFINITIONS


def _is_texts(value):
    return isinstance(value, dict) and all(isinstance(value.get(language), str) for language in ("en", "zh"))


def _unnamed(satisfied):
    """The limit in a satisfied_by."""
    return {key: bound for key, bound in satisfied.items() if key != "metric"}


def _is_limit(limit):
    """Whether this is {comparison: a bound of its kind}."""
    if not isinstance(limit, dict) or len(limit) != 1:
        return False
    ((comparison, bound),) = limit.items()
    if comparison in NUMERIC_COMPARISONS:
        return _is_number(bound)
    if comparison in ("one_of", "none_of"):
        return isinstance(bound, list) and bool(bound) and all(isinstance(entry, (str, int, float)) for entry in bound)
    return comparison in ("equals", "not_equals") and isinstance(bound, (str, int, float))


def apply_thresholds(policy, thresholds):
    """The policy with thresholds of groups and hosts laid over it; checks that don't change are shared, not copied.

    `thresholds` is [{"variable": name, "values": {check id: {"warn", "fail", "tolerance", "enabled"}}}] in merge order. A bare limit keeps
    the
    check's comparison, a map replaces it, null switches that limit off. PolicyError names variable, key and nearest valid name.
    """
    if not is_resolved(policy):
        raise PolicyError("the policy stored with this run is damaged: judge again with gpu_audit_policy set")
    if not thresholds:
        return policy
    if not isinstance(thresholds, list):
        raise PolicyError("thresholds must be a list of {variable, values}")
    checks = dict(policy["checks"])
    for entry in thresholds:
        if not isinstance(entry, dict):
            raise PolicyError("thresholds must be a list of {variable, values}")
        place = _Place(_one_line(entry.get("variable", "gpu_audit_thresholds"))[:120])
        values = entry.get("values")
        if values is None:
            continue
        if not isinstance(values, dict):
            raise place.error((), "must be a map of check id to {warn, fail, enabled}")
        for name in values:
            if name not in checks:
                raise place.error(
                    (name,), "is no check of policy %s%s: docs/checks.md lists them" % (policy["name"], nearest(name, checks))
                )
            checks[name] = _merge_check(name, checks[name], values[name], THRESHOLD_KEYS, (name,), place)
    return dict(policy, checks=checks)
