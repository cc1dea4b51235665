# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sandboxed Jinja2 expressions for the `when` and `value` of a user's own checks: compiled once, small, without calls that can grow or
wait.
"""

from __future__ import annotations

import functools
import itertools

import jinja2
import jinja2.filters
import jinja2.nodes
import jinja2.sandbox
import jinja2.visitor

LENGTH_LIMIT = 1000
_FILTERS = (
    "abs",
    "count",
    "d",
    "default",
    "first",
    "float",
    "int",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "round",
    "select",
    "selectattr",
    "sort",
    "string",
    "sum",
    "unique",
    "upper",
    "trim",
)
_METHODS = ("get", "keys", "values", "items", "lower", "upper", "startswith", "endswith", "strip", "split")
_POWER_LIMIT = 64
# What one step of an expression may hold: more than any document has in one place, and its square is still counted in a second.
ENTRIES_LIMIT = 4096
TEXT_LIMIT = 64 * 1024
VALUE_LIMIT = 2**80


class ExpressionError(ValueError):
    """An expression that gave no usable value; the text says why in one line."""


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """No globals, a short list of filters, a short list of methods, and arithmetic that can't build huge numbers or texts."""

    intercepted_binops = frozenset(("+", "*", "**", "%"))

    def call_binop(self, context, operator, left, right):
        if operator == "+":
            return _bounded(super().call_binop(context, operator, _bounded(left), _bounded(right)))
        if not all(isinstance(side, (int, float)) for side in (left, right)):
            raise jinja2.sandbox.SecurityError("%s works on numbers only" % operator)
        if operator == "**" and (abs(right) > _POWER_LIMIT or abs(left) > 2**64):
            raise jinja2.sandbox.SecurityError("the power is too large")
        if operator == "*" and abs(left) > 2**512:
            raise jinja2.sandbox.SecurityError("the number is too large")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj):
        return getattr(obj, "__name__", "") in _METHODS and super().is_safe_callable(obj)

    def _generate(self, source, *arguments, **options):
        return super()._generate(_Joined().visit(source), *arguments, **options)


class _Joined(jinja2.visitor.NodeTransformer):
    """`a ~ b` as `[a, b] | join`, whose result is bounded."""

    def visit_Concat(self, node):
        """The filter that stands for a concatenation."""
        self.generic_visit(node)
        joined = jinja2.nodes.Filter(jinja2.nodes.List(node.nodes, lineno=node.lineno), "join", [], [], None, None, lineno=node.lineno)
        return joined.set_environment(node.environment)


def _bounded(value):
    """The value, unless it is a text or a collection beyond the limits; SecurityError then. A generator is cut short by counting it."""
    if isinstance(value, str):
        if len(value) > TEXT_LIMIT:
            raise jinja2.sandbox.SecurityError("a text of more than %d characters" % TEXT_LIMIT)
    elif isinstance(value, (list, tuple, dict, set)):
        if len(value) > ENTRIES_LIMIT:
            raise jinja2.sandbox.SecurityError("more than %d entries" % ENTRIES_LIMIT)
    elif hasattr(value, "__next__"):
        return _bounded(list(itertools.islice(value, ENTRIES_LIMIT + 1)))
    return value


def _bounded_filter(apply):
    """A filter that takes and gives only bounded values."""

    @functools.wraps(apply)
    def bounded(*arguments, **options):
        return _bounded(apply(*[_bounded(argument) for argument in arguments], **options))

    return bounded


@jinja2.pass_environment
def _join(environment, value, d="", attribute=None):
    """Jinja2's join (with its parameter names), refused before it grows."""
    parts, room = [], TEXT_LIMIT
    for part in _attributes(environment, value, attribute):
        parts.append(_text(part))
        room -= len(parts[-1]) + len(d)
        if room < 0:
            raise jinja2.sandbox.SecurityError("a text of more than %d characters" % TEXT_LIMIT)
    return d.join(parts)


@jinja2.pass_environment
def _sum(environment, iterable, attribute=None, start=0):
    """Jinja2's sum (with its parameter names), of numbers only."""
    numbers = list(_attributes(environment, iterable, attribute))
    if not all(isinstance(entry, (int, float)) for entry in [*numbers, start]):
        raise jinja2.sandbox.SecurityError("sum works on numbers only")
    return sum(numbers, start)


def _attributes(environment, values, attribute):
    return values if attribute is None else map(jinja2.filters.make_attrgetter(environment, attribute), values)


def _text(value):
    """str() of a leaf; of a collection only a small one's."""
    if isinstance(value, (dict, list, tuple)) and _size(value, ENTRIES_LIMIT) <= 0:
        raise jinja2.sandbox.SecurityError("a text of more than %d entries" % ENTRIES_LIMIT)
    return str(value)


def _size(value, room):
    """What is left of `room` after counting the leaves of a nested value; stops when nothing is."""
    for entry in value.values() if isinstance(value, dict) else value:
        room = _size(entry, room) if isinstance(entry, (dict, list, tuple)) else room - 1
        if room <= 0:
            break
    return room


def _environment():
    sandbox = _Sandbox(undefined=jinja2.ChainableUndefined, cache_size=0)
    sandbox.globals.clear()
    own = {**sandbox.filters, "join": _join, "sum": _sum, "string": _text}
    sandbox.filters = {name: _bounded_filter(own[name]) for name in _FILTERS}
    return sandbox


_ENVIRONMENT = _environment()


@functools.lru_cache(maxsize=512)
def _compiled(source):
    return _ENVIRONMENT.compile_expression(source, undefined_to_none=True)


def problem(source):
    """None when the expression compiles, else why not, in one line."""
    if len(source) > LENGTH_LIMIT:
        return "an expression may have %d characters" % LENGTH_LIMIT
    if not source.strip():
        return "the expression is empty"
    try:
        _compiled(source)
    except jinja2.TemplateError as error:
        return "is no valid expression: %s" % " ".join(str(error).split())[:200]
    except RecursionError:
        return "the expression is nested too deep"
    return None


def evaluate(source, variables):
    """The value of an expression over `variables` (metrics, facts, workload, expected): a bool, number, text or None.

    ExpressionError for anything that fails or isn't a plain value.
    """
    try:
        value = _compiled(source)(**variables)
    # A user's expression can raise anything that Python operators and filters raise; each becomes the finding's reason.
    except (
        jinja2.TemplateError,
        TypeError,
        ValueError,
        ArithmeticError,
        LookupError,
        AttributeError,
        RecursionError,
        MemoryError,
    ) as error:
        raise ExpressionError("%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])) from error
    if isinstance(value, (int, float)) and not -VALUE_LIMIT < value < VALUE_LIMIT:
        raise ExpressionError("the number is not finite or too large")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, str):
        return value[:LENGTH_LIMIT]
    raise ExpressionError("the expression gives %s, not a plain value" % type(value).__name__)
