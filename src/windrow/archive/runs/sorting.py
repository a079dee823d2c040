"""Entries into the order of a run: by key, and within a key by stamp.

Distinct keys are few compared with entries, so only they are compared: each entry gets the rank
of its key, and one counting sort in linear time gives the order and, as its running totals, the
directory. It is stable, so entries that are equal in key and stamp keep their order.

Records whose key is a list stand in a run once each, in the order in which they came. The run's
directory has a *listing*: for each key the rows of the records whose list has it, in ascending
order. A value that a list has more than once is one key of the record; NULL is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.layout import Layout, one_array, one_of_each
from windrow.archive.runs.search import directory_type
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

_ENOUGH = Threshold(100_000)
A = TypeVar("A")
B = TypeVar("B")
_kernels = Kernels("windrow.archive.runs.entry_kernels")


def map_columns(function: Callable[[A], B], items: Iterable[A], rows: int) -> list[B]:
    """``map`` over columns of so many rows, in threads if they are long enough to pay for them."""
    if rows < _ENOUGH.value or pa.cpu_count() == 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - seldom, and not light

    with ThreadPoolExecutor(pa.cpu_count()) as threads:
        return list(threads.map(function, items))


def take_rows(table: pa.Table, order: npt.NDArray[np.int64]) -> pa.Table:
    """A table's rows in another order."""
    positions = pa.array(order)
    columns = map_columns(lambda column: column.take(positions), table.columns, len(table))
    return pa.table(columns, schema=table.schema)


@dataclass(frozen=True)
class Ranked:
    """Keys as ranks among the distinct ones, which are in ascending order, a column each.

    A key that is (or contains) NULL is not among them; its rank is their number.
    """

    ranks: Int64s
    distinct: tuple[pa.Array, ...]

    def __len__(self) -> int:
        """How many distinct keys there are."""
        return len(self.distinct[0])


def rank(columns: list[pa.Array]) -> Ranked:
    """Keys of one or more columns, ranked; the order is lexicographic."""
    codes, values = _rank_one(columns[0])
    distinct = [values]
    for column in columns[1:]:
        more, values = _rank_one(column)
        wide = codes * (len(values) + 1) + more
        wide[(codes == len(distinct[0])) | (more == len(values))] = -1
        pairs = pa.array(wide, mask=wide < 0)
        codes, kept = _rank_one(pairs)
        left, right = np.divmod(kept.to_numpy(zero_copy_only=False), len(values) + 1)
        distinct = [d.take(pa.array(left)) for d in distinct] + [values.take(pa.array(right))]
    return Ranked(codes, tuple(distinct))


def sortable(keys: pa.Array) -> pa.Array:
    """Keys in a type that Arrow ranks: it does not half floats and short decimals."""
    kind = keys.type
    is_number = pa.types.is_float16(kind) or pa.types.is_decimal(kind)
    return keys.cast(directory_type(kind)) if is_number else keys


def _rank_one(column: pa.Array) -> tuple[Int64s, pa.Array]:
    encoded = column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()
    values = encoded.dictionary
    order = pc.sort_indices(values).to_numpy()
    place = np.empty(len(values) + 1, np.int64)
    place[order] = np.arange(len(values))
    place[-1] = len(values)
    indices = encoded.indices
    if indices.null_count:
        indices = pc.fill_null(indices.cast(pa.int64()), len(values))
    ranks: Int64s = place[indices.to_numpy(zero_copy_only=False)]
    return ranks, values.take(pa.array(order))


def arrange(
    ranks: Int64s, distinct: int, stamps: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], Int64s]:
    """(order, starts): the positions of entries in a run's order, and where each bucket starts.

    ``starts`` has an element more than there are distinct keys: where entries without a key start.
    """
    first = None
    if len(stamps) > 1 and bool(np.any(stamps[1:] < stamps[:-1])):
        first = np.argsort(stamps, kind="stable")
        ranks = ranks[first]
    starts = np.zeros(distinct + 2, np.int64)
    order = np.empty(len(ranks), np.int64)
    _kernels.place(np.ascontiguousarray(ranks), starts, order)
    return (order if first is None else first[order]), starts[:-1]


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
    lists = one_array(records.column(layout.list_key))
    lengths = np.asarray(pc.fill_null(pc.list_value_length(lists), 0)).astype(np.int64)
    parents = np.repeat(np.arange(len(lists)), lengths)
    values = pc.list_flatten(lists)
    if pa.types.is_floating(values.type):
        values = one_of_each(values)
    repeated = pa.array(parents)
    keys = [
        values if name == layout.list_key else one_array(records.column(name)).take(repeated)
        for name in layout.key
    ]
    return keys, parents


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
