"""A stage on Spark: what ``mapInArrow`` calls for each partition of a micro-batch.

A partition has the blobs of some buckets. Each bucket has a ``BucketHost``; it is taken from the
worker's cache if it is the one that the last micro-batch left (``worker_cache``) and loaded from
its files otherwise (``state_files``). What a stage answers goes on as blobs to later stages; what
the last one answers is delivered here, as hidden files, and only their names travel. In the end the
driver hears of each stage what it wrote (``Report``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol

import pyarrow as pa
from pyspark import TaskContext

from windrow.columns.delta import Delta
from windrow.core.time import Clock
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.stage.blobs import Header, pack, unpack
from windrow.spark.stage.bucket_host import Answer, BucketHost
from windrow.spark.stage.exchange import open_blob
from windrow.spark.stage.packing import (
    RESULT,
    Blob,
    Counts,
    add_counts,
    blobs,
    packed_batch,
    scatter,
    tell,
)
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.state_files import BucketFiles, Contents, StateCommits
from windrow.spark.stage.worker_cache import WorkerCache
from windrow.streams.monitor import tick_text
from windrow.streams.quarantine import Quarantine
from windrow.tables.enforce import as_json
from windrow.tables.parsed_rows import Rejected

BATCH_ID = "streaming.sql.batchId"
Parts = list[tuple[Header, dict[str, pa.RecordBatch]]]
"""Unpacked blobs."""


class Kept(NamedTuple):
    """A host in a worker's memory, and what its files say of it."""

    host: BucketHost
    contents: Contents


CACHE: WorkerCache[Kept] = WorkerCache()


class ResultDelivery(Protocol):
    """What a task does with the answers of a plan's last stage."""

    final: ClassVar[bool]
    """Whether it wants explicit changes, expiries included; otherwise rows with their expiries."""

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """Write answers where nobody looks yet; what the driver has to know to publish them."""
        ...


@dataclass(frozen=True)
class Report:
    """What a task tells the driver: files of state by stage and bucket, and of a last stage how
    far time has come, what was counted and what was hidden."""

    state: Mapping[str, str]
    now: int | None = None
    counts: Counts = field(default_factory=dict)
    hidden: dict[str, Any] | None = None


@dataclass(frozen=True)
class StageTask:
    """All that a worker needs to know of a stage. ``run`` tells runs apart in the worker's cache.

    A late row goes along every edge of its stream; it is counted on the one in ``judging``. The
    last stage has a ``delivery``. ``state`` is the directory of the files of state.
    """

    run: str
    stage: Stage
    slacks: dict[str, int]
    routes: Routes
    clock: Clock
    state: str
    delivery: ResultDelivery | None = None
    judging: frozenset[str] = frozenset()
    quarantine: Quarantine | None = None
    strategy: Strategy = Strategy.UPA

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        context: Any = TaskContext.get()
        yield from self.work(batches, int(context.getLocalProperty(BATCH_ID)))

    def work(self, batches: Iterable[pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
        """What a partition of a micro-batch sends on."""
        mine: dict[int, Parts] = {}
        for packed in batches:
            others = _sort_out(packed, self.stage.number, mine)
            if others.num_rows:
                yield others
        yield from self.answer(mine, batch)

    def answer(self, mine: Mapping[int, Parts], batch: int) -> Iterator[pa.RecordBatch]:
        """What buckets send on that get these blobs in a micro-batch."""
        if not mine:
            return
        committed = StateCommits(Path(self.state)).before(batch)
        written: dict[str, str] = {}
        answers: list[tuple[BucketHost, Answer]] = []
        for bucket, parts in sorted(mine.items()):
            files = BucketFiles(Path(self.state), self.stage.number, bucket)
            kept = self._take(files, bucket, committed.get(files.key))
            answer = kept.host.receive(parts)
            self._count_late(bucket, kept.host, answer)
            name, contents = files.write(batch, kept.contents, kept.host.save())
            CACHE.put((self.run, self.stage.number, bucket), name, Kept(kept.host, contents))
            written[files.key] = name
            answers.append((kept.host, answer))
            if self.delivery is None:
                yield packed_batch(self._send(bucket, kept.host, answer))
        yield packed_batch([(RESULT, min(mine), self._report(written, answers))])

    def _take(self, files: BucketFiles, bucket: int, committed: str | None) -> Kept:
        """The bucket's host as the last micro-batch left it."""
        if committed is not None:
            cached = CACHE.take((self.run, self.stage.number, bucket), committed)
            if cached is not None:
                return cached
        changes = self.delivery is not None and self.delivery.final
        host = BucketHost(self.stage, self.slacks, final=changes, strategy=self.strategy)
        contents = Contents()
        if committed is not None:
            contents = files.read(committed)
            host.load(files.segments(contents), contents.meta)
        return Kept(host, contents)

    def _send(self, bucket: int, host: BucketHost, answer: Answer) -> Iterator[Blob]:
        """The answer as blobs for the stages that read it."""
        parcels = scatter(answer.delta, self.routes, answer.counts)
        tell(parcels, self.stage.number + 1, [bucket], host.times, answer.counts)
        return blobs(parcels, self.routes.exchange)

    def _report(
        self, written: dict[str, str], answers: Sequence[tuple[BucketHost, Answer]]
    ) -> bytes:
        report = Report(written)
        if self.delivery is not None:
            counts = add_counts(answer.counts for _, answer in answers)
            hidden = self.delivery.hide([answer.delta for _, answer in answers])
            report = Report(written, max(host.now for host, _ in answers), counts, hidden)
        return pack(asdict(report), {})

    def _count_late(self, bucket: int, host: BucketHost, answer: Answer) -> None:
        """Keep rows whose instant was closed already, under a name that a repetition has too."""
        for edge, late in answer.late.items():
            if edge not in self.judging:
                continue
            answer.counts["late"] = answer.counts.get("late", 0) + len(late)
            answer.counts["rows_in"] = answer.counts.get("rows_in", 0) - len(late)
            if self.quarantine is not None:
                stream = next(str(e.source) for e in self.stage.inputs if e.name == edge)
                name = Path(f"closed-{self.run[:8]}-{bucket}-{host.step}")
                self.quarantine.write(stream, name, _rejections(late, self.clock))


def _sort_out(packed: pa.RecordBatch, stage: int, mine: dict[int, Parts]) -> pa.RecordBatch:
    """Take the blobs for a stage, by bucket; those for others are returned."""
    numbers, buckets = packed.column(0).to_numpy(), packed.column(1).to_numpy()
    blob = packed.column(2)
    for at in (numbers == stage).nonzero()[0].tolist():
        mine.setdefault(int(buckets[at]), []).append(open_blob(blob[at].as_buffer()))
    return packed.filter(pa.array(numbers != stage))


def reports_in(blob: Iterable[bytes]) -> list[Report]:
    """What tasks have told."""
    return [Report(**unpack(value)[0]) for value in blob]


def _rejections(late: Delta, clock: Clock) -> list[Rejected]:
    texts = map(as_json, late.rows.to_pylist())
    return [
        Rejected(
            row=i,
            reason=f"late: its time is {tick_text(ts, clock)}, and the query had closed a later "
            "instant; allow more disorder with SLACK, or wait longer for a stream that pauses "
            "with IDLE AFTER",
            text=text,
            ts=int(ts),
        )
        for i, (ts, text) in enumerate(zip(late.ts, texts, strict=True), 1)
    ]
