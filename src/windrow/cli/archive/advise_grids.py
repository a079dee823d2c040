"""Choosing a grid for records with lifetimes: grids are tried on a sample, and told in order."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.table import Table

from windrow.archive.advise.grid_advice import GridAdvice, GridWorkload, advise_grid
from windrow.archive.advise.recommend import duration_text
from windrow.archive.lifetimes.partition_grid import Chronological, Grid, GridTechnique, Periods
from windrow.archive.records import rows_of
from windrow.cli.answers import count_of
from windrow.cli.archive.append import ticks_of
from windrow.cli.archive.options import Instants, print_json
from windrow.cli.console import err, out, size
from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.tables.typed_files import files_of, schema_of


@dataclass(frozen=True)
class SampledLives:
    """Rows of a sample, and how many ticks each of them lives."""

    rows: pa.Table
    key: tuple[str, ...]
    lives: Int64s


def read_sample(
    files: Sequence[str], key: Sequence[str], expires: str, day: str, periods: Periods
) -> SampledLives:
    """The rows of files that live after ``day``, without the column that says how long."""
    found = files_of(files)
    schema = schema_of(found[0])
    now = Instants(periods).moment(day)
    rows = rows_of(found, schema)
    if expires not in rows.column_names:
        raise InputError(
            where="--expires", expected=f"one of {', '.join(rows.column_names)}", found=expires
        )
    lives = ticks_of(rows, expires, timestamps=periods.timestamps) - now
    alive = (lives > 0) & (lives <= periods.longest)
    left_out = len(alive) - int(alive.sum())
    if left_out:
        err().print(
            f"{count_of(left_out, 'row')} left out: over by {day}, or outliving --window",
            style="yellow",
        )
    kept = rows.filter(pa.array(alive)).drop_columns([expires])
    return SampledLives(kept, tuple(key), lives[alive])


def advise_lifetimes(
    sample: SampledLives, workload: GridWorkload, disk: Path, *, as_json: bool
) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="windrow-advise-", dir=disk) as directory,
        err().status(f"measuring {count_of(sample.rows.num_rows, 'row')}") as status,
    ):

        def progress(grid: Grid, before: int) -> None:
            status.update(f"trying {grid.name} ({count_of(before, 'grid')} done)")

        found = advise_grid(
            sample.rows,
            sample.key,
            sample.lives,
            workload,
            Path(directory),
            time.perf_counter,
            progress,
        )
    if as_json:
        print_json(_plain(found))
    else:
        _show(found)


def grid_options(grid: Grid) -> str:
    """A grid as ``create`` takes it.

    >>> grid_options(Grid(2, 2)), grid_options(Grid(4, 1, GridTechnique.REBUILD, Chronological()))
    ('--grid 2,2', '--grid 4,1 --dealt chronological --technique Rebuild')
    """
    given = [f"--grid {grid.insertions},{grid.expiries}"]
    if isinstance(grid.assignment, Chronological):
        given.append("--dealt chronological")
    if grid.technique is GridTechnique.REBUILD:
        given.append("--technique Rebuild")
    return " ".join(given)


def memory_note(cold: float) -> str:
    """What was measured with files in memory, and what without.

    >>> memory_note(0.0)
    'it fits into memory: all was measured with the files there (--memory says how much there is)'
    """
    if not cold:
        return (
            "it fits into memory: all was measured with the files there "
            "(--memory says how much there is)"
        )
    return (
        f"{100 * cold:.0f} % of it does not fit into memory: such a share of probes and scans "
        "counts as measured from the disk; the rest, and all writing, as measured in memory"
    )


def _show(found: GridAdvice) -> None:
    best, load = found.best, found.workload
    out().print(f"Take {best.name}: {grid_options(best)}", style="bold")
    queries = f"{load.probes:,.0f} probes and {load.scans:,.0f} scans"
    out().print(
        f"  - an update and {queries} take {duration_text(found.work(best.name))} with it, "
        f"{duration_text(found.costs[best.name].update)} of them the update"
    )
    for turn in found.turns:
        if turn.queries > 0:
            out().print(f"  - from {turn.queries:,.0f} probes per update on it is {turn.grid}")
    paper = found.paper
    if paper in found.costs:
        out().print(
            f"  - the paper would take {paper} (Golab et al. 2006, 4.6), which takes "
            f"{duration_text(found.work(paper))} here"
        )
    out().print(f"  - {memory_note(found.cold[best.name])}")
    if found.share < 1:
        rows = round(load.rows * found.share)
        out().print(f"  - measured with {count_of(rows, 'row')} per update of {load.rows:,}")
    table = Table(title=f"Between two updates, with {queries}")
    table.add_column("grid")
    for name in ("work, ms", "update, ms", "probe, ms", "scan, ms", "space"):
        table.add_column(name, justify="right")
    for name, cost in found.costs.items():
        times = (found.work(name), cost.update, cost.probe, cost.scan)
        table.add_row(name, *(f"{1000 * t:.3g}" for t in times), size(int(cost.space)))
    out().print(table)


def _plain(found: GridAdvice) -> dict[str, Any]:
    return {
        "recommendations": [
            {"grid": name, "options": grid_options(grid), "work": found.work(name)}
            | asdict(found.costs[name])
            for name, grid in found.grids.items()
        ],
        "turns": [asdict(turn) for turn in found.turns],
        "paper": found.paper,
        "share": found.share,
        "cold": found.cold,
    }
