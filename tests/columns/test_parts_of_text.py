"""SPLIT_PART over columns answers as Python's split does."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.functions.parts_of_text import parts_of_text
from windrow.columns.functions.strings import part_one

texts = st.text("a/é", max_size=8)
long_texts = st.text("aaaaaaaaaaaaaaa/é", max_size=200)


@given(
    st.lists(st.none() | texts | long_texts),
    texts.filter(bool),
    st.integers(-4, 4),
    st.integers(0, 2),
)
def test_parts_are_those_of_python(values, separator, place, skipped):
    array = pa.array([*["a/a"] * skipped, *values], pa.string()).slice(skipped)
    expected = [None if v is None else part_one(v, separator, place) for v in values]
    assert parts_of_text(array, separator, place).to_pylist() == expected
