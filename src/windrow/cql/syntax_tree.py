"""The syntax tree of a CQL script: frozen values with their positions.

Scalar expressions stay SQLGlot expressions; ``windrow.cql.positions.span_of`` finds where one of
them stands. Everything around them (statements, queries, tables, windows) is typed here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto

from sqlglot import expressions as exp

from windrow.core.errors import Span
from windrow.core.schema import Type


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
class Table:
    """One entry of FROM. ``on`` is the condition of a JOIN, ``alias`` what it is called.

    ``time`` is the column that TUMBLE and its kin name; the bounds of their windows are columns.
    ``join`` is a comma (also before the first), INNER, CROSS, LEFT, RIGHT or FULL; ``using`` are
    the columns that USING names.
    """

    source: Name | Query
    window: WindowClause | None
    alias: Name | None
    on: exp.Expr | None
    span: Span = field(compare=False)
    time: Name | None = None
    join: str = ","
    using: tuple[Name, ...] = ()


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
    """``ROW_NUMBER() OVER (...)`` and the ``count`` that it must not exceed, if one is known.

    With a ``name`` the number is a column too, which stands at ``place`` in the select list.
    """

    partition_by: tuple[exp.Expr, ...]
    order_by: tuple[OrderItem, ...]
    count: int | None
    name: Name | None
    place: int
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


Query = Select | SetOperation | StreamOf | EveryOf | With


class Existing(Enum):
    """What becomes of a declaration of the same name: CREATE, OR REPLACE, IF NOT EXISTS."""

    REFUSE = auto()
    REPLACE = auto()
    KEEP = auto()


@dataclass(frozen=True)
class ColumnDefinition:
    """``name TYPE``; in a view's list of columns the type may be left out.

    ``key`` says that PRIMARY KEY follows, as it may in a relation.
    """

    name: Name
    type: Type | None
    span: Span = field(compare=False)
    key: bool = False


@dataclass(frozen=True)
class FileClause:
    """``FROM 'path' FORMAT format`` or ``INTO 'path' FORMAT format``; ``limit`` is of console.

    ``options`` stand in parentheses after the format of FROM: names and what they are.
    """

    path: str
    format: Name | None
    span: Span = field(compare=False)
    limit: int | None = None
    options: tuple[tuple[Name, str], ...] = ()


@dataclass(frozen=True)
class CreateStream:
    """CREATE STREAM."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    source: FileClause | None
    timestamp: Name | None
    slack: Duration | None
    span: Span = field(compare=False)
    ahead: Duration | Unlimited | None = None
    idle: Duration | Unlimited | None = None
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE


@dataclass(frozen=True)
class CreateRelation:
    """CREATE RELATION, or CREATE NRR if not ``retroactive``."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    retroactive: bool
    source: FileClause | None
    span: Span = field(compare=False)
    primary_key: tuple[Name, ...] = ()
    ahead: Duration | Unlimited | None = None
    idle: Duration | Unlimited | None = None
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE


@dataclass(frozen=True)
class CreateView:
    """CREATE VIEW; ``columns`` rename what the query gives, ``timestamp`` holds their time."""

    name: Name
    columns: tuple[ColumnDefinition, ...]
    query: Query
    span: Span = field(compare=False)
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE
    timestamp: Name | None = None


@dataclass(frozen=True)
class CreateQuery:
    """CREATE QUERY, or a query standing alone, which has no name."""

    name: Name | None
    query: Query
    into: FileClause | None
    span: Span = field(compare=False)
    text: str = field(compare=False)
    existing: Existing = Existing.REFUSE
    priority: int = 0


@dataclass(frozen=True)
class CreateArchive:
    """CREATE ARCHIVE; ``expiries`` is the second number of ``GRID(G, E)``."""

    name: Name
    on: Name
    key: tuple[Name, ...]
    window: Duration
    scheme: Name
    constituents: int | None
    technique: Name | None
    span: Span = field(compare=False)
    expiries: int | None = None
    into: FileClause | None = None
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE


@dataclass(frozen=True)
class CreateSubscriptions:
    """CREATE SUBSCRIPTIONS; ``on`` is a stream or a view, ``into`` where matches go."""

    name: Name
    on: Name
    columns: tuple[Name, ...]
    source: FileClause
    into: FileClause | None
    span: Span = field(compare=False)
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE


@dataclass(frozen=True)
class CreateFunction:
    """CREATE FUNCTION; ``at`` is where its location stands."""

    name: Name
    parameters: tuple[ColumnDefinition, ...]
    returns: Type
    location: str
    at: Span = field(compare=False)
    vectorised: bool
    span: Span = field(compare=False)
    text: str = field(compare=False, default="")
    existing: Existing = Existing.REFUSE


@dataclass(frozen=True)
class Explain:
    """EXPLAIN of a query, or of the view or query that ``subject`` names."""

    subject: CreateQuery | Name
    cost: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Drop:
    """DROP; ``kind`` is the word after it."""

    kind: str
    name: Name
    if_exists: bool
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Show:
    """SHOW; ``kind`` is the word after it."""

    kind: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Describe:
    """DESCRIBE."""

    name: Name
    span: Span = field(compare=False)


Create = (
    CreateStream
    | CreateRelation
    | CreateView
    | CreateQuery
    | CreateArchive
    | CreateSubscriptions
    | CreateFunction
)
Statement = Create | Explain | Drop | Show | Describe


@dataclass(frozen=True)
class Script:
    """All statements of a text; ``text`` is the same with values instead of parameters."""

    statements: tuple[Statement, ...]
    source: str
    text: str
