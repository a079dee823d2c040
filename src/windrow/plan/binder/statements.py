"""Statements to declarations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath

from windrow.core.errors import BindError, NotExecutableError, ScriptError, Span
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import Clock
from windrow.cql.tree import (
    ColumnDefinition,
    CreateArchive,
    CreateQuery,
    CreateRelation,
    CreateStream,
    CreateSubscriptions,
    CreateView,
    Explain,
    FileClause,
    Name,
    Statement,
)
from windrow.plan.binder.context import Context, clock_of
from windrow.plan.binder.queries import bind_query
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.binder.windows import in_ticks
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    Declaration,
    Destination,
    FileSource,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
)
from windrow.plan.expressions import Column, Named
from windrow.plan.nodes import Node, Projection, ToStream
from windrow.plan.projecting import projected

FORMATS = {"csv": "csv", "json": "json", "jsonl": "json", "ndjson": "json", "parquet": "parquet"}
SCHEMES = ("DEL", "REINDEX", "REINDEX+", "REINDEX++", "WATA", "RATA")
TECHNIQUES = ("PACKED", "SHADOW", "INPLACE")


@dataclass(frozen=True)
class ExplainRequest:
    """EXPLAIN: the query to describe."""

    query: QueryDeclaration


def bind(statement: Statement, catalog: Catalog, source: str) -> Declaration | ExplainRequest:
    """What the statement declares, given what was declared before it.

    Every error carries ``source``, so that its excerpt can be shown.
    """
    context = Context(catalog, source, bind_query)
    try:
        return _bind(statement, context)
    except ScriptError as error:
        raise error.with_source(source) from None
    except RecursionError:
        raise BindError(
            "the statement is nested too deeply", span=statement.span, source=source,
            remedy="split it with CREATE VIEW",
        ) from None  # fmt: skip


def _bind(statement: Statement, context: Context) -> Declaration | ExplainRequest:
    match statement:
        case Explain():
            return _explain(statement, context)
        case CreateQuery():
            return _query(statement, context)
    _refuse_taken(statement.name, context.catalog)
    match statement:
        case CreateStream():
            return _stream(statement)
        case CreateRelation():
            schema = _schema(statement.columns, statement.name.text)
            source = _source(statement.source)
            return RelationDeclaration(
                statement.name.text, schema, statement.retroactive, source, statement.span
            )
        case CreateView():
            plan = _view_plan(statement, bind_query(statement.query, context))
            clock = clock_of(plan, statement.span)
            return ViewDeclaration(statement.name.text, plan, clock, statement.span)
        case CreateArchive():
            return _archive(statement, context)
        case CreateSubscriptions():
            return _subscriptions(statement, context)


def _refuse_taken(name: Name, catalog: Catalog) -> None:
    other = catalog.find(name.text)
    if other is not None:
        where = f" on line {other.span.line}" if other.span else ""
        raise BindError(
            f"{name.text} is declared already{where}", span=name.span, remedy="choose another name"
        )


def _schema(columns: tuple[ColumnDefinition, ...], qualifier: str) -> Schema:
    fields: list[Field] = []
    for column in columns:
        if column.name.text.lower() in (f.name.lower() for f in fields):
            raise BindError(f"the column {column.name.text} is declared twice", span=column.span)
        fields.append(Field(column.name.text, column.type or Type.STRING, qualifier))
    return Schema(tuple(fields))


def _stream(statement: CreateStream) -> StreamDeclaration:
    schema = _schema(statement.columns, statement.name.text)
    timestamp = _timestamp(statement, schema)
    clock = Clock.TIMESTAMP if schema[timestamp].type is Type.TIMESTAMP else Clock.INTEGER
    slack = in_ticks(statement.slack, clock, "SLACK", least=0) if statement.slack else 0
    name, source = statement.name.text, _source(statement.source)
    return StreamDeclaration(name, schema, timestamp, clock, slack, source, statement.span)


def _timestamp(statement: CreateStream, schema: Schema) -> int:
    """The column of TIMESTAMP BY; by default ``ts``, or the only TIMESTAMP column."""
    names = [f.name.lower() for f in schema]
    if statement.timestamp is not None:
        wanted, span = statement.timestamp.text.lower(), statement.timestamp.span
        if wanted not in names:
            raise BindError(
                f"there is no column {statement.timestamp.text} to take the time from", span=span,
                remedy=did_you_mean(wanted, [f.name for f in schema]),
            )  # fmt: skip
    else:
        times = [f.name.lower() for f in schema if f.type is Type.TIMESTAMP]
        span = statement.name.span
        if "ts" in names:
            wanted = "ts"
        elif len(times) == 1:
            wanted = times[0]
        else:
            raise BindError(
                f"it is not clear which column of {statement.name.text} holds the time", span=span,
                expected="a column called ts, or one TIMESTAMP column",
                found=f"{len(times)} TIMESTAMP columns", remedy="write TIMESTAMP BY and the column",
            )  # fmt: skip
    index = names.index(wanted)
    kind = schema[index].type
    if kind is not Type.TIMESTAMP and not kind.integral:
        raise BindError(
            span=span, expected="a TIMESTAMP, BIGINT or INT column to take the time from",
            found=f"{schema[index].name} {kind.value}",
        )  # fmt: skip
    return index


def _format(clause: FileClause, formats: dict[str, str], default: str | None) -> str:
    if clause.format is not None:
        found = formats.get(clause.format.text.lower())
        if found is None:
            raise BindError(
                span=clause.format.span, expected="the format " + ", ".join(sorted(set(formats))),
                found=clause.format.text, remedy=did_you_mean(clause.format.text, formats),
            )  # fmt: skip
        return found
    guessed = formats.get(PurePath(clause.path).suffix.lstrip(".").lower(), default)
    if guessed is None:
        raise BindError(
            span=clause.span, expected="FORMAT after the path", found="none",
            remedy="write FORMAT csv, FORMAT json or FORMAT parquet",
        )  # fmt: skip
    return guessed


def _source(clause: FileClause | None) -> FileSource | None:
    return FileSource(clause.path, _format(clause, FORMATS, None)) if clause else None


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
    _schema(columns, statement.name.text)  # refuses a name given twice
    renamed = []
    for index, (column, field) in enumerate(zip(columns, plan.schema, strict=True)):
        if column.type is not None and not _alike(column.type, field.type):
            raise BindError(
                span=column.span, expected=f"{field.type.value}, as the view's query gives it",
                found=column.type.value, remedy="cast the value in the view's query",
            )  # fmt: skip
        renamed.append(Named(column.name.text, Column(index, field.name, field.type)))
    return _renamed(plan, tuple(renamed), statement.span)


def _alike(declared: Type, found: Type) -> bool:
    """A view may call a BIGINT an INT, or a DOUBLE a FLOAT; the wider type is kept."""
    return declared is found or (declared.numeric and found.numeric)


def _renamed(plan: Node, columns: tuple[Named, ...], span: Span) -> Node:
    names = [c.name for c in columns]
    if isinstance(plan, Projection):
        kept = zip(plan.columns, names, strict=True)
        return replace(plan, columns=tuple(Named(n, c.expression) for c, n in kept))
    if isinstance(plan, ToStream):
        return replace(plan, input=_renamed(plan.input, columns, span))
    return projected(plan, columns, span)


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
    clock = clock_of(plan, statement.span) or Clock.INTEGER
    into = None
    if statement.into is not None:
        kind = _format(statement.into, {**FORMATS, "console": "console"}, "parquet")
        into = Destination(statement.into.path, kind)
    return QueryDeclaration(name, plan, clock, into, statement.span, statement.text)


def _explain(statement: Explain, context: Context) -> ExplainRequest:
    if statement.cost:
        raise NotExecutableError(
            "EXPLAIN COST", span=statement.span, remedy="EXPLAIN alone shows the plan"
        )
    subject = statement.subject
    if isinstance(subject, CreateQuery):
        return ExplainRequest(_query(subject, context))
    found = context.catalog.find(subject.text)
    if isinstance(found, ViewDeclaration):
        clock = found.clock or Clock.INTEGER
        found = QueryDeclaration(found.name, found.plan, clock, None, found.span)
    if not isinstance(found, QueryDeclaration):
        kinds = (QueryDeclaration, ViewDeclaration)
        known = [d.name for d in context.catalog.declarations.values() if isinstance(d, kinds)]
        raise BindError(
            f"there is no query or view called {subject.text}", span=subject.span,
            remedy=did_you_mean(subject.text, known),
        )  # fmt: skip
    return ExplainRequest(found)


def _stream_called(name: Name, context: Context) -> StreamDeclaration:
    found = context.catalog.find(name.text)
    if not isinstance(found, StreamDeclaration):
        raise BindError(
            f"there is no stream called {name.text}", span=name.span,
            remedy=did_you_mean(name.text, [s.name for s in context.catalog.streams]),
        )  # fmt: skip
    return found


def _columns_called(names: tuple[Name, ...], stream: StreamDeclaration) -> tuple[str, ...]:
    known = {f.name.lower(): f.name for f in stream.schema}
    for name in names:
        if name.text.lower() not in known:
            raise BindError(
                f"there is no column {name.text} in {stream.name}", span=name.span,
                remedy=did_you_mean(name.text, known.values()),
            )  # fmt: skip
    return tuple(known[n.text.lower()] for n in names)


def _archive(statement: CreateArchive, context: Context) -> ArchiveDeclaration:
    stream = _stream_called(statement.on, context)
    scheme = statement.scheme.text.upper()
    if scheme not in SCHEMES:
        raise BindError(
            span=statement.scheme.span, expected="a scheme: " + ", ".join(SCHEMES), found=scheme,
            remedy=did_you_mean(scheme, SCHEMES),
        )  # fmt: skip
    technique = statement.technique.text.upper() if statement.technique else None
    if technique is not None and technique not in TECHNIQUES:
        assert statement.technique is not None
        raise BindError(
            span=statement.technique.span, found=technique,
            expected="an update technique: " + ", ".join(TECHNIQUES),
            remedy=did_you_mean(technique, TECHNIQUES),
        )  # fmt: skip
    if statement.constituents is not None and statement.constituents < 1:
        raise BindError(
            span=statement.scheme.span, expected="at least one constituent",
            found=str(statement.constituents),
        )  # fmt: skip
    return ArchiveDeclaration(
        statement.name.text, stream.name, _columns_called(statement.key, stream),
        in_ticks(statement.window, stream.clock, "WINDOW"), scheme, statement.constituents,
        technique, statement.span,
    )  # fmt: skip


def _subscriptions(statement: CreateSubscriptions, context: Context) -> SubscriptionsDeclaration:
    stream = _stream_called(statement.on, context)
    columns = _columns_called(statement.columns, stream)
    source = FileSource(statement.source.path, _format(statement.source, FORMATS, None))
    return SubscriptionsDeclaration(
        statement.name.text, stream.name, columns, source, statement.span
    )
