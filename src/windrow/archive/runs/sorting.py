"""Entries into the order of a run: by key, and within a key by stamp.

Distinct keys are few compared with entries, so only they are compared: each entry gets the rank
of its key, and one counting sort in linear time gives the order and, as its running totals, the
directory. It is stable, so entries that are equal in key and stamp keep their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.runs.search import directory_type
from windrow.columns.arrays import Int64s

_kernels = Kernels("windrow.archive.runs.kernels.sort_kernels")


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
