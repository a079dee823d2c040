"""Which index reaches an entry, by one condition or by a text and a range together: all are found,
and few besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.subscriptions.brute import BruteForce
from windrow.core.schema import Type
from windrow.subscriptions import entry_store
from windrow.subscriptions.attribute_index import AttributeIndex
from windrow.subscriptions.entry_store import MOST_TEXTS, TextRangeIndex
from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions

KINDS = {"symbol": Type.STRING, "venue": Type.STRING, "price": Type.DOUBLE, "size": Type.BIGINT}
SYMBOLS = [f"S{i}" for i in range(30)]


def desk(rng: np.random.Generator, number: int, centre: float) -> Subscription:
    """A condition on a symbol or many, a price range, and now and then more."""
    many = rng.choice(
        SYMBOLS, MOST_TEXTS.usual + 4 if number % 7 == 0 else 1 + number % 3, replace=False
    )
    low = centre + float(rng.integers(0, 100)) / 4
    entry: dict[str, Any] = {
        "symbol": OneOf(tuple(many.tolist())),
        "price": Range(low, low + float(rng.integers(0, 12)), high_open=number % 2 == 0),
    }
    if number % 5 == 0:
        entry["size"] = Range(int(rng.integers(0, 5)), None)
    if number % 11 == 0:
        entry["venue"] = OneOf(("V",))
    if number % 13 == 0:
        entry["price"] = OneOf((low, low + 0.25, low + 5))
    if number % 17 == 0:
        entry["price"] = Range()
    return Subscription.of(number, entry)


def rows(rng: np.random.Generator, count: int) -> list[dict[str, Any]]:
    return [
        {
            "symbol": None if i % 19 == 0 else str(rng.choice([*SYMBOLS, "unknown"])),
            "venue": str(rng.choice(["V", "W"])),
            "price": [math.nan, None, math.inf][i % 3]
            if i % 13 == 0
            else float(rng.integers(-8, 1800)) / 4,
            "size": int(rng.integers(0, 6)),
        }
        for i in range(count)
    ]


def batch(found: list[dict[str, Any]]) -> pa.RecordBatch:
    kinds = {"symbol": pa.string(), "venue": pa.string(), "price": pa.float64(), "size": pa.int64()}
    return pa.record_batch({n: pa.array([r[n] for r in found], k) for n, k in kinds.items()})


@pytest.mark.usefixtures("sizes")
@settings(max_examples=15)
@given(
    seed=st.integers(0, 1000),
    steps=st.lists(st.tuples(st.integers(1, 90), st.integers(0, 60)), min_size=1, max_size=5),
)
def test_texts_with_ranges_are_found_while_they_come_and_go_and_wander(seed, steps):
    rng = np.random.default_rng(seed)
    ours, theirs = Subscriptions(KINDS, ids=pa.int64()), BruteForce()
    number = 0
    there: list[int] = []
    for step, (added, dropped) in enumerate(steps):
        new = [desk(rng, number + i, 90.0 * step) for i in range(added)]
        number += added
        ours.add(new)
        theirs.add(new)
        there += [s.id for s in new]
        for _ in range(min(dropped, len(there))):
            gone = there.pop(int(rng.integers(0, len(there))))
            ours.drop(gone)
            theirs.drop(gone)
        given_rows = rows(rng, 80)
        found = ours.match(batch(given_rows))
        pairs = list(zip(*found.to_pydict().values(), strict=True))
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == theirs.match(given_rows, [0] * len(given_rows))


def two_ranges(widths: Sequence[tuple[int, int]], seed: int = 8) -> pa.Table:
    """Entries with ranges on both attributes, of these widths, between 0 and a million."""
    low = np.random.default_rng(seed).integers(0, 1_000_000, (2, len(widths)))
    ends = {"a_min": low[0], "b_min": low[1]}
    high = low + np.array(widths).T
    return pa.table({"id": np.arange(len(widths)), **ends, "a_max": high[0], "b_max": high[1]})


@pytest.mark.parametrize(
    ("widths", "reached"),
    [
        ([(100, 100)] * 9_000, [9_000, 0]),
        ([(100, 500_000), (500_000, 100)] * 4_500, [4_500, 4_500]),
        ([(100, 500_000), (500_000, 100)] * 3, [6, 0]),
    ],
    ids=["as selective", "one or the other", "few"],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "in parts"])
def test_rows_search_no_index_that_hardly_spares_them_anything(widths, reached, at_once):
    entries, step = two_ranges(widths), len(widths) if at_once else 3
    ours = Subscriptions({"a": Type.BIGINT, "b": Type.BIGINT}, ids=pa.int64())
    for start in range(0, len(entries), step):
        ours.add(entries.slice(start, step))
    found = [len(column.index) for column in ours._store.columns]
    assert sum(found) == len(widths)
    assert np.abs(np.subtract(found, reached)).sum() <= len(widths) // 100
    asked = np.random.default_rng(9).integers(0, 1_000_000, (2, 300))
    pairs = ours.match(pa.record_batch({"a": asked[0], "b": asked[1]})).to_pydict().values()
    low, high = entries.select(["a_min", "b_min"]), entries.select(["a_max", "b_max"])
    expected = [
        np.logical_and(low.column(i).to_numpy() <= x[:, None], x[:, None] <= high.column(i))
        for i, x in enumerate(asked)
    ]
    wanted = np.argwhere(expected[0] & expected[1])
    assert set(zip(*pairs, strict=True)) == set(map(tuple, wanted.tolist()))


def test_what_a_pair_finds_is_little_more_than_what_matches():
    rng = np.random.default_rng(8)
    count = 20_000
    low = rng.integers(0, 100_000, count)
    ours = Subscriptions({"symbol": Type.STRING, "price": Type.BIGINT}, ids=pa.int64())
    symbols = np.array([f"S{i}" for i in range(50)])
    ours.add(
        pa.table(
            {
                "id": np.arange(count),
                "symbol": symbols[rng.integers(0, 50, count)],
                "price_min": low,
                "price_max": low + 2_000,
            }
        )
    )
    data = pa.record_batch(
        {
            "symbol": symbols[rng.integers(0, 50, 1_000)],
            "price": rng.integers(0, 100_000, 1_000),
        }
    )
    (pair,) = ours._store.pairs.values()
    asked = [c.keys(data.column(i)) for i, c in enumerate(ours._store.columns)]
    candidates = len(pair.search(*asked)[0])
    matches = ours.match(data).num_rows
    assert matches <= candidates < 1.2 * matches


def test_crowded_pairs_are_built_anew_without_the_dropped(monkeypatch):
    monkeypatch.setattr(entry_store.WORTH_REBUILDING, "value", 8)
    rng = np.random.default_rng(3)
    ours, theirs = Subscriptions(KINDS, ids=pa.int64()), BruteForce()
    for start in range(0, 300, 50):
        new = [desk(rng, start + i, float(start)) for i in range(50)]
        for side in (ours, theirs):
            side.add(new)
            for number in range(start, start + 40):
                side.drop(number)
    assert len(ours) == 60
    given_rows = rows(rng, 300)
    found = ours.match(batch(given_rows))
    assert set(zip(*found.to_pydict().values(), strict=True)) == theirs.match(
        given_rows, [0] * len(given_rows)
    )


@pytest.mark.usefixtures("sizes")
def test_an_empty_pair_finds_nothing():
    text, ranged = AttributeIndex("s", Type.STRING), AttributeIndex("x", Type.BIGINT)
    pair = TextRangeIndex(text, ranged)
    found = pair.search(text.keys(pa.array(["a"])), ranged.keys(pa.array([1])))
    assert [len(side) for side in found] == [0, 0]
