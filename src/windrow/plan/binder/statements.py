"""Statements to declarations.

``CREATE VIEW ... TIMESTAMP BY column`` is a stream of results with a time of its own. A tuple may
name its present or its future. That a column holds the past is known here where it is the time of a
stream less a constant; elsewhere the operator finds out (``operators/retime.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.core.errors import BindError, ScriptError
from windrow.core.paths import LONGEST, REMEDY, SUPPORTED, flaw_of_name, has_scheme, is_object_url
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.cql.statement_tree import (
    Create,
    CreateArchive,
    CreateFunction,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateSubscriptions,
    CreateView,
    Explain,
    FileClause,
)
from windrow.cql.syntax_tree import Name
from windrow.plan.binder.declared_functions import bind_function
from windrow.plan.binder.ordered_aggregates import time_column
from windrow.plan.binder.queries import bind_query, rename_columns
from windrow.plan.binder.restrictions import check_nrrs
from windrow.plan.binder.scope import Context, Scope, clock_of, did_you_mean
from windrow.plan.binder.storage import bind_archive, bind_subscriptions, destination
from windrow.plan.binder.stream_declarations import bind_relation, bind_stream, schema_of
from windrow.plan.catalog import (
    Catalog,
    Declaration,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Call, Column, Literal
from windrow.plan.nodes import Node, Projection, Retimed, is_constant
from windrow.plan.nodes.relational import cast_to, is_null_column
from windrow.plan.optimiser import Alternative

OURS = "inbox"
"""What a connection on Spark calls the directory of pushed rows, beside those of queries."""
SHARED = "shared-"
"""How the directories of queries that run together begin."""


@dataclass(frozen=True)
class ExplainRequest:
    """EXPLAIN: the query to describe; with COST, the plans ``considered`` for it too."""

    query: QueryDeclaration
    cost: bool = False
    considered: tuple[Alternative, ...] = ()


def bind(
    statement: Create | Explain, catalog: Catalog, source: str
) -> Declaration | ExplainRequest:
    """What the statement declares, given what was declared before it.

    Every error carries ``source``, so that its excerpt can be shown.
    """
    context = Context(catalog, source, bind_query)
    try:
        _check_names(statement)
        bound = _bind(statement, context)
        if isinstance(bound, ExplainRequest | StreamDeclaration | RelationDeclaration):
            return bound
        return replace(bound, uses=frozenset(context.uses))
    except ScriptError as error:
        raise error.with_source(source) from None
    except RecursionError:
        raise BindError(
            "the statement is nested too deeply", span=statement.span, source=source,
            remedy="split it with CREATE VIEW",
        ) from None  # fmt: skip


def _bind(statement: Create | Explain, context: Context) -> Declaration | ExplainRequest:
    match statement:
        case Explain():
            return _explain(statement, context)
        case CreateQuery():
            return _query(statement, context)
    _refuse_taken(statement.name, context.catalog)
    match statement:
        case CreateStream():
            return replace(bind_stream(statement), text=statement.text)
        case CreateRelation():
            return replace(bind_relation(statement), text=statement.text)
        case CreateView():
            plan = _view_plan(statement, bind_query(statement.query, context))
            clock = clock_of(plan, statement.span)
            if statement.timestamp is not None:
                plan = retime(plan, statement.timestamp, clock, context)
            return ViewDeclaration(statement.name.text, plan, clock, statement.span, statement.text)
        case CreateArchive():
            return replace(bind_archive(statement, context), text=statement.text)
        case CreateSubscriptions():
            return bind_subscriptions(statement, context)
        case CreateFunction():
            return bind_function(statement)


def _refuse_taken(name: Name, catalog: Catalog) -> None:
    other = catalog.find(name.text)
    if other is not None:
        where = f" on line {other.span.line}" if other.span else ""
        raise BindError(
            f"{name.text} is declared already{where}", span=name.span,
            remedy="choose another name, or write CREATE OR REPLACE",
        )  # fmt: skip


def _view_plan(statement: CreateView, plan: Node) -> Node:
    """The view's plan with the names (and, where they differ, types) of its list of columns."""
    columns = statement.columns
    if not columns:
        return plan
    if len(columns) != len(plan.schema):
        raise BindError(
            f"the view {statement.name.text} lists the wrong number of columns",
            span=columns[0].span, expected=f"{len(plan.schema)}", found=f"{len(columns)}",
        )  # fmt: skip
    schema_of(columns, statement.name.text)  # refuses a name given twice
    plan = cast_to(plan, [
        c.type if c.type is not None and is_null_column(plan, i) else f.type
        for i, (c, f) in enumerate(zip(columns, plan.schema, strict=True))
    ])  # fmt: skip
    for column, field in zip(columns, plan.schema, strict=True):
        if column.type is not None and not _alike(column.type, field.type):
            raise BindError(
                span=column.span, expected=f"{field.type.value}, as the view's query gives it",
                found=column.type.value, remedy="cast the value in the view's query",
            )  # fmt: skip
    return rename_columns(plan, [column.name.text for column in columns], statement.span)


def _alike(declared: Type, found: Type) -> bool:
    """A view may call a BIGINT an INT, or a DOUBLE a FLOAT; the wider type is kept."""
    return declared is found or (declared.numeric and found.numeric)


