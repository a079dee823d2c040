"""The input monitor of one stream: which rows are late, how far time has come, what waits.

A row is *late* if its timestamp lies more than the slack before the greatest timestamp of any
earlier row, or at or before an instant that ``advance`` has closed. Whether a row is late
depends on the rows before it and on nothing else, so any split of the arrivals gives the same
answer. Once the greatest timestamp is ``top``, every row still to come has a timestamp of at
least ``top - slack`` or is late; therefore the instants up to ``top - slack - 1`` are *closed*:
complete for ever.

Rows that are not late wait here until the query's time, which is that of its slowest stream,
passes them; ``release`` hands them over in order of time, those of one instant in order of
arrival. Accepting costs O(rows), releasing O(rows released + batches that wait).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.time import BEGINNING, Clock
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.parsed import Int64s, Parsed, Rejected


@dataclass(frozen=True)
class Accepted:
    """The rows that were in time, in order of ``ts``, and the positions of those that were late.

    ``reached`` holds, for each late row, the earliest timestamp that was still in time.
    """

    delta: Delta
    late: Int64s
    reached: Int64s

    def rejections(self, parsed: Parsed, declaration: StreamDeclaration) -> list[Rejected]:
        """The late rows as the quarantine wants them, with their original text."""
        stamps = timestamps(parsed.rows, declaration)[self.late]
        column, clock = declaration.schema[declaration.timestamp].name, declaration.clock
        return [
            Rejected(
                row=int(parsed.numbers[position]),
                reason=f"late: {column} is {shown(ts, clock)}, but by then the stream took only "
                f"{shown(limit, clock)} and later; allow more disorder with SLACK",
                text=text,
                ts=int(ts),
            )
            for position, ts, limit, text in zip(
                self.late, stamps, self.reached, parsed.texts(self.late), strict=True
            )
        ]


class InputMonitor:
    """See the module. ``top`` is where the stream stood before the first row to come."""

    def __init__(self, declaration: StreamDeclaration, top: int | None = None) -> None:
        self.declaration = declaration
        self.schema = arrow_schema(declaration.schema)
        self.top = top
        self.over = False
        self.accepted = self.late = self.rejected = 0
        self._advanced = BEGINNING
        self._waiting: list[Delta] = []

    @property
    def closed(self) -> int:
        """The last instant that is complete; BEGINNING if none is."""
        if self.top is None:
            return self._advanced
        return max(self._advanced, self.top - self.declaration.slack - 1)

    @property
    def advanced(self) -> int:
        """The last instant that ``advance`` has closed; BEGINNING if none is."""
        return self._advanced

    @property
    def waiting(self) -> Delta:
        """The rows that were accepted and not yet released."""
        return concat(self._waiting, self.schema)

    def accept(self, parsed: Parsed | pa.RecordBatch) -> Accepted:
        """Take rows in, in the order in which they arrived."""
        if isinstance(parsed, pa.RecordBatch):
            parsed = Parsed.clean(parsed)
        if self.over:
            raise InputError(
                where=f"stream {self.declaration.name}",
                expected="no rows after its end",
                found=f"{len(parsed)} more",
                remedy="finish a stream only when all its rows have been given",
            )
        ts = timestamps(parsed.rows, self.declaration)
        limits = self._limits(ts, parsed)
        is_late = ts < limits
        self._note(ts, parsed.rejected)
        late = np.flatnonzero(is_late)
        delta = Delta.insertions(ts, parsed.rows).filter(~is_late).sorted()
        self.accepted += len(delta)
        self.late += len(late)
        self.rejected += len(parsed.rejected)
        if len(delta):
            self._waiting.append(delta)
        return Accepted(delta, late, limits[late])

    def _limits(self, ts: Int64s, parsed: Parsed) -> Int64s:
        """For each row, the earliest timestamp that is still in time when it comes."""
        before = np.empty(len(ts), np.int64)
        if len(ts):
            before[0] = BEGINNING if self.top is None else self.top
            before[1:] = ts[:-1]
        refused = [(r.row, r.ts) for r in parsed.rejected if r.ts is not None]
        if refused:
            # Each raises the bar for the first row that came after it, and so for all others.
            rows, stamps = (np.array(c, np.int64) for c in zip(*refused, strict=True))
            following = np.searchsorted(parsed.numbers, rows)
            within = following < len(ts)
            np.maximum.at(before, following[within], stamps[within])
        greatest = np.maximum.accumulate(before)
        slack = self.declaration.slack
        limits = np.maximum(greatest, BEGINNING + slack) - slack
        open_from: Int64s = np.maximum(limits, self._advanced + 1)
        return open_from

    def _note(self, ts: Int64s, rejected: Sequence[Rejected]) -> None:
        seen = [r.ts for r in rejected if r.ts is not None]
        if len(ts):
            seen.append(int(ts.max()))
        if self.top is not None:
            seen.append(self.top)
        self.top = max(seen, default=None)

    def advance(self, to: int) -> None:
        """Close every instant up to ``to``: rows at or before it will be late."""
        self._advanced = max(self._advanced, to)

    def finish(self) -> None:
        """The stream is over: no row will come any more, and it holds time back no longer."""
        self.over = True

    def release(self, now: int) -> Delta:
        """The waiting rows with ``ts <= now``, in order of time; they wait no longer."""
        out, rest = [], []
        for part in self._waiting:
            due, later = part.split(now)
            out.append(due)
            if len(later):
                rest.append(later)
        self._waiting = rest
        return concat(out, self.schema)

    def state(self) -> dict[str, Any]:
        """What ``resumed`` needs besides ``waiting``; JSON can hold it."""
        return {
            "top": self.top,
            "closed": self._advanced,
            "over": self.over,
            "counts": [self.accepted, self.late, self.rejected],
        }

    @classmethod
    def resumed(
        cls, declaration: StreamDeclaration, state: Mapping[str, Any], waiting: Delta
    ) -> InputMonitor:
        """A monitor that goes on where another one's ``state`` and ``waiting`` were taken."""
        monitor = cls(declaration, state["top"])
        monitor._advanced, monitor.over = state["closed"], state["over"]
        monitor.accepted, monitor.late, monitor.rejected = state["counts"]
        monitor._waiting = [waiting] if len(waiting) else []
        return monitor


def shown(tick: np.int64, clock: Clock) -> str:
    """An instant as people write it."""
    if clock is Clock.INTEGER:
        return str(tick)
    return str(np.datetime64(int(tick), "us")).replace("T", " ")


def timestamps(rows: pa.RecordBatch, declaration: StreamDeclaration) -> Int64s:
    """The timestamp column in ticks."""
    ticks: Int64s = rows.column(declaration.timestamp).cast(pa.int64()).to_numpy()
    return ticks


def time_of(monitors: Iterable[InputMonitor]) -> int:
    """How far a query over these streams has come.

    The slowest stream decides; one that is over no longer does. When all are over, time ends at
    the greatest timestamp that any of them saw (or was advanced to).
    """
    everything = list(monitors)
    running = [m.closed for m in everything if not m.over]
    if running:
        return min(running)
    return max(
        (max(m.closed, BEGINNING if m.top is None else m.top) for m in everything),
        default=BEGINNING,
    )
