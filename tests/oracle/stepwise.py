"""The same answer one instant at a time, over tables that hold each window's contents then.

Slower than ``definition`` and closer to the words: the windows are lists made in Python, the
block is plain SQL without a notion of time. It is there to check the other.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa

from tests.oracle.bags import Bag, History, row
from tests.oracle.definition import ARROW
from tests.oracle.queries import Body, Output, Program, Select, View
from tests.oracle.windows import Arrival, Row

Columns = tuple[tuple[str, str], ...]


class Stepwise:
    """Walks through the instants of a program, keeping every stream and relation as it goes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.db = duckdb.connect()
        self.db.execute("SET error_on_division_by_zero = false; SET threads = 1")
        self.columns: dict[str, Columns] = {s.name: s.columns for s in program.streams}
        self.columns |= {v.name: v.body.columns for v in program.views}
        # A stable sort by time keeps the order of arrival among tuples of one instant.
        self.streams: dict[str, list[Arrival]] = {
            s.name: sorted(s.arrivals, key=lambda arrival: arrival[0]) for s in program.streams
        }
        self.streams |= {v.name: [] for v in program.views if v.stream}
        self.relations: dict[str, list[Row]] = {}
        self.before: dict[str, list[Row]] = {}

    def bags(self) -> History:
        """The relation that the query's body is, at each instant."""
        history: History = {}
        for t in range(self.program.first, self.program.horizon + 1):
            for view in self.program.views:
                self.step(view, t)
            history[t] = Counter(row(values) for values in self.rows(self.program.body, t))
        self.db.close()
        if self.program.every is None:
            return {t: bag for t, bag in history.items() if bag}
        nothing: Bag = Counter()
        period = self.program.every
        shown = {t: history.get(t // period * period, nothing) for t in history}
        return {t: bag for t, bag in shown.items() if bag}

    def step(self, view: View, t: int) -> None:
        """Bring a view up to ``t``."""
        now = self.rows(view.body, t)
        if not view.stream:
            self.relations[view.name] = now
            return
        before = self.before.get(view.name, [])
        self.before[view.name] = now
        match view.output:
            case Output.CHANGES | Output.ISTREAM:
                said = subtracted(now, before)
            case Output.DSTREAM:
                said = subtracted(before, now)
            case Output.RSTREAM:
                said = now
        self.streams[view.name] += [(t, values) for values in said]

    def rows(self, body: Body, t: int) -> list[Row]:
        """The body over the contents of its windows at ``t``."""
        if isinstance(body, Select):
            return self.block(body, t)
        return [values for branch in body.branches for values in self.block(branch, t)]

    def block(self, select: Select, t: int) -> list[Row]:
        for source in select.sources:
            columns = self.columns[source.name]
            names = [name for name, _ in columns]
            if source.window is None:
                held = self.relations[source.name]
            else:
                held = source.window.held(self.streams[source.name], names, t)
            arrays = [
                pa.array([values[place] for values in held], ARROW[type_])
                for place, (_, type_) in enumerate(columns)
            ]
            self.db.register(f"held_{source.alias}", pa.Table.from_arrays(arrays, names))
        return self.db.execute(plain_sql(select)).fetchall()


def plain_sql(select: Select) -> str:
    """The block as SQL over the tables ``held_<alias>``."""
    parts = [
        "SELECT DISTINCT" if select.distinct else "SELECT",
        ", ".join(f"{item.expr.sql} AS {item.name}" for item in select.items),
        "FROM " + ", ".join(f"held_{s.alias} AS {s.alias}" for s in select.sources),
    ]
    if select.where is not None:
        parts.append(f"WHERE {select.where.sql}")
    if select.keys:
        parts.append("GROUP BY " + ", ".join(key.sql for key in select.keys))
    conditions = [select.having.sql] if select.having is not None else []
    if select.grouped and not select.keys:
        conditions.append("COUNT(*) > 0")  # SQL has a row for an empty input, CQL has none
    if conditions:
        parts.append("HAVING " + " AND ".join(conditions))
    return " ".join(parts)


def subtracted(left: list[Row], right: list[Row]) -> list[Row]:
    """Bag difference that keeps the order of the left side, dropping the earliest equals."""
    away = Counter(row(values) for values in right)
    kept = []
    for values in left:
        if away[row(values)]:
            away[row(values)] -= 1
        else:
            kept.append(values)
    return kept
