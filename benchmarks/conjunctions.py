"""Conditions on two attributes: counting what both indexes find, or checking what one finds.

The two-phase method searches the index of every attribute and counts: an entry matches a row if
all its conditions were found (Wu, Chen, Yu 2004, 2.1). ``Subscriptions`` puts an entry into the
index of its most selective condition only and checks the others on the pairs that come out. Both
use the same indexes, compiled, over the same rows, taking turns; the pairs are compared. Counting
is compiled too: a mark for each entry that the first index finds, and a look at it for each that
the second does.

Then a trading desk: a symbol and a price range in each subscription, which are searched together.
The rival there is a join in DuckDB, on one core. The ratio is that of two ranges.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numba import njit

from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.core.schema import Type
from windrow.subscriptions.indexes import GriddedIntervals
from windrow.subscriptions.subscriptions import Subscriptions

DOMAIN = 1 << 20


@dataclass(frozen=True)
class Sizes:
    """``shares`` are how much of its attribute each of the two conditions takes."""

    subscriptions: int = 50_000
    rows: int = 50_000
    shares: tuple[tuple[float, float], ...] = (
        (0.0001, 0.0001), (0.0001, 0.001), (0.0001, 0.01), (0.001, 0.001), (0.001, 0.01),
    )  # fmt: skip
    rounds: int = 7
    desk: int = 500_000
    symbols: int = 5_000
    ticks: int = 100_000


QUICK = Sizes(20_000, 10_000, ((0.0001, 0.001), (0.001, 0.001)), 3, 100_000, 1_000, 20_000)
JOIN = """
    SELECT ticks.row, desk.id FROM ticks JOIN desk
    ON ticks.symbol = desk.symbol AND ticks.price BETWEEN desk.price_min AND desk.price_max
