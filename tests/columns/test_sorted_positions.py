"""Rows in an order, with ties told apart by further columns."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.value_order import sorted_positions

ROWS = st.lists(
    st.tuples(
        st.none() | st.integers(0, 2), st.none() | st.sampled_from(["a", "b", "bb"]),
        st.none() | st.sampled_from([0.5, -1.0, float("nan")]),
    ),
    max_size=12,
)  # fmt: skip


@given(rows=ROWS, descending=st.booleans())
def test_ties_are_in_the_order_of_the_other_columns_as_if_all_were_keys(rows, descending):
    kinds = (pa.int64(), pa.string(), pa.float64())
    first, second, third = (pa.array([r[i] for r in rows], kinds[i]) for i in range(3))
    keys = [(first, descending)]
    everything = [*keys, (second, False), (third, False)]
    assert sorted_positions(keys, [second, third]).tolist() == sorted_positions(everything).tolist()
