"""The input monitor of one stream: which rows are late, how far time has come, what waits.

A row is *late* if its timestamp lies more than the slack before the greatest credible timestamp
of any earlier row, or at or before an instant that ``advance`` has closed; it is *ahead* if it is
not credible itself (``windrow.streams.horizon``). Which rows are late or ahead depends on the rows
before them and on the wall that they are judged by, so any split of the arrivals gives the same
answer. Once the greatest credible timestamp is ``top``, every row still to come has a timestamp of
at least ``top - slack`` or is late; therefore the instants up to ``top - slack - 1`` are *closed*:
complete for ever. A row that is refused moves ``top`` like any other, if it is credible.

Rows that are not late wait here until the query's time, which is that of its slowest stream,
passes them; ``release`` hands them over in order of time, those of one instant in order of
arrival. Accepting costs O(rows), releasing O(rows released + batches that wait).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.horizon import Horizon, credible, horizon_of
from windrow.streams.stream_time import StreamTime, time_reached
from windrow.streams.waiting_rows import WaitingRows
from windrow.tables.parsed_rows import Parsed, Rejected


@dataclass(frozen=True)
class Accepted:
    """The rows that were in time, in order of ``ts``, and the positions of those that were not.

    ``reached`` holds, for each late row, the earliest timestamp that was still in time, and
    ``horizon``, for each row that was ahead, the last that was credible. ``count`` is how many were
    in time: more than are in ``delta``, if nobody looks at some.
    """

    delta: Delta
    late: Int64s
    reached: Int64s
    ahead: Int64s
    horizon: Int64s
    count: int = 0

    def rejections(self, parsed: Parsed, declaration: StreamDeclaration) -> list[Rejected]:
        """The late rows and those ahead as the quarantine wants them, with their original text."""
        late = self._rejections(parsed, declaration, self.late, self.reached, _late)
        ahead = self._rejections(parsed, declaration, self.ahead, self.horizon, _ahead)
        return sorted([*late, *ahead], key=lambda rejected: rejected.row)

    def _rejections(
        self,
        parsed: Parsed,
        declaration: StreamDeclaration,
        positions: Int64s,
        limits: Int64s,
        reason: Callable[[str, str, str], str],
    ) -> list[Rejected]:
        if not len(positions):
            return []
        stamps = timestamps_of(parsed, declaration)[positions]
        column, clock = declaration.schema[declaration.timestamp].name, declaration.clock
        return [
            Rejected(
                row=int(parsed.numbers[position]),
                reason=reason(column, tick_text(ts, clock), tick_text(limit, clock)),
                text=text,
                ts=int(ts),
            )
            for position, ts, limit, text in zip(
                positions, stamps, limits, parsed.texts(positions), strict=True
            )
        ]


def _late(column: str, ts: str, limit: str) -> str:
    return (
        f"late: {column} is {ts}, but the stream no longer accepted rows before {limit}; "
        "allow more disorder with SLACK"
    )


def _ahead(column: str, ts: str, limit: str) -> str:
    return (
        f"ahead: {column} is {ts}, but the stream did not accept rows after {limit} yet; "
        "if it is right, allow more with AHEAD"
    )


@dataclass(frozen=True)
class Judgement:
    """For each row its timestamp, the earliest and the last that were allowed; ``top`` afterwards.

    ``top`` is None if no row has been credible yet. ``plain``: all rows are in time and in order.
    """

    ts: Int64s
    earliest: Int64s
    last: Int64s
    top: int | None
    plain: bool = False

    @property
    def in_time(self) -> Bools:
        if self.plain:
            return np.ones(len(self.ts), np.bool_)
        found: Bools = (self.earliest <= self.ts) & (self.ts <= self.last)
        return found


class InputMonitor:
    """See the module. ``top`` is where the stream stood before the first row to come."""

    def __init__(self, declaration: StreamDeclaration, top: int | None = None) -> None:
        self.declaration = declaration
        self.schema = arrow_schema(declaration.schema)
        self.top = top
        self.over = self.idle = False
        self.released = BEGINNING
        self.accepted = self.late = self.rejected = self.cut = 0
        self.overtaken = 0
        """How many of those that are ``late`` were accepted, and are so for a query only."""
        self._advanced = BEGINNING
        self._waiting = WaitingRows(self.schema)

    @property
    def closed_instant(self) -> int:
        """The last instant that is complete; BEGINNING if none is."""
        return self.time.closed_instant(self.declaration.slack)

    @property
    def time(self) -> StreamTime:
        """What is known of the stream's time."""
        top = BEGINNING if self.top is None else self.top
        return StreamTime(top, self._advanced, self.over, idle=self.idle)

    @property
    def advanced_to(self) -> int:
        """The last instant that ``advance`` has closed; BEGINNING if none is."""
        return self._advanced

    @property
    def waiting(self) -> Delta:
        """The rows that were accepted and not yet released."""
        return self._waiting.rows

    def accept(self, parsed: Parsed | pa.RecordBatch, horizon: Horizon | None = None) -> Accepted:
        """Take rows in, in the order in which they arrived.

        Without a ``horizon`` there is no clock on the wall: only an AHEAD that is declared counts.
        """
        if isinstance(parsed, pa.RecordBatch):
            parsed = Parsed.clean(parsed)
        return self._take_in(parsed, self._judge(parsed, horizon))

    def _take_in(self, parsed: Parsed, judged: Judgement, kept: Bools | None = None) -> Accepted:
        """Let the rows in that are in time, and remember how far time has come.

        Rows that are not ``kept`` have been refused by the caller, and move time only.
        """
        if self.over:
            raise InputError(
                where=f"stream {self.declaration.name}",
                expected="no rows after its end",
                found=f"{len(parsed)} more",
                remedy="finish a stream only when all its rows have been pushed",
            )
        self.top = judged.top
        self.idle = self.idle and not (len(parsed) or parsed.rejected)
        if judged.plain and kept is None:
            return self._take_all(parsed, judged)
        kept = np.ones(len(parsed), np.bool_) if kept is None else kept
        late = np.flatnonzero((judged.ts < judged.earliest) & kept)
        ahead = np.flatnonzero((judged.ts > judged.last) & kept)
        taken, ts = judged.in_time & kept, judged.ts
        count = int(np.count_nonzero(taken))
        if parsed.choice is not None:
            taken, ts = taken[parsed.choice.positions], ts[parsed.choice.positions]
        delta = Delta.insertions(ts, parsed.rows).filter(taken).sorted()
        self.accepted += count
        self.late += len(late)
        self.rejected += len(parsed.rejected) + len(ahead)
        self.cut += parsed.cut
        self._waiting.add(delta)
        return Accepted(delta, late, judged.earliest[late], ahead, judged.last[ahead], count)

    def _take_all(self, parsed: Parsed, judged: Judgement) -> Accepted:
        ts = judged.ts if parsed.choice is None else judged.ts[parsed.choice.positions]
        delta, nothing = Delta.insertions(ts, parsed.rows), np.empty(0, np.int64)
        self.accepted += len(parsed)
        self.rejected += len(parsed.rejected)
        self.cut += parsed.cut
        self._waiting.add(delta)
        return Accepted(delta, nothing, nothing, nothing, nothing, len(parsed))

    def _judge(self, parsed: Parsed, horizon: Horizon | None) -> Judgement:
        """What the rows are measured by; those that were refused stand between them."""
        horizon = horizon or horizon_of(self.declaration)
        own = ts = timestamps_of(parsed, self.declaration)
        mine: Bools | slice = slice(None)
        refused = [(r.row, r.ts) for r in parsed.rejected if r.ts is not None]
        if refused:
            numbers = np.concatenate([parsed.numbers, [row for row, _ in refused]])
            order = np.argsort(numbers, kind="stable")
            ts = np.concatenate([own, np.array([t for _, t in refused], np.int64)])[order]
            mine = order < len(own)
        base = horizon.base(self.top, self._advanced)
        if not refused and self._is_plain(own, base, horizon):
            earliest, last = np.broadcast_to(own[0], len(own)), np.broadcast_to(own[-1], len(own))
            return Judgement(own, earliest, last, int(own[-1]), plain=True)
        found, last = credible(ts, base, horizon)
        counted = ts if found.all() else np.where(found, ts, BEGINNING)
        greatest = int(counted.max(initial=BEGINNING if self.top is None else self.top))
        earliest = self._earliest(counted)
        top = None if greatest == BEGINNING else greatest
        return Judgement(own, earliest[mine], last[mine], top)

    def _is_plain(self, ts: Int64s, base: int | None, horizon: Horizon) -> bool:
        """Whether rows are in order and none is late or ahead: most batches, told in one pass.

        The first is not before the greatest timestamp so far, so time moves with every row; and
        what is credible by the time before the batch is so later.
        """
        if not len(ts) or ts[0] <= self._advanced or (self.top is not None and ts[0] < self.top):
            return False
        if horizon.is_bounded and (base is None or ts[-1] > horizon.limit(base)):
            return False
        return bool((ts[1:] >= ts[:-1]).all())

    def _earliest(self, ts: Int64s) -> Int64s:
        """For each row, the earliest timestamp that is still in time when it comes."""
        before = np.empty(len(ts), np.int64)
        if len(ts):
            before[0] = BEGINNING if self.top is None else self.top
            before[1:] = ts[:-1]
        slack = self.declaration.slack
        limits = np.maximum(np.maximum.accumulate(before), BEGINNING + slack) - slack
        open_from: Int64s = np.maximum(limits, self._advanced + 1)
        return open_from

    def advance(self, to: int) -> None:
        """Close every instant up to ``to``: rows at or before it will be late."""
        self._advanced = max(self._advanced, to)

    def finish(self) -> None:
        """The stream is over: no row will come any more, and it holds time back no longer."""
        self.over = True

    def release(self, now: int) -> Delta:
        """The waiting rows with ``ts <= now``, in order of time; they wait no longer.

        What was ``released`` once stays so: a row that comes later up to there waits for nothing.
        """
        self.released = max(self.released, now)
        return self._waiting.release(self.released)

    def state(self) -> dict[str, Any]:
        """What ``resumed`` needs besides ``waiting``; JSON can hold it."""
        return {
            "top": self.top,
            "closed": self._advanced,
            "over": self.over,
            "idle": self.idle,
            "released": self.released,
            "counts": [self.accepted, self.late, self.rejected],
        }

    @classmethod
    def resume(
        cls, declaration: StreamDeclaration, state: Mapping[str, Any], waiting: Delta
    ) -> InputMonitor:
        """A monitor that goes on where another one's ``state`` and ``waiting`` were taken."""
        monitor = cls(declaration, state["top"])
        monitor._advanced, monitor.over = state["closed"], state["over"]
        monitor.idle, monitor.released = state["idle"], state["released"]
        monitor.accepted, monitor.late, monitor.rejected = state["counts"]
        monitor._waiting.add(waiting)
        return monitor


def tick_text(tick: np.int64 | int, clock: Clock) -> str:
    """An instant as people write it."""
    if clock is Clock.INTEGER:
        return str(tick)
    return str(np.datetime64(int(tick), "us")).replace("T", " ")


def timestamps_of(parsed: Parsed, declaration: StreamDeclaration) -> Int64s:
    """The timestamps, in ticks, of all rows that were read."""
    if parsed.choice is not None:
        return parsed.choice.ts
    return timestamps(parsed.rows, declaration)


def timestamps(rows: pa.RecordBatch, declaration: StreamDeclaration) -> Int64s:
    """The timestamp column in ticks."""
    ticks: Int64s = rows.column(declaration.timestamp).cast(pa.int64()).to_numpy()
    return ticks


def time_of(monitors: Iterable[InputMonitor]) -> int:
    """How far a query over these streams has come (see ``windrow.streams.stream_time``)."""
    numbered = dict(enumerate(monitors))
    slacks = {number: m.declaration.slack for number, m in numbered.items()}
    return time_reached({number: m.time for number, m in numbered.items()}, slacks)
