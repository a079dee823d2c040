"""Runs a script's queries over its files in this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import InputError, StateError
from windrow.core.patterns import UpdatePattern
from windrow.engine.progress import Progress, QueryReport, Report
from windrow.engine.query import EmbeddedQuery
from windrow.engine.sinks import FileSink
from windrow.plan.catalog import Catalog, StreamDeclaration
from windrow.plan.physical import not_executable
from windrow.streams.files import find_files
from windrow.streams.monitor import InputMonitor, time_of
from windrow.streams.parsed import Parsed
from windrow.streams.quarantine import Page, Quarantine
from windrow.streams.readers import read_file

POLL_SECONDS = 0.5
LAST_ROWS = 10


class _Feed:
    """One stream's files, read in order; ``step`` takes in one batch."""

    def __init__(self, declaration: StreamDeclaration, quarantine: Quarantine | None) -> None:
        if declaration.source is None:
            raise InputError(
                where=f"stream {declaration.name}",
                expected="FROM 'path' FORMAT csv, json or parquet",
                found="a stream without a source",
                remedy="name its files in CREATE STREAM, or push rows from Python",
            )
        self.declaration, self.source = declaration, declaration.source
        self.monitor = InputMonitor(declaration)
        self._quarantine = quarantine
        self._seen: set[Path] = set()
        self._files: list[Path] = []
        self._batches: Iterator[tuple[Parsed, Page | None]] = iter(())
        self.look()

    def look(self) -> None:
        """Take note of files that have come."""
        fresh = [path for path in find_files(self.source) if path not in self._seen]
        self._files += fresh
        self._seen.update(fresh)

    def step(self) -> bool:
        """Accept one batch; False if there is nothing to read."""
        while True:
            for parsed, page in self._batches:
                accepted = self.monitor.accept(parsed)
                if page is not None:
                    page.add([*parsed.rejected, *accepted.rejections(parsed, self.declaration)])
                return True
            if not self._files:
                return False
            self._batches = self._read(self._files.pop(0))

    def _read(self, path: Path) -> Iterator[tuple[Parsed, Page | None]]:
        if self._quarantine is None:
            for parsed in read_file(path, self.declaration):
                yield parsed, None
            return
        with self._quarantine.page(self.declaration.name, path) as page:
            for parsed in read_file(path, self.declaration):
                yield parsed, page


def run(
    catalog: Catalog,
    *,
    once: bool,
    checkpoint: Path | None,
    quarantine: Path | None,
    on_progress: Callable[[Progress], None],
    stop: threading.Event | None = None,
) -> Report:
    """Run all queries of the catalog until their files end (``once``) or ``stop`` is set."""
    if checkpoint is not None:
        raise StateError(
            "the embedded runner keeps no checkpoint",
            where="--checkpoint",
            remedy="run on Spark (--runner spark), or without --checkpoint",
        )
    return _Run(catalog, quarantine, on_progress).go(once, stop or threading.Event())


class _Run:
    """The queries, the feeds that they read, and where their changes go."""

    def __init__(
        self, catalog: Catalog, quarantine: Path | None, on_progress: Callable[[Progress], None]
    ) -> None:
        for declared in catalog.queries:
            problem = not_executable(declared.plan)
            if problem is not None:
                raise problem
        self.queries = [EmbeddedQuery(declared) for declared in catalog.queries]
        used = {name for query in self.queries for name in query.streams}
        pages = Quarantine(quarantine) if quarantine is not None else None
        self.feeds = {
            s.name.lower(): _Feed(s, pages) for s in catalog.streams if s.name.lower() in used
        }
        self.sinks = {
            query.name: FileSink(Path(into.path), into.format)
            for query in self.queries
            if (into := query.declaration.into) is not None and into.format != "console"
        }
        self.tails: dict[str, pa.RecordBatch] = {}
        self.on_progress, self.batches = on_progress, 0

    def go(self, once: bool, stop: threading.Event) -> Report:
        while not stop.is_set():
            if self._read():
                self._advance()
                continue
            if once:
                for feed in self.feeds.values():
                    feed.monitor.finish()
                self._advance()
                break
            stop.wait(POLL_SECONDS)
            for feed in self.feeds.values():
                feed.look()
        for name, sink in self.sinks.items():
            query = next(q for q in self.queries if q.name == name)
            sink.flush(query.rows_in, query.now)
        return Report(tuple(self._report(query) for query in self.queries))

    def _read(self) -> bool:
        """One batch of the stream that holds time back the most."""
        behind = sorted(self.feeds.values(), key=lambda feed: feed.monitor.closed)
        return any(feed.step() for feed in behind)

    def _advance(self) -> None:
        self.batches += 1
        for name, feed in self.feeds.items():
            monitor = feed.monitor
            reached = time_of([monitor])
            released = monitor.release(reached)
            for query in self.queries:
                if name in query.streams:
                    query.offer(name, released)
        for query in self.queries:
            monitors = [self.feeds[name].monitor for name in query.streams]
            changes = query.advance(time_of(monitors))
            if changes is not None:
                self._put(query, changes)
            self.on_progress(self._progress(query))

    def _put(self, query: EmbeddedQuery, changes: pa.RecordBatch) -> None:
        self.tails[query.name] = changes.slice(max(changes.num_rows - LAST_ROWS, 0))
        sink = self.sinks.get(query.name)
        if sink is not None:
            sink.write(changes, query.rows_in, query.now)

    def _counts(self, query: EmbeddedQuery) -> tuple[int, int]:
        monitors = [self.feeds[name].monitor for name in query.streams]
        return sum(m.rejected for m in monitors), sum(m.late for m in monitors)

    def _progress(self, query: EmbeddedQuery) -> Progress:
        rejected, late = self._counts(query)
        return Progress(
            query.name, query.rows_in, query.rows_out, query.now, query.declaration.clock,
            rejected + late, late, self.batches,
        )  # fmt: skip

    def _report(self, query: EmbeddedQuery) -> QueryReport:
        rejected, late = self._counts(query)
        into = query.declaration.into
        return QueryReport(
            query.name, query.rows_in, query.rows_out, rejected + late, late, query.now,
            query.declaration.clock, Path(into.path) if query.name in self.sinks and into else None,
            self._answer(query),
        )  # fmt: skip

    def _answer(self, query: EmbeddedQuery) -> pa.Table:
        """The relation at the end; of a stream, its last rows."""
        if query.declaration.plan.pattern is not UpdatePattern.MONOTONIC:
            return query.current()
        tail = self.tails.get(query.name)
        if tail is None:
            return query.changes().drop_columns(["instant", "change"])
        return pa.Table.from_batches([tail]).drop_columns(["instant", "change"])
