"""Small micro-batches without a shuffle: each task of the first stage reads what came, all of it.

Reading a small file takes less time than a task that reads it and the way through a shuffle. So
where the files of a micro-batch are small enough, every task of the first stage reads all of them
and keeps the tuples of its own buckets. What they judge is the same, as files are always judged by
what the log says (``windrow.spark.source.read_task``); one of them counts the rows, and has the
quarantine.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.source.file_source import ROWS_PER_BLOB, SourceSpec
from windrow.spark.source.read_task import Intake
from windrow.spark.source.stretch import Stretch
from windrow.spark.stage.packing import Counts, Parcel, blobs, packed_batch, scatter, tell
from windrow.spark.stage.stage_task import Parts, StageTask


@dataclass(frozen=True)
class FirstStage:
    """The first stage and what it reads; ``shares`` are the buckets of each task."""

    task: StageTask
    specs: tuple[SourceSpec, ...]
    shares: tuple[tuple[int, ...], ...]

    def work(
        self, stretches: Sequence[Stretch], batch: int, buckets: tuple[int, ...]
    ) -> Iterator[pa.RecordBatch]:
        """What the tuples of a micro-batch become that are for some buckets."""
        mine: dict[int, Parts] = {bucket: [] for bucket in buckets}
        for spec, stretch in zip(self.specs, stretches, strict=True):
            if not stretch.entries:
                continue
            for (stage, bucket), parcel in self._parcels(spec, stretch, buckets):
                if stage == self.task.stage.number:
                    mine[bucket].append((parcel.header, parcel.parts))
                else:
                    yield packed_batch(blobs({(stage, bucket): parcel}, spec.routes.exchange))
        yield from self.task.answer(mine, batch)

    def _parcels(
        self, spec: SourceSpec, stretch: Stretch, buckets: tuple[int, ...]
    ) -> Iterator[tuple[tuple[int, int], Parcel]]:
        """The tuples of a stream that are for these buckets, then its time."""
        counting = spec.routes.buckets[0] in buckets
        intake = Intake(
            spec.declaration,
            spec.quarantine if counting else None,
            ROWS_PER_BLOB.value,
            spec.relation,
            spec.since,
        )
        routes = replace(spec.routes, wanted=frozenset(buckets))
        before = zip(stretch.entries, stretch.times, strict=False)
        for chunk, delta in enumerate(intake.files(before)):
            yield from scatter(delta, routes, intake.counts, (stretch.first, chunk)).items()
        known: dict[tuple[int, int], Parcel] = {}
        counts: Counts = intake.counts if counting else {}
        first = [b for b in spec.routes.buckets if b in buckets]
        tell(known, 0, first, {spec.declaration.name: stretch.times[-1]}, counts)
        yield from known.items()


@dataclass(frozen=True)
class DirectRead:
    """What a task gets of one micro-batch. The ``stage``, which is always the same, is bytes: made
    once at the driver, and unpacked once in each worker."""

    stage: bytes
    stretches: tuple[Stretch, ...]
    batch: int

    def __call__(self, batches: Iterable[object]) -> Iterator[pa.RecordBatch]:
        """For ``mapInArrow``: the rows are those of a range, and say nothing."""
        freeze_imports()
        for _ in batches:
            pass
        context: Any = TaskContext.get()
        stage = _unpack(self.stage)
        yield from stage.work(self.stretches, self.batch, stage.shares[context.partitionId()])

    def blobs(self, numbers: Iterable[object]) -> Iterator[bytes]:
        """For ``mapPartitions``, if there is no stage after this one: what it reports."""
        for batch in self(numbers):
            yield from batch.column("blob").to_pylist()


@lru_cache(maxsize=64)
def _unpack(stage: bytes) -> FirstStage:
    found = pickle.loads(stage)  # noqa: S301 - made by the driver of this application
    assert isinstance(found, FirstStage)
    return found
