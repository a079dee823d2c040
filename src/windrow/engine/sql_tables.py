"""The tables that one-time SQL asks for: answers, relations, windows of streams and of views.

A name is a query, a relation, a stream or a view. A stream, or a view that is one, may have a
window clause, and is then that window of it; without one it is the longest window that is held.
Where it is held is found among the live windows of all running queries
(``windrow.engine.live_windows``). A view with windows of its own is evaluated over what is held of
them: its operators are filled as those of a late query are (``windrow.engine.late_start``), give
one answer and are forgotten. ``busy_summaries`` are the summaries of sub-windows that the query
``busy`` keeps (``windrow.engine.summary_tables``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError, NotHeldError, ScriptError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.engine.constant_tuples import FIRST_INSTANT
from windrow.engine.handles import Handle
from windrow.engine.inputs import HeldRelation
from windrow.engine.late_start import LateStart, fill_points, late_start, relations_shown_from
from windrow.engine.live_windows import Choice, LiveWindow, Tuples, choose, choose_longest
from windrow.engine.one_time_sql import tables_in
from windrow.engine.pipeline import Pipeline
from windrow.engine.sql_windows import columns_in, split_explain, take_out_windows
from windrow.plan.catalog import (
    Catalog,
    Declaration,
    RelationDeclaration,
    StreamDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Column, Named
from windrow.plan.nodes import (
    Node,
    Projection,
    RelationScan,
    SlidingGroupBy,
    StreamScan,
    Window,
    is_constant,
    walk,
)
from windrow.plan.nodes.window_specs import UnboundedWindow, WindowSpec
from windrow.plan.optimiser import optimise
from windrow.plan.program import compile_script
from windrow.plan.rules.use_sub_windows import use_sub_windows
from windrow.plan.window_contents import contents_of
from windrow.streams.monitor import tick_text

SUMMARIES = "_summaries"
"""After the name of a query, for the table of summaries that it keeps."""


class Source(Protocol):
    """Where a table comes from: as of which instant, and what makes it of what is taken now."""

    @property
    def now(self) -> int: ...

    def take(self) -> Callable[[], pa.Table]: ...


Relations = Callable[[str], HeldRelation | None]
"""What a relation holds, by its lower-case name; None if nobody has it."""


@dataclass(frozen=True)
class AskedWindow:
    """A stream, or a view, and its window clause if it has one."""

    name: str
    clause: str | None = None


@dataclass(frozen=True)
class Request:
    """SQL as DuckDB reads it, the names in it that may be tables, and those that are windows.

    ``columns`` are lower-case names that may be columns, None if any may be.
    """

    sql: str
    names: frozenset[str]
    windows: dict[str, AskedWindow] = field(default_factory=dict)
    columns: frozenset[str] | None = None
    summaries: dict[str, str] = field(default_factory=dict)
    """Tables of summaries of sub-windows, and the lower-case names of their queries."""


def read_request(sql: str, catalog: Catalog, *, relations_are_held: bool = False) -> Request:
    """What a text asks of what a catalog has.

    ``relations_are_held``: relations are where windows are, in the state of queries.
    """
    named = [s.name for s in catalog.streams] + [v.name for v in _stream_views(catalog)]
    streams = {name.lower(): name for name in named}
    others = {v.name.lower(): v.name for v in _views(catalog) if v.name.lower() not in streams}
    explain, select = split_explain(sql)
    clauses = take_out_windows(select, streams)
    names = frozenset(tables_in(clauses.sql))
    asked = {table: AskedWindow(*found) for table, found in clauses.tables.items()}
    streams |= others
    if relations_are_held:
        streams |= {r.name.lower(): r.name for r in catalog.relations}
    plain = {name: AskedWindow(shown) for name, shown in streams.items() if name in names}
    queries = {f"{q.name.lower()}{SUMMARIES}": q.name.lower() for q in catalog.queries}
    summaries = {n: q for n, q in queries.items() if n in names and catalog.find(n) is None}
    columns = columns_in(clauses.sql)
    return Request(explain + clauses.sql, names, plain | asked, columns, summaries)


def _views(catalog: Catalog) -> list[ViewDeclaration]:
    return [d for d in catalog.declarations.values() if isinstance(d, ViewDeclaration)]


def _stream_views(catalog: Catalog) -> list[ViewDeclaration]:
    return [view for view in _views(catalog) if view.plan.pattern is UpdatePattern.MONOTONIC]


def relations_below(request: Request, catalog: Catalog) -> set[str]:
    """Lower-case names of the relations that views which are asked for read."""
    declared = (catalog.find(asked.name) for asked in request.windows.values())
    views = (view for view in declared if isinstance(view, ViewDeclaration))
    scans = (node for view in views for node in walk(view.plan) if isinstance(node, RelationScan))
    return {scan.name.lower() for scan in scans}


def choose_windows(
    request: Request,
    catalog: Catalog,
    windows: Sequence[LiveWindow],
    relations: Relations = lambda _: None,
) -> dict[str, Source]:
    """Where each window and view that is asked for comes from; InputError if from nowhere."""
    begun = [window for window in windows if window.now >= window.since]
    return {
        table: _view(asked, catalog, begun, relations)
        if _is_relation(catalog.find(asked.name))
        else _choice(asked, request.columns, catalog, begun)
        for table, asked in request.windows.items()
    }


def _is_relation(declared: Declaration | None) -> bool:
    """Whether it is a view that is no stream: its rows may be withdrawn, or are VALUES."""
    if not isinstance(declared, ViewDeclaration):
        return False
    return declared.plan.pattern is not UpdatePattern.MONOTONIC or is_constant(declared.plan)


@dataclass(frozen=True)
class ViewSource:
    """A view, evaluated once over what is held of its windows, as a query that starts full is.

    Relations come at the last instant up to ``now`` at which they changed, if that is known.
    """

    pipeline: Pipeline
    start: LateStart
    relations: Mapping[str, Delta]
    now: int

    def take(self) -> Callable[[], pa.Table]:
        """Take the tuples of its windows while nothing moves; operators work on them later."""
        points = {point.number: point for point in fill_points(self.pipeline.plan) or ()}
        taken = {
            number: choice.take_insertions(arrow_schema(points[number].node.schema))
            for number, choice in self.start.fills.items()
        }
        return lambda: self._table(taken)

    def _table(self, taken: Mapping[int, Tuples]) -> pa.Table:
        filled = {number: tuples().split(self.now)[0] for number, tuples in taken.items()}
        self.pipeline.count_rows_from(self.start.first_rows)
        changes = self.pipeline.process(self.relations, self.now, filled)
        if self.pipeline.plan.pattern is UpdatePattern.MONOTONIC:
            return pa.Table.from_batches([changes.rows])
        return pa.Table.from_batches([self.pipeline.live_rows()])


def _view(
    asked: AskedWindow,
    catalog: Catalog,
    windows: Sequence[LiveWindow],
    relations: Relations,
) -> ViewSource:
    """A view that is no stream, if all of its windows are held, and its relations as of then."""
    pipeline = Pipeline(optimise(_base(asked, catalog)), changes=True)
    scans = [n for n in walk(pipeline.plan) if isinstance(n, StreamScan | RelationScan)]
    read = {n.name: relations(n.name.lower()) for n in scans if isinstance(n, RelationScan)}
    known = {name: found for name, found in read.items() if found is not None}
    streams = {n.name.lower(): catalog.find(n.name) for n in scans if isinstance(n, StreamScan)}
    wanted = [w for w in windows if w.contents.stream in streams]
    held = {w.contents.stream for w in wanted}
    latest = max((w.now for w in wanted), default=BEGINNING)
    stamps = {n: d.timestamp for n, d in streams.items() if isinstance(d, StreamDeclaration)}
    missed = dict.fromkeys(streams, latest)
    start = late_start(fill_points(pipeline.plan), windows, missed, stamps, latest)
    if start is None:  # it reads relations only
        start = LateStart({}, BEGINNING, latest, {})
    reached = [choice.window.now for choice in start.fills.values()]
    now = min(reached or [found.instant for found in known.values()], default=FIRST_INSTANT)
    declared = next(iter(streams.values()), None)
    clock = declared.clock if isinstance(declared, StreamDeclaration) else Clock.INTEGER
    # Relations may have come further than all windows, of which none may be the wanted one.
    unfilled = latest > BEGINNING and not start.fills
    unheld = streams.keys() - held or len(known) < len(read)
    if unheld or unfilled or start.complete_from > now:
        names = [field.name for field in pipeline.plan.schema]
        raise _not_held(asked, names, wanted, clock, _tables_of_summaries(catalog, streams))
    shown = {
        n: _relation_at(found, n, now, pipeline.plan, asked, clock) for n, found in known.items()
    }
    return ViewSource(pipeline, start, shown, now)


def _relation_at(
    found: HeldRelation, name: str, now: int, plan: Node, asked: AskedWindow, clock: Clock
) -> Delta:
    """What a relation holds at an instant, since when it has; an error if that is not known."""
    since = max(min(found.last_update, now), BEGINNING + 1)
    words = None
    if not found.is_known_at(now):
        words = (
            f"windows as of {tick_text(now, clock)}, and relation {name} as of "
            f"{tick_text(found.instant, clock)}, with updates in between"
        )
    elif (shown := relations_shown_from(plan, {name.lower(): since}, began=True)) > now:
        words = f"EVERY, which shows relation {name} as it was before its last update"
        words = words if shown < FOREVER else f"what goes by when rows of relation {name} came"
    if words is not None:
        raise NotHeldError(
            where="SQL",
            expected=f"what {asked.name} reads as of one instant",
            found=words,
            remedy="ask again when the streams have come that far, or create a query over the view",
        )
    rows = found.rows_at(now)
    return Delta.insertions(np.full(rows.num_rows, since, np.int64), rows)


def _choice(
    asked: AskedWindow,
    columns: frozenset[str] | None,
    catalog: Catalog,
    windows: Sequence[LiveWindow],
) -> Choice:
    base = _base(asked, catalog)
    scans = [node for node in walk(base) if isinstance(node, StreamScan | RelationScan)]
    source = catalog.find(scans[0].name) if len(scans) == 1 else None
    names = [f.name for f in base.schema if columns is None or f.name.lower() in columns]
    spec = None if asked.clause is None else _spec(asked, catalog)
    kept = tuple(
        Named(f.name, Column(i, f.name, f.type))
        for i, f in enumerate(base.schema)
        if f.name in names
    )
    found: Choice | None = None
    if isinstance(source, StreamDeclaration):
        wanted = contents_of(Projection(Window(base, spec or UnboundedWindow()), kept))
        select = choose_longest if spec is None else choose
        found = None if wanted is None else select(wanted, names, windows, source.timestamp)
    else:
        wanted = contents_of(Projection(base, kept))
        found = None if wanted is None else choose(wanted, names, windows, None)
    if found is None:
        clock = source.clock if isinstance(source, StreamDeclaration) else Clock.INTEGER
        streams = {scan.name.lower() for scan in scans}
        mine = [window for window in windows if window.contents.stream in streams]
        raise _not_held(asked, names, mine, clock, _tables_of_summaries(catalog, streams))
    return found


def _base(asked: AskedWindow, catalog: Catalog) -> Node:
    found = catalog.find(asked.name)
    if isinstance(found, StreamDeclaration):
        return StreamScan(found.name, found.schema, found.clock)
    if isinstance(found, RelationDeclaration):
        return RelationScan(found.name, found.schema, found.retroactive)
    assert isinstance(found, ViewDeclaration)
    return found.plan


def _spec(asked: AskedWindow, catalog: Catalog) -> WindowSpec:
    """What the clause says, in ticks of the stream's clock."""
    try:
        text = f"SELECT * FROM {asked.name} {asked.clause}"  # noqa: S608 - CQL, which is parsed
        (query,) = compile_script(text, catalog).queries
    except ScriptError as error:
        raise InputError(
            where="SQL",
            expected="a window clause as CQL has it, as in [RANGE 10 SECONDS]",
            found=f"{asked.name} {asked.clause}: {error.found or error}",
        ) from error
    found = (node.spec for node in walk(query.plan) if isinstance(node, Window))
    return next(found, UnboundedWindow())


