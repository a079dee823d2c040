"""The measurements of ``update_patterns`` drawn like Figures 3.8 to 3.15 of Golab 2006."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

STYLES = {"NT": ("tab:red", "s"), "DIRECT": ("tab:orange", "^"), "UPA": ("tab:blue", "o")}
WHAT = {"milliseconds": "ms per 1,000 tuples", "held": "tuples held"}


@dataclass(frozen=True)
class Series:
    """One line of one figure: (window, value) points."""

    figure: str
    query: str
    strategy: str
    what: str
    points: list[tuple[int, float]]


def draw(series: Sequence[Series], path: Path) -> None:
    """One panel per figure; the two plans of Query 4 share theirs, the second one dashed."""
    figures = list(dict.fromkeys(s.figure for s in series))
    sheet, panels = plt.subplots(2, (len(figures) + 1) // 2, figsize=(17, 8), squeeze=False)
    for panel in panels.flat[len(figures) :]:
        panel.axis("off")
    for figure, panel in zip(figures, panels.flat, strict=False):
        mine = [s for s in series if s.figure == figure]
        queries = list(dict.fromkeys(s.query for s in mine))
        for line in mine:
            colour, marker = STYLES[line.strategy]
            second = queries.index(line.query) > 0
            label = line.strategy if len(queries) == 1 else f"{line.strategy}, {line.query[2:]}"
            panel.plot(
                *zip(*line.points, strict=True),
                color=colour,
                marker=marker,
                linestyle="--" if second else "-",
                label=label,
            )
        panel.set(xscale="log", yscale="log", xlabel="window (tuples)", ylabel=WHAT[mine[0].what])
        panel.set_title(f"Figure {figure}: Query {queries[0] if len(queries) == 1 else '4'}")
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=8)
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)
