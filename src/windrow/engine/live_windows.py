"""The windows of tuples that running queries hold, and tables of them.

Whoever runs operators can say what they hold (``windrow.operators.state.held_tuples``); each of
these is a *live window*: which tuples of which stream, as of which instant, and since when none is
missing. Here a table is made of the one that has what is wanted: the shortest window that is long
enough, with all columns, and conditions that the wanted one has too.

References are taken at one moment (``take``) and tables made of them later (``table``): a query
sees one state of the window, never half an update (LWS; Golab 2006, 7.2). Tuples of windows of time
without SLIDE lie in the order of time, so a table of such a window is a slice of what the operator
holds, and is not copied.

A window with SLIDE sees tuples when it moves, and lets them leave when it moves: of a tuple it is
known between which of these instants it came, which is all that another window with the same bounds
wants to know (``windrow.plan.window_contents.tells_apart``). Those that came since it moved last
are *coming*: not in the window yet, but in that of who goes on from here.

A window of rows has numbered them as they came: of which other window of rows it has all of them is
seen from these numbers, whatever the two slide by (``windrow.plan.window_contents.last_rows``). Who
goes on from here goes on counting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.engine.pipeline import Pipeline
from windrow.plan.describe import window as window_text
from windrow.plan.expressions import Column, Expression, conjunction
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.nodes.window_specs import PARTITIONED, RangeWindow, RowsWindow
from windrow.plan.window_contents import (
    Derivation,
    WindowContents,
    contents_of,
    follow_from,
    interval_at,
    is_held_by,
    last_rows,
    slides,
)
from windrow.streams.monitor import tick_text

Tuples = Callable[[], Delta]
"""Tuples that were taken at some moment, oldest first."""


@dataclass(frozen=True)
class Coming:
    """Tuples that a window which slides has not seen yet, in parts; ``contents`` is what they have,
    and how far they are selected."""

    contents: WindowContents
    parts: Sequence[Tuples]


@dataclass(frozen=True)
class LiveWindow:
    """See the module. ``owner`` is the query that holds it; tuples up to ``since`` may be missing.

    ``take`` gives its tuples as of ``now``, while nothing moves; ``coming`` are those on their way.
    What leaves until ``whole_at`` may be missing too. Of a window of rows ``numbers`` are those of
    its rows among all that came; rows that it will see when it slides are there already.
    """

    owner: str
    contents: WindowContents
    now: int
    whole_at: int
    since: int
    take: Callable[[], Tuples]
    coming: Coming | None
    numbers: range | None

    @property
    def complete_after(self) -> int | None:
        """All tuples after this instant are held; None if that cannot be said by an instant."""
        spec = self.contents.spec
        found = None if spec is None else interval_at(spec, self.whole_at)
        return None if found is None else max(found[0], self.since)

    @property
    def has_own_times(self) -> bool:
        """Whether tuples are known by the instants at which they came."""
        return self.numbers is not None or not slides(self.contents.spec)

    def has_all_of(self, wanted: WindowContents) -> bool:
        """Whether all tuples of a wanted window are there, whatever is known of them."""
        if self.numbers is not None:
            if not isinstance(wanted.spec, RowsWindow) or wanted.partition:
                return False
            first = last_rows(wanted.spec, self.numbers.stop).start
            return self.since == BEGINNING and self.numbers.start <= first
        since = self.complete_after
        missing = self.since if since is None else since
        return is_held_by(wanted, self.contents, self.now, missing)

    def clause(self, clock: Clock) -> str:
        """For people: the name of the stream or relation, and the window."""
        source, spec = self.contents.source, self.contents.spec
        if isinstance(spec, PARTITIONED):
            keys = (key.index for key in self.contents.partition if isinstance(key, Column))
            spec = replace(spec, partition_by=tuple(keys))
        text = "" if spec is None else f" {window_text(spec, clock, source.columns)}"
        return f"{source.name}{text}"

    def words(self, clock: Clock) -> str:
        """The same with its columns and its owner."""
        source = self.contents.source
        names = [
            source.columns[c.index].name for c in self.contents.columns if isinstance(c, Column)
        ]
        some = " of selected rows" if self.contents.conditions else ""
        whole = "" if self.since == BEGINNING else f" since {tick_text(self.since, clock)}"
        oldest = "" if self.whole_at == self.now else " without what leaves at its next slide"
        columns = ", ".join(names) or "no columns"
        return f"{self.clause(clock)}{some} with {columns}{whole}{oldest} ({self.owner})"


def live_windows(owner: str, pipeline: Pipeline, since: Mapping[str, int]) -> Iterator[LiveWindow]:
    """Those among what the operators of a pipeline hold; all of it while nothing moves."""
    now, sliding = pipeline.now, list(pipeline.sliding_windows().values())
    for node, part in pipeline.held_inputs().values():
        contents = contents_of(node) if part.buffer.whole else None
        if contents is None:
            continue
        if part.expressions is not None:
            contents = contents.as_columns(part.expressions)
        coming = None
        for window, operator in sliding:
            before = contents_of(window) if window in walk(node) else None
            if before is not None:
                coming = Coming(before, [lambda rows=operator.waiting.rows: rows])  # type: ignore[misc]
        yield LiveWindow(
            owner,
            contents,
            now,
            part.whole_at(now),
            since.get(contents.stream, BEGINNING),
            lambda part=part: part.buffer.lend(part.whole_at(now)).tuples,  # type: ignore[misc]
            coming,
            range(part.buffer.base, part.buffer.next) if part.numbered else None,
        )


@dataclass(frozen=True)
class Choice:
    """A live window that has what is wanted of one, under ``names``, and how it follows."""

    window: LiveWindow
    wanted: WindowContents
    names: Sequence[str]
    derivation: Derivation

    @property
    def now(self) -> int:
        return self.window.now

    def take(self) -> Callable[[], pa.Table]:
        """Take the tuples while nothing moves; the table is made of them later."""
        taken = self.window.take()
        return lambda: self.table(taken())

    def table(self, tuples: Delta) -> pa.Table:
        """A table of tuples that were taken."""
        held = self._selected(self._in_window(tuples))
        if not self.names:  # only how many there are is asked
            return pa.table({"": held.ts})
        return pa.Table.from_arrays(self._columns(held), list(self.names))

    def take_insertions(self, schema: pa.Schema) -> Callable[[], Delta]:
        """Take the tuples while nothing moves; later they are such of the wanted columns, which
        come when they came, or between the same two bounds of a window that slides."""
        taken, coming = self.window.take(), self.window.coming
        parts = () if coming is None else coming.parts

        def put_together() -> Delta:
            held = self.insertions(taken(), schema)
            return concat([held, *self.coming_insertions(parts, schema)], schema).sorted()

        return put_together

    def insertions(self, tuples: Delta, schema: pa.Schema) -> Delta:
        """Tuples that are held as such that come."""
        held = self.derive(self._as_they_came(tuples).sorted(), schema)
        return Delta.insertions(held.ts, held.rows)

    def coming_insertions(self, parts: Iterable[Tuples], schema: pa.Schema) -> Iterator[Delta]:
        """The same of those that wait for the window to slide."""
        coming = self.window.coming
        if coming is not None:
            before = self.before_window(coming.contents, None)
            yield from (before.insertions(part(), schema) for part in parts)

    def before_window(self, contents: WindowContents, timestamp: int | None) -> Choice:
        """The same of tuples on their way into the window, of which nothing is left out yet."""
        window = replace(self.window, contents=contents)
        derivation = derivation_from(window, self.wanted, timestamp)
        assert derivation is not None, "tuples on their way have all that is held"
        return replace(self, window=window, derivation=derivation)

    def derive(self, tuples: Delta, schema: pa.Schema) -> Delta:
        """Tuples of the held columns as such of the wanted ones, of those that are wanted."""
        held = self._selected(tuples)
        return held.with_rows(batch_of(self._columns(held), schema, len(held)))

    def _selected(self, held: Delta) -> Delta:
        predicate = conjunction(self.derivation.conditions)
        if predicate is None:
            return held
        return held.filter(selection_mask(predicate, with_times(held, self.wanted.source)))

    def _columns(self, held: Delta) -> list[pa.Array]:
        rows = with_times(held, self.wanted.source)
        return [evaluate(expression, rows) for expression in self.derivation.columns]

    def _as_they_came(self, tuples: Delta) -> Delta:
        """Tuples by when they came; those of a window that slides by the next of its bounds."""
        spec = self.window.contents.spec
        if not (isinstance(spec, RangeWindow) and slides(spec)):
            return tuples
        return replace(tuples, ts=np.minimum(tuples.ts, tuples.exp - spec.length))

    def _in_window(self, tuples: Delta) -> Delta:
        """Those of the wanted window, which is a part of the one that is held."""
        spec, numbers = self.wanted.spec, self.window.numbers
        if isinstance(spec, RowsWindow) and numbers is not None:
            rows = last_rows(spec, numbers.stop)
            return tuples.slice(rows.start - numbers.start, rows.stop - numbers.start)
        if spec is None or spec == self.window.contents.spec:
            return tuples
        after, upto = interval_at(spec, self.window.now) or (BEGINNING, self.window.now)
        ordered = self._as_they_came(tuples).sorted()
        first, stop = (int(n) for n in np.searchsorted(ordered.ts, [after, upto], side="right"))
        return ordered.slice(first, stop)


def with_times(tuples: Delta, source: StreamScan | RelationScan) -> pa.RecordBatch:
    """The rows of tuples, and the instants at which they came as one more column."""
    times = pa.array(tuples.ts)
    if isinstance(source, StreamScan) and source.clock is Clock.TIMESTAMP:
        times = times.cast(ARROW[Type.TIMESTAMP])
    columns = [*tuples.rows.columns, times]
    return pa.RecordBatch.from_arrays(columns, [str(i) for i in range(len(columns))])


def derivation_from(
    window: LiveWindow, wanted: WindowContents, timestamp: int | None
) -> Derivation | None:
    """How wanted tuples come of a live window, whatever its length; ``timestamp`` is the column of
    the stream that says when they came, which need not be kept."""
    more: dict[Expression, int] = {}
    if timestamp is not None and window.has_own_times:
        kind = wanted.source.columns[timestamp].type
        if kind in (Type.BIGINT, Type.TIMESTAMP):
            more[Column(timestamp, "", kind)] = len(window.contents.columns)
    return follow_from(wanted, window.contents, more)


def choose(
    wanted: WindowContents,
    names: Sequence[str],
    windows: Iterable[LiveWindow],
    timestamp: int | None,
) -> Choice | None:
    """The live window that a wanted one is taken from; None if none has all of it.

    Of several the newest is taken, and of these the one that holds least.
    """
    found = [
        Choice(window, wanted, names, derivation)
        for window in windows
        if window.has_all_of(wanted)
        and (derivation := derivation_from(window, wanted, timestamp)) is not None
    ]
    return max(found, key=lambda c: (c.window.now, _least(c.window)), default=None)


def choose_longest(
    wanted: WindowContents,
    names: Sequence[str],
    windows: Iterable[LiveWindow],
    timestamp: int | None,
) -> Choice | None:
    """The same for whatever is held of a stream: the longest window of time, or else of rows.

    One of which nothing is missing goes before one that has dropped what leaves when it slides.
    """
    found = [
        Choice(window, replace(wanted, spec=window.contents.spec), names, derivation)
        for window in windows
        if not window.contents.partition
        and (derivation := derivation_from(window, wanted, timestamp)) is not None
    ]
    return max(
        found,
        key=lambda c: (c.window.whole_at == c.window.now, -_least(c.window), c.window.now),
        default=None,
    )


def _least(window: LiveWindow) -> int:
    """The greater, the less is held; windows of rows after those of time."""
    after = window.complete_after
    return FOREVER if after is None else after
