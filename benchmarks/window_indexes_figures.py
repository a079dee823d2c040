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
    """One chart: groups of bars, one per shape of the window, with a bar per way."""

    title: str
    parts: tuple[tuple[str, str], ...]
    """Queries, and what is shown of each."""
    bars: dict[str, str]
    """Label to way; ``best:`` stands for the fastest storage method of an index."""
    few_values: bool = False
    """Whether shapes with more values are left out."""


SORTED = "no index, sorted"
PANELS = (
    Panel(
        "7 (a): index maintenance", (("histogram", "maintenance"),),
        {f"{i}, {s}": f"{s} {i}" for s in ("LIST", "AGGR") for i in ("L", "T", "H")}
        | {"H growing, LIST": "LIST H, growing"},
    ),
    Panel(
        "7 (b): maintenance of the G-INDEX", (("ranges", "maintenance"),),
        {"G of 10": "G of 10", "G of 50": "G of 50", "no index, LIST": "LIST, no index",
         "T, LIST": "LIST T"},
    ),
    Panel(
        "8 (a): windowed histogram over LIST", (("histogram", "total"),),
        {"L": "LIST L", "T": "LIST T", "H": "LIST H", "window sorted": SORTED,
         "AGGRs merged": "no index, AGGRs merged"},
    ),
    Panel(
        "8 (b): windowed intersection", (("intersection", "total"),),
        {"G of 10": "G of 10", "G of 50": "G of 50", "best T": "best: T", "best H": "best: H",
         "windows sorted": SORTED},
    ),
    Panel(
        "9 (a): deletion, over an L-INDEX", (("rings", "deletion"),),
        {"ring": "ring", "AUX": "AUX", "BW": "BW", "DB": "DB"},
    ),
    Panel(
        "9 (b): window sorted by one attribute", (("rings", "maintenance"), ("sort", "total")),
        {"AUX": "AUX", "BW": "BW", "DB": "DB", "DB on H": "DB on H", "window sorted": SORTED},
        few_values=True,
    ),
)  # fmt: skip


def groups(rows: Rows, panel: Panel, skewed: bool) -> list[tuple[str, str, dict[str, Any]]]:
    """What each group of bars shows: a query, a part of its time, and a shape."""
    found = []
    for query, what in panel.parts:
        mine = [r["shape"] for r in rows if r["query"] == query and r["shape"]["skewed"] == skewed]
        fewest = min(shape["values"] for shape in mine)
        for shape in mine:
            group = (query, what, shape)
            if group not in found and not (panel.few_values and shape["values"] > fewest):
                found.append(group)
    return found


def milliseconds(rows: Rows, way: str, query: str, what: str, shape: dict[str, Any]) -> float:
    """The height of a bar; none where a way has no such part."""
    wanted = way.removeprefix("best: ")
    mine = [r for r in rows if r["query"] == query and r["shape"] == shape]
    if wanted == way:
        return float(next((r[what] for r in mine if r["way"] == way), np.nan))
    return float(min(r[what] for r in mine if r["way"].split(" ", 1)[-1] == wanted))


def draw(rows: Rows, skewed: bool, path: Path) -> None:
    """All charts for one distribution of values, on logarithmic scales."""
    sheet, axes = plt.subplots(3, 2, figsize=(17, 15))
    for panel, axis in zip(PANELS, axes.flat, strict=True):
        shown = groups(rows, panel, skewed)
        width = 0.8 / len(panel.bars)
        for number, (label, way) in enumerate(panel.bars.items()):
            heights = [milliseconds(rows, way, *group) for group in shown]
            places = np.arange(len(shown)) + (number + 0.5) * width - 0.4
            axis.bar(places, heights, width, label=label)
        names = [
            f"{what}\n{shape['basic_windows']} basic windows\n{shape['values']:,} values"
            for _, what, shape in shown
        ]
        axis.set_xticks(range(len(shown)), names, fontsize=8)
        axis.set(yscale="log", ylabel="ms per roll-over")
        axis.set_title(f"Figure {panel.title}")
        axis.grid(visible=True, axis="y", alpha=0.3)
        axis.set_ylim(top=4 * axis.get_ylim()[1])  # room for the legend
        axis.legend(fontsize=8, ncols=4, loc="upper left")
    kind = "values by a power law" if skewed else "values evenly distributed"
    sheet.suptitle(f"Golab et al. 2004, Figures 7 to 9: {kind}")
    sheet.tight_layout(rect=(0, 0, 1, 0.985))
    sheet.savefig(path, dpi=100)
    plt.close(sheet)
