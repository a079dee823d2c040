"""The measurements of ``update_patterns`` drawn like Figures 3.8 to 3.15 of Golab 2006.

Each figure is a row of panels, one per interval, and Figures 3.12 and 3.13, of what is held, are a
sheet of their own. Bars at the points are the fastest and the slowest lap.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

Runs = Sequence[dict[str, Any]]
STYLES = {
    "NT": ("tab:red", "s"),
    "DIRECT": ("tab:orange", "^"),
    "UPA(10)": ("tab:cyan", "v"),
    "UPA(50)": ("tab:green", "D"),
    "UPA(searched)": ("tab:purple", "x"),
    "UPA": ("tab:blue", "o"),
}
FIGURES = {
    "3.8": (("1 ftp",), "Query 1, FTP: results about as many as the input"),
    "3.9": (("1 telnet",), "Query 1, telnet: ten times as many results; NT and scans fall behind"),
    "3.10": (("2 source",), "Query 2, sources: two expiries per value instead of the window"),
    "3.11": (("2 pairs",), "Query 2, pairs: ten times the values, a smaller gain"),
    "3.14": (("3",), "Query 3: searching a calendar pays only in small windows"),
    "3.15": (("4 negation up", "4 join up"), "Query 4: negation below the join (dashed) or above"),
}
HELD = {"3.12": ("2 source", "sources"), "3.13": ("2 pairs", "pairs of addresses")}
TIME = "ms per 1,000 tuples"


def draw(runs: Runs, path: Path) -> list[Path]:
    """Two files beside the results: of times, and of what is held."""
    times, held = path.with_suffix(".png"), path.with_name(f"{path.stem}_space.png")
    _draw_times(runs, times)
    _draw_space(runs, held)
    return [times, held]


def _draw_times(runs: Runs, path: Path) -> None:
    intervals = sorted({m["interval"] for m in runs})
    figures = [f for f, (queries, _) in FIGURES.items() if any(m["query"] in queries for m in runs)]
    shape = (len(figures), len(intervals))
    sheet, panels = plt.subplots(
        *shape, figsize=(4.2 * shape[1] + 2, 3.1 * shape[0]), squeeze=False
    )
    for figure, row in zip(figures, panels, strict=True):
        queries, title = FIGURES[figure]
        for interval, panel in zip(intervals, row, strict=True):
            for number, query in enumerate(queries):
                for way in STYLES:
                    _line(panel, runs, (query, way, interval), dashed=number > 0)
            every = _every(interval)
            panel.set(xscale="log", yscale="log", xlabel="window (tuples per link)", ylabel=TIME)
            panel.set_title("" if interval == intervals[0] else f"evaluated {every}", fontsize=9)
            panel.yaxis.set_major_formatter("{x:g}")
            panel.yaxis.set_minor_formatter("{x:g}")
            panel.tick_params(which="both", labelsize=7)
            panel.grid(visible=True, alpha=0.3)
        row[0].set_title(f"Figure {figure}. {title}\nevaluated {_every(intervals[0])}",
                         loc="left", fontsize=9)  # fmt: skip
        row[-1].legend(*_unique(row[-1]), fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1))
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _every(interval: int) -> str:
    return "at every tuple" if interval == 1 else f"every {interval:,} tuples"


def _unique(panel: Any) -> tuple[list[Any], list[str]]:
    handles, labels = panel.get_legend_handles_labels()
    found = dict(zip(labels, handles, strict=True))
    return list(found.values()), list(found)


def _line(panel: Any, runs: Runs, what: tuple[str, str, int], *, dashed: bool) -> None:
    query, way, interval = what
    mine = [m for m in runs if (m["query"], m["way"], m["interval"]) == (query, way, interval)]
    if not mine:
        return
    colour, marker = STYLES[way]
    middle = [m["milliseconds"] for m in mine]
    below = [m["milliseconds"] - min(m["laps"]) for m in mine]
    above = [max(m["laps"]) - m["milliseconds"] for m in mine]
    panel.errorbar(
        [m["window"] for m in mine], middle, yerr=[below, above], color=colour, marker=marker,
        markersize=4, capsize=2, linestyle="--" if dashed else "-",
        label=f"{way}, join up" if dashed else way,
    )  # fmt: skip


def _draw_space(runs: Runs, path: Path) -> None:
    sheet, panels = plt.subplots(1, len(HELD), figsize=(11, 3.6), squeeze=False)
    last = min(m["interval"] for m in runs)
    for (figure, (query, of)), panel in zip(HELD.items(), panels.flat, strict=True):
        for way, (colour, marker) in STYLES.items():
            key = (query, way, last)
            mine = [m for m in runs if (m["query"], m["way"], m["interval"]) == key]
            if mine:
                panel.plot(
                    [m["window"] for m in mine], [m["held"] for m in mine],
                    color=colour, marker=marker, label=way,
                )  # fmt: skip
        panel.set(xscale="log", yscale="log", xlabel="window (tuples per link)")
        panel.set(ylabel="tuples held, result included")
        panel.set_title(f"Figure {figure}. DISTINCT {of}: UPA holds its output", fontsize=10)
        panel.grid(visible=True, alpha=0.3)
    panels.flat[-1].legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.02, 1))
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)
