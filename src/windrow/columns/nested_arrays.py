"""Arrow's lists and structs over what is inside them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, validity


def is_nested(kind: pa.DataType) -> bool:
    """Whether values of the type are ARRAYs or STRUCTs."""
    return bool(pa.types.is_list(kind) or pa.types.is_struct(kind))


def list_lengths(array: pa.Array) -> Int64s:
    """How many values each list has; 0 for NULL."""
    lengths = pc.list_value_length(array)
    filled = lengths.fill_null(0) if lengths.null_count else lengths
    return np.asarray(filled.to_numpy(zero_copy_only=False), np.int64)


def stretch_positions(starts: Int64s, lengths: Int64s) -> Int64s:
    """The positions of stretches one behind the other.

    >>> stretch_positions(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()), dtype=np.int64)


def list_array(
    lengths: Int64s, items: pa.Array, valid: Bools | None, kind: pa.DataType
) -> pa.Array:
    """Lists of so many of the items each, one behind the other; NULL where not ``valid``."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets), items, type=kind, mask=mask)


def struct_array(fields: Sequence[pa.Array], valid: Bools | None, kind: pa.DataType) -> pa.Array:
    """Structs of columns; NULL where not ``valid``."""
    mask = None if valid is None or valid.all() else pa.array(~valid)
    names = [kind.field(i) for i in range(kind.num_fields)]
    return pa.StructArray.from_arrays(list(fields), fields=names, mask=mask)


def with_one_zero(array: pa.Array) -> pa.Array:
    """The values with 0.0 for -0.0 inside, which is equal to it."""
    kind = array.type
    if pa.types.is_list(kind):
        items = with_one_zero(array.flatten())
        return list_array(list_lengths(array), items, validity(array), kind)
    if pa.types.is_struct(kind):
        fields = [with_one_zero(field) for field in array.flatten()]
        return struct_array(fields, validity(array), kind)
    return pc.add(array, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else array
