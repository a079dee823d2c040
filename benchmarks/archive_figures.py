"""What the benchmark of archives prints and draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl

from benchmarks.archive_stores import OURS, USUAL
from benchmarks.archive_tables import SqliteTable
from benchmarks.report import say, table

mpl.use("Agg")
from matplotlib import pyplot as plt


def tell(results: dict[str, Any]) -> None:
    lines = results["stores"]
    say()
    table(
        ["store", "warm p50 ms", "p99", "processor ms", "cold p50 ms", "p99", "scan s"],
        [
            (n, *(1e3 * v["warm"][q] for q in ("p50", "p99")),
             1e3 * v["warm_processor"]["p50"],
             *(1e3 * v["cold"][q] for q in ("p50", "p99")), v["scan"])
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
    for ours, over in results["rivals_over"].items():
        runs, plain = results["runs"][ours], results["plain"]
        values, rows = (1e3 * plain[name]["p50"] for name in (ours, SqliteTable.name))
        say(f"{ours}: {runs} runs; in plain values {values:.3f} ms, SQLite's rows {rows:.3f} ms")
        for name in over:
            processor = results["rivals_over_processor"][ours][name]
            say(f"  {name} over it: {over[name]:.1f} (processor time: {processor:.1f})")
    advance = results["advance_over_plain_parquet"]
    say(
        f"a day over sorting it and writing it as zstd Parquet: {advance['median']:.2f} "
        f"(all days, with merges: {advance['all']:.2f}; packed: {advance['packed_median']:.2f}; "
        f"over writing alone: {advance['median_presorted']:.2f})"
    )
    for name, ratio in results["bytes_over_plain_parquet"].items():
        say(f"bytes of a record over zstd Parquet, {name}: {ratio:.2f}")
    say(f"{results['best_rival']} over {USUAL}, median warm look-ups:")


def draw(results: dict[str, Any], path: Path) -> None:
    lines = results["stores"]
    names = list(lines)
    colours = ["tab:green" if name in OURS else "tab:gray" for name in names]
    sheet, panels = plt.subplots(1, 4, figsize=(20, 4.5), sharey=True)
    for panel, (title, low, high) in zip(
        panels,
        (
            ("warm look-up: p50 and p99 (ms)", *_both(lines, "warm")),
            ("cold look-up, opening included (ms)", *_both(lines, "cold")),
            ("taking a day in (s)", [v["advance"] for v in lines.values()], None),
            ("on disk (GB)", [v["bytes_on_disk"] / 1e9 for v in lines.values()], None),
        ),
        strict=True,
    ):
        panel.barh(names, low, color=colours)
        if high is not None:
            panel.scatter(high, names, marker="|", s=120, color="black")
            if max(low) > 100 * min(low):
                panel.set(xscale="log", xlim=(min(low) / 3, None))
        panel.set_title(title, fontsize=10)
        panel.grid(visible=True, axis="x", alpha=0.3)
    panels[0].invert_yaxis()
    sheet.tight_layout()
    sheet.savefig(path, dpi=110)
    plt.close(sheet)


def _both(lines: dict[str, Any], what: str) -> tuple[list[float], list[float]]:
    return tuple([1e3 * v[what][q] for v in lines.values()] for q in ("p50", "p99"))
