"""What the benchmark of archives prints and draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.archive_stores import OURS, USUAL
from benchmarks.report import say, table

mpl.use("Agg")
from matplotlib import pyplot as plt


def tell(results: dict[str, Any]) -> None:
    lines = results["stores"]
    say()
    table(
        ["look-up, µs (cold: ms)", "as stored", "p99", "processor", "Arrow", "p99", "Python rows",
         "p99", "cold", "scan ms", "two cores"],
        [
            (n, *(1e6 * v["warm"][q] for q in ("p50", "p99")),
             1e6 * v["warm_processor"]["p50"],
             *(1e6 * v[form][q] for form in ("arrow", "rows") for q in ("p50", "p99")),
             1e3 * v["cold"]["p50"], 1e3 * v["scan"], 1e3 * v["scan_two_cores"])
            for n, v in lines.items()
        ],
    )  # fmt: skip
    say()
    table(
        ["store", "advance s", "greatest", "reclaim s", "load s", "MB on disk", "MB written a day"],
        [
            (n, v["advance"], v["advance_greatest"], v["reclaim"], v["load"],
             v["bytes_on_disk"] / 1e6, v["written_per_day"] / 1e6)
            for n, v in lines.items()
        ],
    )  # fmt: skip
    say()
    for what, best in results["best"].items():
        say(f"{TITLES[what]}: {best['rival']} over {USUAL}: {best['ratio']:.2f}")
    advance = results["advance_over_plain_parquet"]
    say(
        f"a day over sorting it and writing it as zstd Parquet: {advance['median']:.2f} "
        f"(all days, with merges: {advance['all']:.2f}; packed: {advance['packed_median']:.2f}; "
        f"over writing alone: {advance['median_presorted']:.2f})"
    )
    for name, ratio in results["bytes_over_plain_parquet"].items():
        say(f"bytes of a record over zstd Parquet, {name}: {ratio:.2f}")


TITLES = {
    "warm": "look-up as stored",
    "arrow": "look-up as Arrow",
    "rows": "look-up as Python rows",
    "scan": "scan on one core",
    "scan_two_cores": "scan on two cores",
}


def draw(results: dict[str, Any], path: Path) -> None:
    """Points, not bars, as the axes are logarithmic; a thin line goes from p50 to p99."""
    lines = results["stores"]
    names = list(lines)
    sheet, panels = plt.subplots(2, 3, figsize=(16, 9), sharey=True)
    sheet.suptitle(
        "A look-up of about 100 records: the best rival takes "
        f"{results['best']['warm']['ratio']:.1f} times as long as stored, "
        f"{results['best']['rows']['ratio']:.1f} times as Python rows\n"
        "(medians; thin lines end at p99, of scans at two cores; further left is better)"
    )
    for panel, (title, what, scale) in zip(
        panels.flat,
        (
            ("look-up as stored, warm (µs)", "warm", 1e6),
            ("look-up as Arrow, warm (µs)", "arrow", 1e6),
            ("look-up as Python rows, warm (µs)", "rows", 1e6),
            ("look-up, cold, opening included (ms)", "cold", 1e3),
            ("scan of the window, one core and two (ms)", "scan", 1e3),
            ("taking a day in, median and greatest (s)", "advance", 1.0),
        ),
        strict=True,
    ):
        low, high = zip(*(_ends(line, what) for line in lines.values()), strict=True)
        for place, name in enumerate(names):
            colour = "tab:green" if name in OURS else "tab:gray"
            ends = [scale * low[place], scale * high[place]]
            panel.plot(ends, [place, place], color=colour, linewidth=1)
            panel.plot(ends[:1], [place], "o", color=colour)
        panel.set(xscale="log", title=title, yticks=range(len(names)), yticklabels=names)
        panel.grid(visible=True, axis="x", alpha=0.3)
    panels[0][0].invert_yaxis()
    sheet.tight_layout()
    sheet.savefig(path, dpi=100)
    plt.close(sheet)


def _ends(line: dict[str, Any], what: str) -> tuple[float, float]:
    """The median of a store and where its thin line ends."""
    if what == "scan":
        return line["scan"], line["scan_two_cores"]
    if what == "advance":
        return line["advance"], line["advance_greatest"]
    return line[what]["p50"], line[what]["p99"]
