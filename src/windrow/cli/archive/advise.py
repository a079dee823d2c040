"""Choosing a layout for an archive, or a grid for records with lifetimes.

Grids are tried on a sample, and told in order.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.table import Table

from windrow.archive.advise.advise import Advice, Choice, WaveLayout, Workload
from windrow.archive.advise.advise import advise as advised
from windrow.archive.advise.grid_advice import GridAdvice, GridWorkload, advise_grid
from windrow.archive.advise.recommend import Constraints, duration_text
from windrow.archive.format.day_calendar import Calendar
from windrow.archive.lifetimes.partition_grid import Chronological, Grid, GridTechnique, Periods
from windrow.archive.records import rows_of
from windrow.cli.answers import count_of
from windrow.cli.archive.append import Files, ticks_of
from windrow.cli.archive.create import refuse
from windrow.cli.archive.options import AsJson, Instants, Verbose, names_of, print_json
from windrow.cli.console import err, out, size
from windrow.cli.error_messages import errors_in_words
from windrow.columns.arrays import Int64s
from windrow.core.errors import InputError
from windrow.tables.typed_files import files_of, schema_of

SHOWN = 5


def advise(
    files: Files,
    key: Annotated[str, typer.Option(help="The search key: a column, or several: a,b.")],
    window: Annotated[int, typer.Option(min=1, help="How many days the archive will hold.")],
    probes: Annotated[float, typer.Option(min=0, help="Probes expected in a day.")],
    scans: Annotated[float, typer.Option(min=0, help="Scans expected in a day.")] = 0,
    scan_days: Annotated[
        int | None,
        typer.Option(min=1, help="How many of the newest days a scan reads.", show_default="all"),
    ] = None,
    scan_columns: Annotated[
        str | None, typer.Option(help="The columns that scans read: a,b.", show_default="all")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, help="Rows per day; by default those of the sample.", show_default=False
        ),
    ] = None,
    hard: Annotated[
        bool,
        typer.Option(
            "--hard",
            help="No index may hold days that have expired, even if readers do not see them.",
        ),
    ] = False,
    disk: Annotated[
        Path,
        typer.Option(
            exists=True,
            file_okay=False,
            help="A directory on the disk that the archive will be on.",
        ),
    ] = Path(),
    memory: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Megabytes of memory in which the system may keep the archive's files; what does "
            "not fit is priced as read from the disk.",
            show_default="half of the machine's",
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="With lifetimes: the column that says when a row expires; try grids."),
    ] = None,
    day: Annotated[
        str | None, typer.Option(help="With --expires: the instant at which the rows came.")
    ] = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Measure a sample of your data on your disk, and recommend a layout.

    With --expires it recommends a grid, for an index of lifetimes that is updated once a day:
    grids are made, filled and measured, and beside them stands what the paper would take.

    \b
    Examples:
      windrow archive advise day1.parquet --key src --window 30 --probes 10000
      windrow archive advise day1.parquet --key src --window 30 --probes 100 --scans 10 --hard
      windrow archive advise leases.csv --key host --window 30 --probes 1000 --expires until
          --day 2026-03-02
    """
    with errors_in_words(verbose=verbose):
        if (expires is None) != (day is None):
            raise InputError(
                where="advise",
                expected="--expires and --day together",
                found="one of them",
                remedy="--day is the instant at which the rows of the sample came",
            )
        if expires is not None and day is not None:
            refuse(
                "advise --expires",
                "archives of days",
                {"--hard": hard or None, "--scan-days": scan_days, "--scan-columns": scan_columns},
            )
            calendar = Calendar.of("days")
            periods = Periods(window * calendar.length, calendar.length, timestamps=True)
            sampled = read_sample(files, names_of(key) or [], expires, day, periods)
            expected = GridWorkload(periods, rows or sampled.rows.num_rows, probes, scans, memory)
            advise_lifetimes(sampled, expected, disk, as_json=as_json)
            return
        found_files = files_of(files)
        sample = rows_of(found_files, schema_of(found_files[0]))
        columns = names_of(scan_columns)
        workload = Workload(
            window,
            rows or sample.num_rows,
            probes,
            scans,
            scan_days,
            None if columns is None else tuple(columns),
            memory,
        )
        with (
            tempfile.TemporaryDirectory(prefix="windrow-advise-", dir=disk) as directory,
            err().status(f"measuring {count_of(sample.num_rows, 'row')}") as status,
        ):

            def progress(layout: WaveLayout, before: int) -> None:
                scheme, technique, n = layout
                status.update(
                    f"simulating {scheme} with n = {n}, {technique} "
                    f"({count_of(before, 'layout')} done)"
                )

            found = advised(
                sample,
                names_of(key) or [],
                workload,
                Path(directory),
                time.perf_counter,
                Constraints(hard=hard),
                progress,
            )
        if as_json:
            print_json(_plain(found))
        else:
            _show(found, workload)


def _show(found: Advice, workload: Workload) -> None:
    best, *others = found.recommendations
    out().print(
        f"Take {best.scheme} with n = {best.n}, {best.technique}, and "
        f"{found.format.chosen.name} runs:",
        style="bold",
    )
    for reason in (*best.reasons, found.format.reason, _memory(found)):
        out().print(f"  - {reason}")
    if others:
        second = others[0]
        out().print(f"The runner-up is {second.scheme} with n = {second.n}, {second.technique}.")
    table = Table(title=f"Per day, with {count_of(workload.rows, 'row')}")
    for name in ("scheme", "n", "technique"):
        table.add_column(name)
    for name in ("work, s", "transition, s", "probe, ms", "scan, s", "space, MB"):
        table.add_column(name, justify="right")
    for one in found.recommendations[:SHOWN]:
        table.add_row(one.scheme, str(one.n), one.technique, *_figures(one))
    out().print(table)


def _memory(found: Advice) -> str:
    if found.prices.cold is None:
        return "this system cannot drop files from memory: all was measured with the files there"
    note = memory_note(found.cold)
    if not found.cold:
        return note
    warm, cold = found.prices.search, found.prices.cold.search
    return f"{note}; a probe takes {duration_text(warm)} and {duration_text(cold)} for each run"


def _figures(one: Choice) -> list[str]:
    m = one.measures
    space = m.transition_space.most
    return [f"{m.work:.3g}", f"{m.transition.average:.3g}", f"{1000 * m.probe:.3g}",
            f"{m.scan:.3g}", f"{space:,.1f}"]  # fmt: skip


def _plain(found: Advice) -> dict[str, Any]:
    return {
        "recommendations": [asdict(one) for one in found.recommendations[:SHOWN]],
        "format": {"name": found.format.chosen.name, "reason": found.format.reason},
        "prices": asdict(found.prices),
        "cold": found.cold,
        "measured": asdict(found.parameters),
    }


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
        print_json(_plain_grids(found))
    else:
        _show_grids(found)


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


def _show_grids(found: GridAdvice) -> None:
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


def _plain_grids(found: GridAdvice) -> dict[str, Any]:
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
