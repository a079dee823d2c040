"""One block of a query and its parts, as frozen values with a CQL text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tests.oracle.expressions import Expr
from tests.oracle.windows import NO_WINDOW, Range, Session, Unbounded, Window

Columns = tuple[tuple[str, str], ...]
"""Names and types."""


class Output(Enum):
    """In which form a query gives its answer."""

    CHANGES = "changes"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"
    ISTREAM_RESTORE = "ISTREAM-RESTORE"
    RSTREAM_RESTORE = "RSTREAM-RESTORE"


RESTORING = (Output.ISTREAM_RESTORE, Output.RSTREAM_RESTORE)


@dataclass(frozen=True)
class Source:
    """A name in FROM; ``window`` is None for what is a relation, or is read as one.

    Of an NRR a tuple sees what it held at the tuple's own instant. With ``internal`` the window
    bounds what meets, and takes no result back.
    """

    name: str
    alias: str
    window: Window | None = NO_WINDOW
    nrr: bool = False
    internal: bool = False
    time: str = ""
    """The column of the time, if the window is written as TUMBLE or HOP."""

    @property
    def cql(self) -> str:
        return self.text(internal=False)

    def text(self, *, internal: bool) -> str:
        if self.time:
            assert isinstance(self.window, Range | Session)
            return f"{self.window.function(self.name, self.time)} AS {self.alias}"
        window = f" {self.window.cql}" if self.window is not None and self.window.cql else ""
        if internal or self.internal:
            window = window.replace("]", " INTERNAL]")
        return f"{self.name}{window} AS {self.alias}"


@dataclass(frozen=True)
class Item:
    """One column of a result."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Negation:
    """NOT EXISTS or NOT IN over one source: ``pairs`` are the outer and inner sides of ``=``.

    ``across`` is another condition of NOT EXISTS over both. NOT IN has exactly one pair. With
    ``within`` it looks at what came so long after a tuple, or before it, and is asked then.
    """

    kind: str
    source: Source
    pairs: tuple[tuple[Expr, Expr], ...]
    where: Expr | None = None
    across: Expr | None = None
    within: int | None = None
    after: bool = True

    def counted(self, came: str) -> str:
        """SQL for which tuples of the source count, if ``came`` is when the outer tuple came."""
        first, last = (came, f"{came} + {self.within}")
        if not self.after:
            first, last = f"{came} - {self.within}", came
        return f"{self.source.alias}.ts BETWEEN {first} AND {last}"

    def asked_at(self, came: str) -> str:
        """SQL for the instant at which the outer tuple is reported, if at all."""
        return f"{came} + {self.within}" if self.after else came

    @property
    def cql(self) -> str:
        conditions = [part.cql for part in (self.where, self.across) if part is not None]
        if self.kind == "NOT IN":
            ((outer, inner),) = self.pairs
            head = f"{outer.cql} NOT IN (SELECT {inner.cql}"
        else:
            head = "NOT EXISTS (SELECT *"
            conditions += [f"{inner.cql} = {outer.cql}" for outer, inner in self.pairs]
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        text = f"{head} FROM {self.source.cql}{where})"
        if self.within is None:
            return text
        return f"{text} WITHIN {self.within} SECONDS {'AFTER' if self.after else 'BEFORE'}"


@dataclass(frozen=True)
class Top:
    """ORDER BY names of the select list, descending or not, LIMIT ``count``; or of each group."""

    count: int
    order: tuple[tuple[str, bool], ...]
    groups: tuple[str, ...] | None = None
    function: str = "ROW_NUMBER"

    @property
    def cql(self) -> str:
        keys = ", ".join(f"{name} DESC" if down else name for name, down in self.order)
        if self.groups is None:
            return f"ORDER BY {keys} LIMIT {self.count}"
        by = f"PARTITION BY {', '.join(self.groups)} " if self.groups else ""
        return f"QUALIFY {self.function}() OVER ({by}ORDER BY {keys}) <= {self.count}"

    def chosen(self, columns: Columns, *together: str) -> str:
        """SQL for the condition; rows are ranked in each combination of ``together``."""
        names = [*together, *(self.groups or ())]
        by = f"PARTITION BY {', '.join(names)} " if names else ""
        return f"{self.function}() OVER ({by}ORDER BY {self.sql(columns)}) <= {self.count}"

    def sql(self, columns: Columns) -> str:
        """The whole order: NULLs last, ties by all columns, unless they are at one place."""
        ties = ((name, False) for name, _ in columns) if self.function == "ROW_NUMBER" else ()
        keys = [*self.order, *ties]
        return ", ".join(f"{name} {'DESC' if down else 'ASC'} NULLS LAST" for name, down in keys)


