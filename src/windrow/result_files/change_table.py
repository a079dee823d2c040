"""Changes as results show them, on the console too, and the answer that they add up to."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.delta import Delta
from windrow.columns.interner import Interner
from windrow.columns.netting import surplus_rows
from windrow.columns.value_order import sorted_positions
from windrow.core.schema import Schema
from windrow.core.time import BEGINNING, Clock
from windrow.plan.nodes import Node
from windrow.plan.nodes.relational import ranks
from windrow.result_files.identity import CHANGE, INSTANT, changes_schema

SIGNS = pa.array(["-", "+"])
FOLDED_AT_ONCE = 1 << 17
"""Changes that are gathered before they are added up: an answer is gone through for each such
lot, or for as many changes as it has rows.
"""
SHOWN_AT_ONCE = 5_000
"""Rows that are laid out together; columns are as wide as these need them."""


def changes_batch(delta: Delta, schema: Schema, clock: Clock) -> pa.RecordBatch:
    """A Delta of explicit changes in the form in which results are shown."""
    form = changes_schema(schema, clock)
    from_the_beginning = delta.ts <= BEGINNING + 1  # a relation's first contents have no instant
    instant = pa.array(delta.ts, mask=from_the_beginning).cast(form.field(0).type)
    change = SIGNS.take(pa.array((delta.sign > 0).astype(np.int8)))
    return pa.RecordBatch.from_arrays([instant, change, *delta.rows.columns], schema=form)


class Bag:
    """The answer that changes add up to, in the memory that the answer takes."""

    def __init__(self, schema: pa.Schema) -> None:
        """``schema`` is that of the changes."""
        self._rows = schema.empty_table().drop_columns([INSTANT, CHANGE])
        self._copies = np.empty(0, np.int64)
        self._waiting: list[pa.Table] = []
        self._size = 0

    def add(self, changes: pa.Table) -> None:
        if changes.num_rows:
            self._waiting.append(changes)
            self._size += changes.num_rows
        if self._size >= max(FOLDED_AT_ONCE, len(self._copies)):
            self._fold()

    def table(self) -> pa.Table:
        """The answer so far; rows that are in it several times stand beside each other."""
        self._fold()
        copies = np.maximum(self._copies, 0)
        return self._rows.take(pa.array(np.repeat(np.arange(len(copies)), copies)))

    def _fold(self) -> None:
        """Keep each row once with how often it is there: those that are not there go."""
        if not self._waiting:
            return
        changes = pa.concat_tables(self._waiting)
        self._waiting, self._size = [], 0
        signs = np.where(pc.equal(changes[CHANGE], "+").to_numpy(), 1, -1)
        added = changes.drop_columns([INSTANT, CHANGE])
        rows = pa.concat_tables([self._rows, added]).combine_chunks()
        columns = [_one(column) for column in rows.columns]
        codes = Interner([c.type for c in columns]).codes(columns, rows.num_rows)
        copies = np.zeros(int(codes.max(initial=-1)) + 1, np.int64)
        np.add.at(copies, codes, np.concatenate([self._copies, signs]))
        found, first = np.unique(codes, return_index=True)
        there = copies[found] != 0
        order = np.argsort(first[there], kind="stable")
        self._rows = rows.take(pa.array(first[there][order]))
        self._copies = copies[found][there][order]


def answer_of(changes: pa.Table) -> pa.Table:
    """The bag that the changes add up to."""
    bag = Bag(changes.schema)
    bag.add(changes)
    return bag.table()


def cancel_pairs(changes: pa.Table) -> pa.Table:
    """Without the pairs that cancel inside an instant because they were made in two buckets."""
    if CHANGE not in changes.schema.names:
        return changes
    sign = np.where(pc.equal(changes[CHANGE], "+").to_numpy(), 1, -1).astype(np.int8)
    if (sign > 0).all():
        return changes
    columns = [_one(c) for c in changes.drop_columns([CHANGE]).columns]
    kept = surplus_rows(columns, sign)
    return changes if kept.all() else changes.filter(pa.array(kept))


def _one(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole


def sort_by_rank(answer: pa.Table, plan: Node) -> pa.Table:
    """The answer of a TOP with its first row first, any other as it is."""
    return in_ranks(answer, ranks(plan))


def in_ranks(answer: pa.Table, order: tuple[tuple[int, bool], ...]) -> pa.Table:
    """The answer in the order of these columns, the greatest first where that is said."""
    if not order:
        return answer
    columns = [column.combine_chunks() for column in answer.columns]
    keys = [(columns[place], down) for place, down in order]
    found = sorted_positions([*keys, *((column, False) for column in columns)])
    return answer.take(pa.array(found))


def read_changes(directory: Path, format_: str, schema: pa.Schema) -> pa.Table:
    """All committed changes of a directory, in order of their instants."""
    from windrow.result_files.reader import Reading  # noqa: PLC0415 - which stands on this

    parts = [schema.empty_table(), *Reading(directory, format_, schema).tables()]
    return pa.concat_tables(parts)


def print_changes(query: str, changes: pa.Table, limit: int | None = None) -> None:
    """Show the changes of a micro-batch in columns; past ``limit`` they are only counted."""
    shown = changes.num_rows if limit is None else min(limit, changes.num_rows)
    sys.stdout.write(f"{query}\n")
    for line in _lines(changes.slice(0, shown)):
        sys.stdout.write(line + "\n")
    if changes.num_rows > shown:
        sys.stdout.write(f"... and {changes.num_rows - shown:,} more\n")
    sys.stdout.write("\n")
    sys.stdout.flush()


def _lines(changes: pa.Table) -> Iterator[str]:
    names, first = changes.column_names, True
    for start in range(0, changes.num_rows or 1, SHOWN_AT_ONCE):
        part = changes.slice(start, SHOWN_AT_ONCE)
        rows = [[_text(v) for v in row.values()] for row in part.to_pylist()]
        widths = [max(len(row[i]) for row in (names, *rows)) for i in range(len(names))]
        if first:
            yield _align(names, widths)
            yield "  ".join("-" * w for w in widths)
            first = False
        for row in rows:
            yield _align(row, widths)


def _align(row: list[str], widths: list[int]) -> str:
    return "  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)).rstrip()


def _text(value: object) -> str:
    return "NULL" if value is None else str(value)
