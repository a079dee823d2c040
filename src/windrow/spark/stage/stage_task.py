"""A stage of a job as tasks run it: what becomes of the blobs of one bucket.

Where blobs come from and go to, and when state is written, is the level's business
(``windrow.spark.stage.level_task``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.core.time import Clock
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.sharing.schedule import Pace
from windrow.spark.stage.blobs import Header
from windrow.spark.stage.bucket_constants import constants_of
from windrow.spark.stage.bucket_host import Answer, BucketHost
from windrow.spark.stage.late_begin import FROM_THE_START, LateBegin
from windrow.spark.stage.packing import Blob, Counts, add_counts, blobs, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.monitor import tick_text
from windrow.streams.quarantine import Quarantine
from windrow.tables.enforce import as_json
from windrow.tables.parsed_rows import Rejected

Parts = list[tuple[Header, dict[str, pa.RecordBatch]]]
"""Unpacked blobs."""
TOLD = "told"
"""Of what a task hides, that which is not hidden: changes that the driver is told, as a batch."""


class ResultDelivery(Protocol):
    """What a task does with the answers of a plan's last stage."""

    final: ClassVar[bool]
    """Whether it wants explicit changes, expiries included; otherwise rows with their expiries."""

    @property
    def room(self) -> int:
        """The bytes up to which answers are told to the driver."""
        ...

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        """Write answers where nobody looks yet; what the driver has to know to publish them.

        That is JSON, but for a batch under ``TOLD``.
        """
        ...

    def sync(self, hidden: Mapping[str, Any]) -> None:
        """Wait until what ``hide`` has said is on the disk: many wait together."""
        ...


def is_told(answers: Iterable[Delta], room: int) -> bool:
    """Whether answers are few enough to be told to the driver."""
    return sum(answer.nbytes for answer in answers) <= room


@dataclass(frozen=True)
class Report:
    """What a task tells the driver of a job whose last stage it ran: how far time has come, what
    was counted and what was hidden."""

    now: int | None = None
    counts: Counts = field(default_factory=dict)
    hidden: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class StageTask:
    """All that a worker needs to know of a stage of the job number ``job``.

    A late row goes along every edge of its stream; it is counted on the one in ``judging``. The
    last stage has a ``delivery``. ``run`` tells runs apart in the quarantine. A query that came
    late has a ``begin``.
    """

    run: str
    stage: Stage
    slacks: dict[str, int]
    routes: Routes
    clock: Clock
    job: int = 0
    delivery: ResultDelivery | None = None
    judging: frozenset[str] = frozenset()
    quarantine: Quarantine | None = None
    strategy: Strategy = Strategy.UPA
    begin: LateBegin = FROM_THE_START

    def new_host(self, bucket: int) -> BucketHost:
        """A bucket of this stage that has seen nothing."""
        changes = self.delivery is not None and self.delivery.final
        return BucketHost(
            self.stage, self.slacks, final=changes, strategy=self.strategy, begin=self.begin,
            constants=constants_of(self.stage, bucket, self.routes),
        )  # fmt: skip

    def answer(self, bucket: int, host: BucketHost, parts: Parts, pace: Pace) -> Answer:
        """What a bucket says to the blobs of a micro-batch; late rows go into the quarantine."""
        host.set_pace(pace)
        answer = host.receive(parts)
        self._count_late(bucket, host, answer)
        return answer

    def send(self, bucket: int, host: BucketHost, answer: Answer) -> Iterator[Blob]:
        """An answer as blobs for the stages that read it."""
        parcels = scatter(answer.delta, self.routes, answer.counts)
        tell(parcels, self.stage.number + 1, [bucket], host.times, answer.counts)
        return blobs(parcels, self.routes.exchange)

    def tells(self, answers: Sequence[tuple[BucketHost, Answer]]) -> bool:
        """Whether answers are told to the driver: then nothing waits for a disk."""
        room = 0 if self.delivery is None else self.delivery.room
        return is_told((answer.delta for _, answer in answers), room)

    def deliver(self, answers: Sequence[tuple[BucketHost, Answer]]) -> Report:
        """The answers of all buckets of a task, hidden."""
        assert self.delivery is not None
        counts = add_counts(answer.counts for _, answer in answers)
        hidden = self.delivery.hide([answer.delta for _, answer in answers])
        return Report(max(host.now for host, _ in answers), counts, hidden)

    def sync(self, report: Report) -> None:
        """Wait until what was hidden is on the disk."""
        assert self.delivery is not None
        self.delivery.sync(report.hidden)

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
