"""Figures 14 to 19 of Wu, Chen, Yu 2004, drawn from what ``cei_paper`` measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

TITLES = {
    15: "n = 100,000, W = 200, r = 1,048,576",
    16: "n = 100,000, W = 200, r = 65,536",
    17: "n = 50,000, L = 16, r = 65,536",
    18: "W = 200, L = 16, r = 1,048,576",
    19: "W = 200, L = 16, r = 65,536",
}
BY = {15: "length", 16: "length", 17: "widest", 18: "n", 19: "n"}
AXES = {
    "length": "maximal length L",
    "widest": "greatest interval W",
    "n": "intervals n",
}


def draw(results: dict[str, Any], path: Path) -> None:
    sheet, panels = plt.subplots(6, 3, figsize=(17, 27), layout="constrained")
    sheet.suptitle(
        "Wu, Chen, Yu 2004: CEI takes less storage than UI and, mostly, LCI; its search time "
        "hardly depends on L\n"
        "(medians of rounds; both axes are logarithmic; lower is better)"
    )
    _pieces(panels[0], results["figure_14"])
    for row, number in zip(panels[1:], TITLES, strict=True):
        found, by = results[f"figure_{number}"], BY[number]
        x = [f[by] for f in found]
        for panel, key, unit, scale in (
            (row[0], "bytes", "storage here, MB", 1e6),
            (row[1], "paper_bytes", "storage by 4N + 8n mu, MB", 1e6),
            (row[2], "nanoseconds", "search time, ns per point", 1),
        ):
            for kind in found[0][key]:
                if found[0][key][kind] is not None:
                    panel.plot(x, [f[key][kind] / scale for f in found], marker="o", label=kind)
            panel.set(title=f"Figure {number}: {TITLES[number]}", xlabel=AXES[by], ylabel=unit)
    for panel in panels.ravel():
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=4)
        panel.grid(visible=True, alpha=0.3)
    sheet.savefig(path, dpi=80)
    plt.close(sheet)


def _pieces(row: Any, found: list[dict[str, Any]]) -> None:
    x = [f["length"] for f in found]
    for panel, kind in zip(row, ("CEI", "LCI", None), strict=True):
        for name in ("UI", "LCI", "CEI") if kind is None else (kind,):
            panel.plot(x, [f["pieces"][name] for f in found], marker="o", label=name)
        if kind is not None:
            for at, label in ((0, "lower bound"), (1, "upper bound")):
                limits = [f["bounds"][kind][at] for f in found]
                panel.plot(x, limits, linestyle="--", label=label)
        panel.set(
            title=f"Figure 14: {kind or 'all three'}",
            xlabel=AXES["length"],
            ylabel="pieces of 100,000 intervals",
        )
