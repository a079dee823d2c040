"""Micro-batches that are read where they are needed say what those through a shuffle say."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.staged import Collected, streams_in
from windrow.core.time import Clock
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.program import compile_script
from windrow.spark.source.direct_read import FirstStage
from windrow.spark.source.file_log import Entry, FileLog
from windrow.spark.source.file_source import PackingReader, SourceSpec
from windrow.spark.source.log_tail import LogTail
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.stage_task import Report, StageTask, reports_in
from windrow.spark.stage.state_files import StateCommits
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import UNKNOWN

SHARES = ((3, 5), (8,), (9,))
BUCKETS = (3, 5, 8, 9)
QUERIES = {
    "join": "SELECT a.v, b.v FROM a [RANGE 20], b [RANGE 30] WHERE a.k = b.k",
    "two stages": "SELECT a.v, COUNT(*) AS n FROM a [RANGE 20], b [RANGE 30] WHERE a.k = b.k "
    "GROUP BY a.v",
    "a later stage reads a stream": "SELECT x.n, b.k FROM (SELECT v, COUNT(*) AS n FROM a "
    "[RANGE 20] GROUP BY v) AS x, b [RANGE 9] WHERE x.n = b.v",
    "one bucket": "SELECT COUNT(*) AS n FROM a [RANGE 20]",
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


class Query:
    """A query over files, its micro-batches run either way."""

    def __init__(self, query: str, directory: Path, place: Path) -> None:
        text = "".join(
            f"CREATE STREAM {n} (ts BIGINT, k BIGINT, v BIGINT) FROM '{directory / n}' "
            "FORMAT parquet TIMESTAMP BY ts SLACK 3;"
            for n in ("a", "b")
        )
        compiled = compile_script(f"{text} CREATE QUERY q AS {query};")
        plan = compiled.queries[0].plan
        stages = cut_into_stages(plan)
        self.collected = Collected(stages[-1].plan)
        self.quarantine = Quarantine(place / "quarantine")
        streams = {s.name: s for s in compiled.catalog.streams}
        self.tasks = [
            StageTask(
                run=str(place),
                stage=stage,
                slacks=dict.fromkeys(streams_in(plan), 3),
                routes=Routes.of(stage.number, stages, BUCKETS),
                clock=Clock.INTEGER,
                state=str(place / "state"),
                delivery=self.collected if stage is stages[-1] else None,
            )
            for stage in stages
        ]
        self.specs = [
            SourceSpec(
                streams[name],
                Routes.of(name, stages, BUCKETS),
                str(place / f"{name}.log"),
                str(place / "offsets"),
                tasks=2,
                once=True,
                files=1,
                quarantine=self.quarantine,
            )
            for name in streams_in(plan)
        ]
        self.commits = StateCommits(place / "state")
        (place / "offsets").mkdir(parents=True)
        self.place = place

    def run(self, *, direct: bool) -> tuple[list[list[Report]], Counter[str]]:
        """What is reported of each micro-batch, and all changes."""
        readers = [PackingReader(spec) for spec in self.specs]
        tails = [LogTail(Path(spec.log), spec.start) for spec in self.specs]
        at = [reader.initialOffset() for reader in readers]
        reports = []
        for batch in range(20):
            ends = [
                r.latestOffset(start, r.getDefaultReadLimit())
                for r, start in zip(readers, at, strict=True)
            ]
            if ends == at:
                break
            (self.place / "offsets" / str(batch)).touch()
            if direct:
                first = FirstStage(self.tasks[0], tuple(self.specs), SHARES)
                stretches = [tail.stretch(batch) for tail in tails]
                frame = [s for share in SHARES for s in first.work(stretches, batch, share)]
                rest = self.tasks[1:]
            else:
                frame = [
                    sent
                    for reader, start, end in zip(readers, at, ends, strict=True)
                    for stretch in reader.partitions(start, end)
                    for sent in reader.read(stretch)
                ]
                rest = self.tasks
            reports.append(self._through(rest, frame, batch))
            at = ends
        changes = self.collected.take().to_pylist()
        return reports, Counter(str(change) for change in changes)

    def _through(self, tasks: list[StageTask], frame: list[pa.RecordBatch], batch: int):
        for task in tasks:
            frame = [
                sent
                for share in SHARES
                for sent in task.work([_of(share, packed) for packed in frame], batch)
            ]
        told = reports_in(value.as_buffer() for packed in frame for value in packed["blob"])
        self.commits.publish(batch, {k: n for report in told for k, n in report.state.items()})
        return [report for report in told if report.hidden is not None]


def _of(share: tuple[int, ...], packed: pa.RecordBatch) -> pa.RecordBatch:
    return packed.filter(pa.array(np.isin(packed["bucket"].to_numpy(), share)))


def counted(reports: list[list[Report]]) -> list[Counter[str]]:
    return [sum((Counter(r.counts) for r in batch), Counter()) for batch in reports]


@pytest.mark.parametrize("query", QUERIES)
def test_both_ways_give_the_same_changes_counts_and_quarantine(tmp_path, query):
    write_files(tmp_path)
    shuffled = Query(QUERIES[query], tmp_path, tmp_path / "shuffled")
    direct = Query(QUERIES[query], tmp_path, tmp_path / "direct")
    expected, answer = shuffled.run(direct=False)
    found, same = direct.run(direct=True)
    assert same == answer
    assert len(answer) > 5
    assert counted(found) == counted(expected)
    assert sum(c["late"] for c in counted(found)) > 0
    pages = [
        sorted(p.name for p in q.quarantine.directory.rglob("*") if p.is_file())
        for q in (shuffled, direct)
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
