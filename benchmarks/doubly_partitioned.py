"""Indexes of records with lifetimes of their own: Figures 5 to 12 of Golab et al. 2006b.

The model has the paper's machine and sizes; constants that the text does not give are fitted to
what it says of the curves, and are named. Beside it, indexes are measured on disk: all of a figure
take each update in turn, in one process, from the same records, and their answers to every probe
and scan are compared with a plain list.

    R-ins, D-ins   cut by insertion time only; a touched sub-index is rebuilt, or added to
    R-exp, D-exp   cut by expiry time only; at n = 16
    Rebuild        a square grid of insertion and expiry times, dealt round robin; rebuilt
    NoRebuild      the same; a new run is added, runs are merged as they double or die
    ... chr, rnd   the grid dealt chronologically, or at random; small set, at n = 16

Keys are uniform as in the figures; the small set is measured with a power law too, at n = 16 (4.3
says that it changes little).

An update is timed by the clock, from the Arrow table to the published version, all files synced.
Probes and scans find their pages in memory and are told in processor time: they are so short that
one turn of another process would outweigh them. The paper's small and large sets are scaled to a
tenth and a twentieth: 50 and 252 megabytes come in a lifetime, half of which is alive.

At the end the default index and the paper's are measured beside partitions without an index (4.3)
and beside what others have (`benchmarks.doubly_partitioned_rivals`), all by the clock. The ratio is
the work between two updates (the update, ten probes and a scan) of the best of the others over that
of the default, D-ins4; the paper's own ratio, R-ins over NoRebuild, stands above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from benchmarks.doubly_partitioned_figures import (
    BY_EXPIRY,
    DEALT,
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
from benchmarks.doubly_partitioned_rivals import Ours, Unindexed, race_stores, rivals
from benchmarks.report import RESULTS, finish, quick_asked, save, say
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, d_ins
from windrow.papers.grid_costs import FITTED

N = 16
"""Sub-indices for which ratios are told, and indexes cut by expiry time measured."""
FEW_SQUARES = (N,)
"""Where grids that are not dealt round robin, and a power law of keys, are measured."""
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
DEFAULT = "Windrow's default, D-ins4"
STORED = ("update_ms", "update_ms_least", "update_ms_most", "probe_ms", "scan_ms", "work_ms")


@dataclass(frozen=True)
class Sizes:
    """Records per update in the small set (none: it is left out) and the large one; sub-indices of
    each, which are squares; updates that are measured."""

    small: int = 1_400
    large: int = 7_000
    squares: tuple[int, ...] = (1, 4, 16)
    large_squares: tuple[int, ...] = (4, 16)
    measured: int = 6


QUICK = Sizes(small=0, large=700, squares=(N,), large_squares=(N,), measured=3)


def by_squares(
    part: str, rate: int, squares: Sequence[int], measured: int, *, power_law: bool = False
) -> BySize:
    """Figures 6 to 8, or 10 to 12: number of sub-indices -> index -> what was measured."""
    rates = steady(rate, measured)
    entries = {
        (n, name): Contender(grid, rates, power_law)
        for n in squares
        for name, grid in techniques(n).items()
        if (name not in BY_EXPIRY or (n == N and not power_law))
        and (name not in DEALT or (part == "small" and n in FEW_SQUARES and not power_law))
    }
    laps = race({f"{name} {n}": c for (n, name), c in entries.items()}, measured, rate)
    found: BySize = {}
    for n, name in entries:
        found.setdefault(str(n), {})[name] = summary(laps[f"{name} {n}"])
    keys = ", keys by a power law" if power_law else ""
    for at, seen in found.items():
        show_found(f"{part} set: n = {at}, {rate:,} records per update{keys}", seen, MEASURED)
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
        if n in (4, N)
        for name, grid in techniques(n).items()
        if name not in BY_EXPIRY and name not in DEALT
        for kind, rates in kinds.items()
    }
    laps = race(entries, sizes.measured, 9)
    found = {name: summary(lap) for name, lap in laps.items()}
    show_found("Figure 9: the rate varies by up to four times, measured", found, MEASURED)
    return found


def beside_others(rate: int, measured: int) -> Found:
    """The default, the paper's grids, partitions without an index, and what others have."""
    grid = Grid(4, 4)
    ours = {
        DEFAULT: partial(Ours, grid=d_ins(4)),
        "NoRebuild4x4": partial(Ours, grid=grid),
        "Rebuild4x4": partial(Ours, grid=Grid(4, 4, GridTechnique.REBUILD)),
        "partitions 4x4, no index": partial(Unindexed, grid=grid),
    }
    found = race_stores({**ours, **rivals()}, rate, measured, 7)
    show_found("by the clock, with ten probes and a scan between two updates", found, STORED)
    return found


def over_the_best(found: Found) -> float:
    """The work of the best store of others over that of the default."""
    return min(found[name]["work_ms"] for name in rivals()) / found[DEFAULT]["work_ms"]


def run(sizes: Sizes) -> dict[str, Any]:
    say(f"constants of the model that are fitted to the paper's text: {', '.join(FITTED)}")
    foretold = model(sizes.squares)
    results: dict[str, Any] = {
        "sizes": asdict(sizes),
        "fitted": FITTED,
        "model": foretold,
        "compared": {},
    }
    for part, rate, squares in (
        ("small", sizes.small, sizes.squares),
        ("large", sizes.large, sizes.large_squares),
    ):
        if rate:
            found = by_squares(part, rate, squares, sizes.measured)
            show_figures(part, foretold[part], found)
            ratios = compared(foretold[part][str(N)], found[str(N)])
            show_found(f"{part} set, n = {N}", ratios, ("model", "measured"))
            results[part], results["compared"][part] = found, ratios
    if sizes.small:
        few = [n for n in sizes.squares if n in FEW_SQUARES]
        law = by_squares("small", sizes.small, few, sizes.measured, power_law=True)
        show_found(
            f"small set, n = {N}, keys by a power law",
            compared(foretold["small"][str(N)], law[str(N)]),
            ("model", "measured"),
        )
        show_found(
            "Figure 5, from the model", foretold["figure_5"], tuple(foretold["figure_5"]["4x4"])
        )
        results["power_law"] = law
        results["figure_5"] = figure_5(sizes.small, sizes)
        results["figure_9"] = figure_9(sizes.small, sizes)
    results["stores"] = beside_others(sizes.large, sizes.measured)
    paper = results["compared"]["large"][f"{RIVAL} over {OURS}, update"]["measured"]
    results["paper_ratio"], results["ratio"] = paper, over_the_best(results["stores"])
    return results


def main(argv: Sequence[str] | None = None) -> None:
    quick = quick_asked("doubly_partitioned", __doc__ or "", argv)
    results = run(QUICK if quick else Sizes())
    if not quick:
        save("doubly_partitioned", results)
        draw_model(results, RESULTS / "doubly_partitioned_model.png")
        draw_measured(results, RESULTS / "doubly_partitioned_measured.png")
        draw_bars(results, RESULTS / "doubly_partitioned_bars.png")
    say(
        f"update time of {RIVAL}16 over {OURS}4x4, large set (Figure 10: two to three): "
        f"{results['paper_ratio']:.2f}"
    )
    say(f"work of the best store of others over {DEFAULT}, large set, by the clock:")
    finish(results["ratio"])


if __name__ == "__main__":
    main()
