"""A job that joins a pipeline, filled with what others hold, answers as one from the beginning.

Stages run without Spark, those of all jobs on their levels, in the buckets of ``staged``.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.test_late_start import EITHER, Row, streams
from tests.spark.staged import BUCKETS, MEMORY, Collected, streams_in
from windrow.columns.delta import Delta, batch_of
from windrow.columns.types import arrow_schema
from windrow.core.time import FOREVER, Clock
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes import RelationScan, StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.spark.checkpoint.late_fill import Joining, LateFill, Moment, late_fill
from windrow.spark.checkpoint.pipeline_directory import Joined, PipelineHome
from windrow.spark.checkpoint.saved_windows import SavedJob, newest_version
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.fill_task import FillTask
from windrow.spark.stage.late_begin import FROM_THE_START, LateBegin
from windrow.spark.stage.level_task import LevelTask, reports_in
from windrow.spark.stage.packing import RESULT, blobs, packed_batch, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.stage_task import StageTask
from windrow.spark.stage.state_files import StateCommits

STREAMS = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT) SLACK 2;
    CREATE STREAM r (ts BIGINT, k STRING, v BIGINT);
    CREATE RELATION h (k STRING, owner STRING);
    CREATE VIEW few AS SELECT k, v FROM s WHERE v < 3;
"""
OWNERS = """
    CREATE QUERY owners AS SELECT v, owner FROM s [RANGE 2], h WHERE s.k = h.k;
"""
SLIDES_AND_MOVES = """
    CREATE QUERY slides AS SELECT k, v FROM s [RANGE 20 SLIDE 5];
    CREATE QUERY moves AS SELECT k, v FROM s [RANGE 10];
"""
OF_ONE_EDGE = [
    "SELECT a.k FROM s [RANGE 8] AS a, s [RANGE 10 SLIDE 5] AS b WHERE a.k = b.k",
    "SELECT k FROM s [RANGE 8] EXCEPT ALL SELECT k FROM s [RANGE 10 SLIDE 5]",
]
JOINING = [(hold + OWNERS if "owner" in query else hold, query) for hold, query in EITHER]


class OneJob:
    """A job with its number, and what it has said."""

    def __init__(self, number: int, query: QueryDeclaration, strategy: Strategy) -> None:
        self.number, self.query, self.strategy = number, query, strategy
        self.stages = cut_into_stages(query.plan, strategy)
        self.collected = Collected(self.stages[-1].plan)
        self.begin = FROM_THE_START
        self.fill: FillTask | None = None
        self.changes: list[tuple[int, int, tuple[object, ...]]] = []

    @property
    def saved(self) -> SavedJob:
        return SavedJob(self.query.name, self.number, self.stages, self.strategy, {})

    def tasks(self, level: int) -> list[StageTask]:
        return [
            StageTask(
                run="", stage=stage, slacks={n: SLACKS[n] for n in streams_in(self.query.plan)},
                routes=Routes.of(stage.number, self.stages, BUCKETS), clock=Clock.INTEGER,
                job=self.number, delivery=self.collected if stage is self.stages[-1] else None,
                strategy=self.strategy, begin=self.begin,
            )
            for stage in self.stages if stage.number == level
        ]  # fmt: skip

    def join(self, how: Joined, fills: Path) -> None:
        self.begin = LateBegin(how.closed, how.begins)
        edges = tuple(
            (stage.number, edge, tuple(str(fills / name) for name in how.files[edge.name]))
            for stage in self.stages
            for edge in stage.inputs
            if edge.name in how.files
        )
        routes = Routes((), BUCKETS)
        rows = dict(how.rows)
        self.fill = FillTask(self.number, routes, edges, dict(how.times), how.size, rows)

    def answer(self) -> Counter[tuple[object, ...]]:
        found: Counter[tuple[object, ...]] = Counter()
        for _, sign, row in self.changes:
            found[row] += sign
        return Counter({row: n for row, n in found.items() if n})

    def after(self, instant: int) -> Counter[tuple[object, ...]]:
        return Counter((ts, sign, *row) for ts, sign, row in self.changes if ts > instant)


