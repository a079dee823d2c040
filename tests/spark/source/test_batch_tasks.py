"""Micro-batches say the same however they are read, and of many queries as of each alone."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.staged import Collected, streams_in
from tests.support.bucket_fixtures import running_server, server, url
from windrow.core.time import Clock
from windrow.object_store.object_path import path_of
from windrow.plan.nodes import Node
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage
from windrow.plan.program import compile_script
from windrow.spark.source.batch_tasks import PipelineTasks
from windrow.spark.source.file_log import Entry, FileLog, LogTail
from windrow.spark.source.file_source import LogReader, SourceSpec
from windrow.spark.source.read_task import StreamTask
from windrow.spark.stage import level_task
from windrow.spark.stage.level_task import LevelTask, reports_in
from windrow.spark.stage.routes import Routes, with_kinds
from windrow.spark.stage.stage_task import Report, StageTask
from windrow.spark.stage.state_files import StateCommits
from windrow.spark.stage.worker_cache import WorkerCache
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import UNKNOWN

__all__ = ["running_server", "server", "url"]

SHARES = ((3, 5), (8,), (9,))
BUCKETS = (3, 5, 8, 9)
QUERIES = {
    "join": "SELECT a.v, b.v FROM a [RANGE 20], b [RANGE 30] WHERE a.k = b.k",
    "two stages": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 30] WHERE a.k = b.k "
    "GROUP BY a.v",
    "a later stage reads a stream": "SELECT x.n, b.k FROM (SELECT v, COUNT(*) AS n FROM a "
    "[RANGE 20] GROUP BY v) AS x, b [RANGE 9] WHERE x.n = b.v",
    "one bucket": "SELECT COUNT(*) AS n FROM a [RANGE 20]",
    "sub-windows": "SELECT k, SUM(v) AS s, COUNT(*) AS n FROM a [RANGE 20 SLIDE 5] WHERE v > 0 "
    "GROUP BY k",
    "sub-windows, computed": "SELECT k + 1 AS l, SUM(v * 2) AS s FROM a [RANGE 20 SLIDE 5] "
    "GROUP BY k + 1",
}


def write_files(directory: Path) -> None:
    rng = np.random.default_rng(11)
    for name in ("a", "b"):
        (directory / name).mkdir()
        for number in range(6):
            ts = rng.integers(10 * number, 10 * number + 14, 40)  # some of them are late
            values = {"ts": ts, "k": rng.integers(0, 9, 40), "v": rng.integers(0, 5, 40)}
            table = pa.table({n: pa.array(c, pa.int64()) for n, c in values.items()})
            pq.write_table(table, directory / name / f"{number}.parquet")


class Queries:
    """Queries over files as one pipeline, its micro-batches run either way; what tasks share is in
    ``store``."""

    def __init__(
        self,
        queries: list[str],
        directory: Path,
        place: Path,
        store: Path | None = None,
        buckets: Callable[[int], tuple[int, ...]] = lambda _: BUCKETS,
    ) -> None:
        store, self.buckets = store or place, buckets
        text = "".join(
            f"CREATE STREAM {n} (ts BIGINT, k BIGINT, v BIGINT) FROM '{directory / n}' "
            "FORMAT parquet TIMESTAMP BY ts SLACK 3;"
            for n in ("a", "b")
        )
        for number, query in enumerate(queries):
            text += f"CREATE QUERY q{number} AS {query};"
        compiled = compile_script(text)
        plans = [query.plan for query in compiled.queries]
        stages = [cut_into_stages(plan) for plan in plans]
        self.collected = [Collected(found[-1].plan) for found in stages]
        self.quarantine, self.place = Quarantine(store / "quarantine"), place
        self.jobs = frozenset(range(len(queries)))
        levels = [
            LevelTask(
                str(place),
                level,
                str(store / "state"),
                tuple(
                    self._task(job, found, plans[job], level)
                    for job, found in enumerate(stages)
                    if level < len(found)
                ),
            )
            for level in range(max(map(len, stages)))
        ]
        declared = {s.name: s for s in compiled.catalog.streams}
        streams = []
        for name in dict.fromkeys(name for plan in plans for name in streams_in(plan)):
            spec = SourceSpec(
                declared[name],
                str(place / f"{name}.log"),
                tasks=2,
                once=True,
                files=1,
                quarantine=self.quarantine,
            )
            routes = [(job, Routes.of(name, found, buckets(job)))
                      for job, found in enumerate(stages)
                      if name in streams_in(plans[job])]  # fmt: skip
            streams.append(StreamTask(spec, with_kinds(routes)))
        self.tasks = PipelineTasks(tuple(streams), tuple(levels), SHARES)
        self.commits = StateCommits(store / "state")
        (place / "offsets").mkdir(parents=True)

    def _task(self, job: int, stages: tuple[Stage, ...], plan: Node, level: int) -> StageTask:
        return StageTask(
            run=str(self.place),
            stage=stages[level],
            slacks=dict.fromkeys(streams_in(plan), 3),
            routes=Routes.of(level, stages, self.buckets(job)),
            clock=Clock.INTEGER,
            job=job,
            delivery=self.collected[job] if level == len(stages) - 1 else None,
        )

    def run(self, *, direct: bool) -> tuple[list[list[Report]], list[Counter[str]]]:
        """What is reported of each micro-batch, and all changes of each query."""
        specs = [stream.spec for stream in self.tasks.streams]
        reader = LogReader(specs, str(self.place / "offsets"))
        tails = [LogTail(Path(spec.log), spec.start) for spec in specs]
        at, reports = reader.initialOffset(), []
        for batch in range(20):
            end = reader.latestOffset(at, reader.getDefaultReadLimit())
            if end == at:
                break
            (self.place / "offsets" / str(batch)).touch()
            stretches = [tail.stretch(batch) for tail in tails]
            reports.append(self._micro_batch(stretches, batch, direct=direct))
            at = end
        changes = [collected.take().to_pylist() for collected in self.collected]
        return reports, [Counter(map(str, found)) for found in changes]

    def _micro_batch(self, stretches, batch: int, *, direct: bool) -> list[Report]:
        first = 0
        if direct:
            first, frame = 1, [
                sent
                for share in SHARES
                for sent in self.tasks.read_and_answer(stretches, batch, self.jobs, share)
            ]  # fmt: skip
        else:
            frame = [
                sent
                for number, stretch in enumerate(stretches)
                for part in stretch.split(2)
                for sent in self.tasks.read((number, part), self.jobs)
            ]
        for number in range(first, len(self.tasks.levels)):
            level = self.tasks.level(number, self.jobs)
            frame = [
                sent
                for share in SHARES
                for sent in level.work([_of(share, packed) for packed in frame], batch)
            ]
        told = reports_in(value.as_buffer() for packed in frame for value in packed["blob"])
        self.failed = {job: why for report in told for job, why in report.failed.items()}
        written = {key: name for report in told for key, name in report.state.items()}
        before = self.commits.before(batch)
        self.commits.publish(batch, before.after(batch, written, self.jobs))
        return [report for task in told for report in task.jobs.values()]


def _of(share: tuple[int, ...], packed: pa.RecordBatch) -> pa.RecordBatch:
    return packed.filter(pa.array(np.isin(packed["bucket"].to_numpy(), share)))


def counted(reports: list[list[Report]]) -> list[Counter[str]]:
    return [sum((Counter(r.counts) for r in batch), Counter()) for batch in reports]


@pytest.mark.parametrize("query", QUERIES)
def test_both_ways_give_the_same_changes_counts_and_quarantine(tmp_path, query):
    write_files(tmp_path)
    shuffled = Queries([QUERIES[query]], tmp_path, tmp_path / "shuffled")
    direct = Queries([QUERIES[query]], tmp_path, tmp_path / "direct")
    expected, (answer,) = shuffled.run(direct=False)
    found, (same,) = direct.run(direct=True)
    assert same == answer
    assert len(answer) > 5
    assert direct.collected[0].synced > 0, "what tasks hide is on the disk before they report"
    assert counted(found) == counted(expected)
    assert sum(c["late"] for c in counted(found)) > 0
    pages = [
        sorted(p.name for p in q.quarantine.directory.rglob("*") if p.is_file())
        for q in (shuffled, direct)
    ]
    assert pages[0] == pages[1] != []


@pytest.mark.parametrize("direct", [False, True])
def test_each_of_many_queries_answers_as_if_it_were_alone(tmp_path, direct):
    write_files(tmp_path)
    queries = [*QUERIES.values(), QUERIES["join"]]
    together = Queries(queries, tmp_path, tmp_path / "together")
    _, answers = together.run(direct=direct)
    for number, query in enumerate(queries):
        alone = Queries([query], tmp_path, tmp_path / f"alone{number}")
        assert answers[number] == alone.run(direct=False)[1][0]
    pages = [p for p in together.quarantine.directory.rglob("*") if p.is_file()]
    lines = [line for page in pages for line in page.read_text().splitlines()]
    assert len(lines) == len(set(lines)) > 0, "each late row is put aside once"


@pytest.mark.parametrize("direct", [False, True])
def test_a_query_that_has_one_bucket_answers_as_one_that_has_many(tmp_path, direct):
    write_files(tmp_path)
    queries = [QUERIES[name] for name in ("sub-windows", "sub-windows, computed", "one bucket")]
    queries += [f"SELECT k, MIN(v) AS m FROM a [RANGE {n}] GROUP BY k" for n in (20, 20, 30, 40)]
    spread = Queries(queries, tmp_path, tmp_path / "spread")
    apart = Queries(
        queries, tmp_path, tmp_path / "apart", buckets=lambda job: (BUCKETS[job % len(BUCKETS)],)
    )
    expected, answers = spread.run(direct=direct)
    found, same = apart.run(direct=direct)
    assert same == answers
    assert counted(found) == counted(expected)
    assert sum(c["late"] for c in counted(found)) > 0
    for pages in (q.quarantine.directory.rglob("*") for q in (spread, apart)):
        lines = [line for p in pages if p.is_file() for line in p.read_text().splitlines()]
        assert len(lines) == len(set(lines)) > 0, "each late row is put aside once"


@pytest.mark.parametrize("names", [("one bucket",), ("one bucket", "sub-windows")])
def test_an_answer_that_does_not_get_to_the_disk_is_its_own_querys_failure(
    tmp_path, names, monkeypatch
):
    def sync(_hidden):
        raise ValueError("it does not get there")

    write_files(tmp_path)
    queries = Queries([QUERIES[name] for name in names], tmp_path, tmp_path / "all")
    monkeypatch.setattr(queries.collected[0], "sync", sync)
    queries.run(direct=False)
    assert queries.failed == {0: ("builtins.ValueError", "it does not get there")}


class Forgetful(WorkerCache):
    """As if every task ran in a worker of another machine."""

    def take(self, key, token):
        shutil.rmtree(os.environ["WINDROW_CACHE_DIR"], ignore_errors=True)
        self._entries.clear()
        return super().take(key, token)


@pytest.mark.parametrize("cache", [WorkerCache, Forgetful])
def test_what_tasks_share_may_be_in_an_object_store(tmp_path, url, cache, monkeypatch):
    monkeypatch.setattr(level_task, "CACHE", cache())
    write_files(tmp_path)
    queries = [QUERIES["two stages"], QUERIES["one bucket"]]
    local = Queries(queries, tmp_path, tmp_path / "local")
    remote = Queries(queries, tmp_path, tmp_path / "remote", path_of(url))
    expected, answers = local.run(direct=True)
    found, same = remote.run(direct=True)
    assert same == answers
    assert counted(found) == counted(expected)
    pages = [
        sorted(
            path.name for stream in q.quarantine.streams for path, _ in q.quarantine.pages(stream)
        )
        for q in (local, remote)
    ]
    assert pages[0] == pages[1] != []


def test_a_tail_gives_each_micro_batch_its_entries_as_they_come(tmp_path):
    log = FileLog(tmp_path / "s.log")
    tail = LogTail(tmp_path / "s.log", UNKNOWN)
    assert tail.stretch(0).entries == []
    first, second, third = (Entry(path=f"/{n}", top=n, batch=n // 2) for n in (1, 2, 3))
    log.append([first])
    assert tail.stretch(0).entries == [first]
    log.append([second, third])
    with (tmp_path / "s.log").open("ab") as file:
        file.write(b'{"path": "/half')
    stretch = tail.stretch(1)
    assert (stretch.first, stretch.entries) == (1, [second, third])
    assert [time.top for time in stretch.times] == [1, 2, 3]
    assert tail.stretch(2).entries == []
    assert (tmp_path / "s.log").read_bytes().endswith(b"/half"), "it only looks"
    assert tail.stretch(1) == stretch, "also when it is asked again"
    assert not LogTail(tmp_path / "s.log", UNKNOWN).stretch(7).entries


def test_a_tail_keeps_no_more_than_a_micro_batch(tmp_path):
    log, tail = FileLog(tmp_path / "s.log"), LogTail(tmp_path / "s.log", UNKNOWN)
    for batch in range(50):
        new = [Entry(path=f"/{batch}/{n}", top=batch + n, batch=batch) for n in range(3)]
        log.append(new)
        stretch = tail.stretch(batch)
        assert (stretch.first, stretch.entries) == (3 * batch, new)
        assert len(tail._entries) == len(tail._batches) == len(tail._times) - 1 == 3
