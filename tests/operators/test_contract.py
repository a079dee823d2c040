"""What every operator promises, checked on every operator.

Operators are discovered: one that no sample query uses fails the suite.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow
import windrow.operators
from tests.operators.samples import QUERIES, STREAMS, between, changes, plan_of, random_input, run
from tests.support.thresholds import at_their_least
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.operators.retime import Retime
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

RIVALS = (Strategy.NT, Strategy.DIRECT)
ROWS = 100
HORIZON = 140
"""Past the last tuple of every input, and past its expiry."""
INPUT = random_input(1, ROWS)


def discovered() -> set[type]:
    """Every class below ``windrow.operators`` that processes Deltas."""
    found = set()
    for module in pkgutil.walk_packages(windrow.operators.__path__, "windrow.operators."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and hasattr(kind, "process"):
                found.add(kind)
    return {kind for kind in found if kind.__name__ != "Operator"}


def test_every_operator_is_used_by_a_sample() -> None:
    used = {
        type(operator)
        for name in QUERIES
        for strategy in Strategy
        for operator in Pipeline(plan_of(name), changes=True, strategy=strategy).operators
    }
    assert discovered() - used == {Retime}  # its column would have to move with a sample's times


def cuts(seed: int, every: int) -> list[int]:
    rng = np.random.default_rng(seed)
    points = rng.choice(HORIZON, HORIZON // every, replace=False)
    return [*sorted(int(p) for p in points), HORIZON]


def saved_and_loaded(name: str, strategy: Strategy) -> None:
    inputs, plan = random_input(3, ROWS), plan_of(name)
    steady, before = Pipeline(plan, changes=True, strategy=strategy), -1
    carried = Pipeline(plan, changes=True, strategy=strategy)
    segments: dict[str, pa.RecordBatch] = {}
    for cut in cuts(4, 12):
        part = between(inputs, before, cut)
        assert changes(carried.process(part, cut)) == changes(steady.process(part, cut))
        before = cut
        saved = carried.save()
        for gone in saved.drop:
            segments.pop(gone, None)
        segments.update(saved.put)
        carried = Pipeline(plan, changes=True, strategy=strategy)
        carried.load(segments, saved.meta)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", QUERIES)
def test_cutting_time_differently_changes_nothing(name: str) -> None:
    assert_cuts_change_nothing(name, [cuts(2, 3), cuts(2, 9)])


@pytest.mark.slow
@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", QUERIES)
def test_cutting_time_at_every_instant_changes_nothing(name: str) -> None:
    assert_cuts_change_nothing(name, [list(range(HORIZON + 1))])


def assert_cuts_change_nothing(name: str, ways: list[list[int]]) -> None:
    whole = whole_answer(name)
    assert whole
    for way in ways:
        assert run(Pipeline(plan_of(name), changes=True), INPUT, way) == whole


@cache
def whole_answer(name: str) -> list[Any]:
    """All changes in one interval, whatever the thresholds are: they change no answer."""
    return run(Pipeline(plan_of(name), changes=True), INPUT, [HORIZON])


@pytest.mark.parametrize("name", QUERIES)
def test_the_strategies_give_the_same_answer(name: str, sizes: str) -> None:
    """Each query by both rivals, by one of them with thresholds at their least."""
    place = list(QUERIES).index(name) + (sizes == "least")
    assert_as_usual(name, RIVALS[place % len(RIVALS)])


@pytest.mark.slow
@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("strategy", RIVALS)
@pytest.mark.parametrize("name", QUERIES)
def test_they_give_it_at_all_thresholds(name: str, strategy: Strategy) -> None:
    assert_as_usual(name, strategy)


def assert_as_usual(name: str, strategy: Strategy) -> None:
    rival = Pipeline(plan_of(name), changes=True, strategy=strategy)
    assert run(rival, INPUT, cuts(10, 7)) == whole_answer(name)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("strategy", RIVALS)
@pytest.mark.parametrize("name", ["distinct", "distinct_weak", "join", "not_exists", "group"])
def test_rival_strategies_can_be_saved_and_loaded(name: str, strategy: Strategy) -> None:
    saved_and_loaded(name, strategy)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", QUERIES)
def test_an_operator_that_was_saved_and_loaded_goes_on_as_if_nothing_happened(name: str) -> None:
    saved_and_loaded(name, Strategy.UPA)


@pytest.mark.usefixtures("sizes")
@pytest.mark.parametrize("name", QUERIES)
def test_a_save_writes_nothing_that_an_earlier_one_wrote(name: str) -> None:
    inputs, plan = random_input(5, ROWS), plan_of(name)
    pipeline, before = Pipeline(plan, changes=True), -1
    names: set[str] = set()
    for cut in cuts(6, 8):
        pipeline.process(between(inputs, before, cut), cut)
        put = pipeline.save().put
        assert not names & {n for n in put if "waiting" not in n}
        names |= set(put)
        before = cut
        assert pipeline.save().put == {}


@pytest.mark.parametrize("name", QUERIES)
def test_an_empty_interval_is_fine_and_types_are_as_declared(name: str) -> None:
    plan = plan_of(name)
    pipeline = Pipeline(plan, changes=True)
    for now in (0, 1, 50):
        delta = pipeline.process({}, now)
        assert len(delta) == 0
        assert delta.rows.schema.types == arrow_schema(plan.schema).types
    filled = Pipeline(plan, changes=True).process(between(random_input(7, ROWS), -1, 90), 90)
    assert filled.rows.schema.types == arrow_schema(plan.schema).types


def and_back(updates: Delta, at: int) -> Delta:
    """Updates of a relation; what is in it in the end is deleted at an instant."""
    held: list[dict[str, int]] = []
    for row, sign in zip(updates.rows.to_pylist(), updates.sign, strict=True):
        (held.append if sign > 0 else held.remove)(row)
    rows = pa.RecordBatch.from_pylist(held, updates.rows.schema)
    return concat([updates, Delta.withdrawals(np.full(len(held), at), rows)], rows.schema)


@pytest.mark.parametrize("name", [n for n in QUERIES if "unbounded" not in n])
def test_state_does_not_grow_with_the_stream(name: str) -> None:
    """When the same comes for the twelfth time, no more is saved than when it came a few times."""
    once = random_input(8, 60)
    end = int(max(d.ts[-1] for d in once.values())) + 1
    once |= {relation: and_back(once[relation], end) for relation in ("rel", "nrr")}
    rows, files, segments = [], [], {}
    with at_their_least():
        pipeline = Pipeline(plan_of(name), changes=True)
        for start in range(0, 12 * (end + 1), end + 1):
            for after, until in ((-1, end // 3), (end // 3, end)):
                part = between(once, after, until).items()
                moved = {n: Delta(d.ts + start, d.exp, d.sign, d.rows) for n, d in part}
                pipeline.process(moved, start + until)
                saved = pipeline.save()
                for gone in saved.drop:
                    segments.pop(gone, None)
                segments.update(saved.put)
                rows.append(sum(b.num_rows for b in segments.values()))
                files.append(len(segments))
    assert max(rows[12:]) <= max(rows[:12])
    assert max(files[12:]) <= max(files[:12])


def test_the_index_of_withdrawn_tuples_forgets_them() -> None:
    """A group-by replaces its rows for ever; the result's index must not remember them all."""
    pipeline = Pipeline(plan_of("group_all"), changes=True)
    rows = random_input(1, 1)["s"].rows
    with at_their_least():
        for now in range(1_000):
            row = rows.set_column(2, "a", pa.array([now], pa.int64()))
            pipeline.process({"s": Delta.insertions(np.array([now]), row)}, now)
    index = pipeline.operators[-1].buffer.index
    assert len(index) < 50


