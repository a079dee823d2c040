"""Random streams: ties, gaps longer than windows, NULLs, duplicates, negative and large numbers."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.queries import Stream
from tests.oracle.windows import Row

COLUMNS = (("k", "INT"), ("a", "BIGINT"), ("s", "STRING"), ("x", "DOUBLE"), ("f", "FLOAT"))

# The gap after each tuple; zeros make ties, the largest outlast every window drawn here.
gaps = st.sampled_from([0, 0, 0, 1, 1, 1, 2, 3, 5, 19])
keys = st.sampled_from([None, -1, 0, 1, 1, 2])
integers = st.one_of(st.none(), st.integers(-9, 20), st.just(2**40))
strings = st.sampled_from([None, "", "a", "a", "b", "ab", "B%", "é"])
# Multiples of a quarter: their sums are exact in any order, so no answer depends on rounding.
doubles = st.sampled_from([None, -1.5, 0.0, 0.25, 1.0, 2.0, 1e9, -1e9])
floats = st.sampled_from([None, -0.25, 0.5, 1.0, 2.0, 4096.75])
rows: st.SearchStrategy[Row] = st.tuples(keys, integers, strings, doubles, floats)


@st.composite
def streams(draw: st.DrawFn, name: str, most: int = 22) -> Stream:
    """A stream in order of time, its first instants near (and before) zero."""
    ts = draw(st.integers(-4, 4))
    arrivals = []
    least = draw(st.sampled_from([0, most // 2]))
    for gap, values in draw(st.lists(st.tuples(gaps, rows), min_size=least, max_size=most)):
        arrivals.append((ts, values))
        ts += gap
    return Stream(name, COLUMNS, tuple(arrivals))
