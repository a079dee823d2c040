"""Figures drawn again from the results that are kept, without measuring: ``benchmarks.redraw``.

For when a drawing changes and what it shows does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks import (
    cei_figures,
    concurrency,
    doubly_partitioned_figures,
    frequent_items,
    scheduling,
    subscriptions,
    window_indexes_figures,
)
from benchmarks.charts import BARS, Chart, draw
from benchmarks.report import RESULTS, say
from benchmarks.wave_figures import FIGURES as WAVE_FIGURES
from benchmarks.wave_figures import draw_results

Results = dict[str, Any]


def title_of(title: str, charts: list[Chart]) -> str:
    """Results of before trials had spreads are drawn without bars."""
    return title + BARS if any(chart.spreads for chart in charts) else title


def redraw_concurrency(found: Results) -> None:
    charts = [
        Chart(
            f"Figure {figure.number}: {figure.title}",
            "sub-windows",
            figure.unit,
            found["figures"][figure.number]["lines"],
            found["figures"][figure.number].get("spreads", {}),
        )
        for figure in concurrency.FIGURES
    ]
    draw(
        charts, concurrency.STYLES, title_of(concurrency.TITLE, charts), RESULTS / "concurrency.png"
    )


def redraw_scheduling(found: Results) -> None:
    units = {"throughput": "queries re-executed per second", "latency": "updates beyond the period"}
    charts = [
        Chart(
            title,
            "queries",
            next(unit for word, unit in units.items() if word in title),
            lines,
            found.get("spreads", {}).get(title, {}),
        )
        for title, lines in found["figures"].items()
    ]
    path = RESULTS / "scheduling.png"
    draw(charts, scheduling.STYLES, title_of(scheduling.TITLE, charts), path, columns=2)


def redraw_frequent_items(found: Results) -> None:
    trials = {
        (one["b"], one["k"]): frequent_items.Trial(
            *(
                float("nan") if one[name] is None else one[name]
                for name in frequent_items.Trial._fields
            )
        )
        for one in found["trials"]
    }
    charts = [
        Chart(f"Figure 6.3 {title}", "k", up, frequent_items.lines_of(trials, value))
        for title, (up, value) in frequent_items.PANELS.items()
    ]
    path = RESULTS / "frequent_items.png"
    draw(charts, frequent_items.STYLES, frequent_items.TITLE, path, columns=3)


def redraw_window_indexes(found: Results) -> None:
    for skewed, name in ((False, "window_indexes"), (True, "window_indexes_power_law")):
        window_indexes_figures.draw(found["times"], skewed, RESULTS / f"{name}.png")


def redraw_doubly_partitioned(found: Results) -> None:
    for name in ("model", "measured", "bars"):
        draw_sheet = getattr(doubly_partitioned_figures, f"draw_{name}")
        draw_sheet(found, RESULTS / f"doubly_partitioned_{name}.png")


def redraw_wave_paper(found: Results) -> None:
    by_name = {str(figure): figure for figure in WAVE_FIGURES}
    draw_results(
        {by_name[name]: {"": lines} for name, lines in found["model"].items()},
        {by_name[name]: sources for name, sources in found["curves"].items()},
        found["day_megabytes"]["SCAM"],
    )


REDRAWN: dict[str, Callable[[Results], None]] = {
    "cei_paper": lambda found: cei_figures.draw(found, RESULTS / "cei_paper.png"),
    "concurrency": redraw_concurrency,
    "doubly_partitioned": redraw_doubly_partitioned,
    "frequent_items": redraw_frequent_items,
    "scheduling": redraw_scheduling,
    "subscriptions": lambda found: subscriptions.draw(found, RESULTS / "subscriptions.png"),
    "wave_paper": redraw_wave_paper,
    "window_indexes": redraw_window_indexes,
}


def main() -> None:
    for name, redraw in REDRAWN.items():
        redraw(json.loads((RESULTS / f"{name}.json").read_text()))
        say(f"{name}: drawn again")


if __name__ == "__main__":
    main()
