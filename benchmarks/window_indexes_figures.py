"""The measurements of ``window_indexes`` drawn like Figures 7 to 9 of Golab et al. 2004."""

from __future__ import annotations

from collections import Counter
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
    """One chart: groups of points, one per shape of the window, with a point per way."""

    title: str
    parts: tuple[tuple[str, str], ...]
    """Queries, and what is shown of each."""
    ways: dict[str, str]
    """Label to way; ``best:`` stands for the fastest storage method of an index."""
    few_values: bool = False
    """Whether shapes with more values are left out."""


SORTED = "no index, sorted"
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
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
    """What each group of points shows: a query, a part of its time, and a shape."""
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
    """The height of a point; none where a way has no such part."""
    wanted = way.removeprefix("best: ")
    mine = [r for r in rows if r["query"] == query and r["shape"] == shape]
    if wanted == way:
        return float(next((r[what] for r in mine if r["way"] == way), np.nan))
    return float(min(r[what] for r in mine if r["way"].split(" ", 1)[-1] == wanted))


def draw(rows: Rows, skewed: bool, path: Path) -> None:
    """All charts for one distribution of values: points, since scales are logarithmic."""
    sheet, axes = plt.subplots(3, 2, figsize=(17, 17), layout="constrained")
    for panel, axis in zip(PANELS, axes.flat, strict=True):
        shown = groups(rows, panel, skewed)
        width = 0.7 / len(panel.ways)
        times = {}
        for number, (label, way) in enumerate(panel.ways.items()):
            times[label] = [milliseconds(rows, way, *group) for group in shown]
            places = np.arange(len(shown)) + (number + 0.5) * width - 0.35
            axis.plot(places, times[label], MARKERS[number], label=label)
        names = [
            f"{what}\n{shape['basic_windows']} basic windows\n{shape['values']:,} values"
            for _, what, shape in shown
        ]
        axis.set_xticks(range(len(shown)), names, fontsize=8)
        axis.set(yscale="log", ylabel="milliseconds per roll-over")
        axis.set_title(f"Figure {panel.title}\n{least_text(times)}", fontsize=10)
        axis.grid(visible=True, axis="y", alpha=0.3)
        axis.legend(fontsize=8, ncols=7, loc="upper center", bbox_to_anchor=(0.5, -0.15))
    kind = "values by a power law" if skewed else "values evenly distributed"
    sheet.suptitle(f"Golab et al. 2004, Figures 7 to 9, {kind}: lower is better")
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def least_text(times: dict[str, list[float]]) -> str:
    """What to see: which way is the fastest in how many groups."""
    counts = Counter(
        min((t, label) for label, t in zip(times, group, strict=True) if not np.isnan(t))[1]
        for group in zip(*times.values(), strict=True)
    )
    groups = sum(counts.values())
    return "fastest: " + ", ".join(f"{n} in {c} of {groups}" for n, c in counts.most_common())
