"""When values open and close, and what that makes of the tuples that have them.

A value is *open* while the count of what closes it is zero. In an interval the counts' changes
are sorted by value and time, so that only the net change of an instant counts; then each tuple
that can be affected walks through the periods of its value, and is in the answer where its own
life and the open periods meet. What merely expires by itself is not announced.

Tuples may be shown in closed periods too, which are the opposite. Then a last column says
of each whether it is closed, and where its value opens or closes it is withdrawn and comes again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import Delta, batch_of
from windrow.columns.growable import Growable
from windrow.columns.kernels import boolean, flags, grid, int64, ints, ints_out, kernel, likely_room
from windrow.operators.aggregates.events import Events
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.tuple_index import END, EXP, TS

Changes = tuple[Int64s, Int64s, Int64s]
"""Positions of tuples that come or are withdrawn, when, and the signs."""
NONE = np.empty(0, np.int64)


@kernel(
    int64, ints, ints, grid, int64, int64, int64, ints, flags, ints, ints, ints, boolean,
    *[ints_out] * 3,
)  # fmt: skip
def _pieces(  # type: ignore[no-untyped-def]
    at, codes, life, base, before, now, first, was_open, flips, others, stops, all_open,
    out_at, out_time, out_sign,
):  # fmt: skip
    """Changes of the left tuples ``at`` in the interval ``(before, now]``.

    Tuple ``at[i]`` has the value ``codes[i]``. ``flips[first[c]:stops[c]]`` are the instants at
    which value c opens or closes, ``was_open[c]`` says how it stood before; ``others`` are the
    instants at which everything opens or closes and ``all_open`` how that stood. The answer is
    the number of changes, which may exceed the room.
    """
    count, room = 0, len(out_at)
    for i in range(len(at)):
        row = at[i] - base
        ts, end, exp = life[row, TS], life[row, END], life[row, EXP]
        if end <= before:
            continue
        c = codes[i]
        a, z, b = first[c], stops[c], 0
        mine, everything = was_open[c], all_open
        inside = mine and everything and ts <= before
        time = before
        while True:
            # The next instant at which something happens to this tuple.
            step = end
            if ts > time:
                step = min(step, ts)
            if a < z:
                step = min(step, flips[a])
            if b < len(others):
                step = min(step, others[b])
            if step > now:
                break
            time = step
            while a < z and flips[a] <= time:
                mine = not mine
                a += 1
            while b < len(others) and others[b] <= time:
                everything = not everything
                b += 1
            if time >= end:
                if inside and end < exp:
                    if count < room:
                        out_at[count], out_time[count], out_sign[count] = at[i], end, -1
                    count += 1
                break
            stays = mine and everything and ts <= time
            if stays != inside:
                if count < room:
                    out_at[count], out_time[count] = at[i], time
                    out_sign[count] = 1 if stays else -1
                count += 1
                inside = stays
    return count


@dataclass(frozen=True)
class Flips:
    """``at[first[v]:stop[v]]`` are the instants at which value v opened or closed."""

    was_open: Bools
    first: Int64s
    stop: Int64s
    at: Int64s
    values: Int64s
    """Those that opened or closed at all."""

    def never(self) -> Flips:
        """As if all values were always open."""
        none = np.zeros(len(self.was_open), np.int64)
        return Flips(np.ones(len(none), np.bool_), none, none, NONE, self.values)

    def opposite(self) -> Flips:
        """As if values were open where they are closed."""
        return replace(self, was_open=~self.was_open)


def count_and_flip(counts: Int64s, code: Int64s, time: Int64s, sign: npt.NDArray[np.int8]) -> Flips:
    """Take changes into ``counts``, which is one per value; when the values opened or closed."""
    size = len(counts)
    was_open = counts == 0
    if not len(code):
        none = np.zeros(size, np.int64)
        return Flips(was_open, none, none, NONE, NONE)
    events = Events.sort(code, time, np.zeros(len(code), np.int64), sign)
    before = counts[events.groups]
    after = events.running(events.sign.astype(np.int64), before)
    last = events.code[events.last]
    counts[last] = after
    earlier = np.where(events.opening, before[events.group_of], np.concatenate([[0], after[:-1]]))
    flipped = np.flatnonzero((earlier == 0) != (after == 0))
    value, instant = last[flipped], events.time[events.last][flipped]
    # Values are in order, so the instants of one stand together.
    starts = np.flatnonzero(np.diff(value, prepend=-1))
    values = value[starts]
    first, stop = np.zeros(size, np.int64), np.zeros(size, np.int64)
    first[values], stop[values] = starts, np.append(starts[1:], len(value))
    return Flips(was_open, first, stop, instant, values)


def changes_of(
    at: Int64s,
    codes: Int64s,
    life: Growable,
    interval: tuple[int, int],
    flips: Flips,
    others: Int64s = NONE,
    all_open: bool = True,
) -> Changes:
    """What comes and is withdrawn in ``(before, now]``.

    ``others`` are instants at which everything opens or closes at once.
    """
    room = likely_room(2 * len(at) + 64)
    while True:
        out = [np.empty(room, np.int64) for _ in range(3)]
        count = _pieces(
            at, codes, life.view, life.base, *interval, flips.first,
            flips.was_open, flips.at, others, flips.stop, all_open, *out,
        )  # fmt: skip
        if count <= room:
            position, time, sign = (a[:count] for a in out)
            return position, time, sign
        room = count


def tuples_of(
    buffer: StateBuffer, parts: Sequence[Changes], flagged: pa.Schema | None = None
) -> Delta:
    """The tuples in ``buffer`` that all parts say come or are withdrawn, in order of time.

    If ``flagged``, the schema with the flag, there are two parts: of open values and of closed.
    """
    at, time, sign = (np.concatenate(p) for p in zip(*parts, strict=True))
    order = np.argsort(time, kind="stable")
    rows = buffer.rows.take(at[order])
    exp = np.ascontiguousarray(buffer.life.take(at[order])[:, EXP])
    if flagged is not None:
        closed = pa.array(order >= len(parts[0][0]))
        rows = batch_of([*rows.columns, closed], flagged, len(order))
    return Delta(time[order], exp, sign[order].astype(np.int8), rows)
