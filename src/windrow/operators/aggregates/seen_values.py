"""The different values of an argument by group that there ever were, for aggregates with DISTINCT.

Aggregates of one argument that differ in their FILTER share the values: a pair of a group and a
value is looked up once for a row, and has a mark for each filter whose rows have had it. Where a
row brings a mark, the value is new to the aggregates with that filter.

Nothing leaves, so a pair stays, and no tuple is kept for it. A row that no filter wants, and NULL,
make none.

Cost: two look-ups per row; state: for each pair 8 bytes and one per filter, its place in a hash
table, and each different value once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.growable import fresh, grow, grow_rows
from windrow.columns.interner import Interner, IntTable
from windrow.columns.kernels import flag_grid, flag_grid_out, flags_out, ints, kernel, void
from windrow.operators.base import Saved
from windrow.operators.state.saved_segments import UpsertLog

VALUE = 0xFFFFFFFF
"""The bits of a pair that are the code of its value; those above are that of the group."""


@kernel(void, ints, flag_grid, flag_grid_out, flags_out, flag_grid_out)
def _meet(pair, wanted, met, dirty, new):  # type: ignore[no-untyped-def]
    """``new`` are the marks that a row is the first to bring; rows are in the order of time."""
    for i in range(len(pair)):
        p = pair[i]
        for k in range(len(wanted)):
            new[k, i] = p >= 0 and wanted[k, i] and not met[p, k]
            if new[k, i]:
                met[p, k] = dirty[p] = True


class SeenValues:
    """Values of one ``kind`` for ``width`` filters; see the module."""

    def __init__(self, kind: pa.DataType, width: int) -> None:
        self.kind, self.width = kind, width
        self.values, self.pairs = Interner([kind]), IntTable()
        self.met, self.dirty = fresh(False, np.bool_, width), fresh(False, np.bool_)
        self.log = UpsertLog()

    def __len__(self) -> int:
        return self.pairs.count

    def meet(self, codes: Int64s, argument: pa.Array, wanted: Bools) -> tuple[Int64s, Bools]:
        """The pair of each row, -1 if no filter wants it, and a line for each filter that says
        which rows bring it a value. Rows of NULL must not be ``wanted``."""
        some = wanted.any(axis=0)
        if some.all():
            pair = self._locate(codes, argument)
        else:
            rows = np.flatnonzero(some)
            pair = np.full(len(codes), -1, np.int64)
            pair[rows] = self._locate(codes[rows], argument.take(pa.array(rows)))
        new = np.empty(wanted.shape, np.bool_)
        _meet(pair, wanted, self.met, self.dirty, new)
        return pair, new

    def _locate(self, codes: Int64s, argument: pa.Array) -> Int64s:
        values = self.values.codes([argument], len(argument))
        pair = self.pairs.codes((codes << 32) | values)
        self.met = grow_rows(self.met, len(self))
        self.dirty = grow(self.dirty, len(self), False)
        return pair

    def take(self, positions: Int64s) -> pa.Array:
        """The values of pairs: for a plain aggregate a pair is a tuple."""
        if not len(self):
            return pa.nulls(len(positions), self.kind)
        return self.values.rows(self.pairs.keys[np.maximum(positions, 0)] & VALUE)[0]

    def save(self, groups: Interner) -> Saved:
        """The pairs that are new or have new marks, with the keys of their groups."""

        def dump(pairs: Int64s) -> pa.RecordBatch:
            marks = np.ascontiguousarray(self.met[pairs])
            kind = pa.binary(self.width)
            content = pa.Array.from_buffers(kind, len(pairs), [None, pa.py_buffer(marks)])
            keys = groups.rows(self.pairs.keys[pairs] >> 32)
            arrays = [*keys, self.take(pairs), content]
            return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])

        saved = self.log.save(np.flatnonzero(self.dirty[: len(self)]), len(self), dump)
        self.dirty[:] = False
        return saved

    def load(
        self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any], groups: Interner
    ) -> None:
        for batch in self.log.load(segments, meta):
            columns: Sequence[pa.Array] = batch.columns
            *keys, values, content = columns
            pair = self._locate(groups.codes(keys, batch.num_rows), values)
            marks = np.frombuffer(content.buffers()[1], np.bool_).reshape(-1, self.width)
            self.met[pair] = marks[content.offset : content.offset + len(content)]
