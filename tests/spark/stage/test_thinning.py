"""What senders leave out of the input of a duplicate elimination changes no answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.core.thresholds import lowered_thresholds
from windrow.plan.nodes.window_specs import RangeWindow, UnboundedWindow, WindowSpec
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import StageEdge, Thinning
from windrow.plan.program import compile_script
from windrow.spark.stage.thinning import thin_out

SPECS = [
    None,
    UnboundedWindow(),
    *(RangeWindow(w, s) for w in (2, 3, 7, 10) for s in (None, 1, 3, 5, 10, 15)),
]
LAST = 60


def tuples(rows: list[tuple[int, int | None]]) -> Delta:
    values = pa.record_batch({"k": pa.array([k for _, k in rows], pa.int64())})
    return Delta.insertions(np.array([ts for ts, _ in rows], np.int64), values)


def live(rows: Delta, spec: WindowSpec | None) -> set[tuple[int, int | None]]:
    """At which instants which values are in the window, one tuple after the other."""
    found = set()
    for ts, k in zip(rows.ts.tolist(), rows.rows["k"].to_pylist(), strict=True):
        start, end = ts, LAST
        if isinstance(spec, RangeWindow):
            step = spec.slide or 1
            start, end = (-(-t // step) * step for t in (ts, ts + spec.length))
        found |= {(instant, k) for instant in range(start, min(end, LAST))}
    return found


def cut_at(whole: Delta, at: int) -> tuple[Delta, Delta]:
    at = min(at, len(whole))
    return whole.slice(0, at), whole.slice(at, len(whole))


@given(
    st.lists(st.tuples(st.integers(-5, 40), st.sampled_from([1, 2, None])), max_size=30),
    st.sampled_from(SPECS),
    st.integers(0, 30),
)
def test_the_same_values_live_at_every_instant_however_the_input_is_cut(rows, spec, cut):
    thinning = Thinning.for_window(spec)
    assert thinning is not None
    whole = tuples(rows)
    with lowered_thresholds():
        parts = [thin_out(part, thinning) for part in cut_at(whole, cut)]
    assert set().union(*(live(part, spec) for part in parts)) == live(whole, spec)


@pytest.mark.parametrize(
    "internal", [RangeWindow(5, internal=True), UnboundedWindow(internal=True)]
)
def test_internal_windows_get_all_tuples(internal):
    assert Thinning.for_window(internal) is None
    assert Thinning.for_window(RangeWindow(1)) is None, "half of it is no cell"


def test_of_a_value_two_tuples_travel_and_values_that_differ_all_do():
    rows = tuples([(1_000 + n, n % 5) for n in range(10_000)])
    for spec, sent in ((RangeWindow(100_000), 10), (RangeWindow(50_000, 20_000), 5), (None, 5)):
        thinning = Thinning.for_window(spec)
        assert thinning is not None
        assert len(thin_out(rows, thinning)) == sent
    different = tuples([(n, n) for n in range(10_000)])
    assert thin_out(different, Thinning(None, first=True, last=False)) is different


def edges(query: str) -> list[StageEdge]:
    script = "CREATE STREAM s (ts BIGINT, k INT, v INT); CREATE STREAM o (ts BIGINT, k INT);"
    (declared,) = compile_script(f"{script} CREATE QUERY q AS {query};").catalog.queries
    stages = cut_into_stages(declared.plan)
    return [e for stage in stages for e in stage.inputs if isinstance(e.source, str)]


def test_where_the_plan_allows_it():
    (plain,) = edges("SELECT DISTINCT k FROM s [RANGE 10] WHERE v > 3")
    assert plain.thinned == Thinning(5, first=True, last=True)
    (counted,) = edges("SELECT COUNT(*) AS n FROM (SELECT DISTINCT k FROM s [RANGE 10 SLIDE 5])")
    assert counted.thinned == Thinning(5, first=False, last=True)
    several = [
        *edges("SELECT DISTINCT s.k FROM s [RANGE 9], o [RANGE 9] WHERE s.k = o.k"),
        *edges("SELECT s.v FROM s [RANGE 9], (SELECT DISTINCT k FROM o [RANGE 9]) t "
               "WHERE s.k = t.k"),
        *edges("SELECT DISTINCT k FROM s [ROWS 5]"),
    ]  # fmt: skip
    assert {edge.thinned for edge in several} == {None}
    assert len(several) == 5


def test_others_that_read_the_stream_get_all_of_it():
    both = edges("SELECT DISTINCT k FROM s [RANGE 9] UNION ALL SELECT k FROM s [RANGE 9]")
    assert sorted(edge.thinned is None for edge in both) == [False, True]
