"""Updates of a relation: rows that come and go at instants, checked before anything sees them.

An update has the form in which results are written: ``instant``, ``change`` (``+`` or ``-``),
then the relation's columns. So a relation's updates are a stream, with a time of its own that
holds queries back like any other, and one query's result files can be another's relation. Rows
without ``instant`` and ``change`` are the relation's contents from the beginning.

A ``-`` needs a row that is there. In a non-retroactive relation a key that was deleted may not
come again: tuples that met the old row would seem to speak of the new one (Golab 2006, 3.3.1).
What breaks these rules is refused like any other bad row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.delta import Delta, batch_of
from windrow.columns.interner import Interner
from windrow.columns.kernels import boolean, flags_out, ints, ints_out, kernel, signs, void
from windrow.columns.netting import surplus
from windrow.columns.types import arrow_schema
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.plan.catalog import NO_TIMESTAMP, RelationDeclaration, StreamDeclaration
from windrow.streams.coerce import coerce, column_names
from windrow.streams.monitor import Accepted, InputMonitor
from windrow.streams.parsed import Parsed, Rejected

INSTANT, CHANGE = "instant", "change"


@kernel(void, ints, ints, signs, boolean, ints_out, flags_out, flags_out)
def _apply(row, key, sign, once, held, retired, accepted):  # type: ignore[no-untyped-def]
    """Carry out updates in order; ``held`` counts rows, ``retired`` marks deleted keys."""
    for i in range(len(row)):
        if sign[i] > 0:
            accepted[i] = not (once and retired[key[i]])
            if accepted[i]:
                held[row[i]] += 1
        else:
            accepted[i] = held[row[i]] > 0
            if accepted[i]:
                held[row[i]] -= 1
                retired[key[i]] = True


def updates_of(declaration: RelationDeclaration, clock: Clock) -> StreamDeclaration:
    """The stream of a relation's updates."""
    kind = Type.TIMESTAMP if clock is Clock.TIMESTAMP else Type.BIGINT
    first = (Field(INSTANT, kind), Field(CHANGE, Type.STRING))
    schema = Schema(first + declaration.schema.fields)
    return StreamDeclaration(declaration.name, schema, 0, clock, 0, declaration.source)


def contents_of(declaration: RelationDeclaration, clock: Clock) -> StreamDeclaration:
    """A relation's rows without a time of their own."""
    source = declaration.source
    return StreamDeclaration(
        declaration.name, declaration.schema, NO_TIMESTAMP, clock, 0, source, declaration.span
    )


class RelationMonitor(InputMonitor):
    """An input monitor whose rows are updates; ``release`` gives them with their signs."""

    def __init__(self, relation: RelationDeclaration, clock: Clock) -> None:
        super().__init__(updates_of(relation, clock))
        self.relation = relation
        self.contents = arrow_schema(relation.schema)
        self.refused: list[Rejected] = []
        self._rows = Interner(self.contents.types)
        self._keys = Interner([self.contents.types[k] for k in relation.key])
        self._held = np.zeros(64, np.int64)
        self._retired = np.zeros(64, np.bool_)

    def accept(self, parsed: Parsed | pa.RecordBatch) -> Accepted:
        """Take updates in; those with an unknown ``change`` are refused."""
        if isinstance(parsed, pa.RecordBatch):
            parsed = Parsed.clean(parsed)
        known = pc.is_in(parsed.rows.column(1), pa.array(["+", "-"]))
        wrong = np.flatnonzero(~known.to_numpy(zero_copy_only=False))
        for position, text in zip(wrong, parsed.texts(wrong), strict=True):
            found = parsed.rows.column(1)[int(position)].as_py()
            reason = f"{CHANGE}: expected '+' or '-', found {found!r}"
            self._refuse(int(parsed.numbers[position]), reason, text)
        return super().accept(parsed.without(wrong))

    def _refuse(self, row: int, reason: str, text: str) -> None:
        self.refused.append(Rejected(row, reason, text))
        self.rejected += 1

    def release(self, now: int) -> Delta:
        """The updates up to ``now``, net of what came and went within one instant."""
        delta = super().release(now)
        if not len(delta):
            return Delta.empty(self.contents)
        rows = batch_of(delta.rows.columns[2:], self.contents, len(delta))
        plus = pc.equal(delta.rows.column(1), "+").to_numpy(zero_copy_only=False)
        sign = np.where(plus, 1, -1).astype(np.int8)
        accepted = self._check(rows, sign)
        for position in np.flatnonzero(~accepted):
            self._refuse(
                0, self._reason(sign[position]), str(rows.slice(position, 1).to_pylist()[0])
            )
        exp = np.full(len(delta), FOREVER, np.int64)
        update = Delta(delta.ts, exp, sign, rows).filter(accepted)
        codes = Interner([pa.int64(), *self.contents.types]).codes(
            [pa.array(update.ts), *update.rows.columns], len(update)
        )
        return update.filter(surplus(codes, update.sign))

    def _check(self, rows: pa.RecordBatch, sign: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
        row = self._rows.codes(rows.columns, rows.num_rows)
        key = self._keys.codes([rows.column(k) for k in self.relation.key], rows.num_rows)
        self._held = _larger(self._held, len(self._rows))
        self._retired = _larger(self._retired, len(self._keys))
        accepted = np.empty(len(row), np.bool_)
        _apply(row, key, sign, not self.relation.retroactive, self._held, self._retired, accepted)
        return accepted

    def _reason(self, sign: int) -> str:
        name = self.relation.name
        if sign < 0:
            return f"-: expected a row that is in {name}, found none"
        return f"+: the key was deleted from {name} before, and an NRR does not take it again"

    def coerced(self, data: Any) -> Parsed:
        """Pushed data as updates."""
        if {INSTANT, CHANGE} <= column_names(data, self.declaration):
            return coerce(data, self.declaration)
        return self.initial(coerce(data, contents_of(self.relation, self.declaration.clock)))

    def initial(self, contents: Parsed) -> Parsed:
        """Rows without ``instant`` and ``change`` as insertions at the next open instant."""
        count = len(contents)
        instants = pa.array(np.full(count, self.closed + 1), pa.int64())
        instants = instants.cast(self.schema.field(0).type)
        signs = pa.array(["+"] * count, pa.string())
        rows = batch_of([instants, signs, *contents.rows.columns], self.schema, count)
        return Parsed(rows, contents.numbers, contents.rejected, contents.texts)

    def present(self) -> Delta:
        """What the relation holds at the last closed instant, for a query that starts now."""
        codes = np.arange(len(self._rows), dtype=np.int64)
        codes = np.repeat(codes, self._held[: len(codes)])
        rows = batch_of(self._rows.rows(codes), self.contents, len(codes))
        return Delta.insertions(np.full(len(codes), max(self.closed, BEGINNING + 1)), rows)


def _larger(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    if size <= len(values):
        return values
    larger = np.zeros(size * 2, values.dtype)
    larger[: len(values)] = values
    return larger
