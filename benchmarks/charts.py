"""Charts and tables of lines, for benchmarks that show a paper's figures modelled and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

from benchmarks.report import say, table

mpl.use("Agg")
from matplotlib import pyplot as plt

Lines = dict[str, list[tuple[float, float]]]
"""For each line its points."""


class Style(NamedTuple):
    """How a line is drawn, the same in every chart of a sheet."""

    colour: str
    marker: str
    line: str = "-"


@dataclass(frozen=True)
class Chart:
    """One figure: what is across, what is up, and its lines."""

    title: str
    across: str
    up: str
    lines: Lines


def draw(
    charts: Sequence[Chart], styles: Mapping[str, Style], title: str, path: Path, columns: int = 4
) -> None:
    """A sheet of charts. Each begins at nothing, or is logarithmic if its values are far apart."""
    rows = -(-len(charts) // columns)
    sheet, panels = plt.subplots(rows, columns, figsize=(5 * columns, 4.5 * rows), squeeze=False)
    for panel in panels.flat[len(charts) :]:
        panel.axis("off")
    for chart, panel in zip(charts, panels.flat, strict=False):
        for name, points in chart.lines.items():
            colour, marker, line = styles[name]
            panel.plot(*zip(*points, strict=True), line, color=colour, marker=marker, label=name)
        panel.set(xlabel=chart.across, ylabel=chart.up, title=chart.title)
        values = [value for points in chart.lines.values() for _, value in points]
        if max(values) > 8 * min(values) > 0:
            panel.set_yscale("log")
        else:
            panel.set_ylim(0, 1.1 * max(values))
        panel.title.set_fontsize(10)
        panel.grid(visible=True, alpha=0.3)
        panel.legend(fontsize=7, framealpha=0.4)
    sheet.suptitle(title)
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


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
