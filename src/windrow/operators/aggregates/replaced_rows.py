"""The rows of groups that are replaced because their aggregates changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s, fixed_array, numpy_view
from windrow.columns.delta import Delta, batch_of
from windrow.columns.interner import Interner
from windrow.columns.time_order import time_order
from windrow.columns.value_order import comparable_column
from windrow.core.time import FOREVER
from windrow.operators.aggregates.events import Events


def replaced_rows(
    groups: Interner,
    events: Events,
    sizes: tuple[Int64s, Int64s],
    values: Sequence[tuple[pa.Array, pa.Array]],
    schema: pa.Schema,
    every_time: bool,
) -> Delta:
    """Old rows out, new rows in, where they differ; with ``every_time`` also where they do not.

    ``sizes`` and ``values`` are what accumulators answer: before the events for each group that is
    touched, after them for each segment. A group of size 0 has no row.
    """
    code, time = events.code[events.last], events.time[events.last]
    new = np.arange(len(code)) + len(events.groups)
    old = np.where(events.opening, events.group_of, new - 1)
    held = np.concatenate(sizes) > 0
    changed = held[old] != held[new]
    both = np.flatnonzero(held[old] & held[new])
    kinds = schema.types[len(schema) - len(values) :]
    columns = [_typed(pa.concat_arrays(pair), k) for pair, k in zip(values, kinds, strict=True)]
    if every_time:
        changed[both] = True
    elif len(both) and columns:
        changed[both] = differ(columns, old[both], new[both])
    leaving, coming = np.flatnonzero(changed & held[old]), np.flatnonzero(changed & held[new])
    at = np.concatenate([old[leaving], new[coming]])
    times = np.concatenate([time[leaving], time[coming]])
    sign = np.ones(len(at), np.int8)
    sign[: len(leaving)] = -1
    order = time_order(times)
    at, exp = at[order], np.full(len(at), FOREVER, np.int64)
    keys = groups.rows(np.concatenate([events.groups, code])[at])
    typed = [_typed(a, k) for a, k in zip(keys, schema.types, strict=False)]
    rows = batch_of([*typed, *(_taken(c, at) for c in columns)], schema, len(at))
    return Delta(times[order], exp, sign[order], rows)


def _typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


def _is_plain(column: pa.Array) -> bool:
    """Whether numpy sees its values where they lie: many intervals are short, and numpy takes a
    tenth of the time that Arrow takes for a few values."""
    kind = column.type
    return not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _taken(column: pa.Array, at: Int64s) -> pa.Array:
    if not _is_plain(column):
        return column.take(pa.array(at))
    return fixed_array(numpy_view(column)[at], None, column.type)


def differ(columns: Sequence[pa.Array], old: Int64s, new: Int64s) -> npt.NDArray[np.bool_]:
    """Whether rows ``old`` and ``new`` differ in any column; NULL equals NULL, NaN equals NaN."""
    found = np.zeros(len(old), np.bool_)
    for column in columns:
        if _is_plain(column):
            values = numpy_view(column)
            before, after = values[old], values[new]
            different = before != after
            if pa.types.is_floating(column.type):
                different &= ~(np.isnan(before) & np.isnan(after))
            found |= different
            continue
        a, b = (comparable_column(column.take(pa.array(at))) for at in (old, new))
        different = pc.fill_null(pc.not_equal(a, b), False).to_numpy(zero_copy_only=False).copy()
        if pa.types.is_floating(column.type):
            nans = [
                pc.fill_null(pc.is_nan(x), False).to_numpy(zero_copy_only=False) for x in (a, b)
            ]
            different &= ~(nans[0] & nans[1])
        if column.null_count:
            nulls = [x.is_null().to_numpy(zero_copy_only=False) for x in (a, b)]
            different |= nulls[0] != nulls[1]
        found |= different
    return found
