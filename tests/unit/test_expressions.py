# Copyright (c) 2026 The trainops.gpu_audit authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
"""Expressions of a user's own checks: what they can say, and that none of them runs for ever, grows or gets out."""

from __future__ import annotations

import pytest
from ansible_collections.trainops.gpu_audit.plugins.plugin_utils import expressions

VARIABLES = {
    "facts": {"gpu": {"gpus": [{"name": "A", "power": 300}, {"name": "B", "power": 400}]}},
    "many": list(range(4000)),
    "long": "x" * 60000,
    "nested": [[list(range(100))] * 100],
}


@pytest.mark.parametrize(
    "source, value",
    [
        ("facts.gpu.gpus | length", 2),
        ("facts.gpu.gpus | sum(attribute='power')", 700),
        ("facts.gpu.gpus | map(attribute='power') | max", 400),
        ("facts.gpu.gpus | join('+', attribute='name')", "A+B"),
        ("facts.gpu.gpus[0].name ~ '/' ~ 2", "A/2"),
        ("facts.gpu.gpus | selectattr('power', 'gt', 350) | list | length", 1),
        ("'a' + 'b'", "ab"),
        ("[1] + [2] == [1, 2]", True),
        ("facts.disk.size | default(7)", 7),
        ("many | sum", sum(range(4000))),
    ],
)
def test_what_an_expression_can_say(source, value):
    assert expressions.problem(source) is None
    assert expressions.evaluate(source, VARIABLES) == value


@pytest.mark.parametrize(
    "source",
    [
        "'a' * 10 ** 9",
        "9 ** 9 ** 9",
        "'%999999999d' % 1",
        "range(10 ** 9) | list",
        "long ~ long",
        "long + long",
        "many + many",
        "many | join(long)",
        "long | list | length",
        "many | map(attribute='no', default=many) | sum(start=[])",
        "nested ~ ''",
        "nested | string",
        "(long | list) | select('in', long | list) | list | length",
        "''.__class__.__mro__[1].__subclasses__()",
        "'{0.__class__}'.format(1)",
        "'a'.ljust(10 ** 9)",
        "facts | map(attribute='__class__') | list",
        "facts()",
        "1 / 0",
        "1 is divisibleby 0",
        "facts.gpu",
    ],
)
def test_what_an_expression_can_not_do_is_told_in_one_line(source):
    assert expressions.problem(source) is None
    with pytest.raises(expressions.ExpressionError) as caught:
        expressions.evaluate(source, VARIABLES)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize("source", ["", "1 +", "{% for i in x %}", "}}{{ 1", "(" * 400 + "1" + ")" * 400, "1 + " * 400 + "1", "x | pprint"])
def test_what_is_no_expression(source):
    assert expressions.problem(source)
