"""A group that is extracted is the same, however few of the others have names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.columns.evaluate import evaluate
from windrow.columns.functions.regular_expressions import with_named_groups, with_one_group
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Literal

TEXTS = pa.array(["abc", "ab(c", "https://a/b/c/d?x=1", "", None, "aAbB", "x]y", "cab"])
PATTERNS = (
    "(a)(b)?(c)", r"^([^/]*/){3}([^/]*)", r"(a|[(])\(?(c)", "(?i)(a+)(b+)", "a(?:b)(c)?",
    "(?P<x>a)(b)", "((a)b)|(c)", r"([]])(y)", r"\Q(\E(c)", "b",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_group_is_that_of_the_pattern_with_all_groups_named(pattern):
    every = pc.extract_regex(TEXTS, with_named_groups(pattern))
    for group in range(every.type.num_fields):
        named, place = with_one_group(pattern, group)
        found = pc.extract_regex(TEXTS, named)
        assert pc.struct_field(found, [place]) == pc.struct_field(every, [group])


def test_a_group_that_is_not_there_is_asked_of_all_groups():
    assert with_one_group("(a)", 2) == (with_named_groups("(a)"), 2)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("different", [1, 3, 40, 100_000])
@pytest.mark.parametrize(
    ("function", "arguments", "kind"),
    [
        ("regexp_matches", ("[ab]+1",), Type.BOOLEAN),
        ("regexp_extract", ("([ab])([0-9]*)", 2), Type.STRING),
        ("regexp_replace", ("[0-9]", "<\\0>", "g"), Type.STRING),
    ],
)
def test_repeated_texts_have_the_answers_that_each_has_alone(different, function, arguments, kind):
    rng = np.random.default_rng(different)
    known = [f"{'abc'[i % 3]}{i}" for i in range(different)] + ["", None, "äb1"]
    texts = pa.array([known[i] for i in rng.integers(0, len(known), 5_000)], pa.string())
    constants = tuple(
        Literal(a, Type.STRING if isinstance(a, str) else Type.INT) for a in arguments
    )
    call = Call(function, (Column(0, "s", Type.STRING), *constants), kind)
    at_once = evaluate(call, pa.RecordBatch.from_arrays([texts.slice(7)], ["s"]))
    alone = [
        evaluate(call, pa.RecordBatch.from_arrays([texts.slice(i, 1)], ["s"]))[0]
        for i in range(7, 400)
    ]
    assert at_once.slice(0, len(alone)).to_pylist() == [value.as_py() for value in alone]
    assert len(at_once) == len(texts) - 7
