"""``windrow checkpoint check`` and ``repair``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.console import err, out
from windrow.cli.error_messages import errors_in_words
from windrow.cli.options import Verbose, place_of
from windrow.object_store.object_path import ObjectPath, address_of
from windrow.result_files.directory_lock import hold_directories
from windrow.spark.checkpoint.pipeline_directory import PIPELINE
from windrow.spark.checkpoint.repair import Repair, planned_repair
from windrow.spark.checkpoint.survey import Survey, name_for_commands, survey, surveyed_directories
from windrow.spark.checkpoint.working_copy import notes_of

DAMAGED = 1
"""Exit code if something is damaged."""

Where = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        parser=place_of,
        help="The directory passed to --checkpoint, or s3://bucket/path.",
    ),
]


def check(path: Where, verbose: Verbose = False) -> None:
    """Read all files of the checkpoint PATH, and name those that are damaged.

    Ends with exit code 1 if there are any. No run may be using the checkpoint.

    \b
    Example:
      windrow checkpoint check state/
    """
    with errors_in_words(verbose=verbose):
        with _held(path) as directories:
            found = [survey(directory) for directory in directories]
            for query in found:
                _print_survey(query)
        if any(query.problems for query in found):
            raise typer.Exit(DAMAGED)


def repair(
    path: Where,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")
    ] = False,
    verbose: Verbose = False,
) -> None:
    """Roll the checkpoint PATH back to its last complete micro-batch.

    Damaged files and later ones move to a directory removed-1, removed-2, ... of each query. The
    next run repeats the micro-batches after the complete one from their input files; existing
    results stay, and none are published twice.

    \b
    Examples:
      windrow checkpoint repair state/ --dry-run
      windrow checkpoint repair state/
    """
    with errors_in_words(verbose=verbose), _held(path, keep=not dry_run) as directories:
        for directory, found in [(d, planned_repair(d)) for d in directories]:
            if found is None:
                out().print(f"{address_of(directory)}: nothing is damaged")
            else:
                _print_repair(found, None if dry_run else found.carry_out(), dry_run=dry_run)


@contextmanager
def _held(path: Path, *, keep: bool = False) -> Iterator[list[Path]]:
    """The pipelines of a checkpoint that no run has; with ``keep`` what is changed stays so."""
    if isinstance(path, ObjectPath):
        place = path
        with (
            hold_directories([(place, f"the checkpoint {place}")]),
            notes_of(place, keep=keep) as d,
        ):
            yield surveyed_directories(d)
        return
    directories = surveyed_directories(path)
    with hold_directories([_lock(path)]):
        yield directories


def _lock(path: Path) -> tuple[Path, str]:
    """What a run that has this checkpoint holds: the directory of all its queries."""
    return (path.parent if (path / PIPELINE).exists() else path), f"the checkpoint {path}"


def _print_survey(found: Survey) -> None:
    place = address_of(found.directory)
    if not found.problems:
        done = (
            f"complete up to batch {found.whole}"
            if found.whole >= 0
            else "no batch is complete yet"
        )
        out().print(f"{place} ({', '.join(found.queries)}): {done}")
        return
    for problem in found.problems:
        err().print(str(problem), style="bold red")
    if found.hopeless:
        err().print(
            f"{place}: cannot be repaired; restore all of it from a copy, or start "
            "over with another --checkpoint and other result directories"
        )
    else:
        err().print(
            f"{place}: {_extent(found.whole)}; see what `windrow checkpoint repair "
            f"{name_for_commands(found.directory)} --dry-run` says, then run it without --dry-run"
        )


def _print_repair(found: Repair, place: Path | None, *, dry_run: bool) -> None:
    would = "would be" if dry_run else "was"
    for path in found.moves:
        if not path.name.endswith(".crc"):
            out().print(f"{address_of(path)} {would} moved away")
    if found.metadata is not None:
        out().print(f"{address_of(found.metadata)} {would} rewritten")
    again = ""
    if found.repeated is not None:
        first, last = found.repeated
        which = f"batch {first}" if first == last else f"batches {first} to {last}"
        again = f"; the next run repeats {which}"
    kept = f"; everything that was moved is in {address_of(place)}" if place is not None else ""
    out().print(
        f"{address_of(found.directory)}: {'to be ' if dry_run else ''}repaired{again}{kept}"
    )


def _extent(whole: int) -> str:
    return "no batch is complete" if whole < 0 else f"complete up to batch {whole}"
