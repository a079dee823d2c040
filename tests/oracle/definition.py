"""The answer at every instant, one SQL statement per view over a table of instants.

Every relation becomes a table ``(t, columns...)``: its contents at each instant ``t``. A block
joins its windows on equal ``t`` and groups by ``t`` besides its own keys, so the statement is
the query itself, asked at each instant separately.
"""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa

from tests.oracle.bags import History, emitted, row
from tests.oracle.queries import Body, Output, Program, Select, Source, Stream, View

ARROW = {
    "INT": pa.int64(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
}


def expected(program: Program) -> History:
    """What the query says at each instant, by the definition."""
    instants = range(program.first, program.horizon + 1)
    return emitted(bags(program), program.output, program.every or 1, instants)


def bags(program: Program) -> History:
    """The relation that the query's body is, at each instant."""
    with duckdb.connect() as db:
        db.execute("SET error_on_division_by_zero = false; SET threads = 1")
        instants = f"SELECT range AS t FROM range({program.first}, {program.horizon + 1})"
        db.execute(f"CREATE TABLE instants AS {instants}")
        for stream in program.streams:
            db.register("arrived", stream_table(stream))
            db.execute(f"CREATE TABLE {stream.name} AS FROM arrived")
            db.unregister("arrived")
        for view in program.views:
            db.execute(f"CREATE TABLE {view.name} AS {view_sql(view)}")
        history: History = {}
        for t, *values in db.execute(sampled(body_sql(program.body), program.every)).fetchall():
            history.setdefault(t, Counter())[row(values)] += 1
        return history


def stream_table(stream: Stream) -> pa.Table:
    """The stream as ``(ts, seq, columns...)``."""
    arrays = [
        pa.array([ts for ts, _ in stream.arrivals], pa.int64()),
        pa.array(range(len(stream.arrivals)), pa.int64()),
    ]
    for place, (_, type_) in enumerate(stream.columns):
        arrays.append(pa.array([values[place] for _, values in stream.arrivals], ARROW[type_]))
    return pa.Table.from_arrays(arrays, ["ts", "seq", *(name for name, _ in stream.columns)])


def view_sql(view: View) -> str:
    """A relation as ``(t, ...)``; a stream as ``(ts, seq, ...)``, its insertions."""
    if view.stream and view.output is Output.CHANGES and view.body.in_arrival_order:
        assert isinstance(view.body, Select)
        return passed_on_sql(view.body)
    body = body_sql(view.body)
    if not view.stream:
        return body
    names = ", ".join(name for name, _ in view.body.columns)
    now, before = f"SELECT t, {names} FROM body", f"SELECT t + 1, {names} FROM body"
    match view.output:
        case Output.CHANGES | Output.ISTREAM:
            said = f"({now}) EXCEPT ALL ({before})"
        case Output.DSTREAM:
            said = f"({before} WHERE t < (SELECT max(t) FROM instants)) EXCEPT ALL ({now})"
        case Output.RSTREAM:
            said = now
    return (
        f"WITH body AS ({body}), said (ts, {names}) AS ({said}) "
        f"SELECT ts, NULL AS seq, {names} FROM said"
    )


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
    return " UNION ALL ".join(f"({select_sql(branch)})" for branch in body.branches)


def select_sql(select: Select) -> str:
    """One block at every instant."""
    first, *others = [source.alias for source in select.sources]
    same_instant = [f"{other}.t = {first}.t" for other in others]
    conditions = [*same_instant, *([select.where.sql] if select.where else [])]
    parts = [
        "SELECT DISTINCT" if select.distinct else "SELECT",
        ", ".join([f"{first}.t AS t", *(f"{i.expr.sql} AS {i.name}" for i in select.items)]),
        "FROM " + ", ".join(f"({source_sql(s)}) AS {s.alias}" for s in select.sources),
    ]
    if conditions:
        parts.append("WHERE " + " AND ".join(conditions))
    if select.grouped:
        parts.append("GROUP BY " + ", ".join([f"{first}.t", *(key.sql for key in select.keys)]))
    if select.having is not None:
        parts.append(f"HAVING {select.having.sql}")
    return " ".join(parts)


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
