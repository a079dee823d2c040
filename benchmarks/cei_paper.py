"""Containment-encoded intervals as the paper measures them (Wu, Chen, Yu 2004, Figures 14 to 19).

Left ends are chosen evenly, lengths evenly from 1 to W; points are chosen evenly. Storage is given
twice: by the paper's formula, 4 N + 8 n mu bytes with the mu that was found, and as the bytes that
the arrays take here. Search times are processor time for each point of a batch, the pairs of row
and id included, everything compiled. The indexes take turns and medians are compared.

    14   pieces in all by the maximal length L, and the bounds of Table 2
    15   storage and search time by L, r = 2^20         16   the same, r = 2^16
    17   by the greatest length W, with IS-lists        18, 19   by n, r = 2^20 and 2^16

The interval skip list looks up each point from its head, as published; it is made well: the key
that an edge leads to lies beside the edge, markers are contiguous, nodes of a quarter of the
height above (half is slower). What it gains when points are sorted beforehand is shown, too. The
ratio is its search time over that of CEI at W = 10, r = 65,536, n = 50,000, L = 16.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.cei_figures import draw
from benchmarks.report import finish, median, quick_asked, save, say, table
from windrow.papers.interval_indexes import LogarithmicConstructs, LogarithmicLayout
from windrow.subscriptions.indexes import ContainmentEncoded, IntervalSkipList, UnitIntervals
from windrow.subscriptions.indexes.containment_encoded import ContainmentLayout

LARGE, SMALL = 2**20, 2**16
KINDS: dict[str, Callable[[int, int], Any]] = {
    "UI": lambda r, length: UnitIntervals(0, r, length),
    "LCI": lambda r, length: LogarithmicConstructs(0, r, length),
    "CEI": lambda r, length: ContainmentEncoded(0, r, length),
    "IS-list": lambda _r, _length: IntervalSkipList(),
}
VIRTUAL = ("UI", "LCI", "CEI")


@dataclass(frozen=True)
class Sizes:
    """A turn is some ``batches`` of ``points``, as a stream comes; the first fills the caches.

    ``most_pairs`` bounds what a batch gives: with many intervals it has fewer points.
    """

    points: int = 50_000
    batches: int = 4
    rounds: int = 7
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64, 128)
    widths: tuple[int, ...] = (10, 20, 40, 80, 160, 320)
    counts: tuple[int, ...] = (5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000)
    intervals: int = 100_000
    most_pairs: int = 10_000_000


QUICK = Sizes(rounds=5, lengths=(8, 32), widths=(10, 160), counts=(5_000, 40_000), intervals=20_000)


@dataclass(frozen=True)
class Setting:
    """One point of a figure."""

    r: int
    n: int
    widest: int
    length: int


def load(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(14)
    lo = rng.integers(0, setting.r - setting.widest, setting.n)
    return lo, lo + rng.integers(1, setting.widest + 1, setting.n)


def paper_bytes(kind: str, setting: Setting, entries: int) -> int | None:
    """4 N + 8 n mu, N from Table 1; the paper has no formula for IS-lists."""
    r, length = setting.r, setting.length
    constructs = {
        "UI": r,
        "LCI": r * length.bit_length(),
        "CEI": 2 * r - r // length,
    }
    return 4 * constructs[kind] + 8 * entries if kind in constructs else None


def measure(setting: Setting, kinds: Sequence[str], sizes: Sizes, *, ordered: bool = False) -> Any:
    """Nanoseconds for each point, bytes and pieces of each kind of index."""
    lo, hi = load(setting)
    indexes = {kind: KINDS[kind](setting.r, setting.length) for kind in kinds}
    for index in indexes.values():
        index.insert(np.arange(setting.n), lo, hi)
    expected = setting.n * (1 + setting.widest) / 2 / setting.r
    count = min(sizes.points, max(int(sizes.most_pairs / expected), 1_000))
    points = np.random.default_rng(15).integers(0, setting.r, (sizes.batches, count))
    if ordered:
        points = np.sort(points)
    answers = {
        kind: tuple(_fingerprint(*index.search(batch)) for batch in points)
        for kind, index in indexes.items()
    }
    if len(set(answers.values())) > 1:
        raise AssertionError(f"the indexes differ in their answers: {answers}")
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(sizes.rounds):
        for kind, index in indexes.items():
            began = time.process_time()
            for batch in points:
                index.search(batch)
            times[kind].append((time.process_time() - began) / points.size * 1e9)
    return {
        **asdict(setting),
        "points": count,
        "matches_per_point": sum(a[0] for a in next(iter(answers.values()))) / points.size,
        "nanoseconds": {kind: median(laps) for kind, laps in times.items()},
        "bytes": {kind: index.nbytes for kind, index in indexes.items()},
        "paper_bytes": {k: paper_bytes(k, setting, i.entries) for k, i in indexes.items()},
        "pieces": {kind: index.entries / setting.n for kind, index in indexes.items()},
    }


def _fingerprint(rows: np.ndarray, ids: np.ndarray) -> tuple[int, int, int]:
    with np.errstate(over="ignore"):
        return len(rows), int((rows * ids).sum()), int((rows ^ (ids << 20)).sum())


def bounds(kind: str, widest: int, length: int) -> tuple[float, float]:
    """The least and the greatest mean number of pieces by Table 2."""
    log = length.bit_length() - 1

    def cei(beta: int) -> float:
        inside = length**2 * log + 1.5 * (length * log - length**2 + length) + 1
        over = 1.5 * length + length**2 * log - length**2 / 2
        return inside + (beta - 1) * over + length**2 * beta * (beta - 1) / 2

    def lci(beta: int) -> float:
        return beta + beta * length * log / 2 + beta * (beta - 1) * length / 2

    beta = widest // length
    if kind == "CEI":
        return cei(beta) / (widest * length), cei(beta + 1) / (widest * length)
    return lci(beta) / widest, lci(beta + 1) / widest


def figure_14(sizes: Sizes) -> list[dict[str, Any]]:
    """Pieces in all; every mean has to be between the bounds of Table 2."""
    found = []
    for length in sizes.lengths:
        setting = Setting(LARGE, sizes.intervals, 200, length)
        lo, hi = load(setting)
        layouts = {
            "LCI": LogarithmicLayout(LARGE, length.bit_length() - 1),
            "CEI": ContainmentLayout.over(LARGE, length),
        }
        pieces = {kind: int(layout.sizes(lo, hi).sum()) for kind, layout in layouts.items()}
        limits = {kind: bounds(kind, 200, length) for kind in layouts}
        for kind, (least, most) in limits.items():
            mean = pieces[kind] / setting.n
            # A sample of lengths has an error; the bounds are for all lengths alike.
            if not 0.99 * least <= mean <= 1.01 * most:
                raise AssertionError(f"{kind}, L = {length}: {mean} not in {least}..{most}")
        found.append(
            {
                "length": length,
                "pieces": {"UI": int((hi - lo).sum()), **pieces},
                "bounds": {k: [b * setting.n for b in limits[k]] for k in limits},
            }
        )
    say("Figure 14: pieces of all intervals, and the bounds of Table 2 for CEI")
    table(
        ["L", "UI", "LCI", "CEI", "at least", "at most"],
        [(f["length"], *f["pieces"].values(), *f["bounds"]["CEI"]) for f in found],
    )
    return found


def shown(title: str, by: str, found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kinds = list(found[0]["bytes"])
    say()
    say(title)
    table(
        [by, *(f"{k} ns" for k in kinds), *(f"{k} MB" for k in kinds)],
        [
            (
                f"{f[by]:,}",
                *(f["nanoseconds"][k] for k in kinds),
                *(f["bytes"][k] / 1e6 for k in kinds),
            )
            for f in found
        ],
    )
    return found


def run(sizes: Sizes) -> dict[str, Any]:
    results: dict[str, Any] = {"sizes": asdict(sizes), "figure_14": figure_14(sizes)}
    for number, r in ((15, LARGE), (16, SMALL)):
        found = [
            measure(Setting(r, sizes.intervals, 200, length), VIRTUAL, sizes)
            for length in sizes.lengths
        ]
        results[f"figure_{number}"] = shown(f"Figure {number}: r = {r:,}", "length", found)
    found = [measure(Setting(SMALL, 50_000, w, 16), tuple(KINDS), sizes) for w in sizes.widths]
    results["figure_17"] = shown("Figure 17: n = 50,000, r = 65,536, L = 16", "widest", found)
    for number, r in ((18, LARGE), (19, SMALL)):
        found = [measure(Setting(r, n, 200, 16), tuple(KINDS), sizes) for n in sizes.counts]
        title = f"Figure {number}: W = 200, r = {r:,}, L = 16"
        results[f"figure_{number}"] = shown(title, "n", found)
    narrow = Setting(SMALL, 50_000, 10, 16)
    more = Sizes(sizes.points, rounds=3 * sizes.rounds)
    for name, ordered in (("ratio", False), ("ratio_on_sorted_points", True)):
        times = measure(narrow, ("CEI", "IS-list"), more, ordered=ordered)["nanoseconds"]
        results[name] = times["IS-list"] / times["CEI"]
        results[name.replace("ratio", "nanoseconds")] = times
    say()
    say(f"IS-lists over CEI on points sorted beforehand: {results['ratio_on_sorted_points']:.1f}")
    say("IS-lists' search time over CEI's at W = 10, r = 65,536, n = 50,000, L = 16:")
    return results


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("cei_paper", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        path = save("cei_paper", results)
        draw(results, path.with_suffix(".png"))
    finish(results["ratio"])


if __name__ == "__main__":
    main()
