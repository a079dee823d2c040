"""Streams that are silent for too long, in this process: found out, and what they leave released.

Rows wait in their monitor until their stream has closed their instant. If the stream is idle, a
query may have gone further; then what came before goes to all queries that read the stream, and
each keeps it until its own time. So a monitor releases up to the time of the fastest query, and
from then on whatever comes up to there at once: a query that is past it calls it late.

A query over several streams waits for the slowest. A stream that has brought no row for IDLE AFTER,
by the clock on the wall, is *idle*: the others go on without it. If all are silent, time stays. The
first row that it brings wakes it up, and is judged as always: what lies at or before an instant
that a query has closed meanwhile is late there. An update of a relation cannot be left out, since
later ones would delete what never came; it takes effect at the first instant that is still open.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Protocol

from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING, FOREVER, MICROSECONDS, Clock, Wall
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.monitor import InputMonitor, tick_text, time_of
from windrow.streams.relations import RelationMonitor
from windrow.tables.enforce import as_json
from windrow.tables.parsed_rows import Rejected

DEFAULT = 10 * MICROSECONDS["MINUTE"]
"""For directories that are watched: twice as long as the usual writers of files take for one."""


def idle_after(declaration: StreamDeclaration, *, watched: bool) -> int:
    """Microseconds of silence after which the stream is idle; FOREVER if it never is."""
    if declaration.idle is not None:
        return declaration.idle
    return DEFAULT if watched else FOREVER


class Reader(Protocol):
    """A query: the lower-case names of what it reads, and how far it has come."""

    @property
    def streams(self) -> tuple[str, ...]: ...
    @property
    def now(self) -> int | None: ...


class Silences:
    """Since when each stream has been silent, by the clock on the wall."""

    def __init__(self, wall: Wall) -> None:
        self._wall = wall
        self._heard: dict[str, tuple[tuple[InputMonitor, int] | None, int]] = {}

    def judge(self, monitors: Mapping[str, InputMonitor], watched: Container[str] = ()) -> bool:
        """Mark streams that have become idle; whether there is one. ``watched`` have a default."""
        now, found = self._wall(), False
        if now == FOREVER:
            return False
        for name, monitor in monitors.items():
            seen = monitor.accepted + monitor.late - monitor.overtaken + monitor.rejected
            heard, since = self._heard.get(name, (None, now))
            if heard != (monitor, seen):  # another monitor is that of another stream
                self._heard[name] = (monitor, seen), now
            elif not (monitor.idle or monitor.over):
                limit = idle_after(monitor.declaration, watched=name in watched)
                monitor.idle = now - since >= limit
                found = found or monitor.idle
        return found


def releases(
    monitors: Mapping[str, InputMonitor], queries: Sequence[Reader]
) -> Iterator[tuple[str, Delta]]:
    """What of each stream and relation the queries may see now."""
    times = []
    if any(monitor.idle for monitor in monitors.values()):
        times = [(q.streams, time_of(monitors[name] for name in q.streams)) for q in queries]
    for name, monitor in monitors.items():
        reached = max((now for names, now in times if name in names), default=BEGINNING)
        yield name, monitor.release(max(time_of([monitor]), reached))


def overtaken(
    name: str, monitor: InputMonitor, released: Delta, queries: Sequence[Reader]
) -> list[Rejected]:
    """Rows of a stream that are late for a query that went on without it, for the quarantine."""
    if isinstance(monitor, RelationMonitor) or not len(released):
        return []
    times = [q.now for q in queries if name in q.streams and q.now is not None]
    reached = max(times, default=BEGINNING)
    late, _ = released.split(reached)
    clock = monitor.declaration.clock
    return [
        Rejected(number, late_reason(int(ts), reached, clock), as_json(row), int(ts))
        for number, (ts, row) in enumerate(zip(late.ts, late.rows.to_pylist(), strict=True), 1)
    ]


def late_reason(ts: int, reached: int, clock: Clock) -> str:
    """Why a row is late for a query though its own stream would still have taken it."""
    return (
        f"late: its time is {tick_text(ts, clock)}, and the query had closed "
        f"{tick_text(reached, clock)} without its stream; wait longer for it with IDLE AFTER"
    )
