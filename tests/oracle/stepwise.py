"""The same answer one instant at a time, over tables that hold each window's contents then.

Slower than ``definition`` and closer to the words: the windows are lists made in Python, the
block is plain SQL without a notion of time. It is there to check the other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa

from tests.oracle.bags import Bag, History, row
from tests.oracle.blocks import Body, Columns, Negation, Output, Select, Source
from tests.oracle.definition import ARROW, branches_of
from tests.oracle.expressions import Expr
from tests.oracle.queries import Program, View, in_arrival_order
from tests.oracle.windows import Arrival, Row

Combining = tuple[tuple[Source, ...], Expr | None]
"""What decides which tuples are combined."""
IDENTITY: Columns = (("ts", "BIGINT"), ("seq", "BIGINT"))
"""What each tuple of a stream carries behind its own columns."""


class Stepwise:
    """Walks through the instants of a program, keeping every stream and relation as it goes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.db = duckdb.connect()
        self.db.execute("SET error_on_division_by_zero = false; SET threads = 1")
        self.columns: dict[str, Columns] = {f.name: f.columns for f in program.feeds}
        self.columns |= {v.name: v.body.columns for v in program.views}
        self.streams: dict[str, list[Arrival]] = {v.name: [] for v in program.views if v.stream}
        for stream in program.streams:
            # A stable sort by time keeps the order of arrival among tuples of one instant.
            in_order = sorted(stream.arrivals, key=lambda arrival: arrival[0])
            self.streams[stream.name] = [
                (ts, (*values, ts, seq)) for seq, (ts, values) in enumerate(in_order)
            ]
        self.relations: dict[str, list[Row]] = {}
        self.before: dict[object, list[Row]] = {}
        self.made: dict[Select, dict[int, list[Row]]] = {}
        self.fresh: dict[Select, tuple[int, list[Row]]] = {}
        self.combinations: dict[Combining, dict[Row, Row]] = {}
        self.came: dict[View | Program, list[Arrival]] = {}

    def bags(self) -> History:
        """The relation that the query's body is, at each instant."""
        history: History = {}
        for t in range(self.program.first, self.program.horizon + 1):
            for relation in self.program.relations:
                self.relations[relation.name] = relation.at(t)
            for view in self.program.views:
                self.step(view, t)
            lasting = self.program.lasting is not None
            now = self.lasting(self.program, t) if lasting else self.rows(self.program.body, t)
            history[t] = Counter(row(values) for values in now)
        self.db.close()
        if self.program.every is None:
            return {t: bag for t, bag in history.items() if bag}
        nothing: Bag = Counter()
        period = self.program.every
        shown = {t: history.get(t // period * period, nothing) for t in history}
        return {t: bag for t, bag in shown.items() if bag}

    def step(self, view: View, t: int) -> None:
        """Bring a view up to ``t``."""
        now = self.lasting(view, t) if view.lasting is not None else self.rows(view.body, t)
        if not view.stream:
            self.relations[view.name] = now
            return
        before = self.before.get(view, [])
        self.before[view] = now
        match view.output:
            case Output.DSTREAM:
                said = subtracted(before, now)
            case Output.RSTREAM:
                said = now
            case _:
                said = subtracted(now, before)
        if not view.body.in_arrival_order or view.output is not Output.CHANGES:
            said = sorted(said, key=by_value)
        stream = self.streams[view.name]
        if view.timed_by:
            place = [name for name, _ in view.body.columns].index(view.timed_by)
            said = [values[: len(view.body.columns)] for values in said]
            later = [(int(values[place]), values) for values in said]
            waiting = [*((ts, row[:-2]) for ts, row in stream), *later]
            waiting.sort(key=lambda arrival: (arrival[0], by_value(arrival[1])))
            stream[:] = [(ts, (*values, ts, n)) for n, (ts, values) in enumerate(waiting)]
            return
        stream += [(t, (*values, t, len(stream) + n)) for n, values in enumerate(said)]

    def lasting(self, owner: View | Program, t: int) -> list[Row]:
        """The window of WSTREAM over what the body produces."""
        assert owner.lasting is not None
        branches = branches_of(owner.body)
        made = [values for branch in branches for values in self.produced(branch, t)]
        if not in_arrival_order(owner.body, self.program.in_arrival_order):
            made.sort(key=by_value)
        came = self.came.setdefault(owner, [])
        came += [(t, values) for values in made]
        return owner.lasting.held(came, [name for name, _ in owner.body.columns], t)

    def produced(self, select: Select, t: int) -> list[Row]:
        """What the block produces at ``t``: new combinations of tuples, groups that changed."""
        at, fresh = self.fresh.get(select, (t - 1, []))
        if at == t:  # the same block stands in two places
            return fresh
        width = len(select.sources) if not select.grouped else 2
        before = self.before.get(select, [])
        now = self.answer(select, t, produced_sql(select))
        if select.grouped:
            count = width + len(select.keys)
            known = {row(values[width:count]): values[0] for values in before}
            same = [known.get(row(values[width:count])) == values[0] for values in now]
            changed = [values for values, unchanged in zip(now, same, strict=True) if not unchanged]
            fresh = [values[width:] for values in changed if values[1]]
        else:
            now.sort(key=lambda values: values[:width])
            known_tuples = {values[:width] for values in before}
            fresh = [values[width:] for values in now if values[:width] not in known_tuples]
            now = [*before, *now]
        self.before[select] = now
        self.fresh[select] = (t, fresh)
        return fresh

    def rows(self, body: Body, t: int) -> list[Row]:
        """The body over the contents of its windows at ``t``."""
        if isinstance(body, Select):
            return self.select(body, t)
        first, *others = (self.select(branch, t) for branch in body.branches)
        for other in others:
            first = subtracted(first, other) if body.operator == "EXCEPT ALL" else [*first, *other]
        return first

    def select(self, select: Select, t: int) -> list[Row]:
        """A block; of an internal one, all that was ever produced."""
        if not select.internal:
            return self.answer(select, t, plain_sql(select))
        made = self.made.setdefault(select, {})
        made[t] = self.produced(select, t)
        return [values for fresh in made.values() for values in fresh]

    def combine(self, select: Select, t: int) -> None:
        """Make the table ``combined``: a row of rows for each combination that lasts.

        Those that are complete now are added to those that were, and of all the ones are kept
        whose external tuples are there.
        """
        aliases = [source.alias for source in select.sources]
        numbers = [f"{alias}.seq" for alias in aliases]
        plain = replace(select, items=(), grouped=False, keys=(), having=None, top=None)
        rows = [self.packed(source) for source in select.sources]
        found = frozen(self.db.execute(held_sql(plain, *numbers, *rows)).fetchall())
        kept = self.combinations.setdefault((select.sources, select.where), {})
        kept.update({values[: len(rows)]: values[len(rows) :] for values in found})
        places = [select.sources.index(source) for source in select.external]
        held = {place: self.held_tuples(select.sources[place], t) for place in places}
        lasting = [
            values
            for identity, values in kept.items()
            if all(identity[place] in held[place] for place in places)
        ]
        arrays = [
            pa.array([values[place] for values in lasting], self.row_type(source))
            for place, source in enumerate(select.sources)
        ]
        self.db.register("combined", pa.Table.from_arrays(arrays, aliases))

    def packed(self, source: Source) -> str:
        """SQL for a whole tuple as one value."""
        names = [name for name, _ in (*self.columns[source.name], *IDENTITY)]
        return f"struct_pack({', '.join(f'{name} := {source.alias}.{name}' for name in names)})"

    def row_type(self, source: Source) -> pa.DataType:
        """The type of such a value."""
        columns = (*self.columns[source.name], *IDENTITY)
        return pa.struct([(name, ARROW[type_]) for name, type_ in columns])

    def held_tuples(self, source: Source, t: int) -> set[int]:
        """The numbers of the tuples in a window."""
        assert source.window is not None
        names = [name for name, _ in self.columns[source.name]]
        return {row[-1] for row in source.window.held(self.streams[source.name], names, t)}

    def answer(self, select: Select, t: int, sql: str) -> list[Row]:
        for source in (*select.sources, *(negation.source for negation in select.negations)):
            self.hold(source, t)
        if select.mixed:
            self.combine(select, t)
        self.db.register("now", pa.table({"t": [t]}))
        return frozen(self.db.execute(sql).fetchall())

    def hold(self, source: Source, t: int) -> None:
        """Make the table ``held_<alias>``."""
        columns = self.columns[source.name]
        if source.nrr:
            (nrr,) = (r for r in self.program.relations if r.name == source.name)
            columns = (*columns, *IDENTITY)
            instants = range(self.program.first, t + 1)
            held = [(*values, at, seq) for at in instants for seq, values in enumerate(nrr.at(at))]
        elif source.window is None:
            held = self.relations[source.name]
        else:
            names = [name for name, _ in columns]
            columns = (*columns, *IDENTITY, ("t", "BIGINT"))
            held = source.window.held(self.streams[source.name], names, t)
            held = [(*values, t) for values in held]
        arrays = [
            pa.array([values[place] for values in held], ARROW[type_])
            for place, (_, type_) in enumerate(columns)
        ]
        table = pa.Table.from_arrays(arrays, [name for name, _ in columns])
        self.db.register(f"held_{source.alias}", table)


def produced_sql(select: Select) -> str:
    """The block behind the tuples that each result is made of, and of a group whether it shows."""
    tuples = [f"{source.alias}.seq" for source in select.sources]
    if not select.grouped:
        return plain_sql(select, *tuples)
    members = f"list(({', '.join(tuples)}) ORDER BY {', '.join(tuples)})"
    shown = select.having.sql if select.having is not None else "TRUE"
    return plain_sql(replace(select, having=None), members, shown)


def plain_sql(select: Select, *before: str) -> str:
    """The block as SQL over the tables that were made for it, columns put before its own."""
    if not select.mixed:
        return held_sql(select, *before)
    # ``X.k`` is a column of the table X above, and a field of the column X here.
    return asked_of(select, "combined", [], *before)


def held_sql(select: Select, *before: str) -> str:
    """The block over the tables ``held_<alias>``."""
    conditions = [select.where.sql] if select.where is not None else []
    streams = [s.alias for s in select.sources if not s.nrr]
    came = f"greatest({', '.join(f'{alias}.ts' for alias in streams)})"
    conditions += [negated_sql(negation, came) for negation in select.negations]
    conditions += [
        f"{negation.asked_at(came)} <= (SELECT t FROM now)"
        for negation in select.negations
        if negation.within is not None
    ]
    conditions += [f"{s.alias}.ts = {came}" for s in select.sources if s.nrr]
    tables = ", ".join(f"held_{s.alias} AS {s.alias}" for s in select.sources)
    return asked_of(select, tables, conditions, *before)


def asked_of(select: Select, tables: str, conditions: list[str], *before: str) -> str:
    """The block's clauses around its FROM and WHERE."""
    parts = [
        "SELECT DISTINCT" if select.distinct else "SELECT",
        ", ".join([*before, *(f"{item.expr.sql} AS {item.name}" for item in select.items)]),
        f"FROM {tables}" + (select.unnest.sql if select.unnest else ""),
    ]
    if conditions:
        parts.append("WHERE " + " AND ".join(conditions))
    if select.keys:
        parts.append("GROUP BY " + ", ".join(key.sql for key in select.keys))
    having = [select.having.sql] if select.having is not None else []
    if select.grouped and not select.keys:
        having.append("COUNT(*) > 0")  # SQL has a row for an empty input, CQL has none
    if having:
        parts.append("HAVING " + " AND ".join(having))
    block = " ".join(parts)
    if select.top is None:
        return block
    if select.top.groups is not None:
        return f"SELECT * FROM ({block}) QUALIFY {select.top.chosen(select.columns)}"
    order = select.top.sql(select.columns)
    return f"SELECT * FROM ({block}) ORDER BY {order} LIMIT {select.top.count}"


def negated_sql(negation: Negation, came: str) -> str:
    """The negation in SQL's own words."""
    alias = negation.source.alias
    conditions = [c.sql for c in (negation.where, negation.across) if c is not None]
    conditions += [negation.counted(came)] if negation.within is not None else []
    if negation.kind == "NOT IN":
        ((outer, inner),) = negation.pairs
        head = f"{outer.sql} NOT IN (SELECT {inner.sql}"
    else:
        head = "NOT EXISTS (SELECT *"
        conditions += [f"{inner.sql} = {outer.sql}" for outer, inner in negation.pairs]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{head} FROM held_{alias} AS {alias}{where})"


def by_value(values: Row) -> tuple[tuple[bool, object], ...]:
    """Sorts rows by value, NULLs last."""
    return tuple(
        (value is None, 0 if value is None else by_value(value) if type(value) is tuple else value)
        for value in values
    )


def frozen(rows: list[Row]) -> list[Row]:
    """Rows with tuples for arrays and structs, as ``data`` has them."""
    return [tuple(map(_frozen, values)) for values in rows]


def _frozen(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_frozen, value.values()))
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


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
