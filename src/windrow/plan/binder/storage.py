"""CREATE ARCHIVE and CREATE SUBSCRIPTIONS."""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.cql.tree import CreateArchive, CreateSubscriptions, FileClause, Name
from windrow.plan.binder.context import Context, clock_of
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.binder.streams import FORMATS, format_of
from windrow.plan.binder.tables import named_plan
from windrow.plan.binder.windows import in_ticks
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Destination,
    FileSource,
    StreamDeclaration,
    SubscriptionsDeclaration,
)
from windrow.plan.subscribe import Subscribe

SCHEMES = ("DEL", "REINDEX", "REINDEX+", "REINDEX++", "WATA", "RATA")
TECHNIQUES = ("PACKED", "SHADOW", "INPLACE")


def bind_archive(statement: CreateArchive, context: Context) -> ArchiveDeclaration:
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


def bind_subscriptions(
    statement: CreateSubscriptions, context: Context
) -> SubscriptionsDeclaration:
    plan = named_plan(statement.on, context)
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            f"{statement.on.text} withdraws results (its update pattern is {plan.pattern.name}), "
            "and a match cannot be withdrawn",
            span=statement.on.span,
            remedy="subscribe to a stream, or to a view made one with ISTREAM(...)",
        )
    columns = tuple(_index_of(name, plan.schema, statement.on.text) for name in statement.columns)
    repeated = next((n for i, n in enumerate(columns) if n in columns[:i]), None)
    if repeated is not None:
        raise BindError(
            f"the column {plan.schema[repeated].name} is given twice", span=statement.span
        )
    source = FileSource(statement.source.path, format_of(statement.source, FORMATS, None))
    clock = clock_of(plan, statement.span) or context.catalog.clock
    plan = Subscribe(plan, source, columns, clock, span=statement.span)
    return SubscriptionsDeclaration(
        statement.name.text, statement.on.text, tuple(plan.attributes), source, plan, clock,
        destination(statement.into, context), statement.span, statement.text,
    )  # fmt: skip


def _stream_called(name: Name, context: Context) -> StreamDeclaration:
    found = context.catalog.find(name.text)
    if not isinstance(found, StreamDeclaration):
        raise BindError(
            f"there is no stream called {name.text}", span=name.span,
            remedy=did_you_mean(name.text, [s.name for s in context.catalog.streams]),
        )  # fmt: skip
    return found


def _index_of(name: Name, schema: Schema, what: str) -> int:
    known = [f.name.lower() for f in schema]
    if name.text.lower() not in known:
        raise BindError(
            f"there is no column {name.text} in {what}", span=name.span,
            remedy=did_you_mean(name.text, [f.name for f in schema]),
        )  # fmt: skip
    return known.index(name.text.lower())


def destination(into: FileClause | None, context: Context) -> Destination | None:
    """Where results go; two queries that write to one place would remove each other's."""
    if into is None:
        return None
    kind = format_of(into, {**FORMATS, "console": "console"}, "parquet")
    other = context.catalog.writers.get(into.path) if kind != "console" else None
    if other is not None:
        raise BindError(
            f"{other} writes its results into '{into.path}' already", span=into.span,
            remedy="give each query a directory of its own",
        )  # fmt: skip
    return Destination(into.path, kind)


def _columns_called(names: tuple[Name, ...], stream: StreamDeclaration) -> tuple[str, ...]:
    known = {f.name.lower(): f.name for f in stream.schema}
    for name in names:
        if name.text.lower() not in known:
            raise BindError(
                f"there is no column {name.text} in {stream.name}", span=name.span,
                remedy=did_you_mean(name.text, known.values()),
            )  # fmt: skip
    return tuple(known[n.text.lower()] for n in names)
