"""Tuples wait for their own time, and none goes back in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.columns.delta import Delta
from windrow.operators.retime import Retime

SCHEMA = pa.schema([("w", pa.int64())])


def came(ts: list[int], times: list[int | None]) -> Delta:
    rows = pa.RecordBatch.from_arrays([pa.array(times, pa.int64())], schema=SCHEMA)
    return Delta.insertions(np.array(ts, np.int64), rows)


def test_tuples_come_in_the_order_of_their_own_times_when_these_have_come() -> None:
    operator = Retime(SCHEMA, 0, "w")
    assert operator.process([came([1, 2, 3], [9, 4, 3])], 3).ts.tolist() == [3]
    saved, again = operator.save(), Retime(SCHEMA, 0, "w")
    again.load(saved.put, saved.meta)
    for one in (operator, again):
        assert one.size() == 2
        assert one.process([came([8], [8])], 8).ts.tolist() == [4, 8]
        assert one.process([Delta.empty(SCHEMA)], 20).rows["w"].to_pylist() == [9]


@pytest.mark.parametrize("time", [4, None])
def test_a_time_before_the_tuples_own_is_an_error_that_says_what_to_do(time: int | None) -> None:
    with pytest.raises(windrow.WindrowError, match="TIMESTAMP BY w: expected a time at or after"):
        Retime(SCHEMA, 0, "w").process([came([5], [time])], 5)
