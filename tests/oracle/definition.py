"""The answer at every instant, one SQL statement per view over a table of instants.

Every relation becomes a table ``(t, columns...)``: its contents at each instant ``t``. A block
joins its windows on equal ``t`` and groups by ``t`` besides its own keys, so the statement is
the query itself, asked at each instant separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

import pyarrow as pa

from tests.oracle.bags import History, emitted, row
from tests.oracle.blocks import RESTORING, Body, Columns, Combined, Negation, Output, Select, Source
from tests.oracle.database import empty_database
from tests.oracle.queries import Program, Relation, Stream, View, in_arrival_order
from tests.oracle.windows import Row, Window

ARROW = {
    "INT": pa.int64(),
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
}


def expected(program: Program) -> History:
    """What the query says at each instant, by the definition."""
    instants = range(program.first, program.horizon + 1)
    # Restore semantics leaves no instant out; its rhythm is only when it speaks.
    seen = replace(program, every=None) if program.output in RESTORING else program
    return emitted(bags(seen), program.output, program.every or 1, instants)


def branches_of(body: Body) -> tuple[Select, ...]:
    return body.branches if isinstance(body, Combined) else (body,)


@lru_cache(maxsize=512)
def bags(program: Program) -> History:
    """The relation that the query's body is, at each instant.

    Tests meet a program again: by another strategy, with thresholds at their least.
    """
    body = body_sql(program.body)
    if program.lasting is not None:
        body = lasting_sql(program.body, program.lasting, program.in_arrival_order)
    return asked(program, sampled(body, program.every))


def asked(program: Program, sql: str) -> History:
    """What SQL over the program's streams, relations and views gives as ``(t, ...)``."""
    with empty_database() as db:
        instants = range(program.first, program.horizon + 1)
        span = f"range({instants.start}, {instants.stop})"
        db.execute(f"CREATE TABLE instants AS SELECT range AS t FROM {span}")
        tables = {stream.name: stream_table(stream) for stream in program.streams}
        tables |= {r.name: relation_table(r, instants) for r in program.relations}
        for name, table in tables.items():
            db.register("given", table)
            db.execute(f"CREATE TABLE {name} AS FROM given")
            db.unregister("given")
        for view in program.views:
            sql_of_view = view_sql(view, program.in_arrival_order)
            db.execute(f"CREATE TABLE {view.name} AS {sql_of_view}")
        history: History = {}
        for t, *values in db.execute(sql).fetchall():
            history.setdefault(t, Counter())[row(values)] += 1
        return history


def stream_table(stream: Stream) -> pa.Table:
    """The stream as ``(ts, seq, columns...)``."""
    placed = [(ts, seq, values) for seq, (ts, values) in enumerate(stream.arrivals)]
    return placed_table(placed, "ts", stream.columns)


def relation_table(relation: Relation, instants: range) -> pa.Table:
    """The relation as ``(t, seq, columns...)``."""
    placed = [(t, seq, values) for t in instants for seq, values in enumerate(relation.at(t))]
    return placed_table(placed, "t", relation.columns)


def placed_table(placed: list[tuple[int, int, Row]], time: str, columns: Columns) -> pa.Table:
    """Rows behind their time and their place."""
    arrays = [pa.array([p[place] for p in placed], pa.int64()) for place in (0, 1)]
    for place, (_, type_) in enumerate(columns):
        arrays.append(pa.array([values[place] for _, _, values in placed], ARROW[type_]))
    return pa.Table.from_arrays(arrays, [time, "seq", *(name for name, _ in columns)])


def view_sql(view: View, names: Collection[str]) -> str:
    """A relation as ``(t, ...)``; a stream as ``(ts, seq, ...)``, its insertions."""
    if view.lasting is not None:
        return lasting_sql(view.body, view.lasting, names)
    if view.timed_by:
        came = view_sql(replace(view, timed_by=""), names)
        others = "* EXCLUDE (ts, seq)"
        return numbered(f"SELECT {view.timed_by} AS ts, {others} FROM ({came})", view.body)
    if not view.stream:
        return body_sql(view.body)
    if view.output is Output.CHANGES and view.body.in_arrival_order:
        assert isinstance(view.body, Select)
        return passed_on_sql(view.body)
    return said_sql(view.body, view.output)


def said_sql(body: Body, output: Output) -> str:
    """The stream of what came, left or was there: ``(ts, seq, ...)``, ties in order of value."""
    names = ", ".join(name for name, _ in body.columns)
    now, before = f"SELECT t, {names} FROM body", f"SELECT t + 1, {names} FROM body"
    match output:
        case Output.DSTREAM:
            said = f"({before} WHERE t < (SELECT max(t) FROM instants)) EXCEPT ALL ({now})"
        case Output.RSTREAM:
            said = now
        case _:
            said = f"({now}) EXCEPT ALL ({before})"
    bodied = f"WITH body AS ({body_sql(body)}), said (ts, {names}) AS ({said})"
    return numbered(f"{bodied} FROM said", body)


