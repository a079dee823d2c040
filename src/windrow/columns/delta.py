"""A Delta: what changed during an interval, as columns.

Each row carries ``ts``, the instant at which the change happens, ``exp``, the instant at which
the tuple would expire by itself, and ``sign``. An insertion (+1) brings its own expiry, so an
expiry that is known in advance is never sent. A negative tuple (-1) withdraws, at ``ts``, a
tuple with the same values and the same ``exp`` that was inserted earlier.

Invariants
    1. Rows are in order of ``ts``, all inside the interval that the Delta speaks of.
    2. An insertion has ``ts < exp``, and is not withdrawn at the instant at which it comes:
       inside one instant the order of rows means nothing.
    3. A negative tuple has a counterpart that is live at the instant before it.

The tuples themselves may be ``LazyRows``, which are copied when ``rows`` is asked for, and stay
late while rows are taken of them. Whoever needs only some columns, or may leave rows out, reads
``content``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.lazy_rows import LazyRows
from windrow.core.time import FOREVER

Int8s = npt.NDArray[np.int8]

TS, EXP, SIGN = "__ts", "__exp", "__sign"


Rows: TypeAlias = pa.RecordBatch | LazyRows


@dataclass(frozen=True)
class Delta:
    """See the module. The four parts have the same length."""

    ts: Int64s
    exp: Int64s
    sign: Int8s
    content: Rows

    def __len__(self) -> int:
        return len(self.ts)

    @cached_property
    def rows(self) -> pa.RecordBatch:
        """The tuples, all columns of them."""
        content = self.content
        if isinstance(content, LazyRows):
            return batch_of(content.arrays(), content.schema, content.num_rows)
        return content

    @property
    def nbytes(self) -> int:
        return int(self.ts.nbytes + self.exp.nbytes + self.sign.nbytes + self.rows.nbytes)

    @classmethod
    def empty(cls, schema: pa.Schema) -> Delta:
        none = np.empty(0, np.int64)
        return cls(none, none, np.empty(0, np.int8), empty_batch(schema))

    @classmethod
    def insertions(cls, ts: Int64s, rows: pa.RecordBatch, exp: Int64s | None = None) -> Delta:
        """New tuples; they live for ever unless ``exp`` is given."""
        if exp is None:
            exp = np.full(len(ts), FOREVER, np.int64)
        return cls(ts, exp, np.ones(len(ts), np.int8), rows)

    @classmethod
    def withdrawals(cls, ts: Int64s, rows: pa.RecordBatch) -> Delta:
        """Negative tuples for tuples that would have lived for ever."""
        forever = np.full(len(ts), FOREVER, np.int64)
        return cls(ts, forever, np.full(len(ts), -1, np.int8), rows)

    def take(self, indices: Int64s) -> Delta:
        content = self.content
        lazy = isinstance(content, LazyRows)
        rows = content.take(indices) if lazy else take(content, indices)
        return Delta(self.ts[indices], self.exp[indices], self.sign[indices], rows)

    def filter(self, mask: npt.NDArray[np.bool_]) -> Delta:
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> Delta:
        rows = self.content.slice(start, stop - start)
        return Delta(self.ts[start:stop], self.exp[start:stop], self.sign[start:stop], rows)

    def with_rows(self, rows: Rows) -> Delta:
        return Delta(self.ts, self.exp, self.sign, rows)

    def without_lazy_rows(self) -> Delta:
        """The same with rows that are not lazy, for whoever keeps it."""
        return self.with_rows(self.rows) if isinstance(self.content, LazyRows) else self

    def sorted(self) -> Delta:
        """The same rows in order of ``ts``, ties as they stand."""
        if len(self.ts) < 2 or bool((self.ts[1:] >= self.ts[:-1]).all()):
            return self
        return self.take(np.argsort(self.ts, kind="stable"))

    def split(self, now: int) -> tuple[Delta, Delta]:
        """The rows up to the instant ``now``, and those after it."""
        cut = int(np.searchsorted(self.ts, now, side="right"))
        if cut == 0:
            return self.slice(0, 0), self
        if cut == len(self):
            return self, self.slice(cut, cut)
        return self.slice(0, cut), self.slice(cut, len(self))

    def to_batch(self) -> pa.RecordBatch:
        """One Arrow batch: the three columns of the Delta, then those of its rows by position."""
        arrays = [pa.array(self.ts), pa.array(self.exp), pa.array(self.sign), *self.rows.columns]
        names = [TS, EXP, SIGN, *(str(i) for i in range(self.rows.num_columns))]
        return pa.RecordBatch.from_arrays(arrays, names)

    @classmethod
    def from_batch(cls, batch: pa.RecordBatch, schema: pa.Schema) -> Delta:
        ts, exp, sign, *rest = batch.columns
        rows = batch_of(rest, schema, batch.num_rows)
        return cls(ts.to_numpy(), exp.to_numpy(), sign.to_numpy(), rows)


def batch_of(arrays: Sequence[pa.Array], schema: pa.Schema, length: int) -> pa.RecordBatch:
    """A batch of ``length`` rows, also when it has no columns."""
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * length, pa.struct([])))
    return pa.RecordBatch.from_arrays(list(arrays), schema=schema)


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return batch_of([empty_array(f.type) for f in schema], schema, 0)


@cache
def empty_array(kind: pa.DataType) -> pa.Array:
    """An array without values; Arrow takes long to make one, and most intervals are empty."""
    return pa.array([], kind)


def take(rows: pa.RecordBatch, indices: Int64s) -> pa.RecordBatch:
    """Rows by position (also for a batch without columns)."""
    if rows.num_columns == 0:
        return batch_of([], rows.schema, len(indices))
    return rows.take(pa.array(indices))


def concat(deltas: Sequence[Delta], schema: pa.Schema) -> Delta:
    """All rows of all Deltas in order of ``ts``, ties in the order of the arguments."""
    parts = [d for d in deltas if len(d)]
    if not parts:
        return Delta.empty(schema)
    if len(parts) == 1:
        return parts[0]
    rows = concat_rows([d.rows for d in parts], schema)
    ts, exp = np.concatenate([d.ts for d in parts]), np.concatenate([d.exp for d in parts])
    return Delta(ts, exp, np.concatenate([d.sign for d in parts]), rows).sorted()


def concat_rows(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """Batches of one schema as one batch."""
    if not batches:
        return empty_batch(schema)
    if len(batches) == 1:
        return batches[0]
    if not schema.names:
        return batch_of([], schema, sum(b.num_rows for b in batches))
    arrays = [pa.concat_arrays([b.column(i) for b in batches]) for i in range(len(schema))]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def split_by_sign(delta: Delta) -> tuple[Delta, Delta]:
    """Insertions, and negative tuples; where there are none of these, nothing is copied."""
    if not len(delta):
        return delta, delta
    plus = delta.sign > 0
    if plus.all():
        return delta, delta.slice(0, 0)
    return delta.take(np.flatnonzero(plus)), delta.take(np.flatnonzero(~plus))
