"""Runs a script's queries over its files in this process."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import Wall, no_wall_clock
from windrow.engine.archived import ArchivedQuery
from windrow.engine.clocks import on_clocks_of_files
from windrow.engine.console import print_changes
from windrow.engine.feeds import Feed
from windrow.engine.identity import identity_of
from windrow.engine.idling import Silences, overtaken, releases
from windrow.engine.progress import Progress, QueryReport, Report
from windrow.engine.query import EmbeddedQuery
from windrow.engine.shared import SharedQueries, SharedQuery
from windrow.engine.sinks import FileSink, open_sinks
from windrow.plan.catalog import Catalog
from windrow.plan.physical.display_order import ranks
from windrow.plan.sharing.shared_selection import shared_selections
from windrow.plan.strategy import Strategy
from windrow.streams.monitor import InputMonitor, time_of
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import RelationMonitor

POLL_SECONDS = 0.5
LAST_ROWS = 10
Running = EmbeddedQuery | SharedQuery | SharedQueries


def run(
    catalog: Catalog,
    *,
    once: bool,
    checkpoint: Path | None,
    quarantine: Path | None,
    on_progress: Callable[[Progress], None],
    stop: threading.Event | None = None,
    strategy: Strategy = Strategy.UPA,
    wall: Wall = no_wall_clock,
    overwrite: bool = False,
) -> Report:
    """Run all queries of the catalog until their files end (``once``) or ``stop`` is set.

    Archives take in no day before it is over by ``wall``, and rows are ahead by it. Results of
    another run are replaced if ``overwrite`` says so, and refused otherwise.
    """
    if checkpoint is not None:
        raise StateError(
            "the embedded runner keeps no checkpoint",
            where="--checkpoint",
            remedy="run on Spark (--runner spark), or without --checkpoint",
        )
    catalog = on_clocks_of_files(catalog)
    with _sinks(catalog, overwrite) as sinks:
        work = _Run(catalog, quarantine, on_progress, strategy, wall, sinks, patient=not once)
        return work.go(once, stop or threading.Event())


@contextmanager
def _sinks(catalog: Catalog, overwrite: bool) -> Iterator[dict[str, FileSink]]:
    """The sinks of the queries that write files, by name, held until the run ends."""
    run = uuid.uuid4().hex
    writing = [
        (query, query.into)
        for query in catalog.queries
        if query.into is not None and query.into.format != "console"
    ]
    places = [(Path(into.path), identity_of(q, run, into.format)) for q, into in writing]
    sinks = open_sinks(places, overwrite=overwrite)
    try:
        yield {query.name: sink for (query, _), sink in zip(writing, sinks, strict=True)}
    finally:
        for sink in sinks:
            sink.close()


class _Run:
    """The queries, the feeds that they read, and where their changes go."""

    def __init__(
        self,
        catalog: Catalog,
        quarantine: Path | None,
        on_progress: Callable[[Progress], None],
        strategy: Strategy,
        wall: Wall,
        sinks: dict[str, FileSink],
        *,
        patient: bool,
    ) -> None:
        groups = [SharedQueries(g, strategy) for g in shared_selections(catalog.queries)]
        together = {query.name: query for group in groups for query in group.queries}
        alone = {
            declared.name: EmbeddedQuery(declared, strategy)
            for declared in catalog.queries
            if declared.name not in together
        }
        kept = {a.name: ArchivedQuery(a, strategy, wall) for a in catalog.archives}
        self.running: list[EmbeddedQuery | SharedQueries] = [
            *groups, *alone.values(), *kept.values()
        ]  # fmt: skip
        self.queries: dict[str, EmbeddedQuery | SharedQuery] = {
            declared.name: together.get(declared.name) or alone[declared.name]
            for declared in catalog.queries
        }
        self.queries.update(kept)
        used = {name for query in self.running for name in query.streams}
        pages = Quarantine(quarantine) if quarantine is not None else None
        clocks = {n: q.declaration.clock for q in self.queries.values() for n in q.streams}
        monitors: list[InputMonitor] = [
            InputMonitor(s) for s in catalog.streams if s.name.lower() in used
        ]
        monitors += [
            RelationMonitor(r, clocks[r.name.lower()])
            for r in catalog.relations
            if r.name.lower() in used
        ]
        self.wall, self.silences, self.looked = wall, Silences(wall), wall()
        self.pages = pages
        self.feeds = {
            m.declaration.name.lower(): Feed(m, pages, wall=wall, patient=patient) for m in monitors
        }
        self.sinks = sinks
        self.tails: dict[str, pa.RecordBatch] = {}
        self.on_progress, self.batches = on_progress, 0

    def go(self, once: bool, stop: threading.Event) -> Report:
        for sink in self.sinks.values():  # now that all files that are to be read are there
            sink.prepare()
        try:
            self._work(once, stop)
        finally:  # what is right up to an error is right after it
            self._publish()
        return Report(tuple(self._report(query) for query in self.queries.values()))

    def _work(self, once: bool, stop: threading.Event) -> None:
        while not stop.is_set():
            if self._read():
                self._advance()
                if once or self.wall() - self.looked < POLL_SECONDS * 1_000_000:
                    continue
            elif once:
                for feed in self.feeds.values():
                    feed.monitor.finish()
                self._advance()
                return
            else:
                self._publish()
                self._tell()
                stop.wait(POLL_SECONDS)
            self._look()

    def _look(self) -> None:
        """Take note of files that have come, and of streams that have none to read for long."""
        self.looked = self.wall()
        for feed in self.feeds.values():
            feed.look()
        silent = {n: feed.monitor for n, feed in self.feeds.items() if not feed.unread}
        if self.silences.judge(silent, watched=silent):
            self._advance()

    def _publish(self) -> None:
        """All changes so far into files: nobody should wait for them while nothing comes."""
        for name, sink in self.sinks.items():
            query = self.queries[name]
            sink.flush(self._counts(query)[0], query.now)

    def _read(self) -> bool:
        """One batch of the stream that holds time back the most."""
        behind = sorted(self.feeds.values(), key=lambda feed: feed.monitor.closed)
        return any(feed.step() for feed in behind)

    def _advance(self) -> None:
        self.batches += 1
        monitors = {name: feed.monitor for name, feed in self.feeds.items()}
        for name, released in releases(monitors, self.running):
            late = overtaken(name, monitors[name], released, self.running)
            if late and self.pages is not None:
                page = Path(f"closed-{self.batches}")
                self.pages.write(monitors[name].declaration.name, page, late)
            for query in self.running:
                if name in query.streams:
                    query.offer(name, released)
        for query in self.running:
            now = time_of(monitors[name] for name in query.streams)
            if isinstance(query, SharedQueries):
                for member, changes in query.news(now):
                    self._put(member, changes)
            elif (changes := query.advance(now)) is not None:
                self._put(query, changes)
        self._tell()

    def _tell(self) -> None:
        for query in self.running:
            self.on_progress(self._progress(query))

    def _put(self, query: EmbeddedQuery | SharedQuery, changes: pa.RecordBatch) -> None:
        if query.declaration.plan.pattern is UpdatePattern.MONOTONIC:
            earlier = self.tails.get(query.name)
            end = changes.slice(max(changes.num_rows - LAST_ROWS, 0))
            tail = pa.concat_batches([end] if earlier is None else [earlier, end])
            self.tails[query.name] = tail.slice(max(tail.num_rows - LAST_ROWS, 0))
        if query.declaration.into is not None and query.declaration.into.format == "console":
            into = query.declaration.into
            print_changes(query.name, pa.Table.from_batches([changes]), into.limit)
        sink = self.sinks.get(query.name)
        if sink is not None:
            sink.write(changes, self._counts(query)[0], query.now)

    def _counts(self, query: Running) -> tuple[int, int, int]:
        """Rows of its streams and updates of its relations: accepted, rejected, late."""
        monitors = [self.feeds[name].monitor for name in query.streams]
        accepted = sum(m.accepted for m in monitors)
        late = sum(m.late for m in monitors)
        late += query.late if isinstance(query, EmbeddedQuery) else 0
        return accepted, sum(m.rejected for m in monitors), late

    def _progress(self, query: EmbeddedQuery | SharedQueries) -> Progress:
        accepted, rejected, late = self._counts(query)
        return Progress(
            query.name, accepted, query.rows_out, query.now, query.clock,
            rejected + late, late, self.batches,
            tuple(words for name in query.streams for words in self.feeds[name].refusals),
            query.overflows, sum(self.feeds[name].monitor.cut for name in query.streams),
            self._idle(query),
        )  # fmt: skip

    def _idle(self, query: EmbeddedQuery | SharedQueries) -> tuple[str, ...]:
        """The streams that the query waits for no longer; it always waits for its only one."""
        monitors = [self.feeds[name].monitor for name in query.streams]
        idle = [m.declaration.name for m in monitors if m.idle]
        return tuple(idle) if len(monitors) > 1 else ()

    def _report(self, query: EmbeddedQuery | SharedQuery) -> QueryReport:
        accepted, rejected, late = self._counts(query)
        into, waiting = query.declaration.into, None
        destination = Path(into.path) if query.name in self.sinks and into else None
        if isinstance(query, ArchivedQuery):
            destination, waiting = query.path, query.waiting
        return QueryReport(
            query.name, accepted, query.rows_out, rejected + late, late, query.now,
            query.declaration.clock, destination, self._answer(query), waiting,
            bool(ranks(query.declaration.plan)), total=self._total(query),
        )  # fmt: skip

    def _total(self, query: EmbeddedQuery | SharedQuery) -> int | None:
        """How many rows a stream has had."""
        if isinstance(query, ArchivedQuery):
            return None
        stream = query.declaration.plan.pattern is UpdatePattern.MONOTONIC
        return query.rows_out if stream else None

    def _answer(self, query: EmbeddedQuery | SharedQuery) -> pa.Table:
        """The relation at the end; of a stream, its last rows."""
        if isinstance(query, ArchivedQuery):
            return query.current()
        if query.declaration.plan.pattern is not UpdatePattern.MONOTONIC:
            return query.current()
        tail = self.tails.get(query.name)
        if tail is None:
            return query.changes().drop_columns(["instant", "change"])
        return pa.Table.from_batches([tail]).drop_columns(["instant", "change"])