def lasting_sql(body: Body, window: Window, names: Collection[str]) -> str:
    """WSTREAM: the window over what the body produced."""
    if in_arrival_order(body, names):
        parts = [
            f"(SELECT {place} AS place, * FROM ({passed_on_sql(branch)}))"
            for place, branch in enumerate(branches_of(body))
        ]
        number = "row_number() OVER (ORDER BY ts, place, seq)"
        passed_on = " UNION ALL ".join(parts)
        came = f"SELECT ts, {number} AS seq, * EXCLUDE (ts, place, seq) FROM ({passed_on})"
    else:
        made = (f"({made_sql(branch)})" for branch in branches_of(body))
        came = numbered(" UNION ALL ".join(made), body)
    contents = f"WITH came AS ({came}) {window.contents('came')}"
    return f"SELECT * EXCLUDE (ts, seq) FROM ({contents})"


def numbered(stream: str, body: Body) -> str:
    """A stream ``(ts, ...)`` as ``(ts, seq, ...)``, tuples of one instant in order of value."""
    order = ", ".join(["ts", *(f"{name} NULLS LAST" for name, _ in body.columns)])
    return f"SELECT ts, row_number() OVER (ORDER BY {order}) AS seq, * EXCLUDE (ts) FROM ({stream})"


def made_sql(select: Select) -> str:
    """All that the block ever produces, as ``(ts, ...)``.

    Each combination of tuples is a result when it is first complete; a group is one each time
    its tuples change and some are left.
    """
    t = f"{clock(select)}.t"
    tuples = [f"{source.alias}.seq" for source in select.sources]
    if not select.grouped:
        return block_sql(by_tuple(select), [f"min({t}) AS ts"], tuples)
    members = f"list(({', '.join(tuples)}) ORDER BY {', '.join(tuples)})"
    shown = select.having.sql if select.having is not None else "TRUE"
    before = [f"{members} AS members", f"{shown} AS shown"]
    block = at_instants_sql(replace(select, having=None), before)
    keys = ", ".join(item.name for item, _ in zip(select.items, select.keys, strict=False))
    over = f"({f'PARTITION BY {keys} ' if keys else ''}ORDER BY t)"
    same = f"lag(t) OVER {over} = t - 1 AND lag(members) OVER {over} = members"
    made = f"SELECT * FROM ({block}) QUALIFY NOT coalesce({same}, FALSE)"
    names = ", ".join(name for name, _ in select.columns)
    return f"SELECT t AS ts, {names} FROM ({made}) WHERE shown"


def by_tuple(select: Select) -> Select:
    """The block with one row for each combination of tuples, once these are grouped by."""
    items = tuple(
        replace(item, expr=replace(item.expr, sql=f"first({item.expr.sql})"))
        for item in select.items
    )
    return replace(select, items=items, grouped=True)


def passed_on_sql(select: Select) -> str:
    """A filter and a map over one stream: the tuples keep their time and their order."""
    (source,) = select.sources
    items = ", ".join(f"{item.expr.sql} AS {item.name}" for item in select.items)
    where = f" WHERE {select.where.sql}" if select.where else ""
    return f"SELECT ts, seq, {items} FROM {source.name} AS {source.alias}{where}"


def body_sql(body: Body) -> str:
    """The body at every instant."""
    if isinstance(body, Select):
        return select_sql(body)
    return f" {body.operator} ".join(f"({select_sql(branch)})" for branch in body.branches)


def select_sql(select: Select) -> str:
    """One block at every instant."""
    if select.internal:
        return internal_sql(select)
    block = at_instants_sql(select)
    if select.top is None:
        return block
    return f"SELECT * FROM ({block}) QUALIFY {select.top.chosen(select.columns, 't')}"


def at_instants_sql(select: Select, before: Collection[str] = ()) -> str:
    """The block without its TOP as ``(t, ...)``, some columns put before its own."""
    if select.mixed:
        return over_lasting_sql(select, before)
    t = f"{clock(select)}.t"
    return block_sql(select, [f"{t} AS t", *before], [t])


def internal_sql(select: Select) -> str:
    """All that was produced so far."""
    names = ", ".join(name for name, _ in select.columns)
    return f"SELECT i.t, {names} FROM instants AS i JOIN ({made_sql(select)}) AS m ON m.ts <= i.t"


def over_lasting_sql(select: Select, before: Collection[str]) -> str:
    """The block over combinations that were complete once, while they last."""
    came = came_sql(select)
    tables, conditions = [f"({lasting_combinations_sql(select)}) AS lasting"], []
    for source in select.sources:
        tables.append(f"{source.name} AS {source.alias}")
        conditions.append(f"{source.alias}.seq = lasting.of_{source.alias}")
        conditions += [f"{source.alias}.t = {came}"] if source.nrr else []
    return written(select, ["lasting.t AS t", *before], ["lasting.t"], tables, conditions)