def _query(statement: CreateQuery, context: Context) -> QueryDeclaration:
    catalog = context.catalog
    if statement.name is not None:
        _refuse_taken(statement.name, catalog)
        name = statement.name.text
    else:
        number = 1
        while catalog.find(f"query{number}") is not None:
            number += 1
        name = f"query{number}"
    plan = bind_query(statement.query, context)
    check_nrrs(plan, statement.span)
    clock = clock_of(plan, statement.span) or catalog.clock
    into = destination(statement.into, plan, context, clock)
    return QueryDeclaration(
        name, plan, clock, into, statement.span, statement.text, priority=statement.priority
    )


def _explain(statement: Explain, context: Context) -> ExplainRequest:
    subject = statement.subject
    if isinstance(subject, CreateQuery):
        return ExplainRequest(_query(subject, context), statement.cost)
    found = context.catalog.find(subject.text)
    if isinstance(found, ViewDeclaration):
        clock = found.clock or context.catalog.clock
        found = QueryDeclaration(found.name, found.plan, clock, None, found.span)
    if isinstance(found, SubscriptionsDeclaration):
        found = found.query
    if not isinstance(found, QueryDeclaration):
        kinds = (QueryDeclaration, ViewDeclaration, SubscriptionsDeclaration)
        known = [d.name for d in context.catalog.declarations.values() if isinstance(d, kinds)]
        raise BindError(
            f"there is no query or view called {subject.text}", span=subject.span,
            remedy=did_you_mean(subject.text, known),
        )  # fmt: skip
    return ExplainRequest(found, statement.cost)


def _check_names(statement: Create | Explain) -> None:
    """BindError at a name that cannot be a directory, or a path that is of no file system.

    Streams, queries and archives have directories of their names (in the quarantine, in a
    checkpoint, where nothing else was said), so one rule holds for every declared name: it is one
    part of a path.
    """
    if isinstance(statement, Explain):
        return
    if statement.name is not None:
        _check_name(statement.name)
        if isinstance(statement, CreateQuery | CreateArchive | CreateSubscriptions):
            _refuse_reserved(statement.name)
    for part in ("source", "into"):
        clause = getattr(statement, part, None)
        if not isinstance(clause, FileClause) or not has_scheme(clause.path):
            continue
        if part == "source" or not is_object_url(clause.path):
            raise BindError(
                span=clause.span, expected=SUPPORTED, found=f"'{clause.path}'", remedy=REMEDY
            )


def _check_name(name: Name) -> None:
    flaw = flaw_of_name(name.text)
    if flaw:
        raise BindError(
            "this name cannot be that of a directory", span=name.span,
            expected=f"at most {LONGEST} bytes without slashes, and no dot at the beginning",
            found=flaw, remedy="choose another name",
        )  # fmt: skip


def _refuse_reserved(name: Name) -> None:
    """Two things of one directory would destroy each other's files."""
    text = name.text.lower()
    if text == OURS or text.startswith(SHARED):
        raise BindError(
            f"{name.text} is the name of a directory that checkpoints reserve",
            span=name.span, remedy="choose another name",
        )  # fmt: skip


def retime(plan: Node, time: Name, clock: Clock | None, context: Context) -> Node:
    """The tuples of a view at the time that one of their columns holds."""
    column = Scope(plan.schema.with_qualifier(None)).resolve(time.text, None, time.span)
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            "TIMESTAMP BY gives the tuples of a stream a time", span=time.span,
            expected="a view whose results stay", found=f"one that is {plan.pattern.name}",
            remedy="make it a stream with ISTREAM(...)",
        )  # fmt: skip
    if is_constant(plan):
        raise BindError(
            "TIMESTAMP BY gives the tuples of a stream a time", span=time.span,
            expected="a stream", found="VALUES only",
            remedy="put the rows into a file, and declare it with CREATE STREAM",
        )  # fmt: skip
    stamps = (clock or context.catalog.clock) is Clock.TIMESTAMP
    if not (column.type is Type.TIMESTAMP if stamps else column.type.integral):
        raise BindError(
            span=time.span, expected=f"a column of type {'TIMESTAMP' if stamps else 'BIGINT'}, "
            "which the clock of the view's streams has", found=column.type.value,
            remedy="cast it in the view's query",
        )  # fmt: skip
    if _is_past(plan, column.index, context):
        raise BindError(
            f"{time.text} is before the time at which tuples come, and time does not run backwards",
            span=time.span, expected="the time of a tuple or a later one", found="an earlier one",
            remedy="add to the time instead of subtracting from it",
        )  # fmt: skip
    return Retimed(plan, column.index, span=time.span)


def _is_past(plan: Node, index: int, context: Context) -> bool:
    """Whether a column is the time of its stream less a constant."""
    value = plan.columns[index].expression if isinstance(plan, Projection) else None
    if not isinstance(value, Call) or value.function != "subtract":
        return False
    start, less = value.args
    streams = (d for d in context.catalog.declarations.values() if isinstance(d, StreamDeclaration))
    timestamps = {stream.name.lower(): stream.timestamp for stream in streams}
    of_time = isinstance(start, Column) and start.index == time_column(plan.inputs[0], timestamps)
    amount = less.value if isinstance(less, Literal) else None
    return of_time and isinstance(amount, int) and amount > 0
