"""Interning, row stores and hashes against plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.hashing import bucket_of
from windrow.columns.interner import Interner
from windrow.columns.stored_columns import RowStore

KINDS = {
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.string(): st.text(max_size=12),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False).map(lambda x: x + 0.0),
    pa.timestamp("us"): st.integers(-(2**55), 2**55),
    pa.date32(): st.integers(-100_000, 100_000),
}


@st.composite
def batches(draw: st.DrawFn) -> pa.RecordBatch:
    kinds = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3))
    rows = draw(st.integers(0, 25))
    arrays = [
        pa.array(draw(st.lists(st.none() | KINDS[k], min_size=rows, max_size=rows)), k)
        for k in kinds
    ]
    return pa.RecordBatch.from_arrays(arrays, [str(i) for i in range(len(arrays))])


def rows_of(batch: pa.RecordBatch) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in batch.to_pylist()]


@given(batches())
def test_rows_in_the_order_of_their_codes_get_the_same_codes_again(batch: pa.RecordBatch) -> None:
    interner = Interner(batch.schema.types)
    interner.codes(batch.columns, batch.num_rows)
    count = len(interner)
    again = Interner(batch.schema.types).codes(interner.rows(np.arange(count)), count)
    assert again.tolist() == list(range(count))


@given(batches(), st.integers(0, 25))
def test_equal_rows_and_only_those_get_the_same_code(batch: pa.RecordBatch, cut: int) -> None:
    interner = Interner(batch.schema.types)
    parts = [batch.slice(0, cut), batch.slice(min(cut, batch.num_rows))]
    codes = np.concatenate([interner.codes(p.columns, p.num_rows) for p in parts])
    numbers: dict[tuple[object, ...], int] = {}
    for row, code in zip(rows_of(batch), codes.tolist(), strict=True):
        assert numbers.setdefault(row, code) == code
    assert len(set(numbers.values())) == len(numbers) <= len(interner) <= len(numbers) + 1
    back = pa.RecordBatch.from_arrays(interner.rows(codes), batch.schema.names)
    assert back.equals(batch)


@given(batches(), st.data())
def test_compacting_keeps_the_living_and_forgets_the_rest(
    batch: pa.RecordBatch, data: st.DataObject
) -> None:
    interner = Interner(batch.schema.types)
    interner.codes(batch.columns, batch.num_rows)
    everything = np.arange(len(interner))
    live = np.array([c for c in everything if data.draw(st.booleans())], np.int64)
    before = [a.to_pylist() for a in interner.rows(live)]
    remap = interner.compact(live)
    assert len(live) <= len(interner) <= len(live) + 1
    assert [a.to_pylist() for a in interner.rows(remap[live])] == before
    assert set(np.flatnonzero(remap < 0)) == set(everything) - set(live)


@given(st.lists(batches(), max_size=1), st.data())
def test_a_row_store_gives_back_what_was_put_at_each_position(
    some: list[pa.RecordBatch], data: st.DataObject
) -> None:
    for batch in some:
        store, kept, base = RowStore(batch.schema), [], 0
        for _ in range(data.draw(st.integers(1, 6))):
            start = data.draw(st.integers(0, batch.num_rows))
            part = batch.slice(start)
            assert store.append(part) == base + len(kept)
            kept += rows_of(part)
            drop = data.draw(st.integers(0, len(kept)))
            store.drop_before(base + drop)
            base, kept = base + drop, kept[drop:]
            positions = np.arange(base, base + len(kept), dtype=np.int64)[::-1].copy()
            assert rows_of(store.take(positions)) == kept[::-1]


def test_equal_values_of_different_widths_choose_the_same_bucket() -> None:
    values = [0, 1, -1, 2**31 - 1, None]
    narrow, wide = pa.array(values, pa.int32()), pa.array(values, pa.int64())
    assert bucket_of([narrow], 7).tolist() == bucket_of([wide], 7).tolist()


def test_buckets_are_the_same_on_every_machine() -> None:
    """A checkpoint depends on them: a change of the hash is a change of the format."""
    words = pa.array(["", "a", "ab", "a longer word than eight bytes", "é", None])
    numbers = pa.array([0, 1, 2, 3, 4, 5])
    assert bucket_of([words, numbers], 1000).tolist() == GOLDEN


GOLDEN = [0, 149, 397, 118, 198, 349]
