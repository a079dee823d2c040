"""A group that is extracted is the same, however few of the others have names."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from windrow.columns.functions.regular_expressions import with_named_groups, with_one_group

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
