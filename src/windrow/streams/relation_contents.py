"""What a relation holds as its updates come, and so which of them may be carried out.

A ``-`` needs a row that is there. In a non-retroactive relation a key that was deleted may not
come again: tuples that met the old row would seem to speak of the new one (Golab 2006, 3.3.1).

Space: the different rows that are held, up to a factor, however many have come and gone. A
non-retroactive relation also remembers the keys that were deleted, since its rule asks for them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.crowding import Crowding
from windrow.columns.delta import batch_of
from windrow.columns.growable import fresh, grow
from windrow.columns.interner import Interner
from windrow.columns.kernels import boolean, flags_out, ints, ints_out, kernel, signs, void

Bools = npt.NDArray[np.bool_]
Int64s = npt.NDArray[np.int64]
Signs = npt.NDArray[np.int8]


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


class RelationContents:
    """See the module. With ``once`` a ``key`` that was deleted is not taken again."""

    def __init__(self, schema: pa.Schema, key: Sequence[int], once: bool) -> None:
        self.schema, self._once = schema, once
        self._key = tuple(key) if once else ()
        self._rows = Interner(schema.types)
        self._held = fresh(0)
        self._keys = Interner([schema.types[k] for k in self._key])
        self._retired = fresh(False, np.bool_)
        self._crowded_rows, self._crowded_keys = Crowding(), Crowding()

    def carry_out(self, rows: pa.RecordBatch, sign: Signs) -> Bools:
        """Whether each update keeps the rules; those that do are counted."""
        row = self._numbers(rows)
        key = self._keys.codes([rows.column(k) for k in self._key], rows.num_rows)
        self._retired = grow(self._retired, len(self._keys), False)
        kept = np.empty(len(row), np.bool_)
        _apply(row, key, sign, self._once, self._held, self._retired, kept)
        self._forget_rows()
        self._forget_keys()
        return kept

    def before(self, rows: pa.RecordBatch, sign: Signs) -> pa.RecordBatch:
        """What was held before these updates, which are among those that were carried out."""
        numbers = self._numbers(rows)
        held = self._held[: len(self._rows)].copy()
        np.subtract.at(held, numbers, sign)
        present = np.repeat(np.arange(len(held)), held)
        return batch_of(self._rows.rows(present), self.schema, len(present))

    def size(self) -> int:
        """How many rows and keys are remembered, those included that are to be forgotten."""
        return len(self._rows) + len(self._keys)

    def _numbers(self, rows: pa.RecordBatch) -> Int64s:
        numbers = self._rows.codes(rows.columns, rows.num_rows)
        self._held = grow(self._held, len(self._rows), 0)
        return numbers

    def _forget_rows(self) -> None:
        """Give the rows that are held new numbers, once most numbers are unused."""
        size = len(self._rows)
        if not self._crowded_rows.is_due(size):
            return
        live = np.flatnonzero(self._held[:size])
        if not self._crowded_rows.renewal_pays(size, len(live)):
            return
        counts, numbers = self._held[live], self._rows.compact(live)
        self._held = grow(fresh(0), len(self._rows), 0)
        self._held[numbers[live]] = counts

    def _forget_keys(self) -> None:
        """Only a key that was deleted matters; others get their numbers when they come again."""
        size = len(self._keys)
        if not self._crowded_keys.is_due(size):
            return
        deleted = np.flatnonzero(self._retired[:size])
        if not self._crowded_keys.renewal_pays(size, len(deleted)):
            return
        numbers = self._keys.compact(deleted)
        self._retired = grow(fresh(False, np.bool_), len(self._keys), False)
        self._retired[numbers[deleted]] = True
