"""Any streaming DataFrame as a stream: its rows are packed by ``mapInArrow``.

Spark gives no order to the rows of a DataFrame, so slack cannot be judged row by row here. A row
is late if its instant was closed by an earlier micro-batch; the stages find that out. A row is
ahead by the time of its micro-batch alone, which Spark writes down before it begins: a repetition
judges the same. So AHEAD needs a TIMESTAMP clock here. Nobody can say of a DataFrame that it has
been silent, so IDLE AFTER is refused, and ``advance`` says that nothing will come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, functions

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.catalog import StreamDeclaration
from windrow.spark.frozen_imports import freeze_imports
from windrow.spark.stage.packing import Counts, blobs, packed_batch, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.horizon import Horizon, horizon_of
from windrow.streams.monitor import Accepted, timestamps
from windrow.streams.pushed_rows import parse_pushed
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import StreamTime
from windrow.tables.parsed_rows import Parsed, Rejected

BATCH_ID = "streaming.sql.batchId"
WALL = "__windrow_wall"


def with_wall(frame: DataFrame) -> DataFrame:
    """The DataFrame with the time of its micro-batch, which Spark keeps with the offsets."""
    return frame.withColumn(WALL, functions.current_timestamp())


def _wall_of(batch: pa.RecordBatch) -> int:
    walls = batch.column(WALL).cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return int(walls[0].as_py()) if len(walls) else FOREVER


def _in_time(
    parsed: Parsed, declaration: StreamDeclaration, horizon: Horizon
) -> tuple[Accepted, int]:
    """The rows that are not ahead of the wall, and the greatest timestamp that is not."""
    ts = timestamps(parsed.rows, declaration)
    limit = FOREVER if horizon.wall is None else horizon.limit(horizon.wall)
    ahead = np.flatnonzero(ts > limit)
    delta = Delta.insertions(ts, parsed.rows).filter(ts <= limit)
    none = np.empty(0, np.int64)
    accepted = Accepted(delta, none, none, ahead, np.full(len(ahead), limit))
    seen = [r.ts for r in parsed.rejected if r.ts is not None and r.ts <= limit]
    return accepted, max([BEGINNING, *seen, int(delta.ts.max(initial=BEGINNING))])


@dataclass(frozen=True)
class FramePacker:
    """The function that ``mapInArrow`` calls in every task; ``routes`` are by job."""

    declaration: StreamDeclaration
    routes: tuple[tuple[int, Routes], ...]
    quarantine: Quarantine | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        declaration = self.declaration
        counts: Counts = {"rows_in": 0, "late": 0, "rejected": 0, "cut": 0}
        parts, refused, top = [], list[Rejected](), BEGINNING
        for batch in batches:
            horizon = horizon_of(declaration, _wall_of(batch))
            parsed = parse_pushed(batch.drop_columns([WALL]), declaration)
            accepted, reached = _in_time(parsed, declaration, horizon)
            top = max(top, reached)
            parts.append(accepted.delta)
            refused += [*parsed.rejected, *accepted.rejections(parsed, declaration)]
            counts["rows_in"] += len(accepted.delta)
            counts["cut"] += parsed.cut
        counts["rejected"] = len(refused)
        if not parts:
            return
        context: Any = TaskContext.get()
        delta = concat(parts, arrow_schema(declaration.schema))
        for job, routes in self.routes:
            counted = dict(counts)
            parcels = scatter(delta, routes, counted, (context.partitionId(),))
            yield packed_batch(blobs(parcels, routes.exchange), job)
            known: dict[tuple[int, int], Any] = {}
            tell(known, 0, routes.buckets, {declaration.name: StreamTime(top)}, counted)
            yield packed_batch(blobs(known), job)
        if refused and self.quarantine is not None:
            name = f"frame-{context.getLocalProperty(BATCH_ID)}-{context.partitionId()}"
            self.quarantine.write(declaration.name, Path(name), refused)
