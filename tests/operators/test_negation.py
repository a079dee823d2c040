"""Negation against its definition, at every instant, however time is cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script

STREAMS = """
CREATE STREAM s (ts BIGINT, k INT, a INT);
CREATE STREAM r (ts BIGINT, k INT, b INT);
"""
FORMS = {
    "exists": "SELECT k, a FROM s {left} "
    "WHERE NOT EXISTS (SELECT * FROM r {right} WHERE r.k = s.k);",
    "in": "SELECT k, a FROM s {left} WHERE k NOT IN (SELECT k FROM r {right});",
    "except": "(SELECT k FROM s {left}) EXCEPT (SELECT k FROM r {right});",
}
Row = tuple[int, int | None, int]

steps = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 1, 1, 2, 9]),
        st.sampled_from([None, 1, 2, 3, 3]),
        st.integers(0, 3),
    ),
    max_size=30,
)
windows = st.tuples(st.sampled_from(["RANGE", "ROWS"]), st.integers(1, 7))


def arrivals(rows: list[tuple[int, int | None, int]]) -> list[Row]:
    found, now = [], 0
    for step, key, value in rows:
        now += step
        found.append((now, key, value))
    return found


def delta(rows: list[Row], names: list[str]) -> Delta:
    kinds = [pa.int64(), pa.int32(), pa.int32()]
    arrays = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    ts = np.array([row[0] for row in rows], np.int64)
    return Delta.insertions(ts, pa.RecordBatch.from_arrays(arrays, names))


def clause(window: tuple[str, int]) -> str:
    kind, size = window
    return f"[RANGE {size} SECONDS]" if kind == "RANGE" else f"[ROWS {size}]"


def contents(rows: list[Row], now: int, window: tuple[str, int]) -> list[Row]:
    kind, size = window
    if kind == "RANGE":
        return [row for row in rows if now - size < row[0] <= now]
    return [row for row in rows if row[0] <= now][-size:]


def answer(form: str, left: list[Row], right: list[Row]) -> Counter[tuple[Any, ...]]:
    keys = [row[1] for row in right]
    if form == "exists":
        return Counter(row[1:] for row in left if row[1] is None or row[1] not in keys)
    if form == "in":
        if not keys:
            return Counter(row[1:] for row in left)
        open_ = None not in keys
        return Counter(
            row[1:] for row in left if open_ and row[1] is not None and row[1] not in keys
        )
    return Counter((row[1],) for row in left) - Counter((key,) for key in keys)


@given(
    form=st.sampled_from(sorted(FORMS)),
    left=steps,
    right=steps,
    sides=st.tuples(windows, windows),
    cuts=st.sets(st.integers(0, 40), max_size=12),
)
def test_negation_is_its_definition_at_every_instant(
    form: str,
    left: list[tuple[int, int | None, int]],
    right: list[tuple[int, int | None, int]],
    sides: tuple[tuple[str, int], tuple[str, int]],
    cuts: set[int],
) -> None:
    lefts, rights = arrivals(left), arrivals(right)
    horizon = max([row[0] for row in lefts + rights], default=0) + 9
    query = FORMS[form].format(left=clause(sides[0]), right=clause(sides[1]))
    pipeline = Pipeline(compile_script(STREAMS + query).queries[0].plan, changes=True)
    inputs = {"s": delta(lefts, ["ts", "k", "a"]), "r": delta(rights, ["ts", "k", "b"])}
    found: Counter[tuple[int, tuple[Any, ...]]] = Counter()
    before = -1
    for cut in sorted({c for c in cuts if c < horizon} | {horizon}):
        part = {name: d.split(cut)[0].split(before)[1] for name, d in inputs.items()}
        changes, before = pipeline.process(part, cut), cut
        for ts, sign, row in zip(changes.ts, changes.sign, changes.rows.to_pylist(), strict=True):
            found[int(ts), tuple(row.values())] += int(sign)
    bag: Counter[tuple[Any, ...]] = Counter()
    for now in range(horizon + 1):
        for (ts, row), change in found.items():
            if ts == now:
                bag[row] += change
        expected = answer(form, contents(lefts, now, sides[0]), contents(rights, now, sides[1]))
        assert +bag == expected, f"{query} at {now}"
