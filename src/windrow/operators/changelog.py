"""A relation as a stream of its changes: ``+``/``-`` at every instant, ISTREAM, DSTREAM.

At each instant these speak of the *net* change of the bag (Golab 2006, 2.1.3): a tuple that
expires while an equal one comes has not changed. The operator turns expiries into explicit
changes, so it keeps the relation's live tuples by expiry, and cancels inside each instant. If the
end of every tuple is announced (``plan.physical.announced_ends``) and nobody asks for the relation
itself, there is nothing to keep.

The window of the NT strategy announces every expiry too, by a negative tuple (Golab 2006, 2.3.3),
but below other operators and without netting.

Equal tuples that come and go at one instant are found by comparing the few of it. A table of all
rows would do as well, and does for instants with more than ``CROWD`` events; but most have two or
three, and hashing their rows costs ten times what comparing them does. The events of an instant are
put into classes column by column: two are in one class if they were so before and have the same
value. What has no opposite in its class is left out of what follows, so that the last columns,
which are strings, are looked at for a few events only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, identity_keys
from windrow.columns.byte_forms import byte_parts, is_bytes
from windrow.columns.byte_kernels import same_bytes
from windrow.columns.delta import Delta, concat, concat_rows, split_by_sign, take
from windrow.columns.kernels import bytes_in, flags_out, int64, ints, ints_out, kernel, signs, void
from windrow.columns.netting import surplus_rows
from windrow.columns.time_order import departures_first, time_order
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.operators.base import Saved, below
from windrow.operators.possible_opposites import PossibleOpposites
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.held_tuples import HeldInput
from windrow.plan.physical.state_kinds import BufferKind, Kept

CROWD = Threshold(32)
"""Events of one instant beyond which comparing each with each costs more than it saves."""
FEW = Threshold(1024)
"""Tuples that come up to which all that go are compared with them."""
NONE = np.empty(0, np.int64)


@kernel(ints_out, ints, signs, int64)
def _mixed_instants(times, sign, crowd):  # type: ignore[no-untyped-def]
    found = np.zeros(len(times), np.int64)
    start = 0
    while start < len(times):
        stop, plus, minus = start, False, False
        while stop < len(times) and times[stop] == times[start]:
            plus |= sign[stop] > 0
            minus |= sign[stop] < 0
            stop += 1
        if plus and minus:
            found[start:stop] = 1 if stop - start <= crowd else 2
        start = stop
    return found


def mixed_instants(times: Int64s, sign: npt.NDArray[np.int8]) -> Int64s:
    """Of each event: 0 if all of its instant come or all go; else 1, or 2 in a crowd."""
    found: Int64s = _mixed_instants(times, sign, CROWD.value)
    return found


@kernel(ints_out, ints, ints, ints)
def _by_number(times, classes, keys):  # type: ignore[no-untyped-def]
    """Classes of events that have the same key and were in the same class before."""
    found = np.arange(len(times))
    for i in range(len(times)):
        j = i - 1
        while j >= 0 and times[j] == times[i]:
            if classes[j] == classes[i] and keys[j] == keys[i]:
                found[i] = found[j]
                break
            j -= 1
    return found


@kernel(ints_out, ints, ints, ints, bytes_in)
def _by_text(times, classes, offsets, data):  # type: ignore[no-untyped-def]
    """As by number, comparing bytes."""
    found = np.arange(len(times))
    for i in range(len(times)):
        length = offsets[i + 1] - offsets[i]
        j = i - 1
        while j >= 0 and times[j] == times[i]:
            if (
                classes[j] == classes[i]
                and offsets[j + 1] - offsets[j] == length
                and same_bytes(data, offsets[i], data, offsets[j], length)
            ):
                found[i] = found[j]
                break
            j -= 1
    return found


@kernel(ints_out, ints, signs, ints)
def _with_opposite(times, sign, classes):  # type: ignore[no-untyped-def]
    """Indexes of events that have one of the opposite sign in their class."""
    found = np.empty(len(times), np.int64)
    count, start = 0, 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            stop += 1
        for i in range(start, stop):
            for j in range(start, stop):
                if classes[j] == classes[i] and sign[j] != sign[i]:
                    found[count] = i
                    count += 1
                    break
        start = stop
    return found[:count].copy()


@kernel(void, ints, signs, ints, ints, flags_out)
def _cancel(times, sign, classes, places, kept):  # type: ignore[no-untyped-def]
    """Let each event that comes take the first of its class that goes with it."""
    start = 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            stop += 1
        for i in range(start, stop):
            if sign[i] < 0:
                continue
            for j in range(start, stop):
                if sign[j] < 0 and classes[j] == classes[i] and kept[places[j]]:
                    kept[places[i]] = kept[places[j]] = False
                    break
        start = stop


class Cancellation:
    """Puts events of instants that are no crowds into classes, a column after the other."""

    def __init__(self, events: Int64s, times: Int64s, sign: npt.NDArray[np.int8]) -> None:
        self.events, self._times, self._sign = events, times[events], sign[events]
        self._classes = np.zeros(len(events), np.int64)

    def refine(self, column: pa.Array) -> None:
        """Compare by a column without NULL, given for ``events``; those without opposite go."""
        if is_bytes(column.type):
            classes = _by_text(self._times, self._classes, *byte_parts(column))
        else:
            classes = _by_number(self._times, self._classes, identity_keys(column))
        left = _with_opposite(self._times, self._sign, classes)
        self.events, self._times = self.events[left], self._times[left]
        self._sign, self._classes = self._sign[left], classes[left]

    def cancel(self, kept: npt.NDArray[np.bool_]) -> None:
        """Strike out what cancels, after all columns were compared."""
        _cancel(self._times, self._sign, self._classes, self.events, kept)


class Changelog:
    """``signs`` says which changes come out: +1 (ISTREAM), -1 (DSTREAM), or both.

    The output's own ``exp`` is FOREVER: it is a stream. With both signs a row with sign -1 says
    that the tuple left the relation at ``ts``, for whatever reason. ISTREAM and DSTREAM bring
    insertions only. ``keeps`` is False if every end is announced, and ``live_rows`` is not wanted;
    if the operator below has the relation itself (``holds_answer``) that is ``held``, and nothing
    is kept here either. What is ``net`` comes as it should go out, ends included
    (``sends_net_changes``).
    """

    def __init__(
        self,
        schema: pa.Schema,
        pattern: UpdatePattern,
        signs: tuple[int, ...],
        kind: BufferKind | None = None,
        keeps: bool = True,
        net: bool = False,
        held: StateBuffer | None = None,
    ) -> None:
        self.schema, self.pattern, self.signs = schema, pattern, signs
        self._net_input = net and len(signs) == 2
        self.keeps = keeps and held is None and pattern is not UpdatePattern.MONOTONIC
        self._nothing = Delta.empty(schema)
        self._held = held
        self.buffer = StateBuffer(schema, pattern, kind) if held is None else held
        texts = [is_bytes(kind) for kind in schema.types]
        self._cheapest_first = sorted(range(len(texts)), key=texts.__getitem__)
        numbers = [pa.types.is_integer(k) or pa.types.is_floating(k) for k in schema.types]
        self._first_number = numbers.index(True) if any(numbers) else None

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),) if self.keeps or self._held is not None else ((),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        if self.pattern is UpdatePattern.MONOTONIC:
            return delta if 1 in self.signs else self._nothing
        if self._net_input:
            self._follow(delta, now)
            return delta
        if not self.keeps:
            order = departures_first(delta.ts, delta.sign)
            return self._say(delta.rows, order, delta.ts[order], delta.sign[order])
        positive, negative = split_by_sign(delta)
        passing = self._store(positive, negative, now)
        opposites = self._possible_opposites(positive)
        if opposites is not None and len(passing):
            column = opposites.column
            values = None if column is None else positive.rows.column(column)
            among = opposites.among(positive.exp, values)[passing]
            passing = passing[among]
        left, leaving = self._leave(negative, now, opposites)
        # Within an instant what goes stands before what comes, as a reader expects it.
        came, rows = len(positive), concat_rows([positive.rows, left], self.schema)
        at = np.concatenate([np.arange(came, rows.num_rows), passing, np.arange(came)])
        times = np.concatenate([leaving, positive.exp[passing], positive.ts])
        sign = np.full(len(times), -1, np.int8)
        sign[len(times) - came :] = 1
        order = time_order(times)
        return self._say(rows, at[order], times[order], sign[order])

    def _say(
        self, rows: pa.RecordBatch, at: Int64s, times: Int64s, sign: npt.NDArray[np.int8]
    ) -> Delta:
        """The events, of the rows ``at`` some places, net and of the signs that are asked for."""
        if not len(at):
            return self._nothing
        kept = self._net(rows, at, times, sign)
        if len(self.signs) == 1:
            kept &= sign == self.signs[0]
        if not kept.all():
            at, times, sign = at[kept], times[kept], sign[kept]
        if len(self.signs) == 1:
            sign = np.ones(len(times), np.int8)
        answer = rows.slice(0, len(at)) if self._are_the_first(at) else take(rows, at)
        return Delta(times, np.full(len(times), FOREVER, np.int64), sign, answer)

    def _follow(self, delta: Delta, now: int) -> None:
        """Keep what there is, if that is wanted."""
        if self.keeps and len(delta):
            positive, negative = split_by_sign(delta)
            self.buffer.insert(positive)
            self.buffer.withdraw(negative)
            self.buffer.expire(now)
            self.buffer.reclaim()

    def _store(self, positive: Delta, negative: Delta, now: int) -> Int64s:
        """Keep what outlives the interval; the places of the others, which only pass through.

        A negative tuple looks for its counterpart among what is kept, so then all of it is.
        """
        if len(negative):
            self.buffer.insert(positive)
            return NONE
        stays = positive.exp > now
        self.buffer.insert(positive.filter(stays))
        return np.flatnonzero(~stays)

    def _possible_opposites(self, positive: Delta) -> PossibleOpposites | None:
        """What tells which ends may matter to ISTREAM; None: all of them, or there are few."""
        if self.signs != (1,) or len(positive) <= FEW.value:
            return None
        return PossibleOpposites(positive, self._first_number)

    def _leave(
        self, negative: Delta, now: int, opposites: PossibleOpposites | None
    ) -> tuple[pa.RecordBatch, Int64s]:
        """What is no longer kept at ``now``: tuples that were withdrawn or expired, and when.

        Of those that cannot be the opposite of something nothing is said."""
        withdrawn = self.buffer.withdraw(negative)
        expired, expiry = self.buffer.expire(now)
        places = np.concatenate([withdrawn, expired]).astype(np.int64)
        times = np.concatenate([negative.ts, expiry])
        if opposites is not None and len(places):
            column = opposites.column
            values = None if column is None else self.buffer.rows.columns[column].take(places)
            among = opposites.among(times, values)
            places, times = places[among], times[among]
        left = self.buffer.rows.take(places)
        self.buffer.reclaim()
        return left, times

    @staticmethod
    def _are_the_first(at: Int64s) -> bool:
        return bool((at == np.arange(len(at))).all())

    def _net(self, rows: pa.RecordBatch, at: Int64s, times: Int64s, sign: Any) -> Any:
        """Which events are left after equal tuples of opposite sign cancelled in their instant."""
        kept = np.ones(len(times), np.bool_)
        kinds = mixed_instants(times, sign)
        if not kinds.any():
            return kept
        few = Cancellation(np.flatnonzero(kinds == 1), times, sign)
        others = np.flatnonzero(kinds == 2)
        if self._compare(few, rows, at):
            few.cancel(kept)
        else:
            others = np.union1d(others, few.events)
        if len(others):
            columns = take(rows, at[others]).columns
            kept[others] = surplus_rows([pa.array(times[others]), *columns], sign[others])
        return kept

    def _compare(self, few: Cancellation, rows: pa.RecordBatch, at: Int64s) -> bool:
        """Put events into classes by all columns; False if NULLs left it undecided."""
        decided = True
        for index in self._cheapest_first:
            if not len(few.events):
                return True
            column = rows.column(index).take(pa.array(at[few.events]))
            if column.null_count:
                decided = False
            else:
                few.refine(column)
        return decided

    def live_rows(self) -> pa.RecordBatch:
        """The relation as it stands."""
        return self.buffer.rows.take(self.buffer.living())

    def held_inputs(self) -> Mapping[str, HeldInput]:
        there = self.keeps or self._held is not None
        return {"live": HeldInput(0, self.buffer)} if there else {}

    def size(self) -> int:
        return len(self.buffer) if self._held is None else 0

    def save(self) -> Saved:
        saved = Saved()
        if self.keeps:
            saved.add("live", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        if self.keeps:
            self.buffer.load(below("live", segments), meta["live"])


class AnnounceExpiry:
    """NegativeTuples: what leaves the window goes out with sign -1 at the instant of leaving.

    Operators above never look at expiries; they process twice as many tuples instead. A tuple that
    lives for one interval only is announced twice in it.
    """

    def __init__(
        self, schema: pa.Schema, pattern: UpdatePattern, kind: BufferKind | None = None
    ) -> None:
        self.schema = schema
        self.buffer = StateBuffer(schema, pattern, kind)

    @property
    def state(self) -> tuple[Kept, ...]:
        return ((self.buffer.kind,),)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        self.buffer.insert(delta)
        expired, expiry = self.buffer.expire(now)
        leaving = Delta.withdrawals(expiry, self.buffer.rows.take(expired))
        self.buffer.reclaim()
        return concat([leaving, Delta.insertions(delta.ts, delta.rows)], self.schema)

    def held_inputs(self) -> Mapping[str, HeldInput]:
        return {"window": HeldInput(0, self.buffer)}

    def size(self) -> int:
        return len(self.buffer)

    def save(self) -> Saved:
        saved = Saved()
        saved.add("window", self.buffer.save())
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        self.buffer.load(below("window", segments), meta["window"])
