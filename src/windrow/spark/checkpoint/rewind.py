"""Bringing back a query whose time was led astray: its files are read again, from the beginning.

Once a stream's time has come to the year 9999, its windows have expired, all rows since were late,
and results say so. None of that can be taken back piece by piece. What can be had again are the
rows, from the files that the log names: so the results of the query are moved away, it is struck
from its pipeline, and the next run starts it over, with AHEAD in force. The query stays the one it
was, by its identity.

Nothing is deleted: results go to ``removed-<n>/`` in the query's directory, each commit before the
files that it names; with the last query of a pipeline that is moved too. Cut short, the same can be
done again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING, FOREVER, Clock, Wall
from windrow.object_store.object_path import ObjectPath, address_of, path_of, shared_directory
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.result_files.atomic_files import move_away
from windrow.result_files.commits import COMPACTED
from windrow.result_files.query_table import tables_among
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.pipeline_directory import pipeline_directories, read_pipeline
from windrow.spark.checkpoint.query_directory import IDENTITY
from windrow.spark.checkpoint.query_groups import SEATS
from windrow.spark.checkpoint.repair import new_removed_directory
from windrow.spark.source.file_log import FileLog
from windrow.streams.horizon import horizon_of
from windrow.streams.relations import updates_of

RESULTS = "results"


@dataclass(frozen=True)
class StreamLog:
    """A stream as a query's log has it; ``limit`` is the last instant that is credible by now."""

    name: str
    clock: Clock
    reached: int
    limit: int
    files: tuple[str, ...]

    @property
    def astray(self) -> bool:
        return self.reached > self.limit


@dataclass(frozen=True)
class Rewind:
    """A query's directory, its pipeline's, the queries that are answered there, and where their
    results are. Queries elsewhere may have ``shared`` a table with them."""

    directory: Path
    pipeline: Path
    queries: tuple[str, ...]
    streams: tuple[StreamLog, ...]
    results: tuple[Path, ...]
    shared: tuple[str, ...] = ()

    def refuse_shared(self) -> None:
        """Refuse to take the results of a query out of a table that others go on with."""
        if self.shared:
            raise StateError(
                where=f"query {self.queries[0]}",
                expected="results in a directory of its own",
                found=f"those of {self.shared[0]} in the same table, which would go too",
                remedy="start all of them over with another --checkpoint and directory",
            )

    @property
    def astray(self) -> list[StreamLog]:
        """The streams that have come further than they could justify."""
        return [stream for stream in self.streams if stream.astray]

    @property
    def files(self) -> list[str]:
        """The files that are to be read again."""
        return [file for stream in self.streams for file in stream.files]

    @property
    def missing(self) -> list[str]:
        return [file for file in self.files if not Path(file).exists()]

    def carry_out(self) -> Path:
        """Move everything away; the directory that has it. All directories are locked."""
        new = new_removed_directory(self.directory)
        shared = shared_directory(self.directory)
        place = shared / new.name
        run = json.loads((self.directory / IDENTITY).read_text())["run"]
        for number, directory in enumerate(self.results):
            target = place / f"into-{number}"
            target.mkdir()
            for path in _published(directory, run):
                move_away(path, target / path.name)
        _move_directory(shared / RESULTS, place / RESULTS)
        self._strike(new, place)
        return place

    def _strike(self, new: Path, place: Path) -> None:
        """Take the query out of its pipeline; with the last one, that goes too."""
        name, home = self.directory.name, read_pipeline(self.pipeline)
        left = tuple(None if member == name else member for member in home.members)
        if any(member is not None for member in left):
            home.write(members=left, left=home.left - {name})
        else:
            self.pipeline.rename(new / self.pipeline.name)
            _move_directory(home.place_for_tasks, place / self.pipeline.name)


def _move_directory(directory: Path, target: Path) -> None:
    """Move all that is there; nothing if it is not, or has been moved."""
    if isinstance(directory, ObjectPath):
        for path in directory.objects_below():
            path.rename(target / path.relative_to(directory))
    elif directory.exists():
        directory.rename(target)


