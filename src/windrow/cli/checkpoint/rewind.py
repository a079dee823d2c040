"""``windrow checkpoint rewind``: queries whose watermark is too far ahead start over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.console import instant, out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.explain import compiled_from
from windrow.cli.options import Checkpoint, Script, Verbose
from windrow.core.errors import InputError, StateError
from windrow.core.time import wall_clock
from windrow.engine.clocks import on_clocks_of_files
from windrow.plan.catalog import Catalog
from windrow.plan.strategy import Strategy
from windrow.result_files.directory_lock import hold_directories
from windrow.result_files.sinks import into
from windrow.spark.checkpoint.rewind import Rewind, rewinds
from windrow.spark.checkpoint.working_copy import notes_of


def rewind(
    script: Script,
    checkpoint: Checkpoint,
    query: Annotated[
        list[str] | None,
        typer.Option(
            "--query",
            help="Rewind this query, whatever its watermark; may be repeated.",
            show_default=False,
        ),
    ] = None,
    without_missing: Annotated[
        bool,
        typer.Option("--without-missing", help="Go on without files that no longer exist."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Let the next run start queries over whose watermark went too far ahead.

    A watermark is too far ahead if it is beyond the wall clock by more than AHEAD allows (a day,
    unless the script says otherwise). State and results of the queries that read the stream move
    to a directory removed-1, removed-2, ... of each, and the next run of SCRIPT starts them over.

    \b
    Examples:
      windrow checkpoint rewind traffic.cql state/ --dry-run
      windrow checkpoint rewind traffic.cql state/
      windrow checkpoint rewind traffic.cql state/ --query busy
    """
    with errors_in_words(script, verbose=verbose):
        catalog = on_clocks_of_files(compiled_from(script, Strategy.UPA).catalog)
        with notes_of(checkpoint) as directory:
            chosen = _chosen(rewinds(directory, catalog, wall_clock), query or [])
        for found in chosen:
            found.refuse_shared()
        if not without_missing:
            _refuse_missing(chosen)
        if not chosen:
            out().print(
                "no stream is further ahead than AHEAD allows; to start a query over anyway, "
                "name it with --query"
            )
        if dry_run or not chosen:
            for found in chosen:
                _print_rewind(found, None)
            return
        names = [name for found in chosen for name in found.queries]
        _carry_out(checkpoint, catalog, names, [p for f in chosen for p in f.results])


def _carry_out(
    checkpoint: Path, catalog: Catalog, names: Sequence[str], results: Sequence[Path]
) -> None:
    """Start queries over while no run has the checkpoint or their results."""
    places = [(checkpoint, f"checkpoint {checkpoint}"), *((p, into(p)) for p in results)]
    with hold_directories(places), notes_of(checkpoint, keep=True) as directory:
        for found in _chosen(rewinds(directory, catalog, wall_clock), names):
            _print_rewind(found, found.carry_out())


def _chosen(found: Sequence[Rewind], names: Sequence[str]) -> list[Rewind]:
    known = {name for rewind in found for name in rewind.queries}
    for name in names:
        if name not in known:
            raise InputError(
                where=f"--query {name}",
                expected=f"one of {', '.join(sorted(known))}",
                found="no such query in the checkpoint",
            )
    if names:
        return [rewind for rewind in found if set(names) & set(rewind.queries)]
    return [rewind for rewind in found if rewind.astray]


def _refuse_missing(chosen: Sequence[Rewind]) -> None:
    missing = [file for found in chosen for file in found.missing]
    if missing:
        raise StateError(
            where=missing[0],
            expected="the files that were read, to read them again",
            found="no such file" + (f" (and {len(missing) - 1} more)" if missing[1:] else ""),
            remedy="put them back, or add --without-missing: windows that need their rows will "
            "lack them",
        )


def _print_rewind(found: Rewind, place: Path | None) -> None:
    name = ", ".join(found.queries)
    for stream in found.astray:
        reached, limit = (instant(t, stream.clock) for t in (stream.reached, stream.limit))
        out().print(
            f"{name}: {stream.name} has a watermark of {reached}; at most {limit} is allowed now"
        )
    count = len(found.files) - len(found.missing)
    files = f"{count:,} file{'' if count == 1 else 's'}"
    if place is None:
        out().print(f"{name}: the next run would start it over, and read {files}")
        return
    out().print(
        f"{name}: the next run starts it over, and reads {files}; its old state is in {place}"
    )
