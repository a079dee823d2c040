"""Charts and tables of lines, for benchmarks that show a paper's figures modelled and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl

from benchmarks.report import say, table

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

FEW_PLACES = 7
"""Charts of at most so many places across have a tick at each, and nowhere else."""

Lines = dict[str, list[tuple[float, float]]]
"""For each line its points."""


class Style(NamedTuple):
    """How a line is drawn, the same in every chart of a sheet."""

    colour: str
    marker: str
    line: str = "-"


@dataclass(frozen=True)
class Chart:
    """One figure: what is across, what is up, and its lines.

    ``spreads`` has, for the same points, the least and the greatest of what was repeated.
    """

    title: str
    across: str
    up: str
    lines: Lines
    spreads: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


BARS = "\n(bars: the least and the greatest of the trials)"
"""What a title adds where trials have spreads."""


def extremes_text(lines: Lines, across: str) -> str:
    """What to see in a chart: which line is lowest where, and which is highest."""
    points = [(value, name, x) for name, found in lines.items() for x, value in found]
    (_, low, low_x), (_, high, high_x) = min(points), max(points)
    return f"least: {low} at {across} {low_x:g}; most: {high} at {high_x:g}"


def draw(
    charts: Sequence[Chart], styles: Mapping[str, Style], title: str, path: Path, columns: int = 4
) -> None:
    """A sheet of charts with one legend below them.

    A title of one line is followed by one that says what to see. Each begins at nothing, or is
    logarithmic if its values are far apart.
    """
    rows = -(-len(charts) // columns)
    sheet, panels = plt.subplots(
        rows, columns, figsize=(5 * columns, 4.2 * rows + 0.8), squeeze=False, layout="constrained"
    )
    legend: dict[str, Any] = {}
    for panel in panels.flat[len(charts) :]:
        panel.axis("off")
    for chart, panel in zip(charts, panels.flat, strict=False):
        for name, points in chart.lines.items():
            colour, marker, line = styles[name]
            legend[name] = panel.errorbar(
                *zip(*points, strict=True),
                yerr=_bars(points, chart.spreads.get(name)),
                fmt=line,
                color=colour,
                marker=marker,
                capsize=3,
                elinewidth=1,
            )
        seen = "" if "\n" in chart.title else f"\n{extremes_text(chart.lines, chart.across)}"
        panel.set(xlabel=chart.across, ylabel=chart.up, title=f"{chart.title}{seen}")
        values = [value for points in chart.lines.values() for _, value in points]
        if max(values) > 8 * min(values) > 0:
            panel.set_yscale("log")
            steps = (1, 2, 5) if max(values) < 500 * min(values) else (1,)
            panel.yaxis.set_major_locator(LogLocator(subs=steps))
            panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
            panel.yaxis.set_minor_formatter(NullFormatter())
        else:
            tops = [most for spread in chart.spreads.values() for _, most in spread]
            panel.set_ylim(0, 1.1 * max([*values, *tops]))
        places = sorted({x for points in chart.lines.values() for x, _ in points})
        if len(places) <= FEW_PLACES:
            panel.set_xticks(places, [f"{x:g}" for x in places])
        if len(places) == 1:
            panel.set_xlim(places[0] - 1, places[0] + 1)
        panel.title.set_fontsize(9)
        panel.grid(visible=True, alpha=0.3)
    sheet.suptitle(title)
    sheet.legend(
        legend.values(), legend.keys(), loc="outside lower center", ncols=min(len(legend), 8)
    )
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _bars(
    points: Sequence[tuple[float, float]], spread: Sequence[tuple[float, float]] | None
) -> list[list[float]] | None:
    """How far bars go down and up from each point."""
    if spread is None:
        return None
    ends = list(zip(points, spread, strict=True))
    return [
        [max(0.0, value - low) for (_, value), (low, _) in ends],
        [max(0.0, high - value) for (_, value), (_, high) in ends],
    ]


def show(title: str, sources: Mapping[str, Lines]) -> None:
    """A row for each line; beside each other what each source says of it, over the same x."""
    columns = [
        (source, x)
        for source, lines in sources.items()
        for x in sorted({x for points in lines.values() for x, _ in points})
    ]
    names = dict.fromkeys(name for lines in sources.values() for name in lines)
    say(title)
    table(
        ["", *(f"{source} {x:g}".strip() for source, x in columns)],
        [
            [name, *(dict(sources[source].get(name, [])).get(x) for source, x in columns)]
            for name in names
        ],
    )
