"""Rows that fail a condition are left out as soon as they are read, if no query looks at them.

They have been read, judged by type and are counted; only what comes after that is spared. What is
late or ahead is found out by the timestamps of all rows, which stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Bools, Int64s
from windrow.columns.delta import take
from windrow.columns.evaluate import selection_mask
from windrow.core.errors import WindrowError
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.plan.expressions import Expression, columns_of, conjuncts, replace_columns
from windrow.tables.parsed_rows import Choice, Parsed, plain_column


def choose(parsed: Parsed, condition: Expression, declaration: StreamDeclaration) -> Parsed:
    """Without the rows for which the condition is not true."""
    if declaration.timestamp == NO_TIMESTAMP:
        return parsed
    positions = chosen_positions(condition, parsed.rows.columns)
    if len(positions) == len(parsed):
        return parsed
    ts = parsed.rows.column(declaration.timestamp).cast(pa.int64()).to_numpy()
    return replace(parsed, rows=take(parsed.rows, positions), choice=Choice(positions, ts))


def chosen_positions(condition: Expression, columns: Sequence[pa.Array]) -> Int64s:
    """Where the condition is true of the columns, some of which may be dictionaries.

    A part of it that is about such a column alone is asked of each value in the dictionary once.
    If it cannot be computed of some row, all rows count: whoever asks it again will say why.
    """
    count = len(columns[0])
    try:
        found = np.ones(count, np.bool_)
        for part in conjuncts(condition):
            found &= _truth(part, columns)
    except WindrowError:
        return np.arange(count, dtype=np.int64)
    return np.flatnonzero(found)


def _truth(condition: Expression, columns: Sequence[pa.Array]) -> Bools:
    used = sorted({column.index for column in columns_of(condition)})
    condition = replace_columns(condition, lambda c: replace(c, index=used.index(c.index)))
    arrays = [columns[index] for index in used]
    if len(arrays) > 1 or not isinstance(arrays[0], pa.DictionaryArray):
        return _mask(condition, [plain_column(array) for array in arrays])
    (array,) = arrays
    nothing = pa.nulls(1, array.dictionary.type)
    by_code = _mask(condition, [pa.concat_arrays([array.dictionary, nothing])])
    codes = array.indices
    if codes.null_count:
        codes = codes.fill_null(len(array.dictionary))
    found: Bools = by_code.take(codes.to_numpy())
    return found


def _mask(condition: Expression, arrays: Sequence[pa.Array]) -> Bools:
    rows = pa.RecordBatch.from_arrays(list(arrays), [str(n) for n in range(len(arrays))])
    return selection_mask(condition, rows)
