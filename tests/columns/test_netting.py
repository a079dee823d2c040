"""What is left of signed rows, against a count of equal ones."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import netting
from windrow.columns.netting import surplus_rows

ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, 0, 1]),
        st.sampled_from([None, "", "a", "b"]),
        st.sampled_from([None, 0.0, 1.5]),
        st.sampled_from([1, -1]),
    ),
    max_size=30,
)


def kept(rows: list[tuple[object, ...]]) -> tuple[list[bool], Counter[object]]:
    columns = [
        pa.array([row[place] for row in rows], kind)
        for place, kind in enumerate((pa.int64(), pa.string(), pa.float64()))
    ]
    sign = np.array([row[3] for row in rows], np.int8)
    mask = surplus_rows(columns, sign).tolist()
    left: Counter[object] = Counter(row for row, there in zip(rows, mask, strict=True) if there)
    return mask, left


def net(rows: list[tuple[object, ...]]) -> Counter[object]:
    """Of each value as many as there are more of one sign than of the other."""
    total: Counter[object] = Counter()
    for *values, sign in rows:
        total[*values] += sign
    return Counter({(*v, 1 if n > 0 else -1): abs(n) for v, n in total.items() if n})


@given(rows=ROWS)
def test_equal_rows_of_opposite_sign_cancel_and_no_others(rows):
    _, left = kept(rows)
    assert left == net(rows)


@given(rows=ROWS)
def test_rows_whose_hashes_are_equal_are_compared(rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netting, "hash_rows", lambda _, length: np.zeros(length, np.int64))
        collided = kept(rows)
    assert collided == kept(rows)


def test_rows_that_no_other_is_equal_to_all_stay():
    mask, _ = kept([(n, "a", None, (-1) ** n) for n in range(1_000)])
    assert all(mask)
