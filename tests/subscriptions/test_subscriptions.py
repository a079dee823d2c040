"""The matcher against brute force: every kind of condition, change and instant, any split."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.subscriptions.brute import BruteForce
from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.subscriptions import entry_store
from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions

pytestmark = pytest.mark.usefixtures("sizes")

ATTRIBUTES = {"n": Type.BIGINT, "i": Type.INT, "x": Type.DOUBLE, "f": Type.FLOAT, "s": Type.STRING}
FAR = 2**63 - 1
WHOLE = st.sampled_from([*range(-3, 8), 1000, FAR, FAR - 1, -FAR - 1, -FAR])
SMALL = st.integers(-3, 8)
REAL = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.5, -2.0, 1e300, -1e-300, math.inf, -math.inf])
HALVES = st.sampled_from([-1.5, 0.0, 0.5, 1.0, 2.0, 2.5])
WORDS = st.sampled_from(["", "a", "b", "ab", "it's", "in (x)", "*", "é"])
VALUES = {"n": WHOLE, "i": SMALL, "x": REAL, "f": HALVES, "s": WORDS}
BOUNDS = {"n": st.one_of(WHOLE, HALVES), "i": st.one_of(SMALL, HALVES), "x": REAL, "f": REAL}


def conditions(name: str) -> st.SearchStrategy[Any]:
    one_of = st.lists(VALUES[name], min_size=1, max_size=4).map(lambda v: OneOf(tuple(v)))
    if name == "s":
        return one_of
    end = st.one_of(st.none(), BOUNDS[name])
    return st.one_of(one_of, st.builds(Range, end, end, st.booleans(), st.booleans()))


NAMES = st.sampled_from(list(ATTRIBUTES))
ENTRIES = st.lists(NAMES, min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({n: conditions(n) for n in names})
)
SUBSCRIPTIONS = st.lists(
    st.builds(
        lambda i, entries: Subscription.of(i, *entries),
        st.sampled_from(["p", "q", "r", "s", "t"]),
        st.lists(ENTRIES, min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=6,
)
ROWS = st.lists(
    st.fixed_dictionaries(
        {n: st.one_of(st.none(), v, st.just(math.nan) if n in "xf" else v)
         for n, v in VALUES.items()}
    ),
    max_size=12,
)  # fmt: skip
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SUBSCRIPTIONS, st.one_of(st.none(), st.integers(0, 20))),
        st.tuples(
            st.just("drop"),
            st.sampled_from(["p", "q", "r", "s", "t"]),
            st.one_of(st.none(), st.integers(0, 20)),
        ),
        st.tuples(st.just("match"), ROWS, st.integers(0, 20)),
    ),
    max_size=10,
)


def batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    arrays = [pa.array([r[n] for r in rows], ARROW[k]) for n, k in ATTRIBUTES.items()]
    return pa.RecordBatch.from_arrays(arrays, list(ATTRIBUTES))


def pairs(found: pa.RecordBatch) -> list[tuple[int, Any]]:
    return list(zip(found["row"].to_pylist(), found["subscription"].to_pylist(), strict=True))


@settings(max_examples=50)
@given(steps=STEPS)
def test_the_matcher_finds_what_brute_force_finds_after_any_changes(steps):
    finds_what_brute_force_finds(steps)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(steps=STEPS)
def test_it_finds_so_after_many_more_changes(steps):
    finds_what_brute_force_finds(steps)


def finds_what_brute_force_finds(steps):
    ours, theirs = Subscriptions(ATTRIBUTES), BruteForce()
    there: set[str] = set()
    for kind, what, at in [*steps, ("match", [dict.fromkeys(ATTRIBUTES)], 0)]:
        if kind == "add":
            ours.add(what, at)
            theirs.add(what, at)
            there |= {s.id for s in what}
        elif kind == "drop":
            if what in there:
                ours.drop(what, at)
                theirs.drop(what, at)
                there.remove(what)
        else:
            ts = [(at + i) % 23 for i in range(len(what))]
            found = pairs(ours.match(batch(what), np.array(ts, np.int64)))
            assert len(found) == len(set(found))
            assert [r for r, _ in found] == sorted(r for r, _ in found)
            assert set(found) == theirs.match(what, ts)


@given(
    first=SUBSCRIPTIONS,
    second=SUBSCRIPTIONS,
    rows=ROWS,
    at=st.integers(0, 12),
    cuts=st.sets(st.integers(0, 12)),
)
def test_a_change_takes_effect_at_its_instant_however_rows_are_cut(first, second, rows, at, cuts):
    ts = list(range(len(rows)))
    theirs = BruteForce()
    ours = Subscriptions(ATTRIBUTES)
    for side in (ours, theirs):
        side.add(first)
    for name in {s.id for s in first}:
        ours.drop(name, at)
        theirs.drop(name, at)
    for side in (ours, theirs):
        side.add(second, at)
    found = set()
    ends = sorted({*(c for c in cuts if c < len(rows)), 0, len(rows)})
    for start, end in itertools.pairwise(ends):
        part = ours.match(batch(rows[start:end]), np.arange(start, end))
        found |= {(start + row, name) for row, name in pairs(part)}
        ours.settle(end - 1)
    assert found == theirs.match(rows, ts)


def test_what_is_dropped_is_given_back_and_what_lives_stays(monkeypatch):
    monkeypatch.setattr(entry_store.WORTH_REBUILDING, "value", 8)
    ours, theirs = Subscriptions(ATTRIBUTES, ids=pa.int64()), BruteForce()
    rng = np.random.default_rng(5)
    for number in range(200):
        low = int(rng.integers(-3, 8))
        wanted = Subscription.of(
            number,
            {"n": Range(low, low + 2), "s": OneOf(("a", f"w{number}"))},
            {"i": Range(low, low)},
        )
        ours.add([wanted], at=number % 7)
        theirs.add([wanted], at=number % 7)
        if number >= 20:
            ours.drop(number - 20, at=None if number % 2 else 5)
            theirs.drop(number - 20, at=None if number % 2 else 5)
        if number % 40 == 39:
            ours.settle(2)
            rows = [{"n": n, "i": n % 5, "x": None, "f": 1.0, "s": "a"} for n in range(-3, 9)]
            ts = [3 + i % 4 for i in range(len(rows))]
            found = pairs(ours.match(batch(rows), np.array(ts)))
            assert len(found) == len(set(found))
            assert set(found) == theirs.match(rows, ts)
    ours.settle(6)
    assert len(ours) == 40  # two entries of each of the last twenty
    assert len(ours._store.owner) < 150


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame([["a", 1, 2]], columns=["id", "x", "x"]),
        {"id": ["a"], "x": [1], "X": [2]},
        [{"id": "a", "x": 1}, {"id": "b", "X": 2}],
    ],
)
def test_two_columns_of_one_attribute_are_refused_however_they_are_given(given):
    with pytest.raises(InputError, match="columns of different names; found x twice"):
        Subscriptions({"x": pa.int64()}).add(given)


def test_numpy_objects_are_conditions_as_those_of_a_list():
    index = Subscriptions({"x": pa.int64()})
    index.add({"id": np.array(["a", "b"], object), "x": np.array(["> 5", 3], object)})
    rows = pa.record_batch({"x": [3, 6]})
    assert index.match(rows)["subscription"].to_pylist() == ["b", "a"]


def test_an_id_cannot_be_dropped_twice():
    ours = Subscriptions({"n": Type.BIGINT})
    ours.add([{"id": "a", "n": 1}])
    assert ours.drop("a", at=9) == 1
    with pytest.raises(InputError, match="'a'"):
        ours.drop("a")


def test_rows_need_instants_only_while_some_entry_begins_or_ends():
    ours = Subscriptions({"n": Type.BIGINT})
    ours.add([{"id": "a", "n": 1}])
    rows = pa.record_batch({"n": [1]})
    assert ours.match(rows).num_rows == 1
    ours.add([{"id": "b", "n": 1}], at=4)
    with pytest.raises(InputError, match="instants"):
        ours.match(rows)
    assert ours.match(rows, np.array([3])).num_rows == 1
    assert ours.match(rows, np.array([4])).num_rows == 2


def test_columns_are_found_by_name_and_read_in_the_declared_type():
    ours = Subscriptions({"Bytes": Type.BIGINT, "src": Type.STRING})
    ours.add([{"id": "a", "bytes": ">= 5", "src": None}, {"id": "b", "src": "x", "bytes": None}])
    table = pa.table(
        {"src": pa.chunked_array([["x"], ["y"]]), "BYTES": pa.array([1, 9], pa.int8())}
    )
    assert pairs(ours.match(table)) == [(0, "b"), (1, "a")]
    with pytest.raises(InputError, match="a column Bytes"):
        ours.match(pa.record_batch({"src": ["x"]}))