def lasting_combinations_sql(select: Select) -> str:
    """``(t, of_X, of_Y...)``: which tuples are combined at ``t``.

    A combination begins when all its tuples are in their windows, and lasts while its external
    ones are in theirs.
    """
    t = f"{clock(select)}.t"
    tuples = {s.alias: f"{s.alias}.seq" for s in select.sources}
    numbers = [f"{seq} AS of_{alias}" for alias, seq in tuples.items()]
    plain = replace(select, items=(), grouped=True, keys=(), having=None)
    made = block_sql(plain, [f"min({t}) AS born", *numbers], list(tuples.values()))
    first, *others = select.external
    joins = [f"JOIN ({source_sql(first)}) AS e ON e.seq = m.of_{first.alias} AND e.t >= m.born"]
    for place, other in enumerate(others):
        same = f"e{place}.seq = m.of_{other.alias} AND e{place}.t = e.t"
        joins.append(f"JOIN ({source_sql(other)}) AS e{place} ON {same}")
    return f"SELECT e.t, m.* FROM ({made}) AS m {' '.join(joins)}"


def block_sql(select: Select, before: list[str], groups: list[str]) -> str:
    """The block with columns put before its own, and grouped by more than its own keys."""
    conditions = same_instant(select)
    conditions += [select.where.sql] if select.where else []
    for negation in select.negations:
        if negation.within is None:
            conditions.append(
                negation_sql(negation, f"{negation.source.alias}.t = {clock(select)}.t")
            )
        else:
            came = came_sql(select)
            conditions.append(f"{negation.asked_at(came)} <= {clock(select)}.t")
            conditions.append(negation_sql(negation, negation.counted(came)))
    tables = [f"({source_sql(s)}) AS {s.alias}" for s in select.sources]
    return written(select, before, groups, tables, conditions)


def written(
    select: Select, before: list[str], groups: list[str], tables: list[str], conditions: list[str]
) -> str:
    """The statement: the block's items and grouping over tables joined by conditions."""
    parts = [
        "SELECT DISTINCT" if select.distinct else "SELECT",
        ", ".join([*before, *(f"{i.expr.sql} AS {i.name}" for i in select.items)]),
        "FROM " + ", ".join(tables) + (select.unnest.sql if select.unnest else ""),
    ]
    if conditions:
        parts.append("WHERE " + " AND ".join(conditions))
    if select.grouped:
        parts.append("GROUP BY " + ", ".join([*groups, *(key.sql for key in select.keys)]))
    if select.having is not None:
        parts.append(f"HAVING {select.having.sql}")
    return " ".join(parts)


def clock(select: Select) -> str:
    """The source whose ``t`` is the block's."""
    return next(source.alias for source in select.sources if not source.nrr)


def came_sql(select: Select) -> str:
    """When a combination came: with the last of its tuples."""
    return f"greatest({', '.join(f'{s.alias}.ts' for s in select.sources if not s.nrr)})"


def same_instant(select: Select) -> list[str]:
    """All sources as they are at the same instant, an NRR as it was when the tuple came."""
    first, came = clock(select), came_sql(select)
    others = [source for source in select.sources if source.alias != first]
    return [f"{s.alias}.t = {came if s.nrr else f'{first}.t'}" for s in others]


def negation_sql(negation: Negation, live: str) -> str:
    """NOT EXISTS, and NOT IN told in its terms; ``live`` says which tuples are there."""
    alias = negation.source.alias
    conditions = [live]
    conditions += [c.sql for c in (negation.where, negation.across) if c is not None]
    tuples = (
        source_sql(negation.source) if negation.within is None else f"FROM {negation.source.name}"
    )
    nothing = f"NOT EXISTS (SELECT 1 FROM ({tuples}) AS {alias} WHERE "
    if negation.kind == "NOT IN":
        ((outer, inner),) = negation.pairs
        empty = nothing + " AND ".join(conditions) + ")"
        matching = f"({inner.sql} IS NULL OR {inner.sql} = {outer.sql})"
        unmatched = nothing + " AND ".join([*conditions, matching]) + ")"
        return f"({empty} OR ({outer.sql} IS NOT NULL AND {unmatched}))"
    conditions += [f"{inner.sql} = {outer.sql}" for outer, inner in negation.pairs]
    return nothing + " AND ".join(conditions) + ")"


def source_sql(source: Source) -> str:
    """The contents of a source at every instant."""
    if source.window is None:
        return f"SELECT * FROM {source.name}"
    return source.window.contents(source.name)


def sampled(body: str, every: int | None) -> str:
    """EVERY: the answer as it was at the last multiple of the period."""
    if every is None:
        return body
    multiple = f"CAST(floor(i.t / {every}) * {every} AS BIGINT)"
    return f"SELECT i.t, b.* EXCLUDE (t) FROM instants AS i JOIN ({body}) AS b ON b.t = {multiple}"