@dataclass(frozen=True)
class Unnest:
    """UNNEST of an array of the last source, as ``U.u``; its places are ``U.o``."""

    array: Expr
    outer: bool = False

    @property
    def columns(self) -> list[Expr]:
        value = Expr("U.u", "U.u", self.array.element)
        return [value] if self.outer else [value, Expr("U.o", "U.o", "BIGINT")]

    @property
    def cql(self) -> str:
        if self.outer:
            return f" LEFT JOIN UNNEST({self.array.cql}) AS U(u) ON TRUE"
        return f", UNNEST({self.array.cql}) WITH ORDINALITY AS U(u, o)"

    @property
    def sql(self) -> str:
        array = self.array.sql
        if self.outer:
            return f" LEFT JOIN LATERAL (SELECT UNNEST({array}) AS u) AS U ON TRUE"
        both = f"UNNEST({array}) AS u, UNNEST(range(1, len({array}) + 1)) AS o"
        return f", LATERAL (SELECT {both}) AS U"


@dataclass(frozen=True)
class Select:
    """A block; it aggregates if ``grouped``, with or without keys.

    With ``internal`` its windows bound the input, and no result is ever taken back.
    """

    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    where: Expr | None = None
    grouped: bool = False
    keys: tuple[Expr, ...] = ()
    having: Expr | None = None
    distinct: bool = False
    negations: tuple[Negation, ...] = ()
    top: Top | None = None
    internal: bool = False
    looks_back: bool = False
    """Whether a LAG is among its items."""
    unnest: Unnest | None = None
    option: str = ""
    """How its joins find partners; CQL only, since it changes no answer."""

    @property
    def columns(self) -> Columns:
        return tuple((item.name, item.expr.type) for item in self.items)

    @property
    def external(self) -> tuple[Source, ...]:
        """The sources whose tuples take results with them when they leave."""
        return tuple(s for s in self.sources if not (s.internal or s.nrr))

    @property
    def mixed(self) -> bool:
        return any(source.internal for source in self.sources)

    @property
    def in_arrival_order(self) -> bool:
        """Whether it only filters and maps one stream, so that its results keep their order."""
        return (
            len(self.sources) == 1
            and isinstance(self.sources[0].window, Unbounded)
            and not (self.grouped or self.distinct or self.negations or self.top)
            and not (self.looks_back or self.unnest)
        )

    @property
    def cql(self) -> str:
        parts = [
            "SELECT DISTINCT" if self.distinct else "SELECT",
            ", ".join(f"{item.expr.cql} AS {item.name}" for item in self.items),
            "FROM "
            + ", ".join(source.text(internal=self.internal) for source in self.sources)
            + (self.unnest.cql if self.unnest else ""),
        ]
        conditions = [self.where.cql] if self.where else []
        conditions += [negation.cql for negation in self.negations]
        if conditions:
            parts.append("WHERE " + " AND ".join(conditions))
        if self.keys:
            parts.append("GROUP BY " + ", ".join(key.cql for key in self.keys))
        if self.having is not None:
            parts.append(f"HAVING {self.having.cql}")
        if self.top is not None:
            parts.append(self.top.cql)
        if self.option:
            parts.append(f"OPTION ({self.option})")
        return " ".join(parts)


@dataclass(frozen=True)
class Combined:
    """Bag union or bag difference of blocks with the same types."""

    operator: str
    branches: tuple[Select, ...]

    @property
    def columns(self) -> Columns:
        return self.branches[0].columns

    @property
    def in_arrival_order(self) -> bool:
        return False

    @property
    def cql(self) -> str:
        return f" {self.operator} ".join(branch.cql for branch in self.branches)


def union(*branches: Select) -> Combined:
    return Combined("UNION ALL", branches)


def difference(*branches: Select) -> Combined:
    return Combined("EXCEPT ALL", branches)


Body = Select | Combined