def test_min_and_max_over_a_window_keep_only_what_can_still_matter() -> None:
    plan = compile_script(STREAMS + "SELECT MAX(a) FROM s [RANGE 5000 SECONDS];").queries[-1].plan
    pipeline = Pipeline(plan)
    rng = np.random.default_rng(0)
    rows = random_input(1, 1)["s"].rows
    for now in range(0, 20_000, 100):
        ts = np.arange(now, now + 100)
        values = pa.array(rng.integers(0, 10**6, 100))
        batch = pa.concat_batches([rows] * 100).set_column(2, "a", values)
        pipeline.process({"s": Delta.insertions(ts, batch)}, now + 99)
    assert pipeline.size() < 100


@pytest.mark.usefixtures("sizes")
def test_every_lets_a_withdrawn_tuple_expire_at_its_own_multiple() -> None:
    """Two equal results that differ in their expiry are withdrawn just before one expires."""
    db = windrow.connect()
    (query,) = db.execute(
        "CREATE STREAM s (ts BIGINT, k INT, a BIGINT, f DOUBLE);"
        "SELECT x.k, y.a FROM s [RANGE 5] AS x, s [PARTITION BY a ROWS 1] AS y "
        "WHERE x.f = y.f EVERY 2;"
    )
    rows = {"ts": [29, 31, 33], "k": [1, 1, 2], "a": [3, 100, 100], "f": [4.5, 4.5, None]}
    db.push("s", rows)
    db.advance(to=60)
    assert query.answer().num_rows == 0
