"""What a test asks: streams, views over them, and a query, as frozen values with a CQL text."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

from tests.oracle.expressions import Expr
from tests.oracle.windows import NO_WINDOW, Row, Window

TIME = "at_"


class Output(Enum):
    """In which form a query gives its answer."""

    CHANGES = "changes"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"
    RSTREAM = "RSTREAM"


@dataclass(frozen=True)
class Stream:
    """A base stream: its columns without the timestamp, and ``(ts, row)`` as they arrive."""

    name: str
    columns: tuple[tuple[str, str], ...]
    arrivals: tuple[tuple[int, Row], ...]
    slack: int = 0


@dataclass(frozen=True)
class Source:
    """A stream or view in FROM; ``window`` is None for a view that is a relation."""

    name: str
    alias: str
    window: Window | None = NO_WINDOW

    @property
    def cql(self) -> str:
        window = f" {self.window.cql}" if self.window is not None and self.window.cql else ""
        return f"{self.name}{window} AS {self.alias}"


@dataclass(frozen=True)
class Item:
    """One column of a result."""

    name: str
    expr: Expr


@dataclass(frozen=True)
class Select:
    """A block; it aggregates if ``grouped``, with or without keys."""

    items: tuple[Item, ...]
    sources: tuple[Source, ...]
    where: Expr | None = None
    grouped: bool = False
    keys: tuple[Expr, ...] = ()
    having: Expr | None = None
    distinct: bool = False

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return tuple((item.name, item.expr.type) for item in self.items)

    @property
    def in_arrival_order(self) -> bool:
        """Whether it only filters and maps one stream, so that its results keep their order."""
        return (
            len(self.sources) == 1
            and self.sources[0].window is NO_WINDOW
            and not (self.grouped or self.distinct)
        )

    @property
    def cql(self) -> str:
        parts = [
            "SELECT DISTINCT" if self.distinct else "SELECT",
            ", ".join(f"{item.expr.cql} AS {item.name}" for item in self.items),
            "FROM " + ", ".join(source.cql for source in self.sources),
        ]
        if self.where is not None:
            parts.append(f"WHERE {self.where.cql}")
        if self.keys:
            parts.append("GROUP BY " + ", ".join(key.cql for key in self.keys))
        if self.having is not None:
            parts.append(f"HAVING {self.having.cql}")
        return " ".join(parts)


@dataclass(frozen=True)
class Union:
    """Bag union of blocks with the same types."""

    branches: tuple[Select, ...]

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        return self.branches[0].columns

    @property
    def in_arrival_order(self) -> bool:
        return False

    @property
    def cql(self) -> str:
        return " UNION ALL ".join(branch.cql for branch in self.branches)


Body = Select | Union


@dataclass(frozen=True)
class View:
    """A view; ``stream`` says that it never withdraws, by the word of the test, not the planner."""

    name: str
    body: Body
    stream: bool
    output: Output = Output.CHANGES

    @property
    def cql(self) -> str:
        return f"CREATE VIEW {self.name} AS {wrapped(self.body.cql, self.output)};"


@dataclass(frozen=True)
class Program:
    """A whole test: data, views in order, and the query."""

    streams: tuple[Stream, ...]
    body: Body
    views: tuple[View, ...] = ()
    output: Output = Output.CHANGES
    every: int | None = None
    beyond: int = 15

    @cached_property
    def first(self) -> int:
        """An instant before anything happened, and before the rhythm of EVERY before that."""
        stamps = [ts for stream in self.streams for ts, _ in stream.arrivals]
        return min(stamps, default=0) - 1 - (self.every or 0)

    @cached_property
    def horizon(self) -> int:
        """The last instant asked about: ``beyond`` ticks after the last arrival."""
        stamps = [ts for stream in self.streams for ts, _ in stream.arrivals]
        return max(stamps, default=0) + self.beyond

    def declarations(self, time_type: str = "BIGINT") -> str:
        """CREATE STREAM for each stream."""
        return "\n".join(
            f"CREATE STREAM {s.name} ({TIME} {time_type}, "
            + ", ".join(f"{name} {type_}" for name, type_ in s.columns)
            + f") TIMESTAMP BY {TIME}"
            + (f" SLACK {s.slack} SECONDS" if s.slack else "")
            + ";"
            for s in self.streams
        )

    @property
    def question(self) -> str:
        """The views and the query."""
        every = f" EVERY {self.every} SECONDS" if self.every else ""
        query = f"CREATE QUERY q AS {wrapped(self.body.cql, self.output)}{every};"
        return "\n".join([*(view.cql for view in self.views), query])

    def __str__(self) -> str:
        data = "\n".join(f"-- {s.name}: {list(s.arrivals)}" for s in self.streams)
        return f"\n{self.declarations()}\n{self.question}\n{data}\n"

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """How Hypothesis shows a failing example: as a script that can be run."""
        printer.text(str(self))


def wrapped(cql: str, output: Output) -> str:
    """The text as ISTREAM (...) and its like, if it is asked for."""
    return cql if output is Output.CHANGES else f"{output.value}({cql})"
