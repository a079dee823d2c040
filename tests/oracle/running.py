"""Run a program on Windrow and read its changes back as bags."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import windrow
from tests.oracle.bags import Bag, History, row
from tests.oracle.blocks import Output
from tests.oracle.queries import TIME, Feed, Program, Relation
from windrow.plan.strategy import Strategy

SENT = {
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DECIMAL(9, 2)": pa.decimal128(9, 2),
    "DECIMAL(25, 3)": pa.decimal128(25, 3),
    "DECIMAL(38, 6)": pa.decimal128(38, 6),
    "ARRAY<BIGINT>": pa.list_(pa.int64()),
    "ARRAY<STRING>": pa.list_(pa.string()),
    "STRUCT<u INT, v STRING>": pa.struct([("u", pa.int32()), ("v", pa.string())]),
    "TIMESTAMP": pa.timestamp("us"),
}
EPOCH = datetime.datetime(2026, 3, 1)  # TIMESTAMP columns have no time zone


@dataclass(frozen=True)
class Push:
    """Some rows of a stream or updates of a relation, by position."""

    stream: str
    start: int
    stop: int


@dataclass(frozen=True)
class Advance:
    """Time is told to have come to an instant."""

    to: int


Step = Push | Advance


@dataclass(frozen=True)
class Found:
    """What Windrow said: raw changes, and the relation at the end."""

    changes: pa.Table
    answer: pa.Table | None

    @property
    def history(self) -> History:
        """The net change at each instant (for a stream: what it said)."""
        return net(self.changes)

    @property
    def final(self) -> Bag:
        assert self.answer is not None
        return Counter(row(values) for values in rows_of(self.answer))


def whole(program: Program) -> list[Step]:
    """Each stream and relation in one push."""
    return [Push(feed.name, 0, len(feed.stamps)) for feed in program.feeds]


def run(
    program: Program,
    steps: Sequence[Step] | None = None,
    clock: str = "integer",
    strategy: Strategy = Strategy.UPA,
) -> Found:
    """Push by ``steps``, let time run on to the horizon, and collect what was said."""
    rows = {feed.name: table(feed, 0, len(feed.stamps), clock) for feed in program.feeds}
    with windrow.connect(strategy=strategy) as connection:
        connection.execute(program.declarations("BIGINT" if clock == "integer" else "TIMESTAMP"))
        (query,) = connection.execute(program.question)
        for step in whole(program) if steps is None else steps:
            if isinstance(step, Push):
                pushed = rows[step.stream].slice(step.start, step.stop - step.start)
                connection.push(step.stream, pushed)
            else:
                connection.advance(to=instant(step.to, clock))
        connection.advance(to=instant(program.horizon, clock))
        changes = query.changes()
        return Found(changes, query.answer() if program.output is Output.CHANGES else None)


def instant(t: int, clock: str) -> Any:
    """An instant as the clock has it: a second for each tick."""
    return t if clock == "integer" else EPOCH + datetime.timedelta(seconds=t)


def table(feed: Feed, start: int, stop: int, clock: str = "integer") -> pa.Table:
    """Rows of a stream, or updates of a relation, as they are pushed."""
    time_type = pa.int64() if clock == "integer" else SENT["TIMESTAMP"]
    arrays = [pa.array([instant(ts, clock) for ts in feed.stamps[start:stop]], time_type)]
    names = [TIME]
    if isinstance(feed, Relation):
        part = [values for _, _, values in feed.updates[start:stop]]
        arrays.append(
            pa.array(
                ["+" if sign > 0 else "-" for _, sign, _ in feed.updates[start:stop]], pa.string()
            )
        )
        names = ["instant", "change"]
    else:
        part = [values for _, values in feed.arrivals[start:stop]]
    for place, (_, type_) in enumerate(feed.columns):
        arrays.append(pa.array([values[place] for values in part], SENT[type_]))
    return pa.Table.from_arrays(arrays, [*names, *(name for name, _ in feed.columns)])


def rows_of(table: pa.Table) -> Iterable[tuple[Any, ...]]:
    return zip(*(c.to_pylist() for c in table.columns), strict=True) if table.num_rows else ()


def net(changes: pa.Table) -> History:
    """The net change at each instant, on either clock in ticks."""
    history: History = {}
    for at, sign, *values in rows_of(changes):
        if isinstance(at, datetime.datetime):
            seconds = (at - EPOCH).total_seconds()
            assert seconds.is_integer(), f"a change at {at}, between two seconds"
            at = int(seconds)  # noqa: PLW2901
        assert sign in ("+", "-")
        history.setdefault(at, Counter())[row(values)] += 1 if sign == "+" else -1
    kept = {at: Counter({r: n for r, n in bag.items() if n}) for at, bag in history.items()}
    return {at: bag for at, bag in kept.items() if bag}


def accumulated(history: History) -> Bag:
    """The bag after all changes; a tuple that was taken away before it came is an error."""
    bag: Bag = Counter()
    for at in sorted(history):
        for values, count in history[at].items():
            bag[values] += count
            assert bag[values] >= 0, f"at instant {at}, {values} left without having come"
    return Counter({values: count for values, count in bag.items() if count})
