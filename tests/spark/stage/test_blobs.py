"""Blobs: what goes in comes out, aligned."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta, batch_of
from windrow.core.time import FOREVER
from windrow.spark.stage.blobs import ALIGNMENT, pack, pack_delta, unpack, unpack_delta

ROWS = pa.schema([("k", pa.int32()), ("s", pa.string()), ("x", pa.float64())])


def batch(keys: list[int | None], texts: list[str | None]) -> pa.RecordBatch:
    columns = [pa.array(keys, pa.int32()), pa.array(texts, pa.string())]
    return pa.RecordBatch.from_arrays([*columns, pa.array([0.5] * len(keys))], schema=ROWS)


@given(header=st.text(), rows=st.lists(st.tuples(st.none() | st.integers(0, 9), st.text())))
def test_header_and_batches_survive_packing(header, rows):
    first = batch([k for k, _ in rows], [s for _, s in rows])
    second = first.slice(len(rows) // 2)
    blob = pack({"note": header}, {"a": first, "b": second})
    assert len(blob) % ALIGNMENT == 0
    assert unpack(blob) == ({"note": header}, {"a": first, "b": second})
    assert unpack(bytearray(blob)) == unpack(pa.py_buffer(blob))


def test_a_slice_is_packed_without_the_rows_around_it():
    whole = batch(list(range(10_000)), ["text"] * 10_000)
    assert len(pack({}, {"a": whole.slice(5_000, 1)})) < 2_000


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exp", [FOREVER, 50])
def test_a_delta_survives_with_its_expiries_and_signs(exp, sign):
    delta = Delta(
        np.array([1, 2, 3]),
        np.array([FOREVER, exp, FOREVER]),
        np.array([1, 1, sign], np.int8),
        batch([1, None, 3], ["a", None, "c"]),
    )
    again = unpack_delta(pack_delta(delta), ROWS)
    assert again.to_batch() == delta.to_batch()


def test_insertions_that_live_for_ever_carry_their_time_only():
    delta = Delta.insertions(np.array([1, 2]), batch([1, 2], ["a", "b"]))
    assert pack_delta(delta).num_columns == 1 + len(ROWS)


def test_a_delta_without_columns_keeps_its_length():
    nothing = pa.schema([])
    delta = Delta.insertions(np.array([1, 2]), batch_of([], nothing, 2))
    again = unpack_delta(pack_delta(delta), nothing)
    assert len(again) == again.rows.num_rows == 2
