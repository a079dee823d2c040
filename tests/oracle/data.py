"""Random schemas and data: ties, gaps longer than windows, NULLs, duplicates, negative numbers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.oracle.blocks import Columns
from tests.oracle.queries import Relation, Stream
from tests.oracle.windows import Row

COLUMNS = (("k", "INT"), ("a", "BIGINT"), ("s", "STRING"), ("x", "DOUBLE"), ("f", "FLOAT"))
POOL = (
    *COLUMNS[1:],
    ("b", "BOOLEAN"),
    ("d", "INT"),
    ("p", "DECIMAL(9, 2)"),
    ("w", "DECIMAL(25, 3)"),
    ("l", "ARRAY<BIGINT>"),
    ("m", "ARRAY<STRING>"),
    ("r", "STRUCT<u INT, v STRING>"),
)

# The gap after each tuple; zeros make ties, the largest outlast every window drawn here.
gaps = st.sampled_from([0, 0, 0, 1, 1, 1, 2, 3, 5, 19])
small = st.sampled_from([None, -1, 0, 1, 1, 2])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "INT": small,
    "BIGINT": st.one_of(st.none(), st.integers(-9, 20), st.just(2**40)),
    "STRING": st.sampled_from([None, "", "a", "a", "b", "ab", "B%", "é"]),
    # Multiples of a quarter: their sums are exact in any order, so no answer depends on rounding.
    "DOUBLE": st.sampled_from([None, -1.5, 0.0, 0.25, 1.0, 2.0, 1e9, -1e9]),
    "FLOAT": st.sampled_from([None, -0.25, 0.5, 1.0, 2.0, 4096.75]),
    # As long as they need to be for one word, and for two.
    "DECIMAL(9, 2)": st.sampled_from([None, *map(Decimal, ("-1.25", "0.00", "1.00", "99.75"))]),
    "DECIMAL(25, 3)": st.sampled_from(
        [None, *map(Decimal, ("-1.250", "1.000", "99.750", "12345678901234567890.125"))]
    ),
    "BOOLEAN": st.sampled_from([None, True, False]),
    # Tuples, so that rows can be told apart by a hash.
    "ARRAY<BIGINT>": st.sampled_from([None, (), (1,), (1,), (1, 2), (None,), (2, None, 1)]),
    "ARRAY<STRING>": st.sampled_from([None, (), ("a",), ("a", "b"), ("", None), ("B%",)]),
    "STRUCT<u INT, v STRING>": st.sampled_from(
        [None, (1, "a"), (1, "a"), (1, None), (None, "b"), (-1, "é")]
    ),
}


@st.composite
def schemas(draw: st.DrawFn, most: int = 4) -> Columns:
    """``k`` somewhere among one to four others."""
    others = draw(st.lists(st.sampled_from(POOL), min_size=1, max_size=most, unique=True))
    others.insert(draw(st.integers(0, len(others))), ("k", "INT"))
    return tuple(others)


def rows(columns: Columns) -> st.SearchStrategy[Row]:
    return st.tuples(*(VALUES[type_] for _, type_ in columns))


@st.composite
def streams(draw: st.DrawFn, name: str, most: int = 20) -> Stream:
    """A stream in order of time, its first instants near (and before) zero."""
    columns = draw(schemas())
    ts = draw(st.integers(-4, 4))
    arrivals = []
    # Few programs have an answer over an empty stream, so few streams are empty.
    least = draw(st.sampled_from([most // 2, most // 2, most // 2, 0]))
    for gap, values in draw(
        st.lists(st.tuples(gaps, rows(columns)), min_size=least, max_size=most)
    ):
        arrivals.append((ts, values))
        ts += gap
    return Stream(name, columns, tuple(arrivals))


@st.composite
def relations(draw: st.DrawFn, name: str, most: int = 10) -> Relation:
    """A bag that changes: rows come, some twice, and some of those there leave."""
    columns = draw(schemas(2))
    at, held, updates = draw(st.integers(-5, 0)), [], []
    step = st.tuples(gaps, rows(columns), st.integers(0, 9))
    for gap, values, leaving in draw(st.lists(step, min_size=3, max_size=most)):
        if held and leaving < 4:
            gone = held.pop(leaving % len(held))
            updates.append((at, -1, gone))
        else:
            held.append(values)
            updates.append((at, 1, values))
        at += gap
    return Relation(name, columns, tuple(updates))


@st.composite
def nrrs(draw: st.DrawFn, name: str, most: int = 10) -> Relation:
    """A set that changes, without a key that comes twice."""
    columns = draw(schemas(2))
    key = draw(st.sampled_from([(), ("k",)]))
    places = [place for place, (name, _) in enumerate(columns) if not key or name in key]
    at, held, updates, used = draw(st.integers(-5, 0)), [], [], set()
    step = st.tuples(gaps, rows(columns), st.integers(0, 9))
    for gap, values, leaving in draw(st.lists(step, min_size=3, max_size=most)):
        identity = tuple(values[place] for place in places)
        if held and leaving < 3:
            updates.append((at, -1, held.pop(leaving % len(held))))
        elif identity not in used and not (key and None in identity):
            used.add(identity)
            held.append(values)
            updates.append((at, 1, values))
        at += gap
    return Relation(name, columns, tuple(updates), nrr=True, key=key)