def _published(directory: Path, run: str) -> Iterator[Path]:
    """The results of a run: what says that they are, then the files."""
    found = published_results(directory)
    if found.run not in (None, run):
        return
    records = [COMPACTED, *(commit.path(directory).name for commit in found.commits)]
    for name in (*records, *sorted(found.names())):
        if (directory / name).exists():
            yield directory / name


def rewinds(checkpoint: Path, catalog: Catalog, wall: Wall) -> list[Rewind]:
    """What there is to rewind: every directory of a query that the script has."""
    found = []
    for directory, pipeline in _running(checkpoint):
        declared = [d for d in map(catalog.find, _names(directory)) if d is not None]
        if not declared:
            continue
        _refuse_pushed(pipeline)
        clock = next((d.clock for d in declared if isinstance(d, RUNNING)), catalog.clock)
        read = {name for d in declared for name in _read_by(d)}
        streams = _streams(pipeline, read, catalog, clock, wall)
        results = tuple(dict.fromkeys(_destinations(declared)))
        names = tuple(d.name for d in declared)
        shared = tuple(
            q.name
            for sharing in tables_among(catalog.queries).values()
            for q in sharing
            if q.name not in names and any(other.name in names for other in sharing)
        )
        found.append(Rewind(directory, pipeline, names, streams, results, shared))
    if not found:
        raise StateError(
            where=address_of(checkpoint),
            expected="the checkpoint of a query of this script",
            found="none" if checkpoint.is_dir() else "no such directory",
            remedy="name the directory of --checkpoint, and the script that was run with it",
        )
    return found


RUNNING = (QueryDeclaration, SubscriptionsDeclaration, ArchiveDeclaration)


def _running(checkpoint: Path) -> Iterator[tuple[Path, Path]]:
    """The directory of every query that has run, and that of its pipeline."""
    for directory in pipeline_directories(checkpoint):
        for member in read_pipeline(directory).members:
            if member is not None:
                yield checkpoint / member, directory


def _read_by(declared: object) -> set[str]:
    """The lower-case names of the streams and relations that a query reads."""
    leaves = walk(declared.plan) if isinstance(declared, RUNNING) else ()
    return {leaf.name.lower() for leaf in leaves if isinstance(leaf, StreamScan | RelationScan)}


def _names(directory: Path) -> list[str]:
    """The queries that a directory is for: one, or those that share a selection."""
    if not (directory / SEATS).exists():
        return [directory.name]
    return [str(name) for name, _ in json.loads((directory / SEATS).read_text())]


def _destinations(declared: Sequence[object]) -> Iterator[Path]:
    """Where the queries write their results, other than into the checkpoint."""
    for query in declared:
        into = getattr(query, "into", None)
        if into is not None and into.format != "console":
            yield path_of(into.path).absolute()


def _streams(
    pipeline: Path, read: set[str], catalog: Catalog, clock: Clock, wall: Wall
) -> tuple[StreamLog, ...]:
    found = []
    for path in sorted((pipeline / "streams").glob("*.log")):
        declared = catalog.find(path.stem) if path.stem in read else None
        if isinstance(declared, RelationDeclaration):
            declared = updates_of(declared, clock)
        if isinstance(declared, StreamDeclaration):
            found.append(_stream(FileLog(path), declared, wall()))
    return tuple(found)


def _stream(log: FileLog, declared: StreamDeclaration, now: int) -> StreamLog:
    horizon, last = horizon_of(declared, now), log.times[-1]
    known = horizon.is_bounded and horizon.wall is not None
    limit = horizon.limit(horizon.wall) if known and horizon.wall is not None else FOREVER
    reached = max(last.top, last.advanced, BEGINNING)
    files = tuple(sorted(log.paths))
    return StreamLog(declared.name, declared.clock, reached, limit, files)


def _refuse_pushed(pipeline: Path) -> None:
    if read_pipeline(pipeline).inboxes.exists():
        raise StateError(
            where=address_of(pipeline.parent),
            expected="a checkpoint of windrow run, whose rows are in files",
            found="that of a connection in Python",
            remedy="push the rows again, into a connection with another checkpoint",
        )
