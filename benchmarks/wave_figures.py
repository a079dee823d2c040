"""Figures 2 to 9 of Shivakumar, Garcia-Molina 1997: what each shows, and how it is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import charts
from benchmarks.charts import Chart, Lines, Style, extremes_text
from benchmarks.report import RESULTS
from windrow.archive.advise.parameters import UpdateTechnique

STYLES = {
    "DEL": Style("tab:red", "s"),
    "REINDEX": Style("tab:blue", "o"),
    "REINDEX+": Style("tab:cyan", "v"),
    "REINDEX++": Style("tab:purple", "^"),
    "WATA": Style("tab:green", "D"),
    "RATA": Style("tab:orange", "x"),
}
UNITS = {
    "space": "megabytes at the switch to a new day",
    "transition": "seconds until a new day is there",
    "work": "seconds of work a day",
}
AXES = {"n": "n, constituents", "window": "W, days of the window", "factor": "times the data"}
SYMBOLS = {"n": "n =", "window": "W =", "factor": "factor"}
CLOCK, PROCESSOR = "clock", "processor"
SOURCES = {CLOCK: "by the clock, cold", PROCESSOR: "processor time, warm", "": ""}


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
Sources = Mapping[str, Lines]
"""The lines of a figure by how time was told; of the model, and of space, under no name."""


def draw(drawn: Mapping[Figure, Sources], title: str, path: Path) -> None:
    charts.draw(list(_charts(drawn)), STYLES, title, path)


def draw_results(
    model: Mapping[Figure, Sources], measured: Mapping[Figure, Sources], megabytes: float
) -> None:
    """Both sheets of the paper's figures, below the results."""
    draw(
        model,
        "From the paper's cost model and its parameters (Table 8): packed and rebuilt, or added to",
        RESULTS / "wave_paper_model.png",
    )
    draw(
        measured,
        f"Measured, days of {megabytes:.0f} MB. By the clock, synced and with a cold cache, the"
        " work of SCAM and WSE is probes, each of which pays for its own reads; in memory it is"
        " maintenance",
        RESULTS / "wave_paper_measured.png",
    )


def _charts(drawn: Mapping[Figure, Sources]) -> Iterator[Chart]:
    for figure, sources in drawn.items():
        for source, lines in sources.items():
            told = f" ({SOURCES[source]})" if source else ""
            seen = extremes_text(lines, SYMBOLS[figure.over])
            yield Chart(f"{figure}{told}\n{seen}", AXES[figure.over], UNITS[figure.what], lines)
