"""Sessions end by themselves, and what they leave behind is bounded."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.time import FOREVER
from windrow.operators.session_windows import OpenSessions

SCHEMA = pa.schema([("k", pa.int64())])


def came(ts: list[int], keys: list[int]) -> Delta:
    rows = pa.RecordBatch.from_arrays([pa.array(keys, pa.int64())], schema=SCHEMA)
    return Delta.insertions(np.array(ts, np.int64), rows)


def test_a_silence_as_long_as_the_gap_ends_a_session_and_a_shorter_one_does_not() -> None:
    window = OpenSessions(SCHEMA, [0], 5)
    found = window.process([came([0, 4, 9], [1, 1, 1])], 9)
    left = found.filter(found.sign < 0)
    assert left.ts.tolist() == [9, 9]  # the tuples of 0 and 4; the one of 9 begins a session
    assert window.size() == 1
    found = window.process([Delta.empty(SCHEMA)], 20)
    assert (found.ts.tolist(), found.sign.tolist()) == ([14], [-1])
    assert window.size() == 0


def test_keys_that_never_come_again_are_forgotten() -> None:
    window = OpenSessions(SCHEMA, [0], 2)
    most = 0
    for t in range(60):
        keys = list(range(1_000 * t, 1_000 * t + 1_000))
        window.process([came([t] * 1_000, keys)], t)
        most = max(most, len(window.interner))
    assert window.size() == 2_000
    assert most < 20_000  # of 60,000 keys


def test_a_session_at_the_end_of_time_does_not_end() -> None:
    window = OpenSessions(SCHEMA, [0], 10)
    found = window.process([came([FOREVER - 4, FOREVER - 1], [1, 1])], FOREVER - 1)
    assert found.sign.tolist() == [1, 1]
    assert window.size() == 2
