"""CREATE ARCHIVE and CREATE SUBSCRIPTIONS."""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.cql.tree import CreateArchive, CreateSubscriptions, Name
from windrow.plan.binder.context import Context
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.binder.streams import FORMATS, format_of
from windrow.plan.binder.windows import in_ticks
from windrow.plan.catalog import (
    ArchiveDeclaration,
    FileSource,
    StreamDeclaration,
    SubscriptionsDeclaration,
)

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
    stream = _stream_called(statement.on, context)
    columns = _columns_called(statement.columns, stream)
    source = FileSource(statement.source.path, format_of(statement.source, FORMATS, None))
    return SubscriptionsDeclaration(
        statement.name.text, stream.name, columns, source, statement.span
    )


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
