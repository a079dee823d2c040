"""A bucket of a stage, without Spark: any split of the input gives the same answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.core.time import FOREVER
from windrow.plan.catalog import Catalog, QueryDeclaration
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage
from windrow.plan.program import compile_script
from windrow.spark.stage.blobs import pack, unpack
from windrow.spark.stage.bucket_host import BucketHost
from windrow.spark.stage.packing import blobs, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.stream_time import StreamTime

pytestmark = pytest.mark.usefixtures("sizes")

SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT) TIMESTAMP BY ts;
CREATE STREAM b (ts BIGINT, k INT) TIMESTAMP BY ts SLACK 3;
CREATE QUERY q AS SELECT a.k, a.ts, b.ts FROM a [RANGE 5], b [RANGE 4] WHERE a.k = b.k;
"""
SLACKS = {"a": 0, "b": 3}


def the_stage() -> tuple[Stage, Catalog]:
    catalog = compile_script(SCRIPT).catalog
    query = catalog.find("q")
    assert isinstance(query, QueryDeclaration)
    (stage,) = cut_into_stages(query.plan)
    return stage, catalog


STAGE, CATALOG = the_stage()


def sent(stream: str, rows: list[tuple[int, int]], time: StreamTime, order: int) -> list[bytes]:
    """What a packing task sends to the only bucket."""
    schema = arrow_schema(CATALOG.find(stream).schema)
    ts, keys = (np.array([r[i] for r in rows], np.int64) for i in (0, 1))
    arrays = [pa.array(ts), pa.array(keys.astype(np.int32))]
    delta = Delta.insertions(ts, pa.RecordBatch.from_arrays(arrays, schema=schema))
    parcels = scatter(delta, Routes.of(stream, [STAGE], [0]), {}, (order,))
    tell(parcels, 0, [0], {stream: time}, {"rows_in": len(rows)})
    return [blob for _, _, blob in blobs(parcels)]


def changes(answers: list[Delta]) -> list[tuple[object, ...]]:
    return sorted(
        (int(ts), int(sign), *row.values())
        for delta in answers
        for ts, sign, row in zip(delta.ts, delta.sign, delta.rows.to_pylist(), strict=True)
    )


def reloaded(host: BucketHost, stored: dict[str, bytes]) -> BucketHost:
    """Save the host as a stage does, and make another one of what is stored."""
    saved = host.save()
    for name in saved.drop:
        stored.pop(name, None)
    for name, segment in saved.put.items():
        stored[name] = pack({}, {"segment": segment})
    again = BucketHost(STAGE, SLACKS, final=True)
    again.load({n: unpack(b)[1]["segment"] for n, b in stored.items()}, saved.meta)
    return again


rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=25)
arrivals = st.tuples(rows, rows, st.lists(st.sampled_from("ab"), max_size=12), st.booleans())


@given(arrivals)
def test_any_split_and_any_reload_give_the_same_answer(case):
    a, b, turns, reload = case
    inputs = {"a": sorted(a), "b": sorted(b)}
    whole = BucketHost(STAGE, SLACKS, final=True)
    end = {s: StreamTime(max([t for t, _ in r], default=0), over=True, at=99)
           for s, r in inputs.items()}  # fmt: skip
    everything = [x for s in "ab" for x in sent(s, inputs[s], end[s], 0)]
    expected = changes([whole.receive(map(unpack, everything)).delta])

    split, answers, stored = BucketHost(STAGE, SLACKS, final=True), [], {}
    left = dict(inputs)
    for number, stream in enumerate(turns):
        part, left[stream] = left[stream][:3], left[stream][3:]
        if part:
            time = StreamTime(part[-1][0], at=number)
            answers.append(split.receive(map(unpack, sent(stream, part, time, number))).delta)
            split = reloaded(split, stored) if reload else split
    rest = [x for s in "ab" for x in sent(s, left[s], end[s], 99)]
    answers.append(split.receive(map(unpack, rest)).delta)
    assert changes(answers) == expected


def test_tuples_wait_for_the_slower_stream_and_are_not_written_again_while_they_wait():
    host = BucketHost(STAGE, SLACKS, final=True)
    host.receive(map(unpack, sent("a", [(1, 1), (9, 1)], StreamTime(9, at=1), 0)))
    assert [n for n in host.save().put if n.startswith("w.")] == ["w.a#0.1"]
    host.receive(map(unpack, sent("a", [(12, 1)], StreamTime(12, at=2), 1)))
    assert [n for n in host.save().put if n.startswith("w.")] == ["w.a#0.2"]
    answer = host.receive(map(unpack, sent("b", [(14, 1)], StreamTime(30, at=1), 0)))
    assert host.now == 11
    assert not len(answer.delta)
    assert "w.a#0.1" in host.save().drop


def test_rows_of_a_closed_instant_are_late_and_go_no_further():
    host = BucketHost(STAGE, SLACKS, final=True)
    host.receive(map(unpack, sent("b", [], StreamTime(advanced=10, at=1), 0)))
    host.receive(map(unpack, sent("a", [], StreamTime(advanced=10, at=1), 0)))
    late = sent("a", [(10, 1), (11, 1)], StreamTime(11, 10, at=2), 1)
    answer = host.receive(map(unpack, late))
    assert [len(d) for d in answer.late.values()] == [1]


