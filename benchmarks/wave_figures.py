"""Figures 2 to 9 of Shivakumar, Garcia-Molina 1997: what each shows, and how it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import charts
from benchmarks.charts import Chart, Lines, Style
from windrow.archive.advise.parameters import UpdateTechnique

STYLES = {
    "DEL": Style("tab:red", "s"),
    "REINDEX": Style("tab:blue", "o"),
    "REINDEX+": Style("tab:cyan", "v"),
    "REINDEX++": Style("tab:purple", "^"),
    "WATA": Style("tab:green", "D"),
    "RATA": Style("tab:orange", "x"),
}
UNITS = {"space": "megabytes", "transition": "seconds", "work": "seconds a day"}
AXES = {"n": "constituents", "window": "days of the window", "factor": "times the data"}


@dataclass(frozen=True)
class Figure:
    """A measure of one case over n, over the window, or over the amount of data."""

    number: int
    case: str
    technique: UpdateTechnique
    what: str
    over: str

    def __str__(self) -> str:
        return f"Figure {self.number}: {self.case}, {self.what}, {self.technique.value}"


FIGURES = (
    Figure(2, "SCAM", UpdateTechnique.SIMPLE_SHADOW, "space", "n"),
    Figure(3, "SCAM", UpdateTechnique.SIMPLE_SHADOW, "transition", "n"),
    Figure(4, "SCAM", UpdateTechnique.SIMPLE_SHADOW, "work", "n"),
    Figure(5, "WSE", UpdateTechnique.PACKED_SHADOW, "work", "n"),
    Figure(6, "TPC-D", UpdateTechnique.PACKED_SHADOW, "work", "n"),
    Figure(7, "TPC-D", UpdateTechnique.SIMPLE_SHADOW, "work", "n"),
    Figure(8, "SCAM", UpdateTechnique.SIMPLE_SHADOW, "work", "window"),
    Figure(9, "SCAM", UpdateTechnique.SIMPLE_SHADOW, "work", "factor"),
)


def draw(drawn: Mapping[Figure, Lines], title: str, path: Path) -> None:
    sheet = [
        Chart(str(figure), AXES[figure.over], UNITS[figure.what], lines)
        for figure, lines in drawn.items()
    ]
    charts.draw(sheet, STYLES, title, path)
