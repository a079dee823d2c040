"""Figures 5.2 to 5.4 of Golab 2006, and the share of results that no-restore semantics loses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"eager": "tab:blue", "lazy": "tab:green", "lazyR": "tab:red"}
DASHES = {1: "-", 2: "-", 5: "--"}


def draw(results: dict[str, Any], path: Path) -> None:
    """One sheet: orders above, algorithms and what is lost below."""
    sheet = plt.figure(figsize=(18, 11))
    above, below = sheet.add_gridspec(2, 1, hspace=0.55)
    _orders(sheet.add_subplot(above), results["figure_5_2"])
    panels = [sheet.add_subplot(part) for part in below.subgridspec(1, 4, wspace=0.4)]
    lines = results["figures_5_3_and_5_4"]
    nested = [w for w in lines if w["buckets"] == 1]
    hashed = [w for w in lines if w["buckets"] > 1]
    _costs(panels[0], nested, "Figure 5.3: nested loops,\nlazy evaluation gets cheaper with Δ")
    _costs(panels[1], hashed, "Figure 5.4: hash tables,\nthe same with smaller differences")
    _visits(panels[2], lines)
    _lost(panels[3], results["lost"])
    sheet.savefig(path, dpi=100, bbox_inches="tight")
    plt.close(sheet)


def _orders(panel: Any, groups: list[dict[str, Any]]) -> None:
    names = list(groups[0]["relative"])
    for number, name in enumerate(names):
        heights = np.array([group["relative"][name] for group in groups])
        ends = np.array([group.get("spread", {}).get(name, (h, h)) for group, h in
                         zip(groups, heights, strict=True)]).T  # fmt: skip
        at = np.arange(len(groups)) + 0.2 * number - 0.3
        error = np.abs(ends - heights)
        panel.bar(at, heights, 0.2, yerr=error, capsize=2, ecolor="grey", label=name)
        counted = [(x, g["visits"][name]) for x, g in zip(at, groups, strict=True) if "visits" in g]
        marks = {"label": "tuples visited, counted"} if number == 0 else {}
        panel.plot(*zip(*counted, strict=True), "k_", markersize=9, **marks)
    panel.set_xticks(range(len(groups)), [g["way"].replace(", ", "\n") for g in groups], fontsize=9)
    panel.set(
        title="Figure 5.2: the chosen order (first bars) is the cheapest where comparing is most "
        "of the work",
        ylabel="time relative to the chosen order\n(median, least and most of five)",
    )
    panel.grid(axis="y", alpha=0.3)
    panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _name(line: dict[str, Any]) -> str:
    return line["algorithm"] + ("" if line["buckets"] == 1 else f", {line['buckets']} buckets")


def _beneath(panel: Any, columns: int = 2) -> None:
    panel.grid(alpha=0.3)
    panel.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=columns, fontsize=9, frameon=False
    )


def _costs(panel: Any, lines: list[dict[str, Any]], title: str) -> None:
    for line in lines:
        x, y, least, most = map(np.array, zip(*line["points"], strict=True))
        dash, colour = DASHES[line["buckets"]], COLOURS[line["algorithm"]]
        panel.errorbar(
            x, y, yerr=(y - least, most - y), linestyle=dash, color=colour, marker="o",
            capsize=2, label=_name(line),
        )  # fmt: skip
    panel.set_yscale("log")
    panel.set(title=title, xlabel="interval Δ (time units; 0: every tuple)")
    panel.set_ylabel("processor time (ms per 1,000 tuples;\nmedian, least and most of five)")
    _beneath(panel)


def _visits(panel: Any, lines: list[dict[str, Any]]) -> None:
    for line in lines:
        if line["algorithm"] == "lazy":
            continue
        dash = {1: "-", 2: "--", 5: ":"}[line["buckets"]]
        name = f"{line['algorithm']}, " + (
            "nested loops" if line["buckets"] == 1 else f"{line['buckets']} buckets"
        )
        panel.plot(
            *zip(*line["visits"], strict=True), dash, color=COLOURS[line["algorithm"]], marker="o",
            label=name,
        )  # fmt: skip
    panel.set_yscale("log")
    panel.set(
        title="One probe per value: fewer tuples\nare visited as Δ grows (counted)",
        xlabel="interval Δ (time units; 0: every tuple)",
        ylabel="tuples visited per new tuple",
    )
    _beneath(panel)


def _lost(panel: Any, shares: list[tuple[float, float, float]]) -> None:
    x, measured, estimate = (100 * np.array(s) for s in zip(*shares, strict=True))
    panel.plot(x, measured, "o-", color="tab:green", label="measured")
    panel.plot(x, estimate, "k:", label="Δ / T (5.2.3)")
    panel.axvline(100 / 6, color="grey", alpha=0.4)
    panel.annotate("10 s of 60 s: 17 %", (18, 4), fontsize=9)
    panel.set(
        title="Without restore, about Δ / T\nof the results are lost",
        xlabel="interval Δ over window length T (%)",
        ylabel="results lost (%)",
        ylim=(0, None),
    )
    _beneath(panel)
