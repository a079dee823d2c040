"""Figures 5 to 12 of Golab et al. 2006b: what each shows, what the model says, how it is drawn.

The model is that of `windrow.papers.grid_costs` with the paper's machine and the paper's
500 megabytes and five gigabytes. Most constants of that machine are fitted to what the text says of
the curves (`FITTED`), so that the model agrees with the text proves nothing; what it says beyond
does. It has no Figure 9: its records come at a constant rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks import charts
from benchmarks.charts import Chart, Lines, Style, extremes_text
from benchmarks.report import say, table
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    Randomised,
    d_exp,
    d_ins,
    r_exp,
    r_ins,
)
from windrow.papers.grid_costs import FITTED, LARGE, PAPER_MACHINE, SMALL, Window, costs

mpl.use("Agg")
from matplotlib import pyplot as plt

Found = dict[str, dict[str, float]]
"""For each index its quantities, modelled or measured."""
BySize = dict[str, Found]
"""The same for each number of sub-indices."""

RIVAL, OURS = "R-ins", "NoRebuild"
BY_INSERTION = {RIVAL: r_ins, "D-ins": d_ins}
BY_EXPIRY = {"R-exp": r_exp, "D-exp": d_exp}
DEALT = {
    f"{technique.value} {short}": (technique, assignment)
    for short, assignment in (("chr", Chronological()), ("rnd", Randomised()))
    for technique in GridTechnique
}
"""Grids whose periods are not dealt round robin."""
WINDOWS = {"small": SMALL, "large": LARGE}
SHAPES = {f"{g}x{e}": Grid(g, e, GridTechnique.REBUILD) for g, e in ((4, 4), (2, 8), (8, 2))}
"""Of Figure 5."""
STYLES = {
    "R-ins": Style("tab:blue", "o"),
    "R-exp": Style("tab:blue", "x", ":"),
    "D-ins": Style("tab:orange", "s"),
    "D-exp": Style("tab:orange", "x", ":"),
    "Rebuild": Style("tab:green", "D"),
    "Rebuild chr": Style("tab:green", "d", "--"),
    "NoRebuild": Style("tab:purple", "^"),
    "NoRebuild chr": Style("tab:purple", "v", "--"),
    "Rebuild rnd": Style("tab:green", "+", ":"),
    "NoRebuild rnd": Style("tab:purple", "1", ":"),
}


@dataclass(frozen=True)
class Quantity:
    """What a figure is about, under its names in the model and in what was measured."""

    title: str
    modelled: str
    measured: str


UPDATE = Quantity("update", "update_s", "mean_update_ms")
PROBE = Quantity("probe", "probe_s", "probe_ms")
SCAN = Quantity("scan", "scan_s", "scan_ms")
SPACE = Quantity("space", "space_mb", "stored_mb")
FIGURES = {
    "small": {"Figure 6": UPDATE, "Figure 7": PROBE, "Figure 8": SCAN, "As in 4.3": SPACE},
    "large": {"Figure 10": UPDATE, "Figure 11": PROBE, "Figure 12": SCAN, "As in 4.3": SPACE},
}
"""Space has no figure; 4.3 speaks of it, for the small set."""
COMPARED = (
    ("R-ins", "NoRebuild", UPDATE),
    ("R-ins", "Rebuild", UPDATE),
    ("D-ins", "NoRebuild", UPDATE),
    ("R-exp", "R-ins", UPDATE),
    ("D-exp", "D-ins", UPDATE),
    ("Rebuild", "NoRebuild", UPDATE),
    ("Rebuild chr", "Rebuild", UPDATE),
    ("NoRebuild chr", "NoRebuild", UPDATE),
    ("Rebuild rnd", "Rebuild", UPDATE),
    ("NoRebuild rnd", "NoRebuild", UPDATE),
    ("NoRebuild", "Rebuild", PROBE),
    ("NoRebuild", "Rebuild", SCAN),
    ("NoRebuild", "Rebuild", SPACE),
)
"""One index over another: what 4.3 and 4.5 say in factors and per cent."""


def techniques(n: int) -> dict[str, Grid]:
    """Everything with n sub-indices, under the names of the figures; one cannot be cut two ways."""
    side = round(n**0.5)
    found = {name: make(n) for name, make in BY_INSERTION.items()}
    if n > 1:
        found |= {name: make(n) for name, make in BY_EXPIRY.items()}
        found |= {technique.value: Grid(side, side, technique) for technique in GridTechnique}
        found |= {
            name: Grid(side, side, technique, assignment)
            for name, (technique, assignment) in DEALT.items()
        }
    return found


def modelled(window: Window, grids: Mapping[str, Grid]) -> Found:
    found = {}
    for name, grid in grids.items():
        cost = costs(PAPER_MACHINE, window, grid)
        found[name] = {
            UPDATE.modelled: cost.update,
            PROBE.modelled: cost.probe,
            SCAN.modelled: cost.scan,
            SPACE.modelled: cost.space / 1e6,
        }
    return found


def model(squares: Sequence[int]) -> dict[str, Any]:
    """Both sets for each number of sub-indices, and the grids of Figure 5."""
    by_size = {
        part: {str(n): modelled(window, techniques(n)) for n in squares}
        for part, window in WINDOWS.items()
    }
    return {**by_size, "figure_5": modelled(SMALL, SHAPES)}


def lines(found: BySize, quantity: str) -> Lines:
    """A quantity over the number of sub-indices."""
    drawn: Lines = {}
    for n, at in found.items():
        for name, of in at.items():
            drawn.setdefault(name, []).append((float(n), of[quantity]))
    return drawn


def show_figures(part: str, model: BySize, measured: BySize) -> None:
    for figure, what in FIGURES[part].items():
        charts.show(
            f"{figure}: {part} set, {what.title}; model in {unit(what.modelled)}, "
            f"measured in {unit(what.measured)}, over n",
            {
                "model": lines(model, what.modelled),
                "measured": lines(measured, what.measured),
            },
        )
        say()


def unit(quantity: str) -> str:
    return {"s": "seconds", "ms": "milliseconds", "mb": "megabytes"}[quantity.rsplit("_", 1)[1]]


def compared(model: Found, measured: Found) -> Found:
    """The ratio of each pair of indexes that were measured, from the model and measured."""
    return {
        f"{above} over {below}, {what.title}": {
            "model": model[above][what.modelled] / model[below][what.modelled],
            "measured": measured[above][what.measured] / measured[below][what.measured],
        }
        for above, below, what in COMPARED
        if {above, below} <= set(measured)
    }


def show_found(title: str, found: Found, quantities: Sequence[str]) -> None:
    say(title)
    table(["", *quantities], [(name, *(of[q] for q in quantities)) for name, of in found.items()])
    say()


def draw_model(results: dict[str, Any], path: Path) -> None:
    title = "From the model, with the paper's machine and sizes; fitted to its text: " + ", ".join(
        FITTED
    )
    _draw(results["model"], lambda what: what.modelled, title, path)


def draw_measured(results: dict[str, Any], path: Path) -> None:
    title = (
        "Measured: updates by the clock, synced; probes and scans in processor time, in memory. "
        "Bars: the least and the greatest of three laps"
    )
    _draw(results, lambda what: what.measured, title, path)


MORE = {
    "small": {"As Figure 6, keys by a power law (n = 16)": ("power_law", UPDATE)},
    "large": {"In no figure": ("large", Quantity("written by an update", "", "written_mb"))},
}
"""Measured panels beside the paper's: of which results, and what."""


