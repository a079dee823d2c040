"""Any streaming DataFrame as a stream: its rows are packed by ``mapInArrow``.

Spark gives no order to the rows of a DataFrame, so slack cannot be judged row by row here. A row
is late if its instant was closed by an earlier micro-batch; the stages find that out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING
from windrow.plan.catalog import StreamDeclaration
from windrow.spark.packing import Counts, blobs, packed_batch, scatter, tell
from windrow.spark.routes import Routes
from windrow.spark.times import StreamTime
from windrow.streams.coerce import coerce
from windrow.streams.monitor import timestamps
from windrow.streams.parsed import Rejected
from windrow.streams.quarantine import Quarantine

BATCH_ID = "streaming.sql.batchId"


@dataclass(frozen=True)
class FramePacker:
    """The function that ``mapInArrow`` calls in every task."""

    declaration: StreamDeclaration
    routes: Routes
    quarantine: str | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        declaration, routes = self.declaration, self.routes
        counts: Counts = {"rows_in": 0, "late": 0, "rejected": 0}
        parts, refused, top = [], list[Rejected](), BEGINNING
        for batch in batches:
            parsed = coerce(batch, declaration)
            ts = timestamps(parsed.rows, declaration)
            seen = [r.ts for r in parsed.rejected if r.ts is not None]
            top = max([top, *seen, int(ts.max(initial=BEGINNING))])
            parts.append(Delta.insertions(ts, parsed.rows))
            refused += parsed.rejected
            counts["rows_in"] += len(parsed)
        counts["rejected"] = len(refused)
        if not parts:
            return
        context: Any = TaskContext.get()
        delta = concat(parts, arrow_schema(declaration.schema))
        parcels = scatter(delta, routes, (context.partitionId(),))
        yield packed_batch(blobs(parcels))
        known: dict[tuple[int, int], Any] = {}
        tell(known, 0, routes.buckets, {declaration.name: StreamTime(top)}, counts)
        yield packed_batch(blobs(known))
        if refused and self.quarantine is not None:
            name = f"frame-{context.getLocalProperty(BATCH_ID)}-{context.partitionId()}"
            Quarantine(Path(self.quarantine)).write(declaration.name, Path(name), refused)