"""


@njit(cache=True)
def in_both(
    rows: np.ndarray, entries: np.ndarray, others: np.ndarray, found: np.ndarray, count: int
) -> np.ndarray:
    """Pairs that both searches gave, as row * count + entry; both are sorted by row.

    An entry is marked with the row for which the first search gave it, so the second phase costs
    a step for each pair that was found, and nothing is sorted.
    """
    marks = np.full(count, -1, np.int64)
    hits = np.empty(min(len(rows), len(others)), np.int64)
    at, filled = 0, 0
    for pair in range(len(others)):
        row = others[pair]
        while at < len(rows) and rows[at] <= row:
            marks[entries[at]] = rows[at]
            at += 1
        if marks[found[pair]] == row:
            hits[filled] = row * count + found[pair]
            filled += 1
    return hits[:filled]


class Counting:
    """An index per attribute, and pairs counted: those found twice are matches."""

    def __init__(self, lows: Sequence[np.ndarray], highs: Sequence[np.ndarray]) -> None:
        self.count = len(lows[0])
        self.indexes = [GriddedIntervals() for _ in lows]
        for index, low, high in zip(self.indexes, lows, highs, strict=True):
            index.insert(np.arange(self.count), low, high + 1)

    def hits(self, points: Sequence[np.ndarray]) -> np.ndarray:
        """Matches as row * count + entry."""
        codes = []
        for start in range(0, len(points[0]), 4096):  # as many pairs at once as memory likes
            first, second = (
                index.search(values[start : start + 4096])
                for index, values in zip(self.indexes, points, strict=True)
            )
            hits = in_both(*first, *second, self.count)
            codes.append(hits + start * self.count)
        return np.concatenate(codes)


def measure(shares: tuple[float, float], sizes: Sizes) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    lows = [rng.integers(0, DOMAIN, sizes.subscriptions) for _ in shares]
    highs = [low + max(int(share * DOMAIN), 1) for low, share in zip(lows, shares, strict=True)]
    points = [rng.integers(0, DOMAIN, sizes.rows) for _ in shares]
    counting = Counting(lows, highs)
    ours = Subscriptions({"a": Type.BIGINT, "b": Type.BIGINT}, ids=pa.int64())
    ends = dict(zip(("a_min", "b_min", "a_max", "b_max"), map(pa.array, lows + highs), strict=True))
    ours.add({"id": pa.array(np.arange(sizes.subscriptions)), **ends})
    columns = [pa.array(values) for values in points]
    ours.hits(columns)  # both are compiled, and have the memory that they need
    counting.hits(points)
    times: dict[str, list[float]] = {"checking": [], "counting": []}
    for _ in range(sizes.rounds):
        began = time.process_time()
        rows, owners = ours.hits(columns)
        times["checking"].append(time.process_time() - began)
        began = time.process_time()
        theirs = counting.hits(points)
        times["counting"].append(time.process_time() - began)
    found = np.sort(rows * sizes.subscriptions + ours.names(owners).to_numpy())
    if not np.array_equal(found, np.sort(theirs)):
        raise AssertionError("the two ways find different pairs")
    middle = {name: median(laps) for name, laps in times.items()}
    return {"shares": shares, "matches": len(theirs), **middle}


def trading_desk(sizes: Sizes) -> dict[str, Any]:
    """Prices up to 1,000 and ranges of up to 20: about one in a hundred of a symbol's match."""
    rng = np.random.default_rng(12)
    symbols = np.array([f"S{i:05d}" for i in range(sizes.symbols)])
    low = rng.uniform(1, 1_000, sizes.desk)
    desk = pa.table(
        {
            "id": np.arange(sizes.desk),
            "symbol": symbols[rng.integers(0, sizes.symbols, sizes.desk)],
            "price_min": low,
            "price_max": low + rng.uniform(0.1, 20, sizes.desk),
        }
    )
    ticks = pa.table(
        {
            "row": np.arange(sizes.ticks),
            "symbol": symbols[rng.integers(0, sizes.symbols, sizes.ticks)],
            "price": rng.uniform(1, 1_000, sizes.ticks),
        }
    )
    ours = Subscriptions({"symbol": Type.STRING, "price": Type.DOUBLE}, ids=pa.int64())
    began = time.process_time()
    ours.add(desk)
    made = time.process_time() - began
    times: dict[str, list[float]] = {"ours": [], "join": []}
    with duckdb.connect(config={"threads": 1}) as db:
        db.register("ticks", ticks)
        db.execute("CREATE TABLE desk AS SELECT * FROM desk")
        for _ in range(sizes.rounds):
            began = time.process_time()
            found = ours.match(ticks)
            times["ours"].append(time.process_time() - began)
            began = time.process_time()
            joined = db.sql(JOIN).to_arrow_table()
            times["join"].append(time.process_time() - began)
    codes = [
        np.sort(t.column(0).to_numpy() * sizes.desk + t.column(1).to_numpy())
        for t in (found, joined)
    ]
    if not np.array_equal(*codes):
        raise AssertionError("the desk and the join find different pairs")
    middle = {name: median(laps) for name, laps in times.items()}
    rates = {name: sizes.ticks / seconds for name, seconds in middle.items()}
    say(f"{sizes.desk:,} of a symbol and a price range, indexed in {made:.2f} s; rows a second:")
    table(["", "rows/s"], rates.items())
    return {"matches": len(codes[0]), "seconds_to_index": made, "rows_per_second": rates}


def run(sizes: Sizes) -> dict[str, Any]:
    lines = [measure(shares, sizes) for shares in sizes.shares]
    say(f"{sizes.subscriptions:,} conjunctions of two ranges, {sizes.rows:,} rows, seconds:")
    table(
        ["shares taken", "matches", "checking", "counting", "ratio"],
        [
            (f"{line['shares'][0]:.2%}, {line['shares'][1]:.2%}", line["matches"],
             line["checking"], line["counting"], line["counting"] / line["checking"])
            for line in lines
        ],
    )  # fmt: skip
    desk = trading_desk(sizes)
    ratio = min(line["counting"] / line["checking"] for line in lines)
    say("counting over checking, where counting is best:")
    return {"sizes": asdict(sizes), "lines": lines, "desk": desk, "ratio": ratio}


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("conjunctions", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("conjunctions", results)
    finish(results["ratio"])


if __name__ == "__main__":
    main()