def test_blobs_are_put_in_the_order_of_their_stream_before_they_are_used():
    script = "CREATE STREAM a (ts BIGINT, k INT) TIMESTAMP BY ts; SELECT k FROM a [ROWS 1];"
    compiled = compile_script(script)
    (stage,) = cut_into_stages(compiled.queries[0].plan)
    schema = arrow_schema(compiled.catalog.streams[0].schema)
    parts = []
    for order in (1, 0):
        row = pa.RecordBatch.from_arrays(
            [pa.array([5]), pa.array([order], pa.int32())], schema=schema
        )
        delta = Delta.insertions(np.array([5]), row)
        parts += [x for *_, x in blobs(scatter(delta, Routes.of("a", [stage], [0]), {}, (order,)))]
    known: dict = {}
    tell(known, 0, [0], {"a": StreamTime(5, over=True)}, {})
    parts += [x for *_, x in blobs(known)]
    host = BucketHost(stage, {"a": 0}, final=True)
    assert changes([host.receive(map(unpack, parts)).delta]) == [(5, 1, 1)]


def test_what_comes_and_goes_inside_an_instant_of_a_relation_is_never_seen():
    compiled = compile_script("CREATE RELATION rel (k INT); SELECT k FROM rel;")
    (stage,) = cut_into_stages(compiled.queries[0].plan)
    schema = arrow_schema(compiled.catalog.relations[0].schema)
    host = BucketHost(stage, {"rel": 0}, final=True)
    for at, sign in ((1, 1), (2, -1), (3, 1)):
        row = pa.RecordBatch.from_arrays([pa.array([7], pa.int32())], schema=schema)
        delta = Delta(np.array([5]), np.array([FOREVER]), np.array([sign], np.int8), row)
        parcels = scatter(delta, Routes.of("rel", [stage], [0]), {}, (at,))
        tell(parcels, 0, [0], {"rel": StreamTime(5, at=at)}, {})
        answer = host.receive([unpack(x) for *_, x in blobs(parcels)])
        assert not len(answer.delta), "the instant is open"
    known: dict = {}
    tell(known, 0, [0], {"rel": StreamTime(6, at=4)}, {})
    answer = host.receive([unpack(x) for *_, x in blobs(known)])
    assert changes([answer.delta]) == [(5, 1, 7)]


@given(arrivals, st.integers(0, 12))
def test_an_idle_stream_holds_nobody_back_and_what_it_brings_too_late_is_left_out(case, quiet):
    """b is silent after ``quiet`` rows, a runs on to its end; then b brings the rest."""
    a, b, _, reload = case
    first, rest = sorted(b)[:quiet], sorted(b)[quiet:]
    host, answers, stored = BucketHost(STAGE, SLACKS, final=True), [], {}

    def receive(*messages: bytes) -> dict[str, Delta]:
        nonlocal host
        answer = host.receive(map(unpack, messages))
        answers.append(answer.delta)
        host = reloaded(host, stored) if reload else host
        return answer.late

    top = first[-1][0] if first else 0
    receive(*sent("b", first, StreamTime(top, at=1), 0))
    receive(*sent("b", [], StreamTime(top, at=2, idle=True), 1))
    reached = max([t for t, _ in a], default=0)
    receive(*sent("a", sorted(a), StreamTime(reached, at=1), 0))
    assert host.now == reached - 1, "b holds nothing back"
    late = receive(*sent("b", rest, StreamTime(max([top, *(t for t, _ in rest)]), at=3), 2))
    kept = [row for row in rest if row[0] > host.now]
    assert sum(map(len, late.values())) == len(rest) - len(kept)
    ends = {"a": StreamTime(reached, over=True, at=9), "b": StreamTime(40, over=True, at=9)}
    receive(*sent("a", [], ends["a"], 9), *sent("b", [], ends["b"], 9))
    whole = BucketHost(STAGE, SLACKS, final=True)
    inputs = {"a": sorted(a), "b": sorted([*first, *kept])}
    everything = [x for s in "ab" for x in sent(s, inputs[s], ends[s], 0)]
    assert changes(answers) == changes([whole.receive(map(unpack, everything)).delta])


def test_updates_of_a_relation_at_closed_instants_happen_at_the_next_one():
    compiled = compile_script(
        "CREATE STREAM a (ts BIGINT, k INT); CREATE RELATION rel (k INT);"
        "SELECT a.k FROM a [RANGE 90], rel WHERE a.k = rel.k;"
    )
    (stage,) = cut_into_stages(compiled.queries[0].plan)
    host = BucketHost(stage, {"a": 0, "rel": 0}, final=True)

    def receive(name: str, rows: list[tuple[int, int, int]], time: StreamTime) -> list[tuple]:
        schema = arrow_schema(compiled.catalog.find(name).schema)
        ts = np.array([t for t, _, _ in rows], np.int64)
        keys = pa.array([k for _, _, k in rows], pa.int32())
        columns = [pa.array(ts), keys] if name == "a" else [keys]
        signs = np.array([s for _, s, _ in rows], np.int8)
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        delta = Delta(ts, np.full(len(ts), FOREVER), signs, batch)
        parcels = scatter(delta, Routes.of(name, [stage], [0]), {}, (time.at,))
        tell(parcels, 0, [0], {name: time}, {})
        answer = host.receive([unpack(x) for *_, x in blobs(parcels)])
        assert not answer.late
        return changes([answer.delta])

    receive("rel", [(1, 1, 7), (1, 1, 8)], StreamTime(1, at=1))
    receive("rel", [], StreamTime(1, at=2, idle=True))
    assert receive("a", [(5, 1, 7), (5, 1, 8)], StreamTime(20, at=1)) == [(5, 1, 7), (5, 1, 8)]
    updates = [(9, -1, 7), (10, 1, 9), (12, -1, 9)]
    assert receive("rel", updates, StreamTime(12, at=3)) == []
    assert receive("rel", [(30, -1, 8)], StreamTime(40, at=4)) == []
    assert receive("a", [], StreamTime(50, at=2)) == [(20, -1, 7), (30, -1, 8)]
