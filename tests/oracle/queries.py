"""What a test asks: streams, relations, views over them, and a query, with their CQL text."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tests.oracle.blocks import Body, Columns, Output, Select
from tests.oracle.windows import Range, Row, Window

TIME = "at_"


@dataclass(frozen=True)
class Stream:
    """A base stream: its columns without the timestamp, and ``(ts, row)`` as they arrive."""

    name: str
    columns: Columns
    arrivals: tuple[tuple[int, Row], ...]
    slack: int = 0
    ahead: int | None = None

    @property
    def stamps(self) -> list[int]:
        return [ts for ts, _ in self.arrivals]

    def cql(self, time_type: str) -> str:
        slack = f" SLACK {self.slack} SECONDS" if self.slack else ""
        ahead = "" if self.ahead is None else f" AHEAD {self.ahead} SECONDS"
        columns = listed(((TIME, time_type), *self.columns))
        return f"CREATE STREAM {self.name} ({columns}) TIMESTAMP BY {TIME}{slack}{ahead};"


@dataclass(frozen=True)
class Relation:
    """A relation or NRR and its updates ``(instant, sign, row)`` in order of time."""

    name: str
    columns: Columns
    updates: tuple[tuple[int, int, Row], ...]
    nrr: bool = False
    key: tuple[str, ...] = ()

    @property
    def stamps(self) -> list[int]:
        return [at for at, _, _ in self.updates]

    def cql(self, _time_type: str) -> str:
        key = f", PRIMARY KEY ({', '.join(self.key)})" if self.key else ""
        kind = "NRR" if self.nrr else "RELATION"
        return f"CREATE {kind} {self.name} ({listed(self.columns)}{key});"

    def at(self, t: int) -> list[Row]:
        """The contents at an instant, its own updates included."""
        held: list[Row] = []
        for at, sign, values in self.updates:
            if at <= t:
                held.append(values) if sign > 0 else held.remove(values)
        return held


Feed = Stream | Relation


@dataclass(frozen=True)
class View:
    """A view; ``stream`` says that it never withdraws, by the word of the test, not the planner.

    With ``lasting`` it is WSTREAM: a window over what came into the body.
    """

    name: str
    body: Body
    stream: bool
    output: Output = Output.CHANGES
    lasting: Window | None = None
    timed_by: str = ""
    """A column of a stream that holds the time, if that is not when tuples came."""

    @property
    def cql(self) -> str:
        timed = f" TIMESTAMP BY {self.timed_by}" if self.timed_by else ""
        text = wrapped(self.body.cql, self.output, self.lasting)
        return f"CREATE VIEW {self.name} AS {text}{timed};"


@dataclass(frozen=True)
class Program:
    """A whole test: data, views in order, and the query.

    ``sliding`` writes ``every`` as the SLIDE of the query's own windows, which restore semantics
    takes for the same thing.
    """

    streams: tuple[Stream, ...]
    body: Body
    views: tuple[View, ...] = ()
    output: Output = Output.CHANGES
    every: int | None = None
    beyond: int = 15
    relations: tuple[Relation, ...] = ()
    lasting: Window | None = None
    sliding: bool = False

    @cached_property
    def in_arrival_order(self) -> frozenset[str]:
        """Names of streams whose tuples of one instant stand as a base stream brought them."""
        names = {stream.name for stream in self.streams}
        for view in self.views:
            plain = view.output is Output.CHANGES and view.lasting is None and not view.timed_by
            if view.stream and plain and in_arrival_order(view.body, names):
                names.add(view.name)
        return frozenset(names)

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """Everything that rows are pushed to."""
        return (*self.streams, *self.relations)

    @cached_property
    def first(self) -> int:
        """An instant before anything happened, and before the rhythm of EVERY before that."""
        return min(self._stamps, default=0) - 1 - (self.every or 0)

    @cached_property
    def horizon(self) -> int:
        """The last instant asked about: ``beyond`` ticks after the last arrival."""
        return max(self._stamps, default=0) + self.beyond

    @property
    def _stamps(self) -> list[int]:
        return [ts for feed in self.feeds for ts in feed.stamps]

    def declarations(self, time_type: str = "BIGINT") -> str:
        """CREATE STREAM, CREATE RELATION or CREATE NRR for each feed."""
        return "\n".join(feed.cql(time_type) for feed in self.feeds)

    @property
    def question(self) -> str:
        """The views and the query."""
        every = f" EVERY {self.every} SECONDS" if self.every and not self.sliding else ""
        body = self.body
        if self.sliding:
            assert isinstance(body, Select)
            body = slid(body, self.every)
        text = wrapped(body.cql, self.output, self.lasting)
        return "\n".join([*(view.cql for view in self.views), f"CREATE QUERY q AS {text}{every};"])

    def __str__(self) -> str:
        data = [f"-- {s.name}: {list(s.arrivals)}" for s in self.streams]
        data += [f"-- {r.name}: {list(r.updates)}" for r in self.relations]
        return "\n".join(["", self.declarations(), self.question, *data, ""])

    __repr__ = __str__

    def _repr_pretty_(self, printer: Any, _cycle: bool) -> None:
        """How Hypothesis shows a failing example: as a script that can be run."""
        printer.text(str(self))


def in_arrival_order(body: Body, names: Collection[str]) -> bool:
    """Whether results are tuples of such streams passed on, those of the first branch first."""
    branches = (body,) if isinstance(body, Select) else body.branches
    passed_on = all(b.in_arrival_order and b.sources[0].name in names for b in branches)
    return passed_on and (isinstance(body, Select) or body.operator != "EXCEPT ALL")


def listed(columns: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns)


def slid(select: Select, slide: int | None) -> Select:
    """The block with its time windows moving by ``slide``, or continually."""
    sources = tuple(
        replace(s, window=Range(s.window.length, slide)) if isinstance(s.window, Range) else s
        for s in select.sources
    )
    return replace(select, sources=sources)


def wrapped(cql: str, output: Output, lasting: Window | None = None) -> str:
    """The text as ISTREAM (...) and its like, if it is asked for."""
    if lasting is not None:
        return f"WSTREAM({cql}){lasting.cql}"
    return cql if output is Output.CHANGES else f"{output.value}({cql})"