def _draw(
    found: dict[str, BySize], named: Callable[[Quantity], str], title: str, path: Path
) -> None:
    sheet = []
    for part, figures in FIGURES.items():
        more = MORE[part] if part in found and "power_law" in found else {}
        for figure, (source, what) in {
            **{figure: (part, what) for figure, what in figures.items()},
            **more,
        }.items():
            quantity = named(what)
            drawn = lines(found[source], quantity)
            sheet.append(
                Chart(
                    f"{figure}: {part} set, {what.title}\n{extremes_text(drawn, 'n =')}",
                    "n, sub-indices",
                    unit(quantity),
                    drawn,
                    spreads(found[source], quantity),
                )
            )
    charts.draw(sheet, STYLES, title, path, columns=len(sheet) // len(FIGURES))


def spreads(found: BySize, quantity: str) -> dict[str, list[tuple[float, float]]]:
    """The least and the greatest lap of each point, where laps were measured."""
    drawn: dict[str, list[tuple[float, float]]] = {}
    for at in found.values():
        for name, of in at.items():
            if f"{quantity}_least" in of:
                ends = of[f"{quantity}_least"], of[f"{quantity}_most"]
                drawn.setdefault(name, []).append(ends)
    return drawn


def draw_bars(results: dict[str, Any], path: Path) -> None:
    sheet, (foretold, square, varying, stores) = plt.subplots(
        1, 4, figsize=(25, 6), width_ratios=[1, 1, 2, 1.6], layout="constrained"
    )
    _shapes(foretold, results["model"]["figure_5"], [q.modelled for q in (UPDATE, PROBE, SCAN)])
    _shapes(square, results["figure_5"], [q.measured for q in (UPDATE, PROBE, SCAN)])
    foretold.set(title="Figure 5, from the model: a square is updated fastest")
    square.set(title="Figure 5, measured")
    names = [name.removesuffix(" steady") for name in results["figure_9"] if "steady" in name]
    for place, kind in enumerate(("steady", "varying")):
        of = [results["figure_9"][f"{name} {kind}"] for name in names]
        at = np.arange(len(names)) + 0.4 * place - 0.2
        varying.bar(
            at, [o[UPDATE.measured] for o in of], 0.4, label=kind, yerr=_ends(of), capsize=3
        )
    varying.set_xticks(range(len(names)), [n.replace(" ", "\n") for n in names], fontsize=7)
    varying.set(
        title="Figure 9, measured: what a rate that varies adds", ylabel="mean update, milliseconds"
    )
    _stores(stores, results["stores"])
    for panel in (foretold, square, varying, stores):
        panel.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3)
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _ends(found: Sequence[dict[str, float]], quantity: str = UPDATE.measured) -> np.ndarray:
    values = np.array([of[quantity] for of in found])
    least = np.array([of[f"{quantity}_least"] for of in found])
    most = np.array([of[f"{quantity}_most"] for of in found])
    return np.array([np.maximum(values - least, 0), np.maximum(most - values, 0)])


