"""Another layout for an archive that is in use, whichever kind of index it is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from windrow.archive.archive import Archive, open_archive
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.cli.answers import count_of
from windrow.cli.archive.create import RunFormat, Scheme, refuse
from windrow.cli.archive.grids import OF_GRIDS, DealtOut, Sides, Technique, grid_of
from windrow.cli.archive.options import AsJson, Verbose, Where, print_json
from windrow.cli.console import out, show_progress, size
from windrow.cli.error_messages import errors_in_words


def migrate(
    archive: Where,
    scheme: Annotated[Scheme | None, typer.Option(help="Another scheme.")] = None,
    n: Annotated[int | None, typer.Option("-n", help="Another number of indexes.")] = None,
    technique: Annotated[Technique | None, typer.Option(help="Another technique.")] = None,
    window: Annotated[
        int | None, typer.Option(help="Another number of days; of a grid, a longer lifetime.")
    ] = None,
    grid: Sides = None,
    dealt: DealtOut = None,
    format: Annotated[RunFormat | None, typer.Option(help="Another run format.")] = None,  # noqa: A002
    drain: Annotated[
        bool, typer.Option("--drain", help="Rewrite nothing; let the old indexes expire.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what it would cost.")
    ] = False,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Change the layout of the archive while it is read and appended to.

    \b
    Examples:
      windrow archive migrate month --scheme DEL -n 1 --dry-run
      windrow archive migrate month --scheme WATA -n 4 --drain
      windrow archive migrate month --format parquet
      windrow archive migrate leases --grid 3,3 --technique Rebuild
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        wanted: dict[str, Any] = {"how": "drain" if drain else "rebuild"}
        if format is not None:
            wanted["format"] = format.value
        if isinstance(opened, LifetimeIndex):
            refuse("migrate of a grid", "archives of days", {"--scheme": scheme, "-n": n})
            wanted["grid"] = grid_of(grid, technique, dealt, opened.grid)
            if window is not None:
                wanted["longest"] = window * opened.periods.interval
        else:
            of_grids = technique if technique in OF_GRIDS else None
            found = {"--grid": grid, "--dealt": dealt, "--technique": of_grids}
            refuse("migrate of an archive of days", "grids", found)
            values = {"scheme": scheme, "n": n, "technique": technique, "window": window}
            wanted |= {name: value for name, value in values.items() if value is not None}
        _carry_out(archive, opened, wanted, dry_run=dry_run, as_json=as_json)


def _carry_out(
    archive: Where,
    opened: Archive | LifetimeIndex,
    wanted: dict[str, Any],
    *,
    dry_run: bool,
    as_json: bool,
) -> None:
    cost = opened.migration(**wanted)
    if not as_json:
        rest = f", complete after {count_of(cost.days, 'day')}" if cost.days else ""
        out().print(
            f"{archive}: {size(cost.bytes_written)} to write{rest}; a probe will search "
            f"{count_of(cost.searches, 'run')}"
        )
    version = None
    if not dry_run:
        with show_progress("rewriting", as_json=as_json) as progress:
            version = opened.migrate(**wanted, progress=progress)
    if as_json:
        print_json({**asdict(cost), "version": version})
    elif version is not None:
        out().print(f"{archive}: version {version}, {_layout(opened)}")


def _layout(opened: Archive | LifetimeIndex) -> str:
    if isinstance(opened, LifetimeIndex):
        periods = count_of(opened.periods.count, "period")
        return f"{opened.grid.name}, lifetimes of up to {periods}"
    found = opened.stat().settings
    return f"{found.scheme} with n = {found.n}, {found.technique}"
