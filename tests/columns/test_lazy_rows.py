"""Lazy rows are the rows of a store as it was, whatever becomes of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.columns.lazy_rows import LazyRows
from windrow.columns.stored_columns import RowStore

pytestmark = pytest.mark.usefixtures("sizes")

INSIDE = pa.struct([("n", pa.string()), ("i", pa.int64())])
SCHEMA = pa.schema(
    [("i", pa.int64()), ("s", pa.string()), ("l", pa.list_(pa.string())), ("t", INSIDE)]
)
texts = st.none() | st.text(max_size=5)
values = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-9, 9),
        "s": texts,
        "l": st.none() | st.lists(texts, max_size=3),
        "t": st.none() | st.fixed_dictionaries({"n": texts, "i": st.integers(0, 9)}),
    }
)
batches = st.lists(values, max_size=8).map(lambda rows: pa.RecordBatch.from_pylist(rows, SCHEMA))


@given(parts=st.lists(batches, max_size=6), dropped=st.integers(0, 20), data=st.data())
def test_they_are_the_rows_of_then(
    parts: list[pa.RecordBatch], dropped: int, data: st.DataObject
) -> None:
    store, taken = RowStore(SCHEMA), []
    for part in parts:
        store.append(part)
        if len(store):
            position = st.integers(store.base, store.next - 1)
            at = np.array(data.draw(st.lists(position, max_size=6)), np.int64)
            lazy = LazyRows(
                [at, at[::-1]], [(i % 2, column) for i, column in enumerate(store.snapshot())],
                SCHEMA, len(at),
            )  # fmt: skip
            there, back = store.take(at), store.take(at[::-1])
            wanted = [(there, back)[i % 2].column(i) for i in range(len(SCHEMA))]
            taken.append((lazy, pa.RecordBatch.from_arrays(wanted, schema=SCHEMA)))
        store.drop_before(dropped)
    for lazy, wanted in taken:
        none = np.zeros(len(wanted), np.int64)
        delta = Delta.insertions(none, lazy)
        assert delta.slice(1, 4).rows.equals(wanted.slice(1, 3))
        some = np.flatnonzero(np.arange(len(wanted)) % 2)
        assert delta.take(some).rows.equals(wanted.take(pa.array(some)))
        assert lazy.column(1).equals(wanted.column(1))
        fewer = pa.schema([SCHEMA.field(3), SCHEMA.field(1)])
        assert Delta.insertions(none, lazy.select([3, 1], fewer)).rows.equals(
            pa.RecordBatch.from_arrays([wanted.column(3), wanted.column(1)], schema=fewer)
        )
        assert delta.without_lazy_rows().content.equals(wanted)
