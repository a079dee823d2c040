"""The measurements of ``window_indexes`` drawn like Figures 7 to 9 of Golab et al. 2004."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

Rows = Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Panel:
    """One chart: a group of bars per shape of the window, a bar per way."""

    title: str
    query: str
    what: str
    bars: dict[str, str]
    """Label to way; ``best:`` stands for the fastest storage method of an index."""


SORTED = "no index, sorted"
PANELS = (
    Panel(
        "7 (a): index maintenance", "histogram", "maintenance",
        {f"{i}, {s}": f"{s} {i}" for s in ("LIST", "AGGR") for i in ("L", "T", "H")}
        | {"H growing, LIST": "LIST H, growing"},
    ),
    Panel(
        "7 (b): maintenance of the G-INDEX", "ranges", "maintenance",
        {"G of 10": "G of 10", "G of 50": "G of 50", "no index, LIST": "LIST, no index",
         "T, LIST": "LIST T"},
    ),
    Panel(
        "8 (a): windowed histogram over LIST", "histogram", "total",
        {"L": "LIST L", "T": "LIST T", "H": "LIST H", "window sorted": SORTED,
         "AGGRs merged": "no index, AGGRs merged"},
    ),
    Panel(
        "8 (b): windowed intersection", "intersection", "total",
        {"G of 10": "G of 10", "G of 50": "G of 50", "best T": "best: T", "best H": "best: H",
         "windows sorted": SORTED},
    ),
    Panel(
        "9 (a): deletion, over an L-INDEX", "rings", "deletion",
        {"ring": "ring", "AUX": "AUX", "BW": "BW", "DB": "DB"},
    ),
    Panel(
        "9 (b): window sorted by one attribute", "sort", "total",
        {"AUX": "AUX", "BW": "BW", "DB": "DB", "DB on H": "DB on H", "window sorted": SORTED},
    ),
)  # fmt: skip


def milliseconds(rows: Rows, panel: Panel, way: str, shape: dict[str, Any]) -> float:
    wanted = way.removeprefix("best: ")
    mine = [r for r in rows if r["query"] == panel.query and r["shape"] == shape]
    if wanted == way:
        return float(next(r[panel.what] for r in mine if r["way"] == way))
    return float(min(r[panel.what] for r in mine if r["way"].split(" ", 1)[-1] == wanted))


def draw(rows: Rows, skewed: bool, path: Path) -> None:
    """All charts for one distribution of values, on logarithmic scales."""
    sheet, axes = plt.subplots(3, 2, figsize=(17, 15))
    for panel, axis in zip(PANELS, axes.flat, strict=True):
        shapes: list[dict[str, Any]] = []
        for row in rows:
            right = row["query"] == panel.query and row["shape"]["skewed"] == skewed
            if right and row["shape"] not in shapes:
                shapes.append(row["shape"])
        width = 0.8 / len(panel.bars)
        for number, (label, way) in enumerate(panel.bars.items()):
            heights = [milliseconds(rows, panel, way, shape) for shape in shapes]
            places = np.arange(len(shapes)) + (number + 0.5) * width - 0.4
            axis.bar(places, heights, width, label=label)
        names = [f"{s['basic_windows']} basic windows\n{s['values']:,} values" for s in shapes]
        axis.set_xticks(range(len(shapes)), names, fontsize=8)
        axis.set(yscale="log", ylabel=f"ms of {panel.what} per roll-over")
        axis.set_title(f"Figure {panel.title}")
        axis.grid(visible=True, axis="y", alpha=0.3)
        axis.legend(fontsize=8, ncols=2)
    kind = "values by a power law" if skewed else "values evenly distributed"
    sheet.suptitle(f"Golab et al. 2004, Figures 7 to 9; 100,000 tuples, {kind}")
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)