def take_summaries_of(handle: Handle) -> Callable[[], pa.Table]:
    """The summaries that a query keeps, to be made a table of; InputError if it keeps none."""
    return summaries_or_error(handle.name, handle.summaries())


def summaries_or_error(query: str, make: Callable[[], pa.Table] | None) -> Callable[[], pa.Table]:
    """What makes the table of a query's summaries; InputError if nothing does."""
    if make is None:
        raise InputError(
            where="SQL",
            expected="a query that keeps summaries: a GROUP BY over a window with SLIDE",
            found=f"{query}{SUMMARIES}",
            remedy="queries that keep tuples have no such table, and on Spark none has one before "
            "the first micro-batch",
        )
    return make


def _tables_of_summaries(catalog: Catalog, streams: Collection[str]) -> list[str]:
    """The tables of queries that keep sub-windows of some streams, not their tuples."""
    return [
        f"{query.name}{SUMMARIES}"
        for query in catalog.queries
        if any(isinstance(n, StreamScan) and n.name.lower() in streams for n in walk(query.plan))
        and any(
            isinstance(n, SlidingGroupBy) and n.lists is None
            for n in walk(use_sub_windows(query.plan))
        )
    ]


def _not_held(
    asked: AskedWindow,
    names: Iterable[str],
    windows: Sequence[LiveWindow],
    clock: Clock,
    summaries: Sequence[str],
) -> NotHeldError:
    held = "; ".join(dict.fromkeys(window.words(clock) for window in windows))
    tables = ", ".join(summaries) or f"such as busy{SUMMARIES}"
    wanted = f"{asked.name}{'' if asked.clause is None else f' {asked.clause}'}"
    return NotHeldError(
        where="SQL",
        expected=f"a window of tuples that a running query holds: {held or 'there is none'}",
        found=f"{wanted} with {', '.join(names) or 'any column'}",
        remedy="create a query that selects these columns, or ask for less; tables "
        f"{tables} have the sub-windows of a GROUP BY over a window with SLIDE",
    )
