"""Queries that join a group whose state was saved, in one bucket and without Spark."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.engine.pipeline import Pipeline
from windrow.plan.nodes import StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.plan.sharing import saved_group
from windrow.plan.sharing.shared_synopses import SharedSynopses, shared_synopses, with_query
from windrow.spark.checkpoint.query_groups import _with_summarised
from windrow.spark.stage.blobs import unpack
from windrow.spark.stage.bucket_host import BucketHost
from windrow.spark.stage.packing import blobs, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.stream_time import StreamTime

pytestmark = pytest.mark.usefixtures("sizes")

STREAM = "CREATE STREAM s (ts BIGINT, k INT, n BIGINT) TIMESTAMP BY ts SLACK 3;"
EARLY = [
    "SELECT k, SUM(n) AS a FROM s [RANGE 20 SLIDE 10] WHERE n < 5 GROUP BY k",
    "SELECT k, MAX(n) AS a FROM s [RANGE 20 SLIDE 5] GROUP BY k",
]
LATE = {
    "at once": "SELECT k, SUM(n) AS a FROM s [RANGE 10 SLIDE 10] WHERE n < 5 GROUP BY k",
    "extended": "SELECT k, SUM(n) AS a, MAX(n) AS b FROM s [RANGE 40 SLIDE 10] WHERE n < 5 "
    "GROUP BY k",
    "of its own": "SELECT k, AVG(n) AS a, COUNT(DISTINCT n) AS b FROM s [RANGE 15 SLIDE 5] "
    "WHERE n > 3 GROUP BY k",
}
WAITING = {
    "at_once": LATE["at once"],
    "longer": "SELECT k, SUM(n) AS a FROM s [RANGE 40 SLIDE 10] WHERE n < 5 GROUP BY k",
    "of_its_own": LATE["of its own"],
}
"""Of the first two, rows that wait are summarised already."""
ROWS, END = 400, 110


def tuples(seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    ts = np.arange(ROWS) // 4 + rng.integers(0, 3, ROWS)
    return pa.table({"ts": ts, "k": rng.integers(0, 4, ROWS).astype(np.int32),
                     "n": rng.integers(0, 9, ROWS)})  # fmt: skip


def delta_of(rows: pa.Table, group: SharedSynopses) -> Delta:
    (scan,) = (node for node in walk(group.plan) if isinstance(node, StreamScan))
    (batch,) = rows.cast(arrow_schema(scan.schema)).combine_chunks().to_batches()
    return Delta.insertions(batch.column(0).to_numpy(), batch).sorted()


class Bucket:
    """The only bucket of a group, whose host is saved and made again after each micro-batch."""

    def __init__(self) -> None:
        self.stored: dict[str, pa.RecordBatch] = {}
        self.meta: dict[str, object] | None = None
        self.changes: list[tuple[int, int, int, tuple[object, ...]]] = []

    def take(self, group: SharedSynopses, rows: pa.Table, *, over: bool = False) -> None:
        (stage,) = cut_into_stages(group.root)
        host = BucketHost(stage, {"s": 3}, final=True)
        if self.meta is not None:
            host.load(self.stored, self.meta)
        top = int(rows["ts"].to_numpy().max())
        parcels = scatter(delta_of(rows, group), Routes.of("s", [stage], [0]), {}, (0,))
        tell(parcels, 0, [0], {"s": StreamTime(top, END if over else -1)}, {"rows_in": len(rows)})
        answer = host.receive([unpack(blob) for _, _, blob in blobs(parcels)])
        for ts, sign, (member, *slots) in zip(
            answer.delta.ts.tolist(), answer.delta.sign.tolist(),
            (row.values() for row in answer.delta.rows.to_pylist()), strict=True,
        ):  # fmt: skip
            shown = tuple(slots[slot] for slot in group.shown_slots(member))
            self.changes.append((ts, sign, member, shown))
        saved = host.save()
        self.stored = {n: b for n, b in {**self.stored, **saved.put}.items() if n not in saved.drop}
        self.meta = json.loads(json.dumps(saved.meta))

    def answer(self, member: int, instant: int) -> Counter[object]:
        held: Counter[object] = Counter()
        for ts, sign, of, row in self.changes:
            if of == member and ts <= instant:
                held[row] += sign
        return Counter({row: n for row, n in held.items() if n})


def whole_answer(text: str, rows: pa.Table, instant: int) -> Counter[object]:
    (query,) = compile_script(f"{STREAM} CREATE QUERY q AS {text};").queries
    pipeline = Pipeline(query.plan, changes=True)
    (scan,) = (node for node in walk(query.plan) if isinstance(node, StreamScan))
    (batch,) = rows.cast(arrow_schema(scan.schema)).combine_chunks().to_batches()
    delta = Delta.insertions(batch.column(0).to_numpy(), batch).sorted()
    pipeline.process({"s": delta.split(instant)[0]}, instant)
    return Counter(tuple(row.values()) for row in pipeline.live_rows().to_pylist())


def declared(texts: dict[str, str]) -> list[object]:
    script = "".join(f"CREATE QUERY {n.replace(' ', '_')} AS {t};" for n, t in texts.items())
    return list(compile_script(STREAM + script).queries)


@pytest.mark.parametrize("cut", [40, 163, 290])
@pytest.mark.parametrize("seed", [1, 2])
def test_queries_that_join_saved_state_have_complete_answers_from_when_they_say(cut, seed):
    rows, bucket = tuples(seed), Bucket()
    (group,) = shared_synopses(declared({f"q{i}": text for i, text in enumerate(EARLY)}))
    bucket.take(group, rows.slice(0, cut // 2))
    bucket.take(group, rows.slice(cut // 2, cut - cut // 2))
    top = int(rows["ts"].to_numpy()[:cut].max())  # what waits was summarised for the others only
    for query in declared(LATE):
        joined = with_query(group, query, top)
        assert joined is not None
        group = joined
    told = json.loads(json.dumps(saved_group.to_json(group.plan, group.sharing, group.places)))
    again = saved_group.from_json(told, group.plan.input)
    assert again == group.plan
    assert saved_group.sharing_of(told, group.names) == group.sharing
    for start in range(cut, ROWS, 57):
        bucket.take(group, rows.slice(start, 57), over=start + 57 >= ROWS)
    texts = [*EARLY, *LATE.values()]
    complete = [group.sharing.member(query.name).complete_from for query in group.queries]
    assert complete[:3] == [None, None, None]
    assert complete[3] is not None
    assert complete[4] is not None
    for number, text in enumerate(texts):
        slide = int(text.split("SLIDE ")[1].split("]")[0])
        first = (top // slide + 1) * slide if number >= len(EARLY) else slide
        for instant in range(max(first, complete[number] or 0), END, slide):
            expected = whole_answer(text, rows, instant)
            assert bucket.answer(number, instant) == expected, (text, instant)
        early = [ts for ts, _, of, _ in bucket.changes if of == number and ts < first]
        assert not early or number < len(EARLY)


@pytest.mark.parametrize("cut", [41, 163, 290])
def test_rows_that_wait_count_for_a_query_that_needs_no_other_summaries(cut):
    rows, bucket = tuples(3), Bucket()
    (group,) = shared_synopses(declared({f"q{i}": text for i, text in enumerate(EARLY)}))
    bucket.take(group, rows.slice(0, cut))
    assert bucket.meta is not None
    closed, last = int(str(bucket.meta["now"])), int(rows["ts"].to_numpy()[:cut].max())
    assert closed < last
    for query in declared(WAITING):
        joined = _with_summarised(group, query, closed) or with_query(group, query, last)
        assert joined is not None
        group = joined
    since = [member.since for member in group.plan.members if member is not None]
    assert since == [None, None, closed, closed, last]
    for start in range(cut, ROWS, 57):
        bucket.take(group, rows.slice(start, 57), over=start + 57 >= ROWS)
    for number, text in enumerate(WAITING.values(), len(EARLY)):
        slide = int(text.split("SLIDE ")[1].split("]")[0])
        complete = group.sharing.member(group.queries[number].name).complete_from or 0
        first = ((since[number] or 0) // slide + 1) * slide
        for instant in range(first, END, slide):
            if instant >= complete:
                expected = whole_answer(text, rows, instant)
                assert bucket.answer(number, instant) == expected, (text, instant)
