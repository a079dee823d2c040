"""The syntax tree of CQL's queries: frozen values with their positions.

Scalar expressions stay SQLGlot expressions; ``windrow.cql.positions.span_of`` finds where one of
them stands. What is around them (queries, tables, windows) is typed here, statements in
``windrow.cql.statement_tree``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import expressions as exp

from windrow.core.errors import Span


@dataclass(frozen=True)
class Name:
    """A name as written, and where."""

    text: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class ColumnName:
    """``column`` or ``table.column``; the span is that of both."""

    text: str
    qualifier: str | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Duration:
    """``5 SECONDS``; a bare number has no unit and counts ticks."""

    amount: Decimal
    unit: str | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Unlimited:
    """``UNBOUNDED`` or ``NEVER`` where a duration could stand."""

    span: Span = field(compare=False)


@dataclass(frozen=True)
class RangeClause:
    """``[RANGE length SLIDE slide]``."""

    length: Duration
    slide: Duration | None
    internal: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class RowsClause:
    """``[ROWS count]``, ``[ROWS count SLIDE slide]`` or ``[PARTITION BY columns ROWS count]``."""

    count: int
    partition_by: tuple[ColumnName, ...]
    slide: int | None
    internal: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class NowClause:
    """``[NOW]``."""

    internal: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class UnboundedClause:
    """``[UNBOUNDED]`` or ``[RANGE UNBOUNDED]``."""

    internal: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class SessionClause:
    """``[SESSION gap]`` or ``[PARTITION BY columns SESSION gap]``."""

    gap: Duration
    partition_by: tuple[ColumnName, ...]
    internal: bool
    span: Span = field(compare=False)


WindowClause = RangeClause | RowsClause | NowClause | UnboundedClause | SessionClause


@dataclass(frozen=True)
class Unnested:
    """``UNNEST(array)``, whose values are rows; with ``ordinality`` their places are a column."""

    array: exp.Expr
    ordinality: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Table:
    """One entry of FROM. ``on`` is the condition of a JOIN, ``alias`` what it is called.

    ``time`` is the column that TUMBLE and its kin name; the bounds of their windows are columns.
    ``join`` is a comma (also before the first), INNER, CROSS, LEFT, RIGHT or FULL; ``using`` are
    the columns that USING names, with ``natural`` all that both sides have. ``columns`` are the
    names that follow the alias.
    """

    source: Name | Query | Unnested
    window: WindowClause | None
    alias: Name | None
    on: exp.Expr | None
    span: Span = field(compare=False)
    time: Name | None = None
    join: str = ","
    using: tuple[Name, ...] = ()
    natural: bool = False
    columns: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Item:
    """One entry of a select list; a star is an ``exp.Star`` or a column whose name is one."""

    expression: exp.Expr
    alias: Name | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class OrderItem:
    """One entry of ORDER BY."""

    expression: exp.Expr
    descending: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Limit:
    """``LIMIT count``, ``TOP count`` or, if ``frequent``, ``FREQUENT count``."""

    count: int
    span: Span = field(compare=False)
    frequent: bool = False


@dataclass(frozen=True)
class Ranking:
    """``ROW_NUMBER() OVER (...)`` or its kin, and the ``count`` that it must not exceed, if one is
    known.

    With a ``name`` the number is a column too, which stands at ``place`` in the select list.
    """

    partition_by: tuple[exp.Expr, ...]
    order_by: tuple[OrderItem, ...]
    count: int | None
    name: Name | None
    place: int
    span: Span = field(compare=False)
    function: str = "ROW_NUMBER"


@dataclass(frozen=True)
class JoinOption:
    """``OPTION (HASH JOIN n)`` or ``OPTION (NESTED LOOPS)``, which is one bucket."""

    buckets: int
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Select:
    """One SELECT block; the conditions of its joins are with its tables."""

    items: tuple[Item, ...]
    tables: tuple[Table, ...]
    where: exp.Expr | None
    group_by: tuple[exp.Expr, ...]
    having: exp.Expr | None
    distinct: bool
    order_by: tuple[OrderItem, ...]
    limit: Limit | None
    span: Span = field(compare=False)
    ranking: Ranking | None = None
    option: JoinOption | None = None


@dataclass(frozen=True)
class SetOperation:
    """``left UNION right``, EXCEPT or INTERSECT: of sets if ``distinct``, of bags otherwise."""

    operator: str
    left: Query
    right: Query
    span: Span = field(compare=False)
    distinct: bool = False


@dataclass(frozen=True)
class StreamOf:
    """``ISTREAM(query)`` and its kin; ``window`` belongs to WSTREAM."""

    kind: str
    query: Query
    window: WindowClause | None
    span: Span = field(compare=False)


@dataclass(frozen=True)
class EveryOf:
    """``query EVERY period``."""

    query: Query
    period: Duration
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Definition:
    """``name [(column, ...)] AS (query)`` after WITH."""

    name: Name
    columns: tuple[Name, ...]
    query: Query


@dataclass(frozen=True)
class With:
    """``WITH definitions query``; a definition may read those before it."""

    definitions: tuple[Definition, ...]
    query: Query
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Values:
    """``VALUES (1, 'a'), (2, 'b')``."""

    rows: tuple[tuple[exp.Expr, ...], ...]
    span: Span = field(compare=False)


Query = Values | Select | SetOperation | StreamOf | EveryOf | With
