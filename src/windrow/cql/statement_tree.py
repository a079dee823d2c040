"""The syntax tree of CQL's statements: a script, and what it declares, shows and drops."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from windrow.core.errors import Span
from windrow.core.schema import Type
from windrow.cql.syntax_tree import Duration, Name, Query, Unlimited


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
