"""Asking an archive: probes, scans, and copies of what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import ArchiveError
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.reader import LifetimeReader
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.reader import Reader
from windrow.cli.answers import count_of
from windrow.cli.archive.options import (
    AsJson,
    At,
    Columns,
    Into,
    Since,
    Soft,
    Until,
    Verbose,
    Where,
    bounds,
    key_of,
    names_of,
    print_json,
    times_of,
)
from windrow.cli.archive.output import give, writing
from windrow.cli.console import err, out
from windrow.cli.error_messages import errors_in_words


def probe(
    archive: Where,
    keys: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEYS...",
            help="Keys, written as in answers; composite ones as a,b or '\"x,y\",b'.",
        ),
    ] = None,
    least: Annotated[str | None, typer.Option("--from", help="The least key of a range.")] = None,
    greatest: Annotated[
        str | None, typer.Option("--to", help="The greatest key of a range.")
    ] = None,
    since: Since = None,
    until: Until = None,
    at: At = None,
    columns: Columns = None,
    soft: Soft = False,
    into: Into = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Find the records with a key, one of several, or a range of keys.

    \b
    Examples:
      windrow archive probe month 10.0.0.1
      windrow archive probe month 10.0.0.1 10.0.0.2 --since 2026-03-01 --columns src,bytes
      windrow archive probe month --from 10.0.0 --to 10.0.1 --into found.parquet
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        times = times_of(opened)
        wanted: Any
        if keys and (least is not None or greatest is not None):
            raise ArchiveError(where="probe", expected="keys, or --from and --to", found="both")
        if keys:
            wanted = [key_of(text, opened.layout) for text in keys]
            wanted = wanted[0] if len(wanted) == 1 else wanted
        elif least is not None or greatest is not None:
            ends = (None if t is None else key_of(t, opened.layout) for t in (least, greatest))
            wanted = Range(*ends)
        else:
            raise ArchiveError(where="probe", expected="a key, or --from and --to", found="neither")
        first, last = bounds(times, since, until)
        with reader_of(opened, at, soft=soft) as reader:
            found = reader.probe(wanted, first, last, columns=names_of(columns))
            give(times.add_stamps(decode(found)), into, as_json=as_json)


def scan(
    archive: Where,
    since: Since = None,
    until: Until = None,
    at: At = None,
    columns: Columns = None,
    soft: Soft = False,
    into: Into = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Read all records of some days, or of the whole window.

    \b
    Examples:
      windrow archive scan month --since 2026-03-01 --until 2026-03-07 --into week.parquet
      windrow archive scan month --columns src,bytes --json
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        times = times_of(opened)
        first, last = bounds(times, since, until)
        with reader_of(opened, at, soft=soft) as reader:
            found = reader.scan(first, last, columns=names_of(columns))
            give(times.add_stamps(decode(found)), into, as_json=as_json)


def export(
    archive: Where,
    into: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A .parquet, .csv, .json or .arrow file to write."),
    ],
    since: Since = None,
    until: Until = None,
    at: At = None,
    columns: Columns = None,
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Copy the window, or some days of it, to a file, batch by batch.

    \b
    Example:
      windrow archive export month march.parquet --since 2026-03-01 --until 2026-03-31
    """
    with errors_in_words(verbose=verbose):
        opened = open_archive(archive)
        times, rows = times_of(opened), 0
        first, last = bounds(times, since, until)
        with reader_of(opened, at) as reader, err().status("writing") as status:
            names = names_of(columns) or opened.layout.entry_schema.names
            empty = times.add_stamps(decode(reader.probe([], columns=names)))
            with writing(into, empty.schema) as write:
                for batch in reader.batches(first, last, columns=names):
                    table = times.add_stamps(decode(pa.Table.from_batches([batch])))
                    write(table)
                    rows += table.num_rows
                    status.update(f"writing: {rows:,} rows")
        if as_json:
            print_json({"file": str(into), "rows": rows})
            return
        out().print(f"{count_of(rows, 'row')} in {into}")


def reader_of(
    opened: Archive | LifetimeIndex, at: str | None, *, soft: bool = False
) -> Reader | LifetimeReader:
    """The newest version, as seen at a moment."""
    now = None if at is None else times_of(opened).moment(at)
    if not isinstance(opened, LifetimeIndex):
        return opened.reader(now, soft=soft)
    if soft:
        raise ArchiveError(
            where="--soft",
            expected="an archive of days",
            found="an index of lifetimes, which never shows what has expired",
        )
    return opened.reader(now)
