"""Packing sends every tuple to one bucket per edge, and word of time to all."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.spark.stage.blobs import unpack, unpack_delta
from windrow.spark.stage.packing import PACKED_ARROW, blobs, packed_batch, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.stream_time import StreamTime, from_json

BUCKETS = (3, 5, 11, 12)
COMPILED = compile_script("""
CREATE STREAM l (ts BIGINT, k INT, v INT) TIMESTAMP BY ts;
CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
CREATE QUERY q AS SELECT l.v, COUNT(*) FROM l [RANGE 9], r [RANGE 9]
  WHERE l.k = r.k AND l.v > 0 GROUP BY l.v;
""")
STAGES = cut_into_stages(COMPILED.queries[0].plan)


def delta_of(stream: str, ts: list[int], **columns: list[int | None]) -> Delta:
    schema = arrow_schema(COMPILED.catalog.find(stream).schema)
    values = [ts, *columns.values()]
    arrays = [pa.array(v, f.type) for v, f in zip(values, schema, strict=True)]
    return Delta.insertions(
        np.array(ts, np.int64), pa.RecordBatch.from_arrays(arrays, schema=schema)
    )


def placed(stream: str, delta: Delta) -> dict[tuple[int, ...], int]:
    """The bucket of each tuple that is sent to the first stage."""
    found = {}
    (edge,) = [e for e in STAGES[0].inputs if e.source == stream]
    for stage, bucket, blob in blobs(scatter(delta, Routes.of(stream, STAGES, BUCKETS), {})):
        assert stage == 0
        _, parts = unpack(blob)
        rows = unpack_delta(parts[edge.name], arrow_schema(edge.pre.schema))
        for ts, row in zip(rows.ts, rows.rows.to_pylist(), strict=True):
            key = (int(ts), *row.values())
            assert key not in found
            found[key] = bucket
    return found


keys = st.lists(st.none() | st.integers(-9, 9), min_size=1, max_size=40)


@given(keys)
def test_every_selected_tuple_goes_to_exactly_one_bucket(values):
    delta = delta_of("l", list(range(len(values))), k=values, v=[i % 3 for i in range(len(values))])
    assert {ts for ts, *_ in placed("l", delta)} == {i for i in range(len(values)) if i % 3}


@given(keys)
def test_partners_of_a_join_meet_though_their_keys_have_different_widths(values):
    left = placed("l", delta_of("l", list(range(len(values))), k=values, v=[1] * len(values)))
    right = placed("r", delta_of("r", list(range(len(values))), k=values))
    of_key = {row[-1]: bucket for row, bucket in right.items()}
    assert {ts for ts, *_ in left} == set(range(len(values)))
    assert all(bucket == of_key[values[ts]] for (ts, *_), bucket in left.items())


def test_tuples_are_spread_over_all_buckets():
    used = set(placed("r", delta_of("r", list(range(200)), k=list(range(200)))).values())
    assert used == set(BUCKETS)


def test_every_bucket_hears_of_time_and_one_of_the_counts():
    parcels = scatter(delta_of("r", [1], k=[1]), Routes.of("r", STAGES, BUCKETS), {}, (4, 0))
    tell(parcels, 0, BUCKETS, {"r": StreamTime(7)}, {"rows_in": 1})
    batch = packed_batch(blobs(parcels))
    assert batch.schema == PACKED_ARROW
    headers = {
        b: unpack(x)[0]
        for b, x in zip(*(batch[c].to_pylist() for c in ("bucket", "blob")), strict=True)
    }
    assert set(headers) == set(BUCKETS)
    assert all(from_json(h["times"]) == {"r": StreamTime(7)} for h in headers.values())
    assert [h["counts"] for h in headers.values() if "counts" in h] == [{"rows_in": 1}]


def test_what_overflows_while_it_is_packed_is_counted_also_if_no_bucket_gets_it():
    most = 2**63 - 1
    script = """CREATE STREAM r (ts BIGINT, k BIGINT) TIMESTAMP BY ts;
        CREATE QUERY q AS SELECT k FROM r [RANGE 9] WHERE k * 2 > 0;"""
    cut = cut_into_stages(compile_script(script).queries[0].plan)
    counts = {"rows_in": 3}
    delta = delta_of("r", [1, 2, 3], k=[most, 0, -most])
    assert not scatter(delta, Routes.of("r", cut, BUCKETS), counts)
    assert counts == {"rows_in": 3, "overflows": 2}


def test_a_batch_of_no_blobs_has_the_packed_columns():
    assert packed_batch([]).schema == PACKED_ARROW


def test_groups_travel_and_not_rows_to_a_group_by_over_sub_windows():
    script = """CREATE STREAM l (ts BIGINT, k INT, v INT) TIMESTAMP BY ts;
    CREATE QUERY q AS SELECT k, SUM(v) FROM l [RANGE 30 SECONDS SLIDE 10 SECONDS] GROUP BY k;"""
    stages = cut_into_stages(compile_script(script).queries[0].plan)
    ts = list(range(1, 41)) * 50  # four sub-windows, in no order
    delta = delta_of("l", ts, k=[i % 3 for i in range(2_000)], v=list(range(2_000)))
    (edge,) = stages[0].inputs
    sent = [
        unpack_delta(unpack(blob)[1][edge.name], arrow_schema(edge.schema))
        for _, _, blob in blobs(scatter(delta, Routes.of("l", stages, BUCKETS), {}))
    ]
    assert sum(len(part) for part in sent) == 4 * 3
    assert sum(part.rows.column(1).to_numpy().sum() for part in sent) == 2_000
    assert all((np.diff(part.ts) >= 0).all() for part in sent)
    assert {int(t) for part in sent for t in part.ts} <= {
        8,
        9,
        10,
        18,
        19,
        20,
        28,
        29,
        30,
        38,
        39,
        40,
    }