SLACKS = {"s": 2, "r": 0, "h": 0}


class Together:
    """Jobs on their levels, over logs of their streams."""

    def __init__(self, directory: Path) -> None:
        self.home = PipelineHome(directory, "run", ())
        self.jobs: list[OneJob] = []
        self.logs = {name: FileLog(self.home.log(name)) for name in SLACKS}

    def add(self, text: str, strategy: Strategy) -> list[OneJob]:
        added = [
            OneJob(len(self.jobs) + n, query, strategy)
            for n, query in enumerate(compile_script(STREAMS + text).queries)
        ]
        self.jobs += added
        return added

    def micro_batch(self, number: int, rows: dict[str, list[tuple]], *, over: bool = False) -> None:
        for name, found in rows.items():
            top = max((row[0] for row in found), default=None)
            entries = [Entry(top=top, batch=number)] if found else []
            entries += [Entry(end=True, batch=number)] if over else []
            self.logs[name].append(entries)
        frame = []
        for job in self.jobs:
            for name in streams_in(job.query.plan):
                routes = Routes.of(name, job.stages, BUCKETS)
                parcels = scatter(delta_of(job.query, name, rows[name]), routes, {}, (number,))
                told: dict = {}
                tell(told, 0, BUCKETS, {name: self.logs[name].times[-1]}, {})
                frame += [packed_batch([*blobs(parcels), *blobs(told)], job.number)]
            if job.fill is not None:
                frame += [packed_batch(blobs(p), job.number) for p in job.fill.parcels()]
                job.fill = None
        for level in range(max(len(job.stages) for job in self.jobs)):
            tasks = tuple(task for job in self.jobs for task in job.tasks(level))
            task = LevelTask(f"{self.home.directory}", level, str(self.home.state), tasks)
            frame = [
                sent
                for bucket in BUCKETS
                for sent in task.work([only(batch, bucket) for batch in frame], number)
            ]
        assert {n for batch in frame for n in batch["stage"].to_pylist()} <= {RESULT}
        told = reports_in(value.as_buffer() for batch in frame for value in batch["blob"])
        assert not any(report.failed for report in told), [r.failed for r in told]
        written = {key: name for report in told for key, name in report.state.items()}
        commits = StateCommits(self.home.state)
        numbers = [job.number for job in self.jobs]
        commits.publish(number, commits.before(number).after(number, written, numbers))
        for job in self.jobs:
            for change in job.collected.take().to_pylist():
                instant, sign, *values = change.values()
                job.changes.append((instant, 1 if sign == "+" else -1, tuple(values)))

    def fill_for(self, late: OneJob) -> LateFill | str:
        batch, version = newest_version(self.home.state)
        holders = [job.saved for job in self.jobs if job.query.name not in ("early", "late")]
        catalog = compile_script(STREAMS).catalog
        declared = {n: catalog.find(n) for n in streams_in(late.query.plan)}
        reading = {name: found if name != "h" else STREAM_OF_H for name, found in declared.items()}
        joining = Joining(late.saved, late.query.plan, reading)
        return late_fill(joining, Moment(self.home, batch, version, holders, frozenset(SLACKS)))


STREAM_OF_H = compile_script("CREATE STREAM h (ts BIGINT, k STRING)").catalog.find("h")


def only(batch, bucket: int):
    return batch.filter(pa.array(batch["bucket"].to_numpy() == bucket))


def delta_of(query: QueryDeclaration, name: str, rows: list[tuple]) -> Delta:
    scan = next(
        node
        for node in walk(query.plan)
        if isinstance(node, StreamScan | RelationScan) and node.name == name
    )
    schema = arrow_schema(scan.schema)
    ts = np.array([row[0] for row in rows], np.int64)
    values = [row if isinstance(scan, StreamScan) else row[1:] for row in rows]
    arrays = [pa.array([v[i] for v in values], f.type) for i, f in enumerate(schema)]
    return Delta.insertions(ts, batch_of(arrays, schema, len(rows))).sorted()


