"""Finds what a negative tuple withdraws in a calendar queue (Golab 2006, 3.5.2).

A negative tuple has the expiry of its counterpart, so that only the partition of that expiry is
searched, and of what is there only tuples with that very expiry are compared, column by column.
Of equal ones the oldest goes.

Cost per negative tuple: a partition, and the tuples that expire with it. There is no cost for
tuples that are never withdrawn, which is why it pays where few are.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, identity_keys, validity
from windrow.columns.byte_forms import is_bytes
from windrow.columns.delta import Delta
from windrow.columns.growable import Growable
from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel
from windrow.columns.stored_columns import RowStore
from windrow.columns.value_order import comparable_column
from windrow.core.thresholds import Threshold
from windrow.operators.state.calendar_queue import CalendarQueue
from windrow.operators.state.tuple_index import END, EXP, TS

AT_A_TIME = Threshold(4096, least=1)
"""Negative tuples that are looked for together."""


@kernel(int64, ints, ints, ints, int64, grid_out, ints_out)
def _take_oldest(owners, positions, at, base, life, found):  # type: ignore[no-untyped-def]
    """End the first live candidate of each negative tuple; how many of them had one."""
    i = 0
    for wanted in range(len(at)):
        found[wanted] = -1
        while i < len(owners) and owners[i] == wanted:
            row = positions[i] - base
            fresh = life[row, END] == life[row, EXP] and life[row, TS] < at[wanted]
            if found[wanted] < 0 and fresh and at[wanted] < life[row, EXP]:
                life[row, END] = at[wanted]
                found[wanted] = positions[i]
            i += 1
        if found[wanted] < 0:
            return wanted
    return len(at)


def withdraw_by_search(
    delta: Delta, calendar: CalendarQueue, life: Growable, rows: RowStore
) -> tuple[Int64s, int]:
    """End the counterparts; their positions, and how many of the negatives had one."""
    found = np.empty(len(delta), np.int64)
    for start in range(0, len(delta), AT_A_TIME.value):
        part = delta.slice(start, min(start + AT_A_TIME.value, len(delta)))
        positions, owners = calendar.search(part.exp)
        here = positions >= life.base  # others were withdrawn, and are forgotten already
        positions, owners = _equal_rows(rows, positions[here], part.rows, owners[here])
        order = np.lexsort((positions, owners))
        mine = found[start : start + len(part)]
        count = _take_oldest(owners[order], positions[order], part.ts, life.base, life.view, mine)
        if count < len(part):
            return found, start + count
    return found, len(delta)


def _equal_rows(
    stored: RowStore, positions: Int64s, rows: pa.RecordBatch, at: Int64s
) -> tuple[Int64s, Int64s]:
    """Those of the pairs of a stored row and one of ``rows`` that are equal, NULLs too."""
    texts = [is_bytes(kind) for kind in stored.schema.types]
    for index in sorted(range(len(texts)), key=texts.__getitem__):
        if not len(positions):
            break
        mine, theirs = stored.column(index, positions), rows.column(index).take(pa.array(at))
        equal = _equal(mine, theirs)
        if not equal.all():
            positions, at = positions[equal], at[equal]
    return positions, at


def _equal(one: pa.Array, other: pa.Array) -> Bools:
    same: Bools
    if is_bytes(one.type):
        one, other = comparable_column(one), comparable_column(other)
        same = pc.equal(one, other).fill_null(False).to_numpy(zero_copy_only=False)
    else:
        same = identity_keys(one) == identity_keys(other)
    if not (one.null_count or other.null_count):
        return same
    valid = [
        v if (v := validity(a)) is not None else np.ones(len(a), np.bool_) for a in (one, other)
    ]
    return np.where(valid[0] & valid[1], same, ~(valid[0] | valid[1]))
