"""What a script has declared so far: streams, relations, views, queries.

Each declaration has its statement as ``text``; what reads others names them as ``uses``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath

from windrow.core.errors import Span
from windrow.core.schema import Schema, Type
from windrow.core.time import Clock
from windrow.plan.nodes import FileSource, Node

NO_TIMESTAMP = -1
"""Stands for the timestamp's index where rows have no time of their own."""


@dataclass(frozen=True)
class StreamDeclaration:
    """CREATE STREAM. ``timestamp`` is the index of the TIMESTAMP BY column, ``slack`` in ticks.

    ``ahead`` is in ticks too and ``idle`` in microseconds of the clock on the wall; FOREVER says
    that there is no limit, None that the script says nothing. They are about rows still to come,
    so a checkpoint outlives a change of them: they are no part of what identifies a declaration.
    """

    name: str
    schema: Schema
    timestamp: int
    clock: Clock
    slack: int = 0
    source: FileSource | None = None
    span: Span | None = field(default=None, compare=False)
    ahead: int | None = field(default=None, repr=False)
    idle: int | None = field(default=None, repr=False)
    text: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class RelationDeclaration:
    """CREATE RELATION, or CREATE NRR (``retroactive`` is False).

    ``key`` are the indexes of its PRIMARY KEY columns; without one the whole row is the key.
    ``ahead`` and ``idle`` are as in a stream, both in microseconds: the clock is known later.
    """

    name: str
    schema: Schema
    retroactive: bool
    source: FileSource | None = None
    span: Span | None = field(default=None, compare=False)
    primary_key: tuple[int, ...] = ()
    ahead: int | None = field(default=None, repr=False)
    idle: int | None = field(default=None, repr=False)
    text: str = field(default="", compare=False, repr=False)

    @property
    def key(self) -> tuple[int, ...]:
        return self.primary_key or tuple(range(len(self.schema)))


@dataclass(frozen=True)
class ViewDeclaration:
    """CREATE VIEW: a named plan. It is a stream, and takes a window, if its plan is MONOTONIC."""

    name: str
    plan: Node
    clock: Clock | None
    span: Span | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True)
class Destination:
    """``INTO 'path' FORMAT format``: csv, json or parquet files below a directory, or console.

    Of what goes to the console no more than ``limit`` changes of a micro-batch are printed.
    """

    path: str
    format: str
    limit: int | None = None

    @property
    def directory(self) -> PurePath:
        return PurePath(self.path)


@dataclass(frozen=True)
class QueryDeclaration:
    """CREATE QUERY, or a bare SELECT, which gets the name ``query1``, ``query2``, ..."""

    name: str
    plan: Node
    clock: Clock
    into: Destination | None = None
    span: Span | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    priority: int = 0
    """Which of several late queries is answered first: it counts as so many updates more late."""


@dataclass(frozen=True)
class ArchiveDeclaration:
    """CREATE ARCHIVE: what ``plan`` gives is kept for ``window`` ticks in ``path``.

    ``day`` is the length of a day in ticks. Streams go into a wave index with so many
    ``constituents``; results with lifetimes of their own into a GRID of ``constituents`` partitions
    of insertion times by ``expiries`` of expiry times.
    """

    name: str
    on: str
    key: tuple[str, ...]
    window: int
    day: int
    scheme: str
    constituents: int | None
    expiries: int | None
    technique: str | None
    plan: Node
    clock: Clock
    path: str
    format: str
    span: Span | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def query(self) -> QueryDeclaration:
        """What is archived, as a query."""
        return QueryDeclaration(self.name, self.plan, self.clock, None, self.span)


@dataclass(frozen=True)
class SubscriptionsDeclaration:
    """CREATE SUBSCRIPTIONS. ``plan`` gives the matches: a persistent query like any other."""

    name: str
    on: str
    columns: tuple[str, ...]
    source: FileSource
    plan: Node
    clock: Clock
    into: Destination | None = None
    span: Span | None = field(default=None, compare=False)
    text: str = field(default="", compare=False)
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def query(self) -> QueryDeclaration:
        return QueryDeclaration(self.name, self.plan, self.clock, self.into, self.span, self.text)


