"""Range subscriptions against packages that index intervals.

100,000 and 1,000,000 intervals over 2^20 integers, of 1 to 200 integers each, and batches of a
million points in no order; everybody gives the ids of all intervals over each point. Ours are
containment-encoded intervals over the known range, and over a grid that is made from the data,
for integers and for floating point numbers. Times are processor time of one core, and include the
making of the results: pairs in two arrays (ours, ncls), or a list for each point.

Then what the others do not do: how fast subscriptions come and go one by one, a hundred at a time
and all at once, the bytes of each, and how much of the memory's bandwidth a search reaches. The
ratio is ours over the best of the others at 100,000, points in order of arrival. Points that are
sorted beforehand, which nobody's stream is, are shown beside it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks.report import finish, median, quick_asked, save, say, table
from benchmarks.subscriptions_rivals import MAKERS, Rival, installed
from windrow.subscriptions.indexes import GriddedIntervals, IntervalIndex, cei

mpl.use("Agg")
from matplotlib import pyplot as plt

RANGE, WIDEST = 2**20, 200
OURS = "CEI"


@dataclass(frozen=True)
class Sizes:
    """``points`` per batch; against a million intervals only a tenth of them is for everybody."""

    intervals: tuple[int, ...] = (100_000, 1_000_000)
    points: int = 1_000_000
    rounds: int = 7
    singles: int = 2_000
    intervaltree: int = 100_000
    """It takes seconds and gigabytes to be built of more."""


QUICK = Sizes(intervals=(100_000,), rounds=2, singles=500, intervaltree=0)
"""Without the tree in Python, which takes half of the time and is the slowest of all."""


def intervals(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    lo = rng.integers(0, RANGE - WIDEST, count)
    return lo, lo + rng.integers(1, WIDEST + 1, count)


def as_floats(integers: np.ndarray) -> np.ndarray:
    """Prices with a fraction, by the order of their bits; all are positive."""
    return (integers / 7.0 + 100.0).view(np.int64)


def ours(lo: np.ndarray, hi: np.ndarray) -> list[tuple[Rival, IntervalIndex]]:
    ids = np.arange(len(lo))
    made: list[tuple[Rival, IntervalIndex]] = []
    for name, index, keys in (
        (OURS, cei(0, RANGE), None),
        ("CEI, gridded", GriddedIntervals(), None),
        ("CEI, gridded floats", GriddedIntervals(), as_floats),
    ):
        index.insert(ids, *((lo, hi) if keys is None else (keys(lo), keys(hi))))
        made.append((Rival(name, _finder(index, keys), lambda found: found), index))
    return made


def _finder(
    index: IntervalIndex, keys: Callable[[np.ndarray], np.ndarray] | None
) -> Callable[[np.ndarray], Any]:
    if keys is None:
        return index.search
    made: dict[int, np.ndarray] = {}

    def find(points: np.ndarray) -> Any:
        # The keys of a column are computed by the caller, for all of its indexes.
        if id(points) not in made:
            made.clear()
            made[id(points)] = keys(points)
        return index.search(made[id(points)])

    return find


def fingerprint(pairs: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
    """How many pairs, and a sum that differs if any pair does; order does not count."""
    rows, ids = (np.asarray(a).astype(np.uint64) for a in pairs)
    with np.errstate(over="ignore"):
        mixed = (rows * np.uint64(0x9E3779B97F4A7C15)) ^ (ids * np.uint64(0xC2B2AE3D27D4EB4F))
        mixed = mixed * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(33)
        return len(rows), int(mixed.sum())


def lap(find: Callable[[np.ndarray], Any], points: np.ndarray) -> float:
    gc.collect()
    began = time.process_time()
    found = find(points)
    seconds = time.process_time() - began
    del found
    return seconds


def searches(rivals: Sequence[Rival], points: np.ndarray, rounds: int) -> dict[str, float]:
    """Points per second of each; all take turns, and all must give the same pairs."""
    few = points[: max(len(points) // 100, 1_000)]
    answers = {r.name: fingerprint(r.pairs(r.find(few))) for r in rivals}
    if len(set(answers.values())) > 1:
        raise AssertionError(f"the indexes differ in their answers: {answers}")
    batches = {r.name: points[: max(int(len(points) * r.share), 1)] for r in rivals}
    whole = [r for r in rivals if r.share == 1.0 and r.name != "superintervals"]
    answers = {r.name: fingerprint(r.pairs(r.find(points))) for r in whole}
    if len(set(answers.values())) > 1:
        raise AssertionError(f"the indexes differ in their answers: {answers}")
    times: dict[str, list[float]] = {r.name: [] for r in rivals}
    rng = np.random.default_rng(rounds)
    for _ in range(rounds):
        # Whoever comes after a slow one finds the caches full of its data, so nobody always does.
        for place in rng.permutation(len(rivals)):
            rival = rivals[place]
            batch = batches[rival.name]
            times[rival.name].append(lap(rival.find, batch) / len(batch))
    return {name: 1 / median(laps) for name, laps in times.items()}


def copy_bandwidth(rounds: int) -> float:
    """Bytes read and written per second by one core that copies."""
    source, target = np.ones(2**25), np.ones(2**25)
    times = []
    for _ in range(rounds):
        began = time.process_time()
        np.copyto(target, source)
        times.append(time.process_time() - began)
    return 2 * source.nbytes / median(times)


def changes(make: Callable[[], IntervalIndex], count: int, sizes: Sizes) -> dict[str, float]:
    """Subscriptions per second that come and go in steps of several sizes."""
    lo, hi = intervals(count + 100 * sizes.singles, 3)
    index = make()
    found = {}
    began = time.process_time()
    index.insert(np.arange(count), lo[:count], hi[:count])
    found["insert all"] = count / (time.process_time() - began)
    for step, times in ((1, sizes.singles), (100, sizes.singles // 10)):
        spans = [np.arange(count + i * step, count + (i + 1) * step) for i in range(times)]
        began = time.process_time()
        for ids in spans:
            index.insert(ids, lo[ids], hi[ids])
        found[f"insert {step}"] = times * step / (time.process_time() - began)
        began = time.process_time()
        for ids in spans:
            index.remove(ids)
        found[f"remove {step}"] = times * step / (time.process_time() - began)
    began = time.process_time()
    index.remove(np.arange(count))
    found["remove all"] = count / (time.process_time() - began)
    return found


def compare(count: int, sizes: Sizes, bandwidth: float) -> dict[str, Any]:
    lo, hi = intervals(count, 1)
    points = np.random.default_rng(2).integers(0, RANGE, sizes.points)
    mine = ours(lo, hi)
    names = [n for n in installed()[0] if n != "intervaltree" or count <= sizes.intervaltree]
    others = [MAKERS[name](lo, hi) for name in names]
    everybody = [r for r, _ in mine] + others
    gc.freeze()  # a tree of Python objects is not gone through before every lap
    batch = points if count <= 100_000 else points[: len(points) // 10]
    rates = searches(everybody, batch, sizes.rounds)
    arrays = [r for r in everybody if r.share == 1.0]
    ordered = searches(arrays, np.sort(batch), max(sizes.rounds // 2, 1))
    del others, everybody, arrays
    gc.unfreeze()
    pairs = len(mine[0][0].find(batch)[0]) / len(batch)
    # In with the points, out with rows and ids.
    share = rates[OURS] * (8 + 16 * pairs) / bandwidth
    say()
    say(f"{count:,} intervals, {len(batch):,} points in a batch, {pairs:.1f} matches for each")
    table(
        ["", "points/s", "sorted points/s", "bytes each"],
        [
            (n, rate, ordered.get(n), {r.name: i.nbytes / count for r, i in mine}.get(n))
            for n, rate in rates.items()
        ],
    )
    say(f"  {OURS} reaches {share:.0%} of the bandwidth of copying, {bandwidth / 1e9:.1f} GB/s")
    return {
        "intervals": count,
        "batch": len(batch),
        "matches_per_point": pairs,
        "points_per_second": rates,
        "sorted_points_per_second": ordered,
        "bytes_per_interval": {r.name: i.nbytes / count for r, i in mine},
        "share_of_bandwidth": share,
    }


def run(sizes: Sizes) -> dict[str, Any]:
    there, missing = installed()
    for name in missing:
        say(f"{name} is not installed and left out; make bench-setup installs it")
    if not there:
        raise SystemExit("nothing to compare with: make bench-setup installs the packages")
    bandwidth = copy_bandwidth(sizes.rounds)
    compared = [compare(count, sizes, bandwidth) for count in sizes.intervals]
    rates = {}
    for name, make in ((OURS, lambda: cei(0, RANGE)), ("CEI, gridded", GriddedIntervals)):
        rates[name] = {n: changes(make, n, sizes) for n in sizes.intervals}
    say()
    heads = list(next(iter(rates[OURS].values())))
    table(
        ["subscriptions/s", *heads],
        [
            (f"{name}, {n:,}", *found.values())
            for name, by_count in rates.items()
            for n, found in by_count.items()
        ],
    )
    first = compared[0]["points_per_second"]
    best = max(there, key=lambda name: first.get(name, 0.0))
    say(f"{OURS} over {best}, the best of the others, at {sizes.intervals[0]:,}:")
    return {
        "sizes": asdict(sizes),
        "copy_bytes_per_second": bandwidth,
        "compared": compared,
        "changes_per_second": rates,
        "best_rival": best,
        "ratio": first[OURS] / first[best],
    }


def draw(results: dict[str, Any], path: Any) -> None:
    """Points and not bars, since the axis is logarithmic."""
    sheet, panels = plt.subplots(
        1, len(results["compared"]), figsize=(13, 4), squeeze=False, layout="constrained"
    )
    sheet.suptitle("Which intervals hold a point: further right is better")
    for panel, found in zip(panels[0], results["compared"], strict=True):
        rates = found["points_per_second"]
        names = list(rates)[::-1]
        colours = ["tab:green" if name.startswith(OURS) else "tab:gray" for name in names]
        panel.scatter([rates[name] for name in names], names, color=colours, s=60)
        rival = max((r, n) for n, r in rates.items() if not n.startswith(OURS))
        panel.set(
            title=f"{found['intervals']:,} intervals: {OURS} finds "
            f"{rates[OURS] / rival[0]:.0f} times as many as {rival[1]}",
            xlabel="points per second, ids given",
        )
        panel.title.set_fontsize(10)
        panel.set_xscale("log")
        panel.grid(visible=True, axis="x", alpha=0.3)
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("subscriptions", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        path = save("subscriptions", results)
        draw(results, path.with_suffix(".png"))
    finish(results["ratio"])


if __name__ == "__main__":
    main()
