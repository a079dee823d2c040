"""The Python door to the embedded engine: declare, push, advance, look."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from windrow.core.errors import DataError, InputError, ScriptError, WindrowError
from windrow.core.time import Clock
from windrow.engine.archived import ArchivedQuery
from windrow.engine.feeds import Feed
from windrow.engine.instants import Instant, instant
from windrow.engine.observed import Observed
from windrow.engine.outlets import Outlet
from windrow.engine.query import EmbeddedQuery
from windrow.engine.shared import SharedQueries, SharedQuery
from windrow.engine.subscribed import SubscribedQuery
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    QueryDeclaration,
    RelationDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.clocks import on_clock, reclocked
from windrow.plan.explain import explain
from windrow.plan.program import Compiled, compile_script
from windrow.plan.shared_selection import SharedSelection, shared_selections
from windrow.plan.strategy import Strategy
from windrow.streams.coerce import coerce
from windrow.streams.files import find_files
from windrow.streams.monitor import InputMonitor, time_of
from windrow.streams.quarantine import Quarantine
from windrow.streams.relations import RelationMonitor, clock_in


class Connection:
    """Streams, views and queries that live in this process.

    >>> import windrow
    >>> db = windrow.connect()
    >>> [busy] = db.execute('''
    ...     CREATE STREAM hits (ts BIGINT, page STRING);
    ...     SELECT page, COUNT(*) AS n FROM hits [RANGE 10 SECONDS] GROUP BY page;
    ... ''')
    >>> db.push("hits", {"ts": [1, 2, 2], "page": ["a", "b", "a"]})
    >>> db.advance(to=5)
    >>> busy.answer().to_pylist()
    [{'page': 'a', 'n': 2}, {'page': 'b', 'n': 1}]
    """

    def __init__(
        self, quarantine: str | Path | None = None, strategy: str | Strategy = Strategy.UPA
    ) -> None:
        self.strategy = _strategy(strategy)
        self.catalog = Catalog()
        self.queries: dict[str, EmbeddedQuery | SharedQuery] = {}
        self.subscriptions: dict[str, SubscribedQuery] = {}
        self.archives: dict[str, ArchivedQuery] = {}
        self._running: list[EmbeddedQuery | SharedQueries] = []
        self._monitors: dict[str, InputMonitor] = {}
        self._feeds: dict[str, Feed] = {}
        self._outlets: list[Outlet] = []
        self._observed = Observed()
        self._quarantine = Quarantine(Path(quarantine)) if quarantine is not None else None

    def execute(self, cql: str) -> list[EmbeddedQuery | SharedQuery]:
        """Carry out a script; the queries that it defines, in order.

        Nothing is declared if any statement is wrong. A query sees what is pushed after it, and
        all of the files that its streams and relations are ``FROM``: what is there by now is read
        here, and what comes later by ``advance``.
        """
        compiled = self._compiled(cql)
        known = self.catalog.declarations
        archives = [a for a in compiled.catalog.archives if a.name.lower() not in known]
        before = self._remembered()
        self.catalog = compiled.catalog
        for stream in self.catalog.streams:
            self._monitors.setdefault(stream.name.lower(), InputMonitor(stream))
        try:
            added = self._start(compiled.queries)
            kept = self._keep(archives)
            self._write(added)
            self._open_files()
        except WindrowError:  # a file that a statement names cannot be read, say
            self.__dict__.update(before)
            raise
        self.queries.update({query.name: query for query in added})
        self.archives.update({query.name: query for query in kept})
        return added

    def _remembered(self) -> dict[str, Any]:
        """What a script adds to, as it is before."""
        added_to = ("_monitors", "_running", "_feeds", "_outlets", "subscriptions")
        return {"catalog": self.catalog} | {n: copy(self.__dict__[n]) for n in added_to}

    def _write(self, queries: Sequence[EmbeddedQuery | SharedQuery]) -> None:
        """Send the changes of queries that are INTO somewhere there from now on."""
        targets = [(query, query.declaration.into) for query in queries]
        self._outlets += [Outlet(query, into) for query, into in targets if into is not None]

    def _open_files(self) -> None:
        """Read the files of streams and relations that a query reads for the first time."""
        for name in {name for query in self._running for name in query.streams}:
            monitor = self._monitor(name)
            if monitor.declaration.source is None or name in self._feeds:
                continue
            if isinstance(monitor, RelationMonitor):
                files = find_files(monitor.declaration.source)
                monitor = self._on_clock(monitor, clock_in(files, monitor.relation))
            self._feeds[name] = Feed(monitor, self._quarantine)
        self._read()

    def _read(self) -> None:
        """Take in all files that have been found; the stream that is behind goes first."""
        while any(f.step() for f in sorted(self._feeds.values(), key=lambda f: f.monitor.closed)):
            self._step()
        if self._feeds:
            self._step()

    def _start(self, declarations: Sequence[QueryDeclaration]) -> list[EmbeddedQuery | SharedQuery]:
        """The queries running, those that can share their selection together."""
        running: list[EmbeddedQuery | SharedQueries] = []
        handles: dict[str, EmbeddedQuery | SharedQuery] = {}
        for group in shared_selections(declarations):
            together = SharedQueries(group, self.strategy)
            self._show_files(together)
            running.append(together)
            handles.update({query.name: query for query in together.queries})
        subscribed = {}
        for declaration in declarations:
            if declaration.name not in handles:
                query = self._add(declaration)
                running.append(query)
                handles[query.name] = query
                if isinstance(self.catalog.find(query.name), SubscriptionsDeclaration):
                    subscribed[query.name] = SubscribedQuery(query)
        self._running += running
        self.subscriptions.update(subscribed)
        return [handles[declaration.name] for declaration in declarations]

    def _keep(self, archives: Sequence[ArchiveDeclaration]) -> list[ArchivedQuery]:
        """The archives, being filled from now on."""
        kept = [ArchivedQuery(declared, self.strategy) for declared in archives]
        for query in kept:
            self._show_relations(query)
            self._show_files(query)
        self._running += kept
        return kept

    def _add(self, declaration: QueryDeclaration) -> EmbeddedQuery:
        query = EmbeddedQuery(declaration, self.strategy)
        self._show_relations(query)
        self._show_files(query)
        return query

    def _show_relations(self, query: EmbeddedQuery) -> None:
        """What the relations of a new query hold by now is news to it."""
        for name in query.streams:
            monitor = self._input_of(query.declaration, name)
            if isinstance(monitor, RelationMonitor):
                query.offer(name, monitor.present())

    def _show_files(self, query: EmbeddedQuery | SharedQueries) -> None:
        """What was read of its streams' files before a query was made."""
        for name in query.streams:
            if name in self._feeds and not isinstance(self._monitor(name), RelationMonitor):
                query.offer(name, self._feeds[name].again())

    def _input_of(self, query: QueryDeclaration, name: str) -> InputMonitor:
        """The monitor of a stream or relation that the query reads."""
        monitor = self._monitor(name)
        if monitor.declaration.clock is not query.clock:
            raise InputError(
                where=f"query {query.name}",
                expected=f"{name} on the {query.clock.value} clock of the query",
                found=f"updates on the {monitor.declaration.clock.value} clock",
                remedy="give a relation its updates after the streams that it is joined with",
            )
        return monitor

    def explain(self, cql: str) -> str:
        """The plans of the queries in ``cql``, which are not added."""
        compiled = self._compiled(cql)
        shared = [*shared_selections(compiled.queries), *self._groups()]
        queries = [explain(query, self.strategy, shared) for query in compiled.queries]
        asked = [explain(request, self.strategy, shared) for request in compiled.explains]
        return "\n\n".join([*queries, *asked])

    def _groups(self) -> list[SharedSelection]:
        """The queries that run together."""
        return [query.group for query in self._running if isinstance(query, SharedQueries)]

    def _compiled(self, cql: str) -> Compiled:
        """The script with its plans chosen by what has been observed of the streams so far."""
        cql = cql.removeprefix("\ufeff")  # what some editors put before the text of a file
        try:
            compiled = compile_script(cql, self.catalog, self.strategy)
        except ScriptError as error:
            error.add_note(error.excerpt())  # where a traceback is all that is shown
            raise
        wanted = [*compiled.queries, *(request.query for request in compiled.explains)]
        plans = [query.plan for query in wanted]
        statistics = self._observed.statistics(self._monitors, plans)
        if statistics is None or not plans:
            return compiled
        return compile_script(cql, self.catalog, self.strategy, statistics)

    def push(self, stream: str, data: Any) -> None:
        """Give rows to a stream: an Arrow table or batch, a pandas or polars frame, or dicts.

        A relation takes updates (``instant``, ``change``, its columns), or rows without the
        first two, which are inserted at the next open instant. Rows that do not fit the declared
        types, and rows that come too late, are set aside: they are counted (``rejected``,
        ``late``) and kept in the quarantine if there is one.
        """
        monitor = self._monitor(stream)
        if isinstance(monitor, RelationMonitor):
            monitor = self._on_clock(monitor, monitor.clock_of(data))
            parsed = monitor.coerced(data)
        else:
            parsed = coerce(data, monitor.declaration)
        accepted = monitor.accept(parsed)
        if not isinstance(monitor, RelationMonitor):
            self._observed.note(stream.lower(), accepted.delta.rows, accepted.delta.ts)
        aside = list(parsed.rejected)
        if isinstance(monitor, RelationMonitor):
            aside += monitor.refused
            monitor.refused = []
        if self._quarantine is not None:
            aside += accepted.rejections(parsed, monitor.declaration)
            if aside:
                self._quarantine.push(monitor.declaration.name, aside)
        self._step()

    def _on_clock(self, monitor: RelationMonitor, clock: Clock | None) -> RelationMonitor:
        """The monitor, on the clock of its first updates if only queries over relations read it."""
        name = monitor.declaration.name.lower()
        if clock is None or clock is monitor.declaration.clock or not monitor.fresh:
            return monitor
        readers = [q for q in self._running if name in q.streams]
        beside = {n: self._monitors[n] for q in readers for n in q.streams}
        alone = [q for q in readers if isinstance(q, EmbeddedQuery)]
        relations = {n: m for n, m in beside.items() if isinstance(m, RelationMonitor) and m.fresh}
        if len(alone) < len(readers) or len(relations) < len(beside):
            return monitor  # its rows are put aside, with the reason
        declared = [on_clock(q.declaration, clock) for q in alone]
        for query, declaration in zip(alone, declared, strict=True):
            query.declaration = declaration
        self.catalog = reclocked(self.catalog, {d.name: d for d in declared})
        for other, old in {**relations, name: monitor}.items():
            self._monitors[other] = RelationMonitor(old.relation, clock)
        found = self._monitors[name]
        assert isinstance(found, RelationMonitor)
        return found

    def advance(self, to: Instant) -> None:
        """Close every instant up to ``to``, on all streams whose clock understands it.

        Files that have come to where streams and relations are ``FROM`` are read first.
        """
        matching = [m for m in self._monitors.values() if _understands(m.declaration.clock, to)]
        if self._monitors and not matching:
            raise InputError(
                where="advance",
                expected="an integer (or, on a TIMESTAMP clock, a datetime or ISO text)",
                found=repr(to),
                remedy="use the kind of time that the streams are declared with",
            )
        for feed in self._feeds.values():
            feed.look()
        self._read()
        for monitor in matching:
            monitor.advance(instant(to))
        self._step()

    def rejected(self, stream: str) -> int:
        """How many rows of the stream did not fit its declaration."""
        return self._monitor(stream).rejected

    def late(self, stream: str) -> int:
        """How many rows of the stream came too late."""
        return self._monitor(stream).late

    def close(self) -> None:
        """Forget everything."""
        self.queries, self._monitors, self.catalog = {}, {}, Catalog()
        self.subscriptions, self.archives, self._running = {}, {}, []
        self._feeds, self._outlets = {}, []

    def _monitor(self, stream: str) -> InputMonitor:
        found = self._monitors.get(stream.lower())
        relation = self.catalog.find(stream)
        if found is None and isinstance(relation, RelationDeclaration):
            clocks = [s.clock for s in self.catalog.streams] or [Clock.INTEGER]
            found = self._monitors[stream.lower()] = RelationMonitor(relation, clocks[0])
        if found is None:
            known = [d.name for d in self.catalog.declarations.values()]
            streams = [d.name for d in self.catalog.streams]
            what = "a view or query" if stream in known else "no such stream"
            raise WindrowError(
                where=f"stream {stream!r}",
                expected=f"one of {', '.join(streams) or 'none declared yet'}",
                found=what,
                remedy="declare it with CREATE STREAM",
            )
        return found

    def _step(self) -> None:
        """Bring all queries to where time has come.

        A query that meets a value it cannot compute with stops there, and is complained about
        when the others have gone on: its error is raised once, and it has no answer any more.
        """
        for name, monitor in self._monitors.items():
            released = monitor.release(time_of([monitor]))
            for query in self._running:
                if name in query.streams:
                    query.offer(name, released)
        failures = []
        for query in list(self._running):
            try:
                query.follow(time_of(self._monitors[name] for name in query.streams))
            except DataError as error:
                failures.append(error)
                self._running.remove(query)
        for outlet in self._outlets:
            outlet.flush()
        if failures:
            raise failures[0]

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<windrow: {len(self._monitors)} streams, {len(self.queries)} queries>"


def _strategy(name: str | Strategy) -> Strategy:
    try:
        return Strategy(name)
    except ValueError:
        raise InputError(
            where="strategy",
            expected=f"one of {', '.join(s.value for s in Strategy)}",
            found=repr(name),
        ) from None


def _understands(clock: Clock, to: object) -> bool:
    return clock is Clock.TIMESTAMP or isinstance(to, int | np.integer)
