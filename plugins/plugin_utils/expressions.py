# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Sandboxed Jinja2 expressions for the `when` and `value` of a user's own checks: compiled once, small, without calls that can grow or
wait.
"""

from __future__ import annotations

import functools

import jinja2
import jinja2.sandbox

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
VALUE_LIMIT = 2**80


class ExpressionError(ValueError):
    """An expression that gave no usable value; the text says why in one line."""


class _Sandbox(jinja2.sandbox.ImmutableSandboxedEnvironment):
    """No globals, a short list of filters, a short list of methods, and arithmetic that can't build huge numbers or texts."""

    intercepted_binops = frozenset(("*", "**", "%"))

    def call_binop(self, context, operator, left, right):
        if not all(isinstance(side, (int, float)) for side in (left, right)):
            raise jinja2.sandbox.SecurityError("%s works on numbers only" % operator)
        if operator == "**" and (abs(right) > _POWER_LIMIT or abs(left) > 2**64):
            raise jinja2.sandbox.SecurityError("the power is too large")
        if operator == "*" and abs(left) > 2**512:
            raise jinja2.sandbox.SecurityError("the number is too large")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj):
        return getattr(obj, "__name__", "") in _METHODS and super().is_safe_callable(obj)


def _environment():
    sandbox = _Sandbox(undefined=jinja2.ChainableUndefined, cache_size=0)
    sandbox.globals.clear()
    sandbox.filters = {name: sandbox.filters[name] for name in _FILTERS}
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
