"""Which records are found under which keys, where the key of a record is a list.

Such records stand in a run once each, in the order in which they came. The run's directory has for
each key the rows of the records whose list has it, in ascending order. A value that a list has more
than once is one key of the record; NULL is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.layout import Layout, one_of_each
from windrow.archive.runs.sorting import arrange, rank, sortable
from windrow.columns.arrays import Int64s

_kernels = Kernels("windrow.archive.runs.kernels.sort_kernels")


@dataclass(frozen=True)
class Listing:
    """Distinct keys in ascending order, a column each; where in ``rows`` those of each key start,
    with an element more for the end; and the rows.
    """

    distinct: Sequence[pa.Array]
    starts: Int64s
    rows: Int64s


def listing_of(layout: Layout, records: pa.Table) -> Listing:
    """The keys of records; the first of them is row 0."""
    keys, parents = _keys(layout, records)
    ranked = rank([sortable(column) for column in keys])
    order, starts = arrange(ranked.ranks, len(ranked), np.zeros(0, np.int64))
    rows = parents[order[: int(starts[-1])]]
    again = np.zeros(len(rows), np.bool_)
    again[1:] = rows[1:] == rows[:-1]
    again[starts[:-1]] = False  # where another key begins
    starts = starts - np.append(0, np.cumsum(again))[starts]
    return Listing(ranked.distinct, starts, rows[~again])


def _keys(layout: Layout, records: pa.Table) -> tuple[list[pa.Array], Int64s]:
    """The columns of the key with a row for each value of a list, and whose they are."""
    assert layout.list_key is not None, "records have lists for keys"
    lists = _whole(records.column(layout.list_key))
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
    parents = np.repeat(np.arange(len(lists)), lengths)
    values = pc.list_flatten(lists)
    if pa.types.is_floating(values.type):
        values = one_of_each(values)
    repeated = pa.array(parents)
    keys = [
        values if name == layout.list_key else _whole(records.column(name)).take(repeated)
        for name in layout.key
    ]
    return keys, parents


def _whole(column: pa.ChunkedArray) -> pa.Array:
    found = column.combine_chunks()
    return found if isinstance(found, pa.Array) else pa.concat_arrays(found.chunks)


def merged_listing(inputs: Sequence[tuple[Listing, Int64s]]) -> Listing:
    """Listings of several runs as one. Beside each are the new rows of its run's records, -1 for
    one that is left out; those of a later input are all after those of an earlier one.
    """
    width = len(inputs[0][0].distinct)
    columns = [pa.concat_arrays([one.distinct[i] for one, _ in inputs]) for i in range(width)]
    ranked = rank(columns)
    ends = np.cumsum([len(one.starts) - 1 for one, _ in inputs])
    ranks = np.split(ranked.ranks, ends[:-1])
    starts = np.zeros(len(ranked) + 1, np.int64)
    for (one, moved), own in zip(inputs, ranks, strict=True):
        _kernels.count_rows(own, one.starts, one.rows, moved, starts)
    starts = np.cumsum(starts)
    rows, free = np.empty(int(starts[-1]), np.int64), starts[:-1].copy()
    for (one, moved), own in zip(inputs, ranks, strict=True):
        _kernels.fill_rows(own, one.starts, one.rows, moved, free, rows)
    left = np.diff(starts) > 0
    distinct = [column.filter(pa.array(left)) for column in ranked.distinct]
    return Listing(distinct, np.append(starts[:-1][left], starts[-1]), rows)
