"""Indexes of records with lifetimes of their own: Figures 5 to 12 of Golab et al. 2006b.

The model has the paper's machine and sizes. Beside it, indexes are measured on disk: all of a
figure take each update in turn, in one process, from the same records, and their answers to every
probe and scan are compared with a plain list.

    R-ins, D-ins   cut by insertion time only; a touched sub-index is rebuilt, or added to
    R-exp, D-exp   cut by expiry time only; at n = 16
    Rebuild        a square grid of insertion and expiry times, dealt round robin; rebuilt
    NoRebuild      the same; a new run is added, runs are merged as they double or die
    ... chr        the grid dealt chronologically; small set only, as in Figure 6

An update is timed by the clock, from the Arrow table to the published version, all files synced.
Probes and scans find their pages in memory and are told in processor time: they are so short that
one turn of another process would outweigh them. The paper's small and large sets are scaled to a
tenth and a twentieth: 50 and 252 megabytes come in a lifetime, half of which is alive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.doubly_partitioned_figures import (
    BY_EXPIRY,
    CHRONOLOGICAL,
    OURS,
    RIVAL,
    SHAPES,
    BySize,
    Found,
    compared,
    draw_bars,
    draw_measured,
    draw_model,
    model,
    show_figures,
    show_found,
    techniques,
)
from benchmarks.doubly_partitioned_laps import Contender, race, steady, summary, varying
from benchmarks.report import RESULTS, finish, quick_asked, save, say

N = 16
"""Sub-indices for which ratios are told, and indexes cut by expiry time measured."""
MEASURED = (
    "touched",
    "written_mb",
    "mean_update_ms",
    "worst_update_ms",
    "probe_ms",
    "scan_ms",
    "runs",
    "stored_mb",
)


@dataclass(frozen=True)
class Sizes:
    """Records per update in the small set (none: it is left out) and the large one; sub-indices,
    which are squares; updates that are measured."""

    small: int = 1_400
    large: int = 7_000
    squares: tuple[int, ...] = (1, 4, 9, 16, 25)
    measured: int = 24


QUICK = Sizes(small=0, large=1_400, squares=(N,), measured=6)


def by_squares(part: str, rate: int, sizes: Sizes) -> BySize:
    """Figures 6 to 8, or 10 to 12: number of sub-indices -> index -> what was measured."""
    rates = steady(rate, sizes.measured)
    entries = {
        (n, name): Contender(grid, rates)
        for n in sizes.squares
        for name, grid in techniques(n).items()
        if (n == N or name not in BY_EXPIRY) and (part == "small" or name not in CHRONOLOGICAL)
    }
    laps = race({f"{name} {n}": c for (n, name), c in entries.items()}, sizes.measured, rate)
    found: BySize = {}
    for n, name in entries:
        found.setdefault(str(n), {})[name] = summary(laps[f"{name} {n}"])
    for at, measured in found.items():
        show_found(f"{part} set: n = {at}, {rate:,} records per update", measured, MEASURED)
    return found


def figure_5(rate: int, sizes: Sizes) -> Found:
    """Rebuild in a square grid and in two that are not."""
    rates = steady(rate, sizes.measured)
    laps = race({name: Contender(g, rates) for name, g in SHAPES.items()}, sizes.measured, 5)
    found = {name: summary(lap) for name, lap in laps.items()}
    show_found("Figure 5: Rebuild in three grids of 16, measured", found, MEASURED)
    return found


def figure_9(rate: int, sizes: Sizes) -> Found:
    """A rate that varies, beside a steady one with as many records, in few sub-indices and many."""
    kinds = {kind.__name__: kind(rate, sizes.measured) for kind in (steady, varying)}
    entries = {
        f"{name} {n} {kind}": Contender(grid, rates)
        for n in sizes.squares
        if n in (4, 25)
        for name, grid in techniques(n).items()
        if name not in BY_EXPIRY and name not in CHRONOLOGICAL
        for kind, rates in kinds.items()
    }
    laps = race(entries, sizes.measured, 9)
    found = {name: summary(lap) for name, lap in laps.items()}
    show_found("Figure 9: the rate varies by up to four times, measured", found, MEASURED)
    return found


def run(sizes: Sizes) -> dict[str, Any]:
    foretold = model(sizes.squares)
    results: dict[str, Any] = {"sizes": asdict(sizes), "model": foretold, "compared": {}}
    for part, rate in (("small", sizes.small), ("large", sizes.large)):
        if rate:
            found = by_squares(part, rate, sizes)
            show_figures(part, foretold[part], found)
            ratios = compared(foretold[part][str(N)], found[str(N)])
            show_found(f"{part} set, n = {N}", ratios, ("model", "measured"))
            results[part], results["compared"][part] = found, ratios
    if sizes.small:
        show_found(
            "Figure 5, from the model", foretold["figure_5"], tuple(foretold["figure_5"]["4x4"])
        )
        results["figure_5"] = figure_5(sizes.small, sizes)
        results["figure_9"] = figure_9(sizes.small, sizes)
    results["ratio"] = results["compared"]["large"][f"{RIVAL} over {OURS}, update"]["measured"]
    return results


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("doubly_partitioned", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("doubly_partitioned", results)
        draw_model(results, RESULTS / "doubly_partitioned_model.png")
        draw_measured(results, RESULTS / "doubly_partitioned_measured.png")
        draw_bars(results, RESULTS / "doubly_partitioned_bars.png")
    say(f"update time of {RIVAL}16 over {OURS}4x4, large set (Figure 10: two to three):")
    finish(results["ratio"])


if __name__ == "__main__":
    main()
