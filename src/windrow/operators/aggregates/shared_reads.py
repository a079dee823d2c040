"""What many queries read of shared synopses: who asks for which rows, and what they are told.

Queries that read the same synopses over the same window with the same period are one *probe*,
aggregates that are put together from the same synopses one *source*, and queries that make the same
of their aggregates one *form*. ``windrow.operators.shared_group_by`` finds the rows of each probe
that may have changed and reads them; here is where they lie: rows of a probe are a stretch, those
of a source are the stretches of its probes, and those of a form one stretch for each member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.evaluate import selection_mask
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.aggregates.counter_scans import ScannedValue
from windrow.operators.aggregates.shared_values import Pair, WindowValue
from windrow.plan.expressions import Expression

ByValue = tuple[str, int]
"""What a store keeps of the values of an argument (``plan.nodes.shared_groups.BY_VALUE``), and the
number of that."""


@dataclass
class ReadAggregate:
    """How an aggregate is read: the sum at a place, or the synopsis of an extreme by number."""

    value: WindowValue
    places: tuple[int, ...]
    """In each store of the source: the first column of a sum, or the number of a synopsis."""
    width: int
    kind: pa.DataType
    extreme: bool = False
    probes: list[int] = field(default_factory=list)


@dataclass
class ScannedAggregate:
    """One that is read by a scan of what stores keep by value."""

    value: ScannedValue
    cells: ByValue
    kind: pa.DataType
    probes: list[int] = field(default_factory=list)


@dataclass
class Source:
    """Stores that are added and subtracted, what is read of them, and which probes ask for it.

    In a store of several predicates each probe asks for its own: ``predicates`` are their places in
    the stores, by probe.
    """

    added: tuple[int, ...]
    subtracted: tuple[int, ...]
    aggregates: list[ReadAggregate | ScannedAggregate] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    predicates: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """A window and a period over the synopses of some predicates."""

    predicates: tuple[int, ...]
    window: int
    slide: int
    task: tuple[int, int] | None = None
    """Of queries that are scheduled: those of one task are executed together."""


@dataclass(frozen=True)
class Executions:
    """When probes are executed during an interval, and the instants that they were answered for.

    They are executed at the multiples of their slides from ``first`` on or, where a slide is 0, at
    ``instants``, those of probe p being from ``offsets[p]`` to ``offsets[p + 1]``.
    """

    slides: Int64s
    answered: Int64s
    first: Int64s
    offsets: Int64s
    instants: Int64s

    @classmethod
    def on_grid(cls, slides: Int64s, before: int, answered: Int64s | None = None) -> Executions:
        """At every multiple of the slides after ``before``; answered for the last one before it,
        if nothing else is said.
        """
        if before == BEGINNING:
            first = np.full_like(slides, BEGINNING)
            last = first
        else:
            last = before // slides * slides
            first = last + slides
        none = np.zeros(len(slides) + 1, np.int64)
        return cls(slides, last if answered is None else answered, first, none, none[:0])

    @classmethod
    def at(cls, instants: Sequence[Sequence[int]], answered: Int64s) -> Executions:
        """At these instants of each probe."""
        offsets = np.append(0, np.cumsum([len(own) for own in instants])).astype(np.int64)
        found = np.array([t for own in instants for t in own], np.int64)
        return cls(np.zeros_like(answered), answered, answered, offsets, found)

    def of(self, probes: Int64s) -> Executions:
        """Those of some probes, in their order."""
        chosen = (self.slides[probes], self.answered[probes], self.first[probes])
        if not len(self.instants):
            return Executions(*chosen, np.zeros(len(probes) + 1, np.int64), self.instants)
        lengths = np.diff(self.offsets)[probes]
        offsets = np.append(0, np.cumsum(lengths))
        at = number_ranges(self.offsets[probes], lengths) if offsets[-1] else offsets[:0]
        return Executions(*chosen, offsets, self.instants[at])

    def earlier(self, probe: Int64s, time: Int64s) -> Int64s:
        """For executions of probes at instants, the instants that they were answered for before."""
        if not len(self.instants):
            before = time - self.slides[probe]
            return np.where(before < self.first[probe], self.answered[probe], before)
        # Instants by probe and rank are in order, so that each one's place is found in them.
        ranks = np.unique(self.instants)
        owners = np.repeat(np.arange(len(self.slides)), np.diff(self.offsets))
        known = owners * len(ranks) + np.searchsorted(ranks, self.instants)
        at = np.searchsorted(known, probe * len(ranks) + np.searchsorted(ranks, time))
        return np.where(at > self.offsets[probe], self.instants[at - 1], self.answered[probe])

    def first_after(self, probe: int, since: int) -> int:
        """The first instant after ``since`` at which a probe is executed; FOREVER if it is not."""
        if self.slides[probe]:
            slide = int(self.slides[probe])
            return max(int(self.first[probe]), (since // slide + 1) * slide)
        begin, end = self.offsets[probe], self.offsets[probe + 1]
        return int(self.instants[begin]) if begin < end else FOREVER


@dataclass
class Form:
    """Members that make the same of their aggregates: HAVING, columns, and where these go."""

    having: Expression | None
    columns: tuple[Expression, ...]
    slots: tuple[int, ...]
    kinds: tuple[pa.DataType, ...]
    shows_all: bool
    """Whether rows of a group that has changed always differ."""
    members: list[int] = field(default_factory=list)
    probes: list[int] = field(default_factory=list)
    reads: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    """For each member its aggregates, as a source and a place in it."""
    exists: list[int] = field(default_factory=list)
    """For each member the source that says whether a group is there."""
    since: list[int] = field(default_factory=list)
    """For each member the instant after which it answers."""

    def rows_shown(self, group: pa.RecordBatch) -> Bools:
        """Which rows of keys and aggregates HAVING lets through."""
        if self.having is None:
            return np.ones(group.num_rows, np.bool_)
        return selection_mask(self.having, group)


@dataclass(frozen=True)
class TouchedRows:
    """What may change: a probe, an instant and a group; rows of a probe are a stretch."""

    probe: Int64s
    time: Int64s
    earlier: Int64s
    """The instants of the executions before."""
    group: Int64s
    starts: Int64s
    lengths: Int64s


@dataclass(frozen=True)
class SourceValues:
    """What a source says of the rows of its probes, before and after: the sizes of groups, and each
    aggregate for those probes that ask for it; ``offsets`` is where those of a probe begin.
    """

    offsets: Mapping[int, int]
    sizes: tuple[Int64s, Int64s]
    aggregates: list[tuple[Mapping[int, int], Pair] | None]


def number_ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """The numbers of ranges, one range after the other."""
    ends = np.cumsum(lengths)
    numbers: Int64s = np.arange(int(ends[-1])) + np.repeat(starts - (ends - lengths), lengths)
    return numbers


@dataclass(frozen=True)
class AskedRows:
    """Rows for which an aggregate is asked, ``at`` places among ``count``; None: all of them."""

    offsets: Mapping[int, int]
    at: Int64s | None
    count: int

    def choose(self, place: Int64s | None) -> Int64s | slice:
        """Which words are theirs, of words for the rows at ``place``."""
        if self.at is None:
            return slice(None)
        return self.at if place is None else np.flatnonzero(self._numbers()[place] >= 0)

    def places(self, place: Int64s | None) -> Int64s | None:
        """Where these words go; None: one to each."""
        if self.at is None or place is None:
            return place
        to = self._numbers()[place]
        return to[to >= 0]

    def _numbers(self) -> Int64s:
        numbers = np.full(self.count, -1, np.int64)
        assert self.at is not None
        numbers[self.at] = np.arange(len(self.at))
        return numbers


def row_offsets(probes: Sequence[int], lengths: Int64s) -> dict[int, int]:
    """Where the rows of each probe begin, one probe after the other."""
    ends = np.cumsum(lengths[list(probes)])
    return dict(zip(probes, (ends - lengths[list(probes)]).tolist(), strict=True))


def split_halves(array: pa.Array) -> Pair:
    middle = len(array) // 2
    return array.slice(0, middle), array.slice(middle)


@dataclass(frozen=True)
class DueRows:
    """The rows of the members of a form that are due, one member after the other."""

    member: Int64s
    time: Int64s
    group: Int64s
    since: Int64s
    sizes: tuple[Int64s, Int64s]
    columns: list[Pair]

    @classmethod
    def of(
        cls, form: Form, values: Sequence[SourceValues | None], rows: TouchedRows
    ) -> DueRows | None:
        due = [n for n, probe in enumerate(form.probes) if rows.lengths[probe]]
        if not due:
            return None
        probes = np.array(form.probes, np.int64)[due]
        count = rows.lengths[probes]
        at = number_ranges(rows.starts[probes], count)
        member = np.repeat(np.array(form.members, np.int64)[due], count)
        spans = [(n, int(probe), int(c)) for n, probe, c in zip(due, probes, count, strict=True)]
        found = [(_of(values, form.exists[n]), probe, c) for n, probe, c in spans]
        before, after = (
            np.concatenate([v.sizes[side][v.offsets[p] : v.offsets[p] + c] for v, p, c in found])
            for side in (0, 1)
        )
        columns = [_column(form, j, spans, values) for j in range(len(form.kinds))]
        since, time = np.repeat(np.array(form.since, np.int64)[due], count), rows.time[at]
        before = np.where(rows.earlier[at] <= since, 0, before)
        after = np.where(time <= since, 0, after)
        return cls(member, time, rows.group[at], since, (before, after), columns)


def _column(
    form: Form,
    number: int,
    spans: Sequence[tuple[int, int, int]],
    values: Sequence[SourceValues | None],
) -> Pair:
    """One aggregate of the due members, before and after, one member after the other."""
    sides: tuple[list[pa.Array], list[pa.Array]] = ([], [])
    for n, probe, count in spans:
        source, place = form.reads[n][number]
        found = _of(values, source).aggregates[place]
        assert found is not None  # its probe asked for it
        offsets, pair = found
        for side in (0, 1):
            sides[side].append(pair[side].slice(offsets[probe], count))
    before, after = (pa.concat_arrays(side) for side in sides)
    return before, after


def _of(values: Sequence[SourceValues | None], source: int) -> SourceValues:
    found = values[source]
    assert found is not None  # its probe has rows
    return found