def cut(rows: list[Row], steps: list[int]) -> list[list[Row]]:
    """Rows by micro-batch, each up to a multiple of time and a little out of order."""
    found = []
    for n, upto in enumerate(steps):
        before = steps[n - 1] if n else 0
        found.append([row for row in rows if before < row[0] <= upto])
    return found


@pytest.mark.parametrize(("hold", "query"), JOINING)
@settings(max_examples=2)
@given(
    s=streams,
    r=streams,
    starts=st.integers(0, 2),
    steps=st.lists(st.integers(1, 40), min_size=4, max_size=4, unique=True).map(sorted),
    lag=st.integers(0, 6),
    strategy=st.sampled_from(Strategy),
)
def test_a_job_that_joins_is_as_from_the_beginning(hold, query, s, r, starts, steps, lag, strategy):
    check(hold, query, of_batches(s, r, steps, lag), starts, strategy)


@pytest.mark.parametrize("query", OF_ONE_EDGE)
@pytest.mark.parametrize("upto", [21, 23, 25])
def test_windows_of_one_edge_are_filled_with_what_serves_them_all(query, upto):
    s = [(ts, "ab"[ts % 2], 0) for ts in range(1, 46)]
    check(SLIDES_AND_MOVES, query, of_batches(s, [], [10, upto, 30, 45], 0), 1, Strategy.UPA)


@pytest.mark.parametrize(("every", "complete"), [("", 7), (" EVERY 4", 8), (" EVERY 7", 7)])
def test_what_every_shows_of_a_relation_is_complete_when_it_looks_next(every, complete, tmp_path):
    """A row that has left the relation since it looked last is not there any more."""
    hold = "CREATE QUERY holder AS SELECT v, owner FROM s [RANGE 12], h WHERE s.k = h.k;"
    query = f"SELECT v, owner FROM s [RANGE 4], h WHERE s.k = h.k{every}"
    (batch, *_) = of_batches([(ts, "a", ts) for ts in range(1, 11)], [], [10], 0)
    together = Together(tmp_path)
    together.add(hold, Strategy.UPA)
    together.micro_batch(0, {**batch, "h": [(1, "a", "Ann"), (11, "b", "Bob")]})
    (late,) = together.add(f"CREATE QUERY late AS {query};", Strategy.UPA)
    fill = together.fill_for(late)
    assert isinstance(fill, LateFill), fill
    assert fill.closed == 7
    assert fill.start is not None
    assert fill.start.since_when == complete


def of_batches(s: list[Row], r: list[Row], steps: list[int], lag: int) -> list[dict]:
    """What each micro-batch brings; ``r`` lags behind."""
    of_s, of_r = cut(s, steps), cut(r, [max(at - lag, 0) for at in steps])
    of_h = [[(1, "a", "Ann")], *([] for _ in steps[1:])]
    return [dict(zip("srh", rows, strict=True)) for rows in zip(of_s, of_r, of_h, strict=True)]


def check(hold: str, query: str, batches: list[dict], starts: int, strategy: Strategy) -> None:
    """A job that joins after a micro-batch says from when on it is as one that was there."""
    with TemporaryDirectory(dir=MEMORY) as place:
        both = Together(Path(place))
        both.add(hold, strategy)
        (early,) = both.add(f"CREATE QUERY early AS {query};", strategy)
        late, how = None, None
        for number, rows in enumerate(batches):
            both.micro_batch(number, rows, over=number == len(batches) - 1)
            if number == starts:
                (late,) = both.add(f"CREATE QUERY late AS {query};", strategy)
                fill = both.fill_for(late)
                assert not isinstance(fill, str), fill
                how = fill.write()
                late.join(how, both.home.fills)
        complete = how.complete_from
        assert complete != FOREVER
        first = complete if complete is not None else how.closed
        assert late.after(first) == early.after(first)
        last = max((row[0] for rows in batches for row in rows["s"] + rows["r"]), default=0)
        if "ISTREAM" not in query and (complete is None or complete <= last):
            assert late.answer() == early.answer()
