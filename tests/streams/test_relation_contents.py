"""What a relation holds: a plain count of rows says the same, and what has left is forgotten."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import windrow
from tests.support.thresholds import at_their_least, reached
from windrow.columns.interner import FEW, Interner
from windrow.streams.relations import RelationContents

SCHEMA = pa.schema([("k", pa.int32()), ("w", pa.string())])
Update = tuple[int, int | None, str]


def batch(updates: list[Update]) -> tuple[pa.RecordBatch, np.ndarray]:
    arrays = [pa.array([u[1] for u in updates], pa.int32()), pa.array([u[2] for u in updates])]
    rows = pa.RecordBatch.from_arrays([arrays[0], arrays[1].cast(pa.string())], schema=SCHEMA)
    return rows, np.array([u[0] for u in updates], np.int8)


def plain(updates: list[Update], once: bool, key: int) -> tuple[list[bool], Counter[Update]]:
    """The rules, one update after another."""
    held: Counter[Update] = Counter()
    deleted, kept = set(), []
    for sign, *row in updates:
        if sign > 0:
            kept.append(not (once and row[key] in deleted))
        else:
            kept.append(held[tuple(row)] > 0)
            deleted |= {row[key]} if kept[-1] else set()
        held[tuple(row)] += sign * kept[-1]
    return kept, +held


updates_of_rows = st.lists(
    st.tuples(
        st.sampled_from([1, 1, -1]), st.none() | st.integers(0, 5), st.sampled_from(["a", "b"])
    ),
    max_size=60,
)


@given(updates_of_rows, st.integers(1, 7), st.booleans(), st.integers(0, 1), st.booleans())
def test_updates_are_judged_as_a_plain_count_judges_them(
    updates: list[Update], size: int, once: bool, key: int, least: bool
) -> None:
    kept, held = plain(updates, once, key)
    parts = [updates[i : i + size] for i in range(0, len(updates), size)]
    with at_their_least() if least else pytest.MonkeyPatch.context():
        contents = RelationContents(SCHEMA, (key,), once)
        found = [bool(x) for part in parts for x in contents.carry_out(*batch(part))]
        carried = [u for u, ok in zip(updates, kept, strict=True) if ok]
        now, earlier = (contents.before(*batch(part)) for part in ([], carried))
    assert found == kept
    assert Counter(tuple(row.values()) for row in now.to_pylist()) == held
    assert earlier.num_rows == 0


@pytest.mark.parametrize("once", [False, True])
def test_rows_that_have_left_are_forgotten(once: bool) -> None:
    contents, most = RelationContents(SCHEMA, (0,), once), 0
    for i in range(300):
        come = [(1, 1 if once else j, f"{i}/{j}") for j in range(100)]
        gone = [(-1, 1 if once else j, f"{i - 1}/{j}") for j in range(100)] if i else []
        contents.carry_out(*batch(come))
        if once:  # refused: there is no such row
            gone = [(-1, 1000 * i + j, "x") for j in range(100)]
        contents.carry_out(*batch(gone))
        most = max(most, contents.size())
    assert contents.before(*batch([])).num_rows == (300 * 100 if once else 100)
    assert most <= 2 * FEW.value + (2 * 300 * 100 if once else 0)


def test_a_deleted_key_is_remembered_when_others_are_forgotten() -> None:
    contents = RelationContents(SCHEMA, (0,), once=True)
    assert contents.carry_out(*batch([(1, 7, "a"), (-1, 7, "a")])).all()
    with reached((Interner, "compact")) as calls:
        for i in range(30):
            contents.carry_out(*batch([(-1, 1000 * i + j + 10, "x") for j in range(1000)]))
    assert calls["Interner.compact"] > 1
    assert list(contents.carry_out(*batch([(1, 7, "b"), (1, 8, "b")]))) == [False, True]


def test_a_query_that_starts_late_sees_rows_that_are_gone_in_instants_to_come() -> None:
    with at_their_least():
        db = windrow.connect()
        db.execute("CREATE STREAM s (ts BIGINT, k INT); CREATE RELATION r (k INT, w STRING);")
        db.push("r", {"instant": [1, 1], "change": ["+", "+"], "k": [1, 2], "w": ["a", "b"]})
        db.advance(to=2)
        rows = {"instant": [5] * 4, "change": ["-", "+", "-", "+"], "k": [1, 3, 3, 4]}
        db.push("r", {**rows, "w": ["a", "c", "c", "d"]})
        (query,) = db.execute("SELECT w FROM r;")
        seen = []
        for now in (4, 5):
            db.advance(to=now)
            seen.append(sorted(query.answer()["w"].to_pylist()))
    assert seen == [["a", "b"], ["b", "d"]]
