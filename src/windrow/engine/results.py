"""Result files read back: the form of a change, and the answer that changes add up to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.columns.delta import Delta
from windrow.columns.interner import Interner
from windrow.columns.ordering import sorted_positions
from windrow.columns.types import arrow_schema
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, Clock
from windrow.engine.commits import Commit, commits
from windrow.plan.nodes import Node
from windrow.plan.ranks import ranks

SIGNS = pa.array(["-", "+"])


def changes_schema(schema: Schema, clock: Clock) -> pa.Schema:
    """``instant``, ``change``, then the query's columns, all called differently."""
    kind = Type.TIMESTAMP if clock is Clock.TIMESTAMP else Type.BIGINT
    first = Schema((Field("instant", kind), Field("change", Type.STRING)))
    return arrow_schema(first + schema)


def changes_batch(delta: Delta, schema: Schema, clock: Clock) -> pa.RecordBatch:
    """A Delta of explicit changes in the form in which results are shown."""
    form = changes_schema(schema, clock)
    from_the_beginning = delta.ts <= BEGINNING + 1  # a relation's first contents have no instant
    instant = pa.array(delta.ts, mask=from_the_beginning).cast(form.field(0).type)
    change = SIGNS.take(pa.array((delta.sign > 0).astype(np.int8)))
    return pa.RecordBatch.from_arrays([instant, change, *delta.rows.columns], schema=form)


def read_changes(
    directory: Path, format_: str, schema: pa.Schema, chosen: Sequence[Commit] | None = None
) -> pa.Table:
    """The committed changes (of the ``chosen`` commits, or all) in order of their instants."""
    tables = [schema.empty_table()]
    for commit in commits(directory) if chosen is None else chosen:
        parts = [_read(directory / name, format_, schema) for name in commit.files]
        if parts:
            batch = pa.concat_tables(parts)
            order = np.argsort(batch["instant"].cast(pa.int64()).to_numpy(), kind="stable")
            tables.append(batch.take(pa.array(order)))
    return pa.concat_tables(tables)


def answer_of(changes: pa.Table) -> pa.Table:
    """The bag that the changes add up to."""
    rows = changes.drop_columns(["instant", "change"]).combine_chunks()
    count = changes.num_rows
    if not count:
        return rows
    columns = [c.chunk(0) for c in rows.columns]
    codes = Interner([c.type for c in columns]).codes(columns, count)
    sign = np.where(pc.equal(changes["change"], "+").to_numpy(), 1, -1)
    copies = np.zeros(int(codes.max()) + 1, np.int64)
    np.add.at(copies, codes, sign)
    found, first = np.unique(codes, return_index=True)
    return rows.take(pa.array(np.repeat(first, np.maximum(copies[found], 0))))


def ranked(answer: pa.Table, plan: Node) -> pa.Table:
    """The answer of a TOP with its first row first, any other as it is."""
    chosen = ranks(plan)
    if not chosen:
        return answer
    columns = [column.combine_chunks() for column in answer.columns]
    keys = [(columns[place], down) for place, down in chosen]
    order = sorted_positions([*keys, *((column, False) for column in columns)])
    return answer.take(pa.array(order))


def _read(path: Path, format_: str, schema: pa.Schema) -> pa.Table:
    if format_ == "csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],  # nothing but nothing: a NaN is no NULL
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        whole = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, parse_options=whole, convert_options=options)
    if format_ == "json":
        # Arrow reads dates of JSON from numbers only.
        texts = {f.name: pa.string() for f in schema if pa.types.is_date(f.type)}
        plain = pa.schema([(f.name, texts.get(f.name, f.type)) for f in schema])
        parsed = pyarrow.json.ParseOptions(explicit_schema=plain)
        found = pyarrow.json.read_json(path, parse_options=parsed)
        return found.select(schema.names).cast(schema)
    return pyarrow.parquet.read_table(path, schema=schema)
