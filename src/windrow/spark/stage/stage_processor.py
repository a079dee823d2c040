# ruff: noqa: N802, N803 - the names and arguments of methods are Spark's
"""A stage on Spark: one BucketHost per bucket, its state in Spark's state store.

State is a map from segment to blob and a manifest. A micro-batch writes the segments that are new
and removes those that are over, which is what changed and no more; Spark versions and recovers
both together. The host itself stays decoded in the worker's cache and is used again if its token
is still the manifest's (see ``windrow.spark.stage.worker_cache``).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.core.time import Clock
from windrow.operators.base import Saved
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.result_files.change_table import changes_batch
from windrow.spark.stage.blobs import pack, pack_delta, unpack
from windrow.spark.stage.bucket_host import Answer, BucketHost
from windrow.spark.stage.deferred_processor import open_state
from windrow.spark.stage.packing import RESULT, Blob, blobs, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.worker_cache import WorkerCache
from windrow.streams.monitor import tick_text
from windrow.streams.quarantine import Quarantine
from windrow.tables.enforce import as_json
from windrow.tables.parsed_rows import Rejected

CACHE: WorkerCache[BucketHost] = WorkerCache()


@dataclass(frozen=True)
class StageTask:
    """All that a worker needs to know of a stage. ``run`` tells runs apart in the worker's cache.

    A late row goes along every edge of its stream; it is counted on the one in ``judging``. The
    ``final`` stage gives changes; of what is ``archived`` it gives rows with their expiries.
    """

    run: str
    stage: Stage
    slacks: dict[str, int]
    routes: Routes
    clock: Clock
    final: bool
    judging: frozenset[str] = frozenset()
    quarantine: Quarantine | None = None
    strategy: Strategy = Strategy.UPA
    archived: bool = False


class StageProcessor(StatefulProcessor):
    """Spark calls it once per bucket and micro-batch, with all blobs that are for the bucket."""

    def __init__(self, task: StageTask) -> None:
        self.task = task

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.segments, self.manifest = open_state(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        bucket, number = int(key[0]), self.task.stage.number
        mine, later = [], []
        for row in rows:
            if row["stage"] == number:
                mine.append(unpack(row["blob"]))
            else:
                later.append(row)
        host = self._host(bucket)
        answer = host.receive(mine)
        self._quarantine(bucket, host, answer)
        self._commit(bucket, host)
        yield from later
        for stage, target, blob in self._blobs(bucket, host, answer):
            yield Row(stage=stage, bucket=target, blob=blob)

    def close(self) -> None:
        """Nothing to release: the cache outlives the task on purpose."""

    def _host(self, bucket: int) -> BucketHost:
        """The bucket's host as of the last committed micro-batch."""
        task, stored = self.task, self.manifest.get()
        if stored is not None:
            cached = CACHE.take((task.run, task.stage.number, bucket), stored[0])
            if cached is not None:
                return cached
        changes = task.final and not task.archived
        host = BucketHost(task.stage, task.slacks, final=changes, strategy=task.strategy)
        if stored is not None:
            segments = {n[0]: unpack(b[0])[1]["segment"] for n, b in self.segments.iterator()}
            host.load(segments, json.loads(stored[1]))
        return host

    def _commit(self, bucket: int, host: BucketHost) -> None:
        saved: Saved = host.save()
        for name, batch in saved.put.items():
            self.segments.updateValue((name,), (pack({}, {"segment": batch}, compress=True),))
        for name in saved.drop:
            if name not in saved.put:
                self.segments.removeKey((name,))
        token = uuid.uuid4().hex  # new for each attempt, so that a failed one is never mistaken
        self.manifest.update((token, json.dumps(saved.meta, separators=(",", ":"))))
        CACHE.put((self.task.run, self.task.stage.number, bucket), token, host)

    def _quarantine(self, bucket: int, host: BucketHost, answer: Answer) -> None:
        """Keep rows whose instant was closed already, under a name that a repetition has too."""
        task = self.task
        for edge, late in answer.late.items():
            if edge not in task.judging:
                continue
            answer.counts["late"] = answer.counts.get("late", 0) + len(late)
            answer.counts["rows_in"] = answer.counts.get("rows_in", 0) - len(late)
            if task.quarantine is not None:
                stream = next(str(e.source) for e in task.stage.inputs if e.name == edge)
                rejected = [
                    Rejected(
                        row=i,
                        reason=f"late: its time is {tick_text(ts, task.clock)}, and the query had "
                        "closed a later instant; allow more disorder with SLACK, or wait longer "
                        "for a stream that pauses with IDLE AFTER",
                        text=text,
                        ts=int(ts),
                    )
                    for i, (ts, text) in enumerate(
                        zip(late.ts, map(as_json, late.rows.to_pylist()), strict=True), 1
                    )
                ]
                name = Path(f"closed-{task.run[:8]}-{bucket}-{host.step}")
                task.quarantine.write(stream, name, rejected)

    def _blobs(self, bucket: int, host: BucketHost, answer: Answer) -> Iterator[Blob]:
        task, number = self.task, self.task.stage.number
        if task.final:
            header = {"now": host.now, "counts": answer.counts}
            if task.archived:
                yield RESULT, bucket, pack(header, {"delta": pack_delta(answer.delta)})
                return
            changes = changes_batch(answer.delta, task.stage.plan.schema, task.clock)
            yield RESULT, bucket, pack(header, {"changes": changes})
            return
        parcels = scatter(answer.delta, task.routes, answer.counts)
        tell(parcels, number + 1, [bucket], host.times, answer.counts)
        yield from blobs(parcels)
