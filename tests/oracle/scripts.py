"""Scripts as people write them, answered one instant at a time by the same words in SQL.

A script's text is read as SQL once each window is a table of what it holds and each view a table
of what it is. Where the languages differ in more than that, the script says both. Unlike
``definition`` this knows nothing of blocks, so a query may be nested, chained and computed in any
way that SQL knows.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

import windrow
from tests.oracle.bags import History, emitted, row
from tests.oracle.blocks import Columns, Output
from tests.oracle.definition import ARROW
from tests.oracle.queries import Feed, Relation, Stream
from tests.oracle.running import net, table
from tests.oracle.stepwise import by_value, subtracted
from tests.oracle.windows import Arrival, Now, Range, Row, Rows, Session, Unbounded, Window
from windrow.plan.strategy import Strategy

S = (("k", "INT"), ("a", "BIGINT"), ("n", "STRING"), ("x", "DOUBLE"))
T = (("k", "INT"), ("b", "BIGINT"), ("m", "STRING"))
R = (("k", "INT"), ("w", "STRING"))


@dataclass(frozen=True)
class View:
    """``sql`` if it is not ``cql`` word for word; ``stream`` if it may take a window."""

    name: str
    cql: str
    columns: Columns
    stream: bool = False
    sql: str = ""


@dataclass(frozen=True)
class Script:
    """A query over the streams s and t, the relation r, and views."""

    cql: str
    sql: str = ""
    views: tuple[View, ...] = ()


@dataclass(frozen=True)
class Form:
    """What a query is around its body."""

    body: str
    output: Output = Output.CHANGES
    every: int | None = None

    @classmethod
    def of(cls, text: str) -> Form:
        every = re.search(r" EVERY (\d+)$", text)
        text = text[: every.start()] if every else text
        wrapped = re.fullmatch(r"(ISTREAM|DSTREAM|RSTREAM)\((.*)\)", text, re.DOTALL)
        period = int(every[1]) if every else None
        if wrapped is None:
            return cls(text, every=period)
        return cls(wrapped[2], Output(wrapped[1]), period)


def window_of(clause: str) -> Window:
    """The window that a clause in brackets means."""
    words = clause.replace(",", " ").split()
    match words:
        case ["NOW"]:
            return Now()
        case ["UNBOUNDED"]:
            return Unbounded()
        case ["RANGE", length]:
            return Range(int(length))
        case ["RANGE", length, "SLIDE", slide]:
            return Range(int(length), int(slide))
        case ["ROWS", count]:
            return Rows(int(count))
        case ["ROWS", count, "SLIDE", slide]:
            return Rows(int(count), slide=int(slide))
        case ["SESSION", gap]:
            return Session(int(gap))
        case ["PARTITION", "BY", *names, "SESSION", gap]:
            return Session(int(gap), tuple(names))
        case ["PARTITION", "BY", *names, "ROWS", count]:
            return Rows(int(count), tuple(names))
    raise ValueError(clause)


def fed(seed: int) -> tuple[Feed, ...]:
    """Streams with ties, gaps, NULLs and duplicates that begin before zero, and a relation."""
    pick = random.Random(seed)
    keys, strings = [None, 0, 1, 1, 2], [None, "", "a", "ab", "b"]
    values = [None, -7, -1, 0, 1, 2, 2, 5, 12]
    s = [(t, (pick.choice(keys), pick.choice(values), pick.choice(strings),
              pick.choice([None, -1.5, 0.25, 2.0]))) for t in _stamps(pick, 34)]  # fmt: skip
    t = [(t, (pick.choice(keys), pick.choice(values), pick.choice(strings)))
         for t in _stamps(pick, 26)]  # fmt: skip
    held: list[Row] = []
    updates = []
    for at in _stamps(pick, 14):
        if held and pick.random() < 0.4:
            updates.append((at, -1, held.pop(pick.randrange(len(held)))))
        else:
            held.append((pick.choice(keys), pick.choice("pq")))
            updates.append((at, 1, held[-1]))
    return Stream("s", S, tuple(s)), Stream("t", T, tuple(t)), Relation("r", R, tuple(updates))


def _stamps(pick: random.Random, count: int) -> list[int]:
    at, stamps = -5, []
    for _ in range(count):
        stamps.append(at)
        at += pick.choice([0, 0, 1, 1, 1, 2, 3, 14 if pick.random() < 0.3 else 1])
    return stamps


def first_and_horizon(feeds: Sequence[Feed]) -> tuple[int, int]:
    stamps = [ts for feed in feeds for ts in feed.stamps]
    return min(stamps) - 7, max(stamps) + 12


BEFORE = 40
"""Instants before the first tuple, after which no window holds what came at the beginning."""


def from_the_beginning(history: History, feeds: Sequence[Feed]) -> History:
    """The history with all that happens before the first tuple at one instant.

    Rows of VALUES are there before every instant, and may have left windows since.
    """
    start = min(ts for feed in feeds for ts in feed.stamps) - 1
    bags: History = {}
    for at, bag in history.items():
        when = start if at is None or at < start else at
        bags.setdefault(when, Counter()).update(bag)
    net = {at: Counter({r: n for r, n in bag.items() if n}) for at, bag in bags.items()}
    return {at: bag for at, bag in net.items() if bag}


def declared(script: Script, feeds: Sequence[Feed]) -> list[str]:
    """The statements of the script, the query last."""
    views = [f"CREATE VIEW {v.name} AS {v.cql};" for v in script.views]
    return [*(feed.cql("BIGINT") for feed in feeds), *views, f"CREATE QUERY q AS {script.cql};"]


def said(
    script: Script, feeds: Sequence[Feed], *, rows: int | None = None,
    strategy: Strategy = Strategy.UPA,
) -> History:  # fmt: skip
    """What Windrow says, all rows pushed at once or ``rows`` of each feed it reads at a time."""
    _, horizon = first_and_horizon(feeds)
    with windrow.connect(strategy=strategy) as connection:
        *statements, query = declared(script, feeds)
        connection.execute("\n".join(statements))
        (running,) = connection.execute(query)
        text = " ".join([*statements[len(feeds) :], query])
        reads = lambda feed: re.search(rf"\b{feed.name}\b", text)  # noqa: E731
        step = rows or max(len(feed.stamps) for feed in feeds)
        given = {f.name: table(f, 0, len(f.stamps)) for f in feeds if rows is None or reads(f)}
        for start in range(0, max(len(feed.stamps) for feed in feeds), step):
            for name, whole in given.items():
                connection.push(name, whole.slice(start, step))
        connection.advance(to=horizon)
        return from_the_beginning(net(running.changes()), feeds)


@lru_cache(maxsize=512)
def meant(script: Script, feeds: tuple[Feed, ...]) -> History:
    """What the script means; kept for when it is asked again with thresholds at their least."""
    return _Steps(script, feeds).run()


@dataclass
class _Steps:
    script: Script
    feeds: Sequence[Feed]
    columns: dict[str, Columns] = field(default_factory=dict)
    streams: dict[str, list[Arrival]] = field(default_factory=dict)
    before: dict[str, list[Row]] = field(default_factory=dict)
    held: dict[str, list[Row]] = field(default_factory=dict)
    answers: dict[str, tuple[int, list[Row]]] = field(default_factory=dict)
    version: int = 0
    """How often a table has changed."""

    def run(self) -> History:
        first, horizon = first_and_horizon(self.feeds)
        if "VALUES" in self.script.cql or any("VALUES" in v.cql for v in self.script.views):
            first -= BEFORE
        self.columns = {f.name: f.columns for f in self.feeds}
        self.columns |= {v.name: v.columns for v in self.script.views}
        self.streams = {v.name: [] for v in self.script.views if v.stream}
        self.streams |= {f.name: list(f.arrivals) for f in self.feeds if isinstance(f, Stream)}
        form = Form.of(self.script.sql or self.script.cql)
        history: History = {}
        with duckdb.connect() as self.db:
            self.db.execute("SET error_on_division_by_zero = false; SET threads = 1")
            # Its optimiser loses rows of a RIGHT JOIN under WHERE ... IS NULL; words count here.
            self.db.execute("PRAGMA disable_optimizer")
            for t in range(first, horizon + 1):
                history[t] = Counter(row(values) for values in self._instant(form, t))
        instants = range(first, horizon + 1)
        if form.every and form.output is Output.CHANGES:
            nothing: Counter[Row] = Counter()
            history = {t: history.get(t // form.every * form.every, nothing) for t in instants}
        said = emitted(history, form.output, form.every or 1, instants)
        return from_the_beginning(said, self.feeds)

    def _instant(self, form: Form, t: int) -> list[Row]:
        for feed in self.feeds:
            if isinstance(feed, Relation):
                self._hold(feed.name, feed.name, feed.at(t))
        for view in self.script.views:
            self._view(view, t)
        return self._asked(form.body, t)

    def _view(self, view: View, t: int) -> None:
        form = Form.of(view.sql or view.cql)
        now = self._asked(form.body, t)
        if not view.stream:
            self._hold(view.name, view.name, now)
            return
        before = self.before.get(view.name, [])
        self.before[view.name] = now
        match form.output:
            case Output.DSTREAM:
                new = sorted(subtracted(before, now), key=by_value)
            case Output.RSTREAM:
                new = sorted(now, key=by_value)
            case Output.ISTREAM:
                new = sorted(subtracted(now, before), key=by_value)
            case _:
                new = subtracted(now, before)
        self.streams[view.name] += [(t, values) for values in new]

    def _asked(self, text: str, t: int) -> list[Row]:
        """The text as SQL over what its windows hold at ``t``."""
        for name, stream in self.streams.items():
            if re.search(rf"\b{name}\b(?! \[)", text):
                self._hold(name, name, [values for ts, values in stream if ts <= t])

        def tabled(found: re.Match[str]) -> str:
            name, clause = found["name"], found["clause"]
            names = [column for column, _ in self.columns[name]]
            held = f"{name}_{re.sub(r'[^A-Z0-9a-z]+', '_', clause)}"
            self._hold(held, name, window_of(clause).held(self.streams[name], names, t))
            return f"{held}{found['alias'] or f' AS {name}'}"

        sql = re.sub(r"\b(?P<name>\w+) \[(?P<clause>[^]]+)\](?P<alias> AS)?", tabled, text)
        version, answer = self.answers.get(text, (-1, []))
        if version != self.version:
            answer = self.db.execute(sql).fetchall()
            self.answers[text] = (self.version, answer)
        return answer

    def _hold(self, table: str, source: str, rows: list[Row]) -> None:
        """Make a table; most are what they were an instant before."""
        if self.held.get(table) == rows:
            return
        self.held[table] = rows
        self.version += 1
        columns = self.columns[source]
        arrays: list[Any] = [
            pa.array([values[place] for values in rows], ARROW[type_])
            for place, (_, type_) in enumerate(columns)
        ]
        self.db.register(table, pa.Table.from_arrays(arrays, [name for name, _ in columns]))
