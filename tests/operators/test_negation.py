"""Negations and flags of matches are their definition at every instant, however time is cut."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.operators.theta_negation import UnmatchedTheta
from windrow.plan.program import compile_script

pytestmark = pytest.mark.usefixtures("sizes")

STREAMS = """
CREATE STREAM s (ts BIGINT, k INT, a INT);
CREATE STREAM r (ts BIGINT, k INT, b INT);
"""
FORMS = {
    "exists": "SELECT k, a FROM s {left} "
    "WHERE NOT EXISTS (SELECT * FROM r {right} WHERE r.k = s.k);",
    "theta": "SELECT k, a FROM s {left} "
    "WHERE NOT EXISTS (SELECT * FROM r {right} WHERE r.k = s.k AND b > a);",
    "theta only": "SELECT k, a FROM s {left} "
    "WHERE NOT EXISTS (SELECT * FROM r {right} WHERE b + 2 < a);",
    "in": "SELECT k, a FROM s {left} WHERE k NOT IN (SELECT k FROM r {right});",
    "flag exists": "SELECT k, a, EXISTS (SELECT * FROM r {right} WHERE r.k = s.k) FROM s {left};",
    "flag theta": "SELECT k, a, EXISTS (SELECT * FROM r {right} WHERE r.k = s.k AND b > a) "
    "FROM s {left};",
    "flag theta only": "SELECT k, a, EXISTS (SELECT * FROM r {right} WHERE b + 2 < a) "
    "FROM s {left};",
    "flag in": "SELECT k, a, k IN (SELECT k FROM r {right}) FROM s {left};",
    "flag in theta": "SELECT k, a, k IN (SELECT k FROM r {right} WHERE b > a) FROM s {left};",
    "flag not in where": "SELECT k, a FROM s {left} "
    "WHERE NOT (k IN (SELECT k FROM r {right} WHERE b > a) AND k IN (SELECT k FROM r {right}));",
    "except": "(SELECT k FROM s {left}) EXCEPT ALL (SELECT k FROM r {right});",
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


def goes(form: str, left: Row, right: Row) -> bool:
    if form == "theta only":
        return right[2] + 2 < left[2]
    return left[1] is not None and left[1] == right[1] and right[2] > left[2]


def equal(key: int | None, keys: list[int | None]) -> bool | None:
    """What ``key IN (keys)`` is."""
    known = [k for k in keys if k is not None]
    if key is not None and key in known:
        return True
    return None if keys and (key is None or len(known) < len(keys)) else False


def flag(form: str, row: Row, right: list[Row]) -> bool | None:
    match form:
        case "flag exists":
            return row[1] is not None and any(r[1] == row[1] for r in right)
        case "flag in":
            return equal(row[1], [r[1] for r in right])
        case "flag in theta":
            return equal(row[1], [r[1] for r in right if r[2] > row[2]])
        case _:
            return any(goes(form.removeprefix("flag "), row, r) for r in right)


def answer(form: str, left: list[Row], right: list[Row]) -> Counter[tuple[Any, ...]]:
    keys = [row[1] for row in right]
    if form == "flag not in where":
        both = [(flag("flag in", row, right), flag("flag in theta", row, right)) for row in left]
        return Counter(row[1:] for row, flags in zip(left, both, strict=True) if False in flags)
    if form.startswith("flag"):
        return Counter((*row[1:], flag(form, row, right)) for row in left)
    if form == "exists":
        return Counter(row[1:] for row in left if row[1] is None or row[1] not in keys)
    if form.startswith("theta"):
        return Counter(row[1:] for row in left if not any(goes(form, row, r) for r in right))
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


def test_matches_are_counted_anew_when_the_living_move_together() -> None:
    query = (
        "SELECT k, a FROM s [PARTITION BY k ROWS 1] "
        "WHERE NOT EXISTS (SELECT * FROM r [RANGE 20000 SECONDS] WHERE r.k = s.k AND b > a);"
    )
    pipeline = Pipeline(compile_script(STREAMS + query).queries[0].plan, changes=True)
    # The tuple of key 1 is the oldest and lives; those of key 2 push each other out.
    lefts: list[Row] = [(0, 1, 5), *((ts, 2, ts % 7) for ts in range(1, 12_000))]
    rights: list[Row] = [(1, 1, 9), (3, 1, 9), (5, 2, 3)]
    moved = False
    (negation,) = (o for o in pipeline.operators if isinstance(o, UnmatchedTheta))
    inputs = {"s": delta(lefts, ["ts", "k", "a"]), "r": delta(rights, ["ts", "k", "b"])}
    for now in range(499, 12_000, 500):
        part = {name: d.split(now)[0].split(now - 500)[1] for name, d in inputs.items()}
        pipeline.process(part, now)
        moved |= negation.left.buffer.base > 0
        last = (2, now % 7)
        shown = [tuple(row.values()) for row in pipeline.live_rows().to_pylist()]
        assert shown == ([last] if last[1] >= 3 else [])
    assert moved
    pipeline.process({}, 20_002)
    assert pipeline.live_rows().num_rows == (1 if 11_999 % 7 >= 3 else 0)
    pipeline.process({}, 20_005)
    shown = sorted(tuple(row.values()) for row in pipeline.live_rows().to_pylist())
    assert shown == [(1, 5), (2, 11_999 % 7)]
