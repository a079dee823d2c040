"""SHOW and DESCRIBE: what is declared, as rows of text that any front door can draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from windrow.core.errors import BindError
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Schema
from windrow.cql.statement_tree import Describe, Show
from windrow.plan.binder.scope import did_you_mean
from windrow.plan.catalog import (
    ArchiveDeclaration,
    Catalog,
    Declaration,
    FunctionDeclaration,
    QueryDeclaration,
    RelationDeclaration,
    StreamDeclaration,
    SubscriptionsDeclaration,
    ViewDeclaration,
    kind_of,
)
from windrow.plan.describe import duration
from windrow.plan.functions import AGGREGATES, FUNCTIONS, OPERATORS_ONLY, OTHER_FORMS, SYNONYMS

Row = tuple[str | None, ...]


@dataclass(frozen=True)
class Listing:
    """Rows under headings; ``title`` says what of."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]


def list_declarations(statement: Show | Describe, catalog: Catalog, source: str) -> Listing:
    """What the statement asks for, given what was declared before it."""
    if isinstance(statement, Show):
        return show(statement.kind, catalog)
    found = catalog.find(statement.name.text)
    if found is None:
        known = [d.name for d in catalog.declarations.values()]
        raise BindError(
            f"nothing is called {statement.name.text}", span=statement.name.span, source=source,
            remedy=did_you_mean(statement.name.text, known) or "declare it first",
        )  # fmt: skip
    return _describe(found)


def show(kind: str, catalog: Catalog) -> Listing:
    """All declarations of a kind; ``kind`` is the word after SHOW."""
    title = kind.lower()
    if kind == "FUNCTIONS":
        own = [d for d in catalog.declarations.values() if isinstance(d, FunctionDeclaration)]
        described = ((d.name, f"{d.signature} RETURNS {d.returns.value}") for d in own)
        return Listing(title, ("name", "takes"), (*described, *_functions()))
    wanted, headings, row = LISTS[kind]
    rows = (row(d) for d in catalog.declarations.values() if isinstance(d, wanted))
    return Listing(title, ("name", *headings), tuple(rows))


def _describe(found: Declaration) -> Listing:
    """Its columns; of a relation also which are its key."""
    title = f"{kind_of(found)} {found.name}"
    if isinstance(found, StreamDeclaration):
        time = [found.schema[found.timestamp].name]
        rows = ((f.name, f.type.value, "time" if f.name in time else None) for f in found.schema)
        return Listing(title, ("column", "type", "role"), tuple(rows))
    if isinstance(found, RelationDeclaration):
        key = [found.schema[i].name for i in found.primary_key]
        rows = ((f.name, f.type.value, "key" if f.name in key else None) for f in found.schema)
        return Listing(title, ("column", "type", "role"), tuple(rows))
    if isinstance(found, FunctionDeclaration):
        takes = ((name, kind.value, None) for name, kind in found.parameters)
        result = (None, found.returns.value, "result")
        return Listing(title, ("parameter", "type", "role"), (*takes, result))
    schema = found.plan.schema
    columns = zip(schema.unique_names(), schema, strict=True)
    return Listing(title, ("column", "type"), tuple((n, f.type.value) for n, f in columns))


def _columns(schema: Schema) -> str:
    columns = zip(schema.unique_names(), schema, strict=True)
    return ", ".join(f"{name} {field.type.value}" for name, field in columns)


def _from(declaration: StreamDeclaration | RelationDeclaration) -> str | None:
    return None if declaration.source is None else f"'{declaration.source.path}'"


def _stream(d: StreamDeclaration) -> Row:
    slack = duration(d.slack, d.clock) if d.slack else None
    return d.name, _columns(d.schema), d.schema[d.timestamp].name, slack, _from(d)


def _relation(d: RelationDeclaration) -> Row:
    key = ", ".join(d.schema[i].name for i in d.primary_key) or None
    kind = None if d.retroactive else "non-retroactive"
    return d.name, _columns(d.schema), key, kind, _from(d)


def _view(d: ViewDeclaration) -> Row:
    kind = "stream" if d.plan.pattern is UpdatePattern.MONOTONIC else "relation"
    return d.name, _columns(d.plan.schema), kind, d.plan.pattern.name


def _query(d: QueryDeclaration) -> Row:
    into = f"'{d.into.path}'" if d.into is not None else None
    return d.name, _columns(d.plan.schema), d.plan.pattern.name, into


def _archive(d: ArchiveDeclaration) -> Row:
    return d.name, d.on, ", ".join(d.key), duration(d.window, d.clock), d.scheme, f"'{d.path}'"


def _subscriptions(d: SubscriptionsDeclaration) -> Row:
    into = f"'{d.into.path}'" if d.into is not None else None
    return d.name, d.on, ", ".join(d.columns), f"'{d.source.path}'", into


LISTS: Mapping[str, tuple[type, tuple[str, ...], Callable[..., Row]]] = {
    "STREAMS": (StreamDeclaration, ("columns", "time", "slack", "from"), _stream),
    "RELATIONS": (RelationDeclaration, ("columns", "key", "kind", "from"), _relation),
    "VIEWS": (ViewDeclaration, ("columns", "kind", "pattern"), _view),
    "QUERIES": (QueryDeclaration, ("columns", "pattern", "into"), _query),
    "ARCHIVES": (ArchiveDeclaration, ("on", "key", "window", "scheme", "into"), _archive),
    "SUBSCRIPTIONS": (SubscriptionsDeclaration, ("on", "columns", "from", "into"), _subscriptions),
}
"""By the word after SHOW: what is listed, the headings after the name, and a row."""


def _functions() -> tuple[Row, ...]:
    """Scalar functions and aggregates, by all their names."""
    scalar = {n: f.takes for n, f in FUNCTIONS.items() if n not in OPERATORS_ONLY}
    scalar |= {name: FUNCTIONS[meant].takes for name, meant in SYNONYMS.items()}
    called = {n: takes for n, takes in scalar.items() if not n.startswith("extract_")}
    aggregates = {name: f"the values of a group ({meant})" for name, meant in AGGREGATES.items()}
    listed = {**called, **aggregates, **OTHER_FORMS}
    return tuple((name.upper(), takes) for name, takes in sorted(listed.items()))
