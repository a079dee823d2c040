"""Choosing a layout for an archive, and changing the one it has."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from windrow.archive.advise import Advice, Workload
from windrow.archive.advise import advise as advised
from windrow.archive.costs.choose import Choice
from windrow.archive.costs.constraints import Constraints
from windrow.archive.errors import ArchiveError
from windrow.archive.lifetimes.index import LifetimeIndex
from windrow.archive.opening import open_any
from windrow.cli.answers import counted
from windrow.cli.archive.filling import Files, rows_of
from windrow.cli.archive.making import RunFormat, Scheme, Technique
from windrow.cli.archive.options import AsJson, Verbose, Where, names_of, print_json, size
from windrow.cli.words import err, errors_in_words, out

SHOWN = 5


def advise(
    files: Files,
    key: Annotated[str, typer.Option(help="The search key: a column, or several: a,b.")],
    window: Annotated[int, typer.Option(help="How many days the archive will hold.")],
    probes: Annotated[float, typer.Option(help="Probes expected in a day.")],
    scans: Annotated[float, typer.Option(help="Scans expected in a day.")] = 0,
    rows: Annotated[
        int | None,
        typer.Option(help="Rows of a day; those of the sample, if not given.", show_default=False),
    ] = None,
    hard: Annotated[
        bool,
        typer.Option("--hard", help="No index may hold days that have expired, not even unseen."),
    ] = False,
    disk: Annotated[
        Path, typer.Option(help="A directory on the disk that the archive will be on.")
    ] = Path(),
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Measure a sample of your data on your disk, and recommend a layout.

    \b
    Examples:
      windrow archive advise day1.parquet --key src --window 30 --probes 10000
      windrow archive advise day1.parquet --key src --window 30 --probes 100 --scans 10 --hard
    """
    with errors_in_words(verbose=verbose):
        sample = rows_of(files, None)
        workload = Workload(window, rows or sample.num_rows, probes, scans)
        with (
            tempfile.TemporaryDirectory(prefix="windrow-advise-", dir=disk) as directory,
            err().status(f"measuring with {counted(sample.num_rows, 'row')}"),
        ):
            found = advised(
                sample,
                names_of(key) or [],
                workload,
                Path(directory),
                time.perf_counter,
                Constraints(hard=hard),
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
    for reason in (*best.reasons, found.format.reason):
        out().print(f"  - {reason}")
    if others:
        second = others[0]
        out().print(f"The runner-up is {second.scheme} with n = {second.n}, {second.technique}.")
    table = Table(title=f"Per day, with {counted(workload.rows, 'row')}")
    for name in ("scheme", "n", "technique"):
        table.add_column(name)
    for name in ("work, s", "transition, s", "probe, ms", "scan, s", "space, MB"):
        table.add_column(name, justify="right")
    for one in found.recommendations[:SHOWN]:
        table.add_row(one.scheme, str(one.n), one.technique, *_figures(one))
    out().print(table)


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
        "measured": asdict(found.parameters),
    }


def migrate(
    archive: Where,
    scheme: Annotated[Scheme | None, typer.Option(help="Another scheme.")] = None,
    n: Annotated[int | None, typer.Option("-n", help="Another number of indexes.")] = None,
    technique: Annotated[Technique | None, typer.Option(help="Another technique.")] = None,
    window: Annotated[int | None, typer.Option(help="Another number of days.")] = None,
    format: Annotated[RunFormat | None, typer.Option(help="Another run format.")] = None,  # noqa: A002
    drain: Annotated[
        bool, typer.Option("--drain", help="Rewrite nothing; let the old indexes run empty.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it costs.")] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Give the archive another layout while it is read and appended to.

    \b
    Examples:
      windrow archive migrate month --scheme DEL -n 1 --dry-run
      windrow archive migrate month --scheme WATA -n 4 --drain
      windrow archive migrate month --format parquet
    """
    with errors_in_words(verbose=verbose):
        opened = open_any(archive)
        if isinstance(opened, LifetimeIndex):
            raise ArchiveError(
                where=str(archive),
                expected="an archive of days",
                found="an index of lifetimes, whose grid stays as it was made",
                remedy="make another with create --grid, and insert into it what this one gives",
            )
        wanted: dict[str, Any] = {
            "scheme": None if scheme is None else scheme.value,
            "n": n,
            "technique": None if technique is None else technique.value,
            "window": window,
            "format": None if format is None else format.value,
            "how": "drain" if drain else "rebuild",
        }
        wanted = {name: value for name, value in wanted.items() if value is not None}
        cost = opened.migration(**wanted)
        if not as_json:
            rest = f", through after {counted(cost.days, 'day')}" if cost.days else ""
            out().print(
                f"{archive}: {size(cost.bytes_written)} to write{rest}; a probe will look into "
                f"{counted(cost.searches, 'run')}"
            )
        version = None
        if not dry_run:
            with err().status("rewriting"):
                version = opened.migrate(**wanted)
        if as_json:
            print_json({**asdict(cost), "version": version})
        elif version is not None:
            found = opened.stat().settings
            out().print(
                f"{archive}: version {version}, {found.scheme} with n = {found.n}, "
                f"{found.technique}"
            )
