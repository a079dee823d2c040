"""What comes in: streams and relations, pushed or from files, and how far each has come."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.text_forms import Instant, instant
from windrow.core.errors import InputError, WindrowError
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING, Clock, Wall, no_wall_clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.feeds import Feed
from windrow.engine.idling import Reader, Silences, overtaken, releases
from windrow.engine.observed import Observed
from windrow.plan.catalog import Catalog, RelationDeclaration
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.nodes import Node
from windrow.plan.physical.excerpts import EVERYTHING, Excerpt
from windrow.streams.horizon import horizon_of
from windrow.streams.monitor import Accepted, InputMonitor, time_of
from windrow.streams.pushed_rows import parse_pushed
from windrow.streams.quarantine import Quarantine, RefusedRows
from windrow.streams.relations import RelationMonitor
from windrow.tables.parsed_rows import Rejected
from windrow.tables.read_ahead import Readers

ROWS_AT_ONCE = Threshold(1 << 16, least=1)
"""Rows of files that are taken in before queries go on."""


class Query(Protocol):
    """What reads streams and relations."""

    @property
    def name(self) -> str: ...
    @property
    def clock(self) -> Clock: ...


class Follower(Query, Protocol):
    """What is given rows as they come, and follows their time."""

    @property
    def streams(self) -> tuple[str, ...]: ...
    def offer(self, stream: str, delta: Delta) -> None: ...
    def follow(self, now: int) -> None: ...


@dataclass(frozen=True)
class HeldRelation:
    """The rows of a relation as of an instant, and when the last update was that has come.

    ``rows_at`` gives those of that instant and of later ones, as far as updates have come, while
    nothing moves.
    """

    rows: pa.RecordBatch
    instant: int
    last_update: int
    rows_at: Callable[[int], pa.RecordBatch]

    def is_known_at(self, instant: int) -> bool:
        """Whether ``rows_at`` gives the rows of an instant that may be an earlier one."""
        return min(self.instant, self.last_update) <= instant


class Inputs:
    """The input monitors of a connection by lower-case name, and the files that feed them.

    A stream has its monitor as soon as it is declared, a relation when it is first spoken of:
    by then it is known beside which streams, and so on which clock, it is.
    """

    def __init__(
        self, quarantine: Path | None = None, wall: Wall = no_wall_clock, *, watch: bool = False
    ) -> None:
        self._watch = watch
        self.relations_in_state = False
        """Whether rows of relations are held by queries, and not here."""
        self.monitors: dict[str, InputMonitor] = {}
        self.feeds: dict[str, Feed] = {}
        self.quarantine = None if quarantine is None else Quarantine(quarantine)
        self.refused = RefusedRows()
        self._wall, self._silences, self._readers = wall, Silences(wall), Readers()
        self._catalog = Catalog()
        self._observed = Observed()
        self._failure: Exception | None = None

    def declare(self, catalog: Catalog) -> None:
        """Take note of the streams and relations that there are by now."""
        self._catalog = catalog
        for stream in catalog.streams:
            if stream.name.lower() not in self.monitors:
                self.add(InputMonitor(stream))

    def drop(self, names: Iterable[str]) -> None:
        """Forget streams and relations, by their lower-case names."""
        for name in names:
            self.monitors.pop(name, None)
            self.feeds.pop(name, None)
            self._observed.forget(name)
            self.refused.forget(name)

    def add(self, monitor: InputMonitor) -> None:
        """Let a stream or relation come in through this monitor."""
        self.monitors[monitor.declaration.name.lower()] = monitor

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Whatever fails within leaves what was declared and read as it was before."""
        before = self._catalog, dict(self.monitors), dict(self.feeds), self._observed.copy()
        refused = self.refused.copy()
        try:
            yield
        except BaseException:
            self._catalog, self.monitors, self.feeds, self._observed = before
            self.refused.restore(refused)
            raise

    def monitor(self, name: str) -> InputMonitor:
        """The monitor of a stream or relation."""
        relation = self._catalog.find(name)
        if name.lower() not in self.monitors and isinstance(relation, RelationDeclaration):
            clocks = [s.clock for s in self._catalog.streams] or [Clock.INTEGER]
            self.add(RelationMonitor(relation, clocks[0]))
        found = self.monitors.get(name.lower())
        if found is None:
            streams = [d.name for d in self._catalog.streams]
            raise WindrowError(
                where=f"stream {name!r}",
                expected=f"one of {', '.join(streams) or 'none declared yet'}",
                found="no such stream" if relation is None else "a view or query",
                remedy="declare it with CREATE STREAM",
            )
        return found

    def accept(self, name: str, data: Any) -> None:
        """Take in rows that were pushed; those that do not fit, are late or ahead are set aside."""
        monitor = self.monitor(name)
        if isinstance(monitor, RelationMonitor):
            parsed = monitor.parse_pushed(data)
        else:
            parsed = parse_pushed(data, monitor.declaration)
        accepted = monitor.accept(parsed, horizon_of(monitor.declaration, self._wall()))
        self._note(monitor, accepted.delta)
        aside = list(parsed.rejected)
        if isinstance(monitor, RelationMonitor):
            aside += monitor.refused
            monitor.refused = []
        aside += accepted.rejections(parsed, monitor.declaration)
        self._put_aside(monitor.declaration.name, aside, "push")

    def relation_rows(self, name: str) -> HeldRelation:
        """What a relation holds, its files being read by now."""
        monitor = self.monitor(name)
        assert isinstance(monitor, RelationMonitor)
        top = BEGINNING if monitor.top is None else monitor.top
        return HeldRelation(monitor.closed_rows(), monitor.closed_instant, top, monitor.rows_at)

    def _put_aside(self, name: str, rows: Sequence[Rejected], page: str) -> None:
        """Keep rows that cannot be used, and of which no file is known."""
        if rows and self.quarantine is not None:
            self.quarantine.push(name, rows, page)
        self.refused.add(name, None, rows)

    def quarantined_rows(self, name: str) -> pa.Table:
        """The newest rows of a stream that were put aside."""
        return self.refused.table(name)

    def refusal_warning(self, name: str) -> WindrowWarning:
        """What to say of a stream of which rows were put aside."""
        monitor = self.monitor(name)
        stream, late = monitor.declaration.name, monitor.late
        rows = "1 row" if monitor.rejected + late == 1 else f"{monitor.rejected + late:,} rows"
        place = f", and all of them in {self.quarantine.directory}" if self.quarantine else ""
        return WindrowWarning(
            f"{rows} quarantined, {late:,} late; the first: {self.refused.first_reason(name)}",
            where=f"stream {stream}",
            remedy=f"quarantined_rows({stream!r}) has the newest of them{place}",
        )

    def open(
        self, names: Iterable[str], excerpts: Mapping[str, Excerpt] = MappingProxyType({})
    ) -> None:
        """Find the files of streams and relations, which ``step`` then reads.

        Of streams among ``excerpts``, other rows and columns need not be there.
        """
        for name in dict.fromkeys(names):
            if self.monitor(name).declaration.source is not None and name not in self.feeds:
                self._open(name, excerpts.get(name, EVERYTHING))

    def _open(self, name: str, excerpt: Excerpt) -> None:
        """The monitor as it is now is left to ``all_or_nothing``: had it seen some of the rows,
        they would be late when the files are read once more.
        """
        before = self.monitor(name)
        described = (before.declaration, before.schema)  # these never change
        monitor = deepcopy(before, {id(value): value for value in described})
        self.monitors[name] = monitor
        self.feeds[name] = Feed(
            monitor,
            self.quarantine,
            wall=self._wall,
            patient=self._watch,
            on_aside=partial(self.refused.add, monitor.declaration.name),
            excerpt=excerpt,
            readers=self._readers,
        )

    def look(self) -> None:
        """Take note of files that have come."""
        for feed in self.feeds.values():
            feed.look()

    def step(self) -> bool:
        """Take in some batches of the files that are behind; False if there is nothing to read.

        What an interval costs beyond its rows is paid once for them all. An error is raised when
        queries have gone on with what was read before it.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        for feed in self.feeds.values():
            feed.begin()
        rows, read = 0, False
        while rows < ROWS_AT_ONCE.value:
            try:
                accepted = self._take_in_batch()
            except Exception as error:
                if not read:
                    raise
                self._failure = error
                break
            if accepted is None:
                break
            rows, read = rows + accepted.count, True
            if not accepted.count:  # it gives way
                break
        return read

    def _take_in_batch(self) -> Accepted | None:
        for feed in sorted(self.feeds.values(), key=lambda feed: feed.monitor.closed_instant):
            accepted = feed.step()
            if accepted is not None:
                self._note(feed.monitor, accepted.delta)
                return accepted
        return None

    def _again(self, names: Container[str]) -> Iterator[tuple[str, Delta, dict[str, int]]]:
        """What was released of the files of streams, for queries that come late.

        Batch by batch, the stream that is behind first: its name, its rows, and how far each
        stream has come. Relations are not among them: a query is shown what they hold.
        """
        fed = {n: f for n, f in self.feeds.items() if not isinstance(f.monitor, RelationMonitor)}
        judges = {name: InputMonitor(fed[name].declaration) for name in fed if name in names}
        batches = {name: fed[name].again(judge) for name, judge in judges.items()}
        while batches:
            name = min(batches, key=lambda name: judges[name].closed_instant)
            reached = judges[name].closed_instant
            if next(batches[name], None) is None:  # it has come to where its monitor is
                del batches[name]
                judges[name].advance(fed[name].monitor.closed_instant)
                reached = fed[name].monitor.released
            released = judges[name].release(max(reached, judges[name].closed_instant))
            yield name, released, {n: judge.closed_instant for n, judge in judges.items()}

    def show(self, queries: Sequence[Follower]) -> None:
        """Give new queries what the relations hold by now, and what was read of streams' files.

        Each file is read once for all of them, and never more than a batch of it is held.
        """
        for query in queries:
            for name in query.streams:
                monitor = self.read_by(query, name)
                if isinstance(monitor, RelationMonitor):
                    query.offer(name, monitor.present())
        for name, rows, reached in self._again({n for q in queries for n in q.streams}):
            for query in queries:
                if name in query.streams:
                    query.offer(name, rows)
                    now = self.time(query.streams)
                    query.follow(min(reached.get(n, now) for n in query.streams))

    def are_pushed(self, names: Iterable[str]) -> bool:
        """Whether these are streams of which no rows can be read again."""
        found = [self.monitors.get(name) for name in names]
        return all(
            monitor is not None
            and not isinstance(monitor, RelationMonitor)
            and monitor.declaration.source is None
            for monitor in found
        )

    def knows(self, name: str) -> bool:
        """Whether a stream or relation of this name is declared on the connection."""
        return self._catalog.find(name) is not None

    def missed_before(self, names: Iterable[str]) -> dict[str, int]:
        """Of streams whose rows were pushed and released, up to where: a query that starts now
        does not get them. Files are read again for it, and relations shown."""
        return {
            name: monitor.released
            for name in names
            if (monitor := self.monitors.get(name)) is not None
            and not isinstance(monitor, RelationMonitor)
            and monitor.declaration.source is None
            and monitor.accepted
            and monitor.released > BEGINNING
        }

    def read_by(self, query: Query, name: str) -> InputMonitor:
        """The monitor of a stream or relation that the query reads."""
        monitor = self.monitor(name)
        if monitor.declaration.clock is not query.clock:
            if isinstance(monitor, RelationMonitor) and monitor.fresh:
                self.add(RelationMonitor(monitor.relation, query.clock))
                return self.monitor(name)
            raise InputError(
                where=f"query {query.name}",
                expected=f"{name} on the {query.clock.value} clock of the query",
                found=f"updates on the {monitor.declaration.clock.value} clock",
                remedy="give a relation its updates after the streams that it is joined with",
            )
        return monitor

    def mark_idle(self) -> bool:
        """Find out which streams have been silent for longer than they may; whether one is new.

        One with files that have not been read has not been silent. Directories that are watched
        have a limit if none is declared.
        """
        watched = self.feeds.keys() if self._watch else frozenset[str]()
        limited = {
            name: monitor
            for name, monitor in self.monitors.items()
            if monitor.declaration.idle is not None or name in watched
        }
        for name in limited.keys() & self.feeds.keys():
            self.feeds[name].look()
            if self.feeds[name].unread:
                del limited[name]
        return self._silences.judge(limited, watched)

    def finish(self) -> None:
        """Nothing more will come from files."""
        for feed in self.feeds.values():
            feed.monitor.finish()

    def release(self, queries: Sequence[Reader]) -> Iterator[tuple[str, Delta]]:
        """What of each stream and relation the queries may see now.

        Rows of a stream that was idle while a query went past them are late for that query.
        """
        for name, released in releases(self.monitors, queries):
            late = overtaken(name, self.monitors[name], released, queries)
            monitor = self.monitors[name]
            monitor.late += len(late)
            monitor.overtaken += len(late)
            self._put_aside(monitor.declaration.name, late, "closed")
            yield name, released

    def time(self, names: Iterable[str]) -> int:
        """How far a query over these streams and relations has come."""
        return time_of(self.monitors[name] for name in names)

    def check_instant(self, to: Instant) -> None:
        """Refuse what no clock of the streams understands, or what is no instant at all."""
        if self._understanding(to):
            instant(to)
        elif self.monitors:
            raise InputError(
                where="advance",
                expected="an integer (or, on a TIMESTAMP clock, a datetime or ISO text)",
                found=repr(to),
                remedy="use the kind of time that the streams are declared with",
            )

    def advance(self, to: Instant) -> None:
        """Close every instant up to ``to``, on all streams whose clock understands it."""
        for monitor in self._understanding(to):
            monitor.advance(instant(to))

    def advance_to_last_row(self) -> None:
        """Close every instant up to the last that files have brought, on each clock."""
        fed = [self.monitors[name] for name in self.feeds]
        for clock in Clock:
            tops = [m.top for m in fed if m.declaration.clock is clock and m.top is not None]
            for monitor in self.monitors.values():
                if tops and monitor.declaration.clock is clock:
                    monitor.advance(max(tops))

    def _understanding(self, to: object) -> list[InputMonitor]:
        whole = isinstance(to, int | np.integer)
        return [
            m for m in self.monitors.values() if whole or m.declaration.clock is Clock.TIMESTAMP
        ]

    def forget(self) -> None:
        """Begin anew, with nothing declared."""
        self.monitors, self.feeds = {}, {}
        self._catalog, self._observed = Catalog(), Observed()
        self.refused.restore(RefusedRows())

    def statistics(self, plans: Iterable[Node] = ()) -> StreamStatistics | None:
        """What has been observed of the streams so far; None if nothing was."""
        return self._observed.statistics(self.monitors, plans)

    def _note(self, monitor: InputMonitor, rows: Delta) -> None:
        if not isinstance(monitor, RelationMonitor):
            self._observed.note(monitor.declaration.name.lower(), rows.rows, rows.ts)
