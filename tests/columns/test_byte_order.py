"""Keys and bytes together are in the order of the values; a column that is cut goes on there."""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.byte_forms import byte_parts
from windrow.columns.byte_order import comes_first, leading_keys
from windrow.columns.growable import Growable
from windrow.columns.stored_columns import BytesColumn

TEXTS = [
    "",
    "a",
    "a\0",
    "a\0b",
    "ab",
    "abcdefgh",
    "abcdefgh\0",
    "abcdefghi",
    "é",
    "éa",
    "\U0001f600",
]
DECIMALS = [Decimal(n) for n in ("-9" * 1, "-0.01", "0", "0.01", "9" * 25, "-" + "9" * 25)]


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(
    ("values", "kind"), [(TEXTS, pa.string()), (DECIMALS, pa.decimal128(30, 2))]
)
def test_a_value_comes_first_if_it_is_less_or_greater(
    values: list[object], kind: pa.DataType, largest: bool
) -> None:
    array = pa.array([values[0], *values], kind).slice(1)  # what does not begin at its start
    column = BytesColumn(kind)
    column.append(pa.array([values[-1]], kind))
    column.append(array)
    column.drop_before(1)
    keys, ties = leading_keys(*byte_parts(array), largest), column.ties(largest)
    order = [v.encode() if isinstance(v, str) else v for v in values]
    for i, j in product(range(len(values)), repeat=2):
        before = order[i] > order[j] if largest else order[i] < order[j]
        assert comes_first(keys[i], i + 1, keys[j], j + 1, ties) == before


@given(st.lists(st.tuples(st.sampled_from(["append", "cut", "drop", "lend"]), st.integers(0, 9))))
def test_a_column_that_is_cut_and_dropped_has_what_a_list_would_have(steps) -> None:
    column, numbers, kept, base = BytesColumn(pa.string()), Growable(np.int64), list[str](), 0
    lent: list[tuple[np.ndarray, list[int]]] = []
    for number, (step, size) in enumerate(steps):
        if step == "append":
            new = [f"{number}-{i}" * i for i in range(size)]
            column.append(pa.array(new, pa.string()))
            numbers.append(np.array([len(text) for text in new], np.int64))
            kept += new
        elif step == "lend":
            lent.append((numbers.lend(), numbers.view.tolist()))
        else:
            at = min(size, len(kept))
            if step == "cut":
                column.cut(base + at)
                numbers.cut(base + at)
                del kept[at:]
            else:
                column.drop_before(base + at)
                numbers.drop_before(base + at)
                del kept[:at]
                base += at
        positions = np.arange(base, base + len(kept))
        assert column.take(positions).to_pylist() == kept
        assert numbers.take(positions).tolist() == [len(text) for text in kept]
        assert all(values.tolist() == was for values, was in lent)