@dataclass(frozen=True)
class FunctionDeclaration:
    """CREATE FUNCTION: a Python function, at ``module:function``.

    If ``vectorised`` it takes Arrow arrays, else the values of one row.
    """

    name: str
    parameters: tuple[tuple[str, Type], ...]
    returns: Type
    location: str
    vectorised: bool = False
    span: Span | None = field(default=None, compare=False)
    text: str = field(default="", compare=False, repr=False)
    uses: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    at: Span | None = field(default=None, compare=False, repr=False)
    """Where the location stands in the script that was compiled last."""

    @property
    def signature(self) -> str:
        takes = ", ".join(f"{name} {kind.value}" for name, kind in self.parameters)
        return f"{self.name}({takes})"


Declaration = (
    StreamDeclaration
    | RelationDeclaration
    | ViewDeclaration
    | QueryDeclaration
    | ArchiveDeclaration
    | SubscriptionsDeclaration
    | FunctionDeclaration
)


@dataclass(frozen=True)
class Catalog:
    """Declarations by lower-case name, in the order in which they were made.

    ``texts`` are the scripts that made them.
    """

    declarations: dict[str, Declaration] = field(default_factory=dict)
    texts: tuple[str, ...] = field(default=(), compare=False, repr=False)

    def find(self, name: str) -> Declaration | None:
        return self.declarations.get(name.lower())

    def adding(self, declaration: Declaration) -> Catalog:
        """A catalog that knows ``declaration`` too; this one is left as it is."""
        more = Catalog({**self.declarations, declaration.name.lower(): declaration}, self.texts)
        if "writers" in self.__dict__:  # told on, so that a long script stays linear in looking
            more.__dict__["writers"] = {**self.writers, **_writer(declaration)}
        return more

    def without(self, name: str) -> Catalog:
        """A catalog that does not know the name."""
        rest = {n: d for n, d in self.declarations.items() if n != name.lower()}
        return Catalog(rest, self.texts)

    def dependents(self, name: str) -> list[Declaration]:
        """The views, queries, archives and subscriptions that read what has this name."""
        return [d for d in self.declarations.values() if name.lower() in uses_of(d)]

    @cached_property
    def writers(self) -> dict[PurePath, str]:
        """For each path that results are written to, the name of the query that writes them."""
        found: dict[PurePath, str] = {}
        for declaration in self.declarations.values():
            found.update(_writer(declaration))
        return found

    @property
    def clock(self) -> Clock:
        """The clock of a query over relations only: that of the streams beside them."""
        streams = (d for d in self.declarations.values() if isinstance(d, StreamDeclaration))
        return next((s.clock for s in streams), Clock.INTEGER)

    @property
    def streams(self) -> tuple[StreamDeclaration, ...]:
        return tuple(d for d in self.declarations.values() if isinstance(d, StreamDeclaration))

    @property
    def relations(self) -> tuple[RelationDeclaration, ...]:
        return tuple(d for d in self.declarations.values() if isinstance(d, RelationDeclaration))

    @property
    def archives(self) -> tuple[ArchiveDeclaration, ...]:
        return tuple(d for d in self.declarations.values() if isinstance(d, ArchiveDeclaration))

    @property
    def queries(self) -> tuple[QueryDeclaration, ...]:
        """Everything that runs, matches of subscriptions included."""
        running = (QueryDeclaration, SubscriptionsDeclaration)
        found = (d for d in self.declarations.values() if isinstance(d, running))
        return tuple(d if isinstance(d, QueryDeclaration) else d.query for d in found)


def kind_of(declaration: Declaration) -> str:
    """What a declaration is, as CREATE and DROP have it."""
    if isinstance(declaration, RelationDeclaration) and not declaration.retroactive:
        return "NRR"
    return type(declaration).__name__.removesuffix("Declaration").upper()


def uses_of(declaration: Declaration) -> frozenset[str]:
    """The lower-case names that a declaration reads."""
    if isinstance(declaration, StreamDeclaration | RelationDeclaration):
        return frozenset()
    return declaration.uses


def _writer(declaration: Declaration) -> dict[PurePath, str]:
    if isinstance(declaration, ArchiveDeclaration):
        return {PurePath(declaration.path): declaration.name}
    into = getattr(declaration, "into", None)
    return {PurePath(into.path): declaration.name} if into and into.format != "console" else {}
