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


def test_a_query_that_meets_such_a_time_stops_and_others_go_on() -> None:
    with windrow.connect() as connection:
        early, whole = connection.execute("""
            CREATE STREAM s (ts BIGINT, id INT);
            CREATE VIEW v AS
              SELECT CASE WHEN id = 3 THEN ts - 5 ELSE ts END AS t, id FROM s TIMESTAMP BY t;
            CREATE QUERY early AS SELECT id FROM v;
            CREATE QUERY whole AS SELECT id FROM s;
        """)
        with pytest.raises(windrow.DataError, match=r"query early, TIMESTAMP BY t: .* found 6"):
            connection.push("s", [{"ts": 10, "id": 1}, {"ts": 11, "id": 3}, {"ts": 12, "id": 4}])
        connection.push("s", [{"ts": 13, "id": 5}])
        connection.advance(to=13)
        with pytest.raises(windrow.StateError, match="query early: it has no answer"):
            early.answer()
        assert whole.answer()["id"].to_pylist() == [1, 3, 4, 5]
