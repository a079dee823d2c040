"""Figures 2 to 9 of Shivakumar, Garcia-Molina 1997: what each shows, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

from windrow.archive.costs.parameters import Technique

mpl.use("Agg")
from matplotlib import pyplot as plt

STYLES = {
    "DEL": ("tab:red", "s"),
    "REINDEX": ("tab:blue", "o"),
    "REINDEX+": ("tab:cyan", "v"),
    "REINDEX++": ("tab:purple", "^"),
    "WATA": ("tab:green", "D"),
    "RATA": ("tab:orange", "x"),
}
UNITS = {"space": "megabytes", "transition": "seconds", "work": "seconds a day"}
AXES = {"n": "constituents", "window": "days of the window", "factor": "times the data"}

Lines = dict[str, list[tuple[float, float]]]
"""For each scheme its points."""


@dataclass(frozen=True)
class Figure:
    """A measure of one case over n, over the window, or over the amount of data."""

    number: int
    case: str
    technique: Technique
    what: str
    over: str

    def __str__(self) -> str:
        return f"Figure {self.number}: {self.case}, {self.what}, {self.technique.value}"


FIGURES = (
    Figure(2, "SCAM", Technique.SIMPLE_SHADOW, "space", "n"),
    Figure(3, "SCAM", Technique.SIMPLE_SHADOW, "transition", "n"),
    Figure(4, "SCAM", Technique.SIMPLE_SHADOW, "work", "n"),
    Figure(5, "WSE", Technique.PACKED_SHADOW, "work", "n"),
    Figure(6, "TPC-D", Technique.PACKED_SHADOW, "work", "n"),
    Figure(7, "TPC-D", Technique.SIMPLE_SHADOW, "work", "n"),
    Figure(8, "SCAM", Technique.SIMPLE_SHADOW, "work", "window"),
    Figure(9, "SCAM", Technique.SIMPLE_SHADOW, "work", "factor"),
)


def draw(drawn: Mapping[Figure, Lines], title: str, path: Path) -> None:
    sheet, panels = plt.subplots(2, 4, figsize=(20, 9), squeeze=False)
    for panel in panels.flat[len(drawn) :]:
        panel.axis("off")
    for (figure, lines), panel in zip(drawn.items(), panels.flat, strict=False):
        for scheme, points in lines.items():
            colour, marker = STYLES[scheme]
            panel.plot(*zip(*points, strict=True), color=colour, marker=marker, label=scheme)
        panel.set(xlabel=AXES[figure.over], ylabel=UNITS[figure.what], title=str(figure))
        values = [value for points in lines.values() for _, value in points]
        if max(values) > 8 * min(values) > 0:
            panel.set_yscale("log")
        panel.title.set_fontsize(10)
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=8)
    sheet.suptitle(title)
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)
