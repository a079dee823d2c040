"""How a micro-batch is run: through a shuffle, or, if what came is small, read where it is needed.

Spark plans a streaming query once. The driver's function for each micro-batch may run another plan
over the same rows, and does so where the log says that the files are small: then the tasks of the
first stage read all of them (``windrow.spark.source.direct_read``). That saves a stage of tasks and
the way between the two, which is most of what a small micro-batch takes.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from windrow.core.thresholds import Threshold
from windrow.spark.run.session import shuffle_partitions
from windrow.spark.sink.publisher import collect_blobs
from windrow.spark.source.direct_read import DirectRead, FirstStage
from windrow.spark.source.file_source import SourceSpec
from windrow.spark.source.log_tail import LogTail
from windrow.spark.source.stretch import Stretch
from windrow.spark.stage.bucket_hash import spark_hash
from windrow.spark.stage.routes import PACKED
from windrow.spark.stage.stage_task import StageTask

PARQUET_BYTES = Threshold(64 * 2**20)
TEXT_BYTES = Threshold(4 * 2**20)
"""Bytes that may be read once more than needed, by all tasks together."""


def through_stages(frame: DataFrame, tasks: Sequence[StageTask], partitions: int) -> DataFrame:
    """Packed rows through stages, each bucket in its partition."""
    for task in tasks:
        frame = frame.repartition(partitions, "bucket").mapInArrow(task, PACKED)
    return frame


class DirectPlan:
    """For a query whose streams are all in files."""

    def __init__(
        self, session: SparkSession, specs: Sequence[SourceSpec], tasks: Sequence[StageTask]
    ) -> None:
        self._session, self._specs, self._tasks = session, specs, tasks
        self._logs = [LogTail(Path(spec.log), spec.start) for spec in specs]
        self._partitions = shuffle_partitions(session)
        buckets = specs[0].routes.buckets
        shares = [
            tuple(b for b in buckets if spark_hash(b) % self._partitions == p)
            for p in range(self._partitions)
        ]
        first = FirstStage(tasks[0], tuple(specs), tuple(share for share in shares if share))
        self._count, self._first = len(first.shares), pickle.dumps(first)

    def run(self, frame: DataFrame, batch: int) -> list[bytes]:
        """What the tasks of a micro-batch report; ``frame`` is what Spark would run."""
        stretches = tuple(log.stretch(batch) for log in self._logs)
        if not any(stretch.entries for stretch in stretches) or not self._pays(stretches):
            return collect_blobs(frame)
        read = DirectRead(self._first, stretches, batch)
        if len(self._tasks) == 1:
            numbers = self._session.sparkContext.parallelize(range(self._count), self._count)
            return numbers.mapPartitions(read.blobs).collect()
        answered = self._session.range(0, self._count, 1, self._count).mapInArrow(read, PACKED)
        return collect_blobs(through_stages(answered, self._tasks[1:], self._partitions))

    def _pays(self, stretches: Sequence[Stretch]) -> bool:
        """Whether to read everything in each task takes less than to send it."""
        more, found = self._count - 1, list(zip(self._specs, stretches, strict=True))
        columnar = sum(stretch.size for spec, stretch in found if _is_columnar(spec))
        text = sum(stretch.size for spec, stretch in found if not _is_columnar(spec))
        return more * columnar <= PARQUET_BYTES.value and more * text <= TEXT_BYTES.value


def _is_columnar(spec: SourceSpec) -> bool:
    """Whether a stream's rows are in Parquet; those of inboxes and relations are by now."""
    source = spec.declaration.source
    return spec.relation is not None or source is None or source.format.lower() == "parquet"
