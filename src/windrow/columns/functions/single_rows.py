"""``single_row(value, rows, relation, column, key, ...)``: a value that is of one row at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from windrow.columns.functions.operands import Kernel, Operand, as_array, bools, length_of
from windrow.core.errors import DataError
from windrow.plan.expressions import Call


def single_row(args: Sequence[Operand], _: Call) -> Operand:
    """The value of a sub-query by the PRIMARY KEY of a relation; DataError where it has two."""
    length = length_of(args)
    value, rows, relation, *key = args
    counts = as_array(rows, length)
    many = bools(pc.greater(counts, 1))
    if many.any():
        place = int(np.argmax(many))
        shown = [as_array(part, length)[place].as_py() for part in key]
        names, values = shown[::2], shown[1::2]
        where = " and ".join(f"{n} = {v!r}" for n, v in zip(names, values, strict=True))
        raise DataError(
            where=f"a sub-query by the PRIMARY KEY ({', '.join(names)}) of {relation.as_py()}",
            expected="one row",
            found=f"{counts[place].as_py()} rows where {where}",
            remedy="delete the row that is replaced with a '-' before, or at the instant at which "
            "the new one comes, or aggregate: MIN(...)",
        )
    return value


KERNELS: dict[str, Kernel] = {"single_row": single_row}
