"""The tables that one-time SQL asks for: answers, relations, windows of streams and of views.

A name is a query, a relation, a stream or a view. A stream, or a view that is one, may have a
window clause, and is then that window of it; without one it is the longest window that is held.
Where it is held is found among the live windows of all running queries
(``windrow.engine.live_windows``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from windrow.core.errors import InputError, ScriptError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import Clock
from windrow.engine.live_windows import Choice, LiveWindow, choose, choose_longest
from windrow.engine.one_time_sql import tables_in
from windrow.engine.sql_windows import columns_in, take_out_windows
from windrow.plan.catalog import (
    Catalog,
    RelationDeclaration,
    StreamDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Column, Named
from windrow.plan.nodes import Node, Projection, RelationScan, StreamScan, Window, walk
from windrow.plan.nodes.window_specs import UnboundedWindow, WindowSpec
from windrow.plan.program import compile_script
from windrow.plan.window_contents import contents_of


@dataclass(frozen=True)
class AskedWindow:
    """A stream, or a view that is one, and its window clause if it has one."""

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


def read_request(sql: str, catalog: Catalog, *, relations_are_held: bool = False) -> Request:
    """What a text asks of what a catalog has.

    ``relations_are_held``: relations are where windows are, in the state of queries.
    """
    named = [s.name for s in catalog.streams] + [v.name for v in _stream_views(catalog)]
    streams = {name.lower(): name for name in named}
    clauses = take_out_windows(sql, streams)
    names = frozenset(tables_in(clauses.sql))
    asked = {table: AskedWindow(*found) for table, found in clauses.tables.items()}
    if relations_are_held:
        streams |= {r.name.lower(): r.name for r in catalog.relations}
    plain = {name: AskedWindow(shown) for name, shown in streams.items() if name in names}
    return Request(clauses.sql, names, plain | asked, columns_in(clauses.sql))


def _stream_views(catalog: Catalog) -> list[ViewDeclaration]:
    views = (d for d in catalog.declarations.values() if isinstance(d, ViewDeclaration))
    return [view for view in views if view.plan.pattern is UpdatePattern.MONOTONIC]


def choose_windows(
    request: Request, catalog: Catalog, windows: Sequence[LiveWindow]
) -> dict[str, Choice]:
    """Where the tuples of each window that is asked for are; InputError if one is nowhere."""
    return {
        table: _choice(asked, request.columns, catalog, windows)
        for table, asked in request.windows.items()
    }


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
        raise _not_held(asked, names, [w for w in windows if w.contents.stream in streams], clock)
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


def _not_held(
    asked: AskedWindow, names: Iterable[str], windows: Sequence[LiveWindow], clock: Clock
) -> InputError:
    held = "; ".join(dict.fromkeys(window.words(clock) for window in windows))
    wanted = f"{asked.name}{'' if asked.clause is None else f' {asked.clause}'}"
    return InputError(
        where="SQL",
        expected=f"a window of tuples that a running query holds: {held or 'there is none'}",
        found=f"{wanted} with {', '.join(names) or 'any column'}",
        remedy="create a query that selects these columns, or ask for less",
    )
