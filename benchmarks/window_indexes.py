"""Indexes of sliding windows in memory: Figures 7, 8 and 9 of Golab et al. 2004, 6.

The setting of 6.1: a window of 100,000 tuples in 50, 100 or 500 basic windows, 1,000 or 10,000
values, evenly distributed or by a power law with exponent 1, unused values purged five times per
roll-over, 5 buckets in HASH and 100 in the H-INDEX. The window is filled; then it is replaced
once, which is timed, and the query is answered at each turn.

    7 (a)  maintenance of L-, T- and H-INDEX over LIST and AGGR
    7 (b)  maintenance of the G-INDEX over GROUP, of a T-INDEX, and of no index
    8 (a)  the windowed histogram: maintenance and query
    8 (b)  the intersection of two windows
    9 (a)  deletion from rings over an L-INDEX
    9 (b)  the window sorted by one attribute, giving another

Without an index the window is one array, which is sorted by numpy or by polars at each turn, or
counted into an array of all values. The ratio is the time of the fastest of these over that of the
fastest index, for the histogram of 1,000 values in 500 basic windows. Times are processor time;
each way runs on one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from benchmarks import window_indexes_ways as ways
from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.window_indexes_figures import draw
from benchmarks.window_indexes_laps import Lap, Shape, Way, lap, other
from windrow.papers.window_indexes.group_index import Groups

GROUPS = (10, 50)
OURS, RIVAL = "LIST T", "no index, sorted"
UNASKED = ("ranges", "rings")
"""Only their maintenance is of interest; queries between the turns would empty the caches."""
LONG = 1.0
"""Seconds of a lap above which it is not repeated, unless the ratio depends on it."""
WHAT = ("maintenance", "total", "deletion")
SHOWN = (WHAT[:2], WHAT[:1], ("total",), ("deletion", "maintenance"), ("total",))
"""What is printed of histogram, ranges, intersection, rings and sort."""
WARM_UP = Shape(2_000, 10, 100)
Makers = dict[str, Callable[[], Way]]


@dataclass(frozen=True)
class Sizes:
    """Numbers of basic windows are for each query."""

    tuples: int = 100_000
    values: tuple[int, ...] = (1_000, 10_000)
    histogram: tuple[int, ...] = (50, 100, 500)
    intersection: tuple[int, ...] = (50, 100, 500)
    rings: tuple[int, ...] = (50, 100, 500)
    skewed: tuple[bool, ...] = (False, True)
    repeats: int = 3
    other_repeats: int = 3
    """Of all but the histogram."""
    left_out: tuple[str, ...] = ()
    """Ways to the histogram that take too long."""

    def shapes(self, basic_windows: Sequence[int]) -> list[Shape]:
        """Values outermost, as the figures have them."""
        found = product(self.skewed, self.values, basic_windows)
        return [Shape(self.tuples, n, values, skewed) for skewed, values, n in found]


QUICK = Sizes(
    values=(1_000,), histogram=(500,), intersection=(50,), rings=(50,), skewed=(False,),
    repeats=2, other_repeats=1, left_out=("no index, AGGRs merged",),
)  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """Medians in milliseconds for replacing the window once; ``total`` is with the queries."""

    query: str
    way: str
    shape: Shape
    maintenance: float
    total: float
    deletion: float


def histograms(shape: Shape) -> Makers:
    found: Makers = {
        f"{storage} {index}": partial(ways.Indexed, shape, storage, index)
        for storage in ways.STORAGES
        for index in ways.INDEXES
    }
    return found | {
        RIVAL: partial(ways.Sorted, shape),
        "no index, AGGRs merged": partial(ways.Indexed, shape, "AGGR", None),
        "no index, sorted by polars": partial(ways.SortedByPolars, shape),
        "no index, tallied": partial(ways.Tallied, shape),
    }


def ranges(shape: Shape) -> Makers:
    found: Makers = {f"G of {g}": partial(ways.Ranges, shape, g) for g in GROUPS}
    return found | {
        "LIST, no index": partial(ways.Indexed, shape, "LIST", None),
        OURS: partial(ways.Indexed, shape, "LIST", "T"),
    }


def intersections(shape: Shape) -> Makers:
    found: Makers = {
        f"{storage} {index}": partial(ways.Intersected, shape, storage, index)
        for storage in ways.STORAGES
        for index in ("T", "H", "H, growing")
    }
    found |= {f"G of {g}": partial(ways.IntersectedRanges, shape, g) for g in GROUPS}
    return found | {RIVAL: partial(ways.IntersectedAgain, shape)}


def rings(shape: Shape) -> Makers:
    found: Makers = {ring: partial(ways.Ringed, shape, ring, "L") for ring in ways.RINGS}
    return found | {"DB on H": partial(ways.Ringed, shape, "DB", "H, growing")}


def sorts(shape: Shape) -> Makers:
    return rings(shape) | {RIVAL: partial(ways.SortedRows, shape)}


def compare(shape: Shape, values: np.ndarray, laps: dict[str, Lap]) -> None:
    """All exact ways have given the same answers; ranges are those that the tuples fall into."""
    exact = {name: done.digest for name, done in laps.items() if not name.startswith("G of")}
    if len(set(exact.values())) != 1:
        raise AssertionError(f"{shape}: answers differ: {exact}")
    held = [s[-shape.tuples :] for s in (values, other(values[shape.tuples :], shape.values))]
    for name, done in laps.items():
        if not name.startswith("G of"):
            continue
        groups = Groups.even(0, shape.values, int(name.split()[-1]))
        counts = [np.bincount(groups.of(v)[0], minlength=len(groups)) for v in held]
        expected: tuple[np.ndarray, ...]
        if len(done.last) == 2:
            found = np.flatnonzero(counts[0])
            expected = lows(groups, found), counts[0][found]
        else:
            expected = (lows(groups, np.flatnonzero(counts[0] * counts[1])),)
        if not all(np.array_equal(a, b) for a, b in zip(done.last, expected, strict=True)):
            raise AssertionError(f"{shape}, {name}: {done.last} instead of {expected}")


def lows(groups: Groups, numbers: np.ndarray) -> np.ndarray:
    return np.array([groups.label(int(g))[0] or 0 for g in numbers])


def measure(
    query: str, makers: Callable[[Shape], Makers], shapes: Sequence[Shape], repeats: int
) -> list[Measured]:
    """Medians over streams; each stream goes through all ways before the next one does."""
    laps: dict[tuple[Shape, str], list[Lap]] = {}
    for seed in range(1, repeats + 1):
        for shape in shapes:
            values = shape.stream(seed)
            done: dict[str, Lap] = {}
            for name, make in makers(shape).items():
                before = laps.setdefault((shape, name), [])
                decides = query == "histogram" and shape == deciding(shapes) and name == RIVAL
                if before and before[0].total > LONG and not decides:
                    continue
                done[name] = lap(make(), values, asked=query not in UNASKED)
                before.append(done[name])
            compare(shape, values, done)
        say(f"{query}, round {seed} of {repeats}")
    return [
        Measured(
            query, name, shape, *(1e3 * median(getattr(run, what) for run in runs) for what in WHAT)
        )
        for (shape, name), runs in laps.items()
    ]


def deciding(shapes: Sequence[Shape]) -> Shape:
    """The shape of the last line: few values, many basic windows, evenly distributed."""
    return min(shapes, key=lambda s: (s.skewed, s.values, -s.basic_windows))


def show(measured: Sequence[Measured], what: str) -> None:
    """A line per way, a column per shape."""
    shapes = list(dict.fromkeys(m.shape for m in measured))
    found = {(m.shape, m.way): getattr(m, what) for m in measured}
    heads = [f"{'skewed ' * s.skewed}{s.values}/{s.basic_windows}" for s in shapes]
    say(f"{measured[0].query}: ms of {what} per roll-over, by values/basic windows")
    table(
        ["", *heads],
        [[w, *(found.get((s, w)) for s in shapes)] for w in dict.fromkeys(m.way for m in measured)],
    )
    say()


def run(sizes: Sizes) -> dict[str, Any]:
    for makers in (histograms, ranges, intersections, sorts):
        for make in makers(WARM_UP).values():
            lap(make(), WARM_UP.stream(0))
    rounds, others = sizes.repeats, sizes.other_repeats
    few = [s for s in sizes.shapes(sizes.rings) if s.values == min(sizes.values)]

    def chosen(shape: Shape) -> Makers:
        return {n: make for n, make in histograms(shape).items() if n not in sizes.left_out}

    measured = [
        measure("histogram", chosen, sizes.shapes(sizes.histogram), rounds),
        measure("ranges", ranges, sizes.shapes(sizes.histogram), others),
        measure("intersection", intersections, sizes.shapes(sizes.intersection), others),
        measure("rings", rings, sizes.shapes(sizes.rings), others),
        measure("sort", sorts, few, others),
    ]
    say()
    for found, whats in zip(measured, SHOWN, strict=True):
        for what in whats:
            show(found, what)
    last = deciding(sizes.shapes(sizes.histogram))
    totals = {m.way: m.total for m in measured[0] if m.shape == last}
    best = min((n for n in totals if "no index" not in n), key=totals.__getitem__)
    ratios = {name: totals[name] / totals[best] for name in totals if "no index" in name}
    say(f"histogram of {last.values} values in {last.basic_windows} basic windows, over {best}:")
    table(["", "times as long"], ratios.items())
    return {
        "sizes": asdict(sizes),
        "times": [asdict(m) for found in measured for m in found],
        "best_index": best,
        "over_best_index": ratios,
        "ratio": min(ratios.values()),
    }


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("window_indexes", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        path = save("window_indexes", results)
        for skewed, name in ((False, "window_indexes"), (True, "window_indexes_power_law")):
            draw(results["times"], skewed, path.with_name(f"{name}.png"))
    finish(results["ratio"])


if __name__ == "__main__":
    main()
