"""The Python door to the embedded engine: declare, push, advance, look."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from windrow.core.errors import DataError, ScriptError, WindrowError
from windrow.core.time import Clock, Wall, no_wall_clock
from windrow.engine.archived import ArchivedQuery
from windrow.engine.clocks import put_on_clock
from windrow.engine.inputs import Inputs
from windrow.engine.instants import Instant
from windrow.engine.outlets import Outlet, open_outlets
from windrow.engine.progress import cut_warning, overflow_warning
from windrow.engine.query import EmbeddedQuery
from windrow.engine.shared import SharedQueries, SharedQuery
from windrow.engine.subscribed import SubscribedQuery
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    QueryDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.explain import explain
from windrow.plan.program import Compiled, compile_script
from windrow.plan.relation_clock import replace_queries
from windrow.plan.sharing.shared_selection import SharedSelection, shared_selections
from windrow.plan.strategy import Strategy
from windrow.streams.relations import RelationMonitor


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
        self,
        quarantine: str | Path | None = None,
        strategy: str | Strategy = Strategy.UPA,
        wall: Wall = no_wall_clock,
        *,
        overwrite: bool = False,
    ) -> None:
        self.strategy, self.wall = Strategy.from_name(strategy), wall
        self.overwrite = overwrite
        self.catalog = Catalog()
        self.queries: dict[str, EmbeddedQuery | SharedQuery] = {}
        self.subscriptions: dict[str, SubscribedQuery] = {}
        self.archives: dict[str, ArchivedQuery] = {}
        self._running: list[EmbeddedQuery | SharedQueries] = []
        self._outlets: list[Outlet] = []
        self._inputs = Inputs(None if quarantine is None else Path(quarantine), wall)
        self._warned: set[str] = set()

    def execute(self, cql: str) -> list[EmbeddedQuery | SharedQuery]:
        """Carry out a script; the queries that it defines, in order.

        Nothing is declared if any statement is wrong. A query sees what is pushed after it, and
        all of the files that its streams and relations are ``FROM``: what is there by now is read
        here, and what comes later by ``advance``.
        """
        compiled = self._compiled(cql)
        _warn(compiled)
        known = self.catalog.declarations
        archives = [a for a in compiled.catalog.archives if a.name.lower() not in known]
        with self._all_or_nothing():
            self.catalog = compiled.catalog
            self._inputs.declare(self.catalog)
            added = self._start(compiled.queries)
            kept = self._keep(archives)
            self._open_files()
            self._write(added)
            self._read()
        self.queries.update({query.name: query for query in added})
        self.archives.update({query.name: query for query in kept})
        self._warn_of_refused()
        return added

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Whatever fails within, a file that cannot be read, say, leaves everything as it was."""
        catalog, outlets, subscriptions = self.catalog, [*self._outlets], {**self.subscriptions}
        running = [*self._running]
        declared = {q: q.declaration for q in running if isinstance(q, EmbeddedQuery)}
        try:
            with self._inputs.all_or_nothing():
                yield
        except BaseException:
            for outlet in self._outlets:
                if outlet not in outlets:
                    outlet.close()
            self.catalog, self._outlets, self.subscriptions = catalog, outlets, subscriptions
            self._running = [query for query in running if query.failure is None]
            for query, declaration in declared.items():
                query.declaration = declaration
            raise

    def _open_files(self) -> None:
        """Find the files of streams and relations that a query reads for the first time."""
        for name in dict.fromkeys(name for query in self._running for name in query.streams):
            monitor = self._inputs.monitor(name)
            if monitor.declaration.source is not None and name not in self._inputs.feeds:
                self._on_clock(name, self._inputs.clock_of_files(name))
                self._inputs.open(name)

    def _write(self, queries: Sequence[EmbeddedQuery | SharedQuery]) -> None:
        """Send the changes of queries that are INTO somewhere there from now on."""
        self._outlets += open_outlets(queries, overwrite=self.overwrite)

    def _read(self) -> None:
        """Take in all files that have been found."""
        while self._inputs.step():
            self._step()
        if self._inputs.feeds:
            self._step()

    def _start(self, declarations: Sequence[QueryDeclaration]) -> list[EmbeddedQuery | SharedQuery]:
        """The queries running, those that can share their selection together."""
        running: list[EmbeddedQuery | SharedQueries] = []
        handles: dict[str, EmbeddedQuery | SharedQuery] = {}
        for group in shared_selections(declarations):
            running.append(together := SharedQueries(group, self.strategy))
            handles.update({query.name: query for query in together.queries})
        for declaration in declarations:
            if declaration.name not in handles:
                running.append(query := EmbeddedQuery(declaration, self.strategy))
                handles[query.name] = query
                if isinstance(self.catalog.find(query.name), SubscriptionsDeclaration):
                    self.subscriptions[query.name] = SubscribedQuery(query)
        self._inputs.show(running)
        self._running += running
        return [handles[declaration.name] for declaration in declarations]

    def _keep(self, archives: Sequence[ArchiveDeclaration]) -> list[ArchivedQuery]:
        """The archives, being filled from now on."""
        kept = [ArchivedQuery(declared, self.strategy, self.wall) for declared in archives]
        self._inputs.show(kept)
        self._running += kept
        return kept

    def explain(self, cql: str) -> str:
        """The plans of the queries in ``cql``, which are not added."""
        compiled = self._compiled(cql)
        _warn(compiled)
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
        statistics = self._inputs.statistics(plans)
        if statistics is None or not plans:
            return compiled
        return compile_script(cql, self.catalog, self.strategy, statistics)

    def push(self, stream: str, data: Any) -> None:
        """Give rows to a stream: an Arrow table or batch, a pandas or polars frame, or dicts.

        A relation takes updates (``instant``, ``change``, its columns), or rows without the
        first two, which are inserted at the next open instant. Rows that do not fit the declared
        types, are further ahead than AHEAD allows or come too late are put aside: they are counted
        (``rejected``, ``late``), a warning says so once per stream, and ``quarantined`` has the
        newest of them; all are in the quarantine if there is one.
        """
        monitor = self._inputs.monitor(stream)
        if isinstance(monitor, RelationMonitor):
            self._on_clock(stream.lower(), monitor.clock_of(data))
        self._inputs.accept(stream, data)
        self._step()
        self._warn_of_refused()

    def _on_clock(self, name: str, clock: Clock | None) -> None:
        """Put a relation, and the queries over it, on the clock of its first updates."""
        moved = put_on_clock(name, clock, self._inputs, self._running)
        self.catalog = replace_queries(self.catalog, moved) if moved else self.catalog

    def advance(self, to: Instant) -> None:
        """Close every instant up to ``to``, on all streams whose clock understands it.

        Files that have come to where streams and relations are ``FROM`` are read first.
        """
        self._inputs.check_instant(to)
        self._inputs.look()
        self._read()
        self._inputs.advance(to)
        self._step()
        self._warn_of_refused()

    def rejected(self, stream: str) -> int:
        """How many rows of the stream did not fit its declaration, or were ahead of it."""
        return self._inputs.monitor(stream).rejected

    def late(self, stream: str) -> int:
        """How many rows of the stream came too late."""
        return self._inputs.monitor(stream).late

    def quarantined(self, stream: str) -> pa.Table:
        """The newest thousand rows of the stream that were put aside, with the reasons.

        ``file`` is NULL for rows that were pushed, ``row`` for what is true of a whole file.
        """
        self._inputs.monitor(stream)  # or it is an error
        return self._inputs.refused.table(stream)

    def close(self) -> None:
        """Forget everything, and let others write where results went."""
        for outlet in self._outlets:
            outlet.close()
        self.queries, self.catalog = {}, Catalog()
        self.subscriptions, self.archives, self._running, self._outlets = {}, {}, [], []
        self._warned = set()
        self._inputs.forget()

    def _step(self) -> None:
        """Bring all queries to where time has come.

        A query that meets a value it cannot compute with stops there, and is complained about
        when the others have gone on: its error is raised once, and it has no answer any more.
        What cannot be written, as results or to an archive, is kept and tried again later.
        """
        self._inputs.mark_idle()
        for name, released in self._inputs.release(self._running):
            for query in self._running:
                if name in query.streams:
                    query.offer(name, released)
        failures: list[WindrowError] = []
        for query in list(self._running):
            try:
                query.follow(self._inputs.time(query.streams))
            except WindrowError as error:
                failures.append(error)
                if isinstance(error, DataError):
                    self._running.remove(query)
        for outlet in self._outlets:
            try:
                outlet.flush()
            except WindrowError as error:
                failures.append(error)
        for handle in self.queries.values():
            handle.consumers.tell()
        self._warn_of_losses()
        if failures:
            raise failures[0]

    def _warn_of_losses(self) -> None:
        """Once for each query whose sums are beyond BIGINT, and each stream of nanoseconds."""
        monitors = self._inputs.monitors.values()
        said = [overflow_warning(query.name) for query in self._running if query.overflows]
        said += [cut_warning(f"stream {m.declaration.name}") for m in monitors if m.cut]
        for warning in said:
            if str(warning) not in self._warned:
                self._warned.add(str(warning))
                warnings.warn(warning, stacklevel=4)

    def _warn_of_refused(self) -> None:
        """Once for each stream of which rows were put aside, where the connection was called."""
        for name in self._inputs.refused.streams:
            if name not in self._warned:
                self._warned.add(name)
                warnings.warn(self._inputs.refusal_warning(name), stacklevel=3)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<windrow: {len(self._inputs.monitors)} streams, {len(self.queries)} queries>"


def _warn(compiled: Compiled) -> None:
    """Warn whoever called the connection of what is odd in the script."""
    for warning in compiled.warnings:
        warnings.warn(warning, stacklevel=3)