def _stores(panel: Any, found: Found) -> None:
    """A point for each store and quantity: times that differ by so much need a log axis."""
    names = list(found)
    for place, (what, marker) in enumerate((("update", "s"), ("probe", "o"), ("scan", "^"))):
        quantity = f"{what}_ms"
        of = list(found.values())
        panel.errorbar(
            [o[quantity] for o in of],
            np.arange(len(names)) + 0.15 * (place - 1),
            xerr=_ends(of, quantity),
            fmt=marker,
            capsize=3,
            label=what,
        )
    panel.set_yticks(range(len(names)), names, fontsize=8)
    panel.set(
        xscale="log", xlabel="milliseconds by the clock", title="Beside other stores, large set"
    )
    panel.grid(visible=True, alpha=0.3)


def _shapes(panel: Any, found: Found, quantities: Sequence[str]) -> None:
    places, base = np.arange(len(quantities)), found["4x4"]
    for number, (name, of) in enumerate(found.items()):
        heights = [of[quantity] / base[quantity] for quantity in quantities]
        bars = None
        if all(f"{quantity}_least" in of for quantity in quantities):
            each = [_ends([of], quantity)[:, 0] / base[quantity] for quantity in quantities]
            bars = np.array(each).T
        at = places + 0.25 * number - 0.25
        panel.bar(at, heights, 0.25, label=f"Rebuild{name}", yerr=bars, capsize=3)
    panel.set_xticks(places, [quantity.split("_")[-2] for quantity in quantities])
    panel.set(ylabel="time relative to 4x4")
