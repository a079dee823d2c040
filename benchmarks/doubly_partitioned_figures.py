"""Figures 5 to 12 of Golab et al. 2006b: what each shows, what the model says, how it is drawn.

The model is that of `windrow.papers.grid_costs` with the paper's machine and the paper's
500 megabytes and five gigabytes. It has no Figure 9: its records come at a constant rate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from benchmarks import charts
from benchmarks.charts import Chart, Lines, Style
from benchmarks.report import say, table
from windrow.archive.lifetimes.partition_grid import (
    Chronological,
    Grid,
    GridTechnique,
    d_exp,
    d_ins,
    r_exp,
    r_ins,
)
from windrow.papers.grid_costs import LARGE, PAPER_MACHINE, SMALL, Window, costs

mpl.use("Agg")
from matplotlib import pyplot as plt

Found = dict[str, dict[str, float]]
"""For each index its quantities, modelled or measured."""
BySize = dict[str, Found]
"""The same for each number of sub-indices."""

RIVAL, OURS = "R-ins", "NoRebuild"
BY_INSERTION = {RIVAL: r_ins, "D-ins": d_ins}
BY_EXPIRY = {"R-exp": r_exp, "D-exp": d_exp}
CHRONOLOGICAL = {f"{technique.value} chr": technique for technique in GridTechnique}
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
            name: Grid(side, side, technique, Chronological())
            for name, technique in CHRONOLOGICAL.items()
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
    title = "From the model, with the paper's machine and sizes"
    _draw(results["model"], lambda what: what.modelled, {}, title, path)


def draw_measured(results: dict[str, Any], path: Path) -> None:
    written = {"In no figure": Quantity("written by an update", "", "written_mb")}
    _draw(results, lambda what: what.measured, written, "Measured", path)


def _draw(
    found: dict[str, BySize],
    named: Callable[[Quantity], str],
    further: dict[str, Quantity],
    title: str,
    path: Path,
) -> None:
    sheet = [
        Chart(
            f"{figure}: {part} set, {what.title}",
            "sub-indices",
            unit(named(what)),
            lines(found[part], named(what)),
        )
        for part, figures in FIGURES.items()
        for figure, what in (figures | further).items()
    ]
    charts.draw(sheet, STYLES, title, path, columns=len(sheet) // len(FIGURES))


def draw_bars(results: dict[str, Any], path: Path) -> None:
    sheet, (foretold, square, varying) = plt.subplots(1, 3, figsize=(19, 5), width_ratios=[1, 1, 2])
    _shapes(foretold, results["model"]["figure_5"], [q.modelled for q in (UPDATE, PROBE, SCAN)])
    _shapes(square, results["figure_5"], [q.measured for q in (UPDATE, PROBE, SCAN)])
    foretold.set(title="Figure 5: grids of 16, from the model", ylabel="time relative to 4x4")
    square.set(title="Figure 5: grids of 16, measured")
    names = [name.removesuffix(" steady") for name in results["figure_9"] if "steady" in name]
    for place, kind in enumerate(("steady", "varying")):
        heights = [results["figure_9"][f"{name} {kind}"][UPDATE.measured] for name in names]
        varying.bar(np.arange(len(names)) + 0.4 * place - 0.2, heights, 0.4, label=kind)
    varying.set_xticks(range(len(names)), [n.replace(" ", "\n") for n in names], fontsize=7)
    varying.set(title="Figure 9: fluctuating rate, measured", ylabel="mean update ms")
    varying.legend()
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _shapes(panel: Any, found: Found, quantities: Sequence[str]) -> None:
    places, base = np.arange(len(quantities)), found["4x4"]
    for number, (name, of) in enumerate(found.items()):
        heights = [of[quantity] / base[quantity] for quantity in quantities]
        panel.bar(places + 0.25 * number - 0.25, heights, 0.25, label=f"Rebuild{name}")
    panel.set_xticks(places, [quantity.split("_")[-2] for quantity in quantities])
    panel.legend()
