"""What the driver does with each micro-batch: publish its results, then commit its state.

It is done in a ``foreachBatch`` function. Spark goes on to the next micro-batch when that returns,
and repeats this one otherwise; both steps may be repeated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame

from windrow.spark.stage.exchange import clear
from windrow.spark.stage.stage_task import Report, reports_in
from windrow.spark.stage.state_files import StateCommits

RunBatch = Callable[[DataFrame, int], list[bytes]]
"""Runs a micro-batch, given as Spark has planned it and by its number; what its tasks report."""


class Publisher:
    """See the module."""

    def __init__(
        self,
        state: Path,
        publish: Callable[[int, Sequence[Report]], None],
        exchange: Path | None = None,
    ) -> None:
        self._exchange = exchange
        self._commits, self._publish = StateCommits(state), publish
        self._working = threading.Lock()

    def function(self, run: RunBatch) -> Callable[[DataFrame, int], None]:
        """What Spark is to call with each micro-batch; ``run`` runs its tasks."""
        return partial(self._take, run)

    def _take(self, run: RunBatch, frame: DataFrame, batch: int) -> None:
        with self._working:
            reports = reports_in(run(frame, batch))
            self._publish(batch, [r for r in reports if r.hidden is not None])
            written = {key: name for report in reports for key, name in report.state.items()}
            self._commits.publish(batch, written)
            if self._exchange is not None:
                clear(self._exchange)

    def settle(self) -> None:
        """Wait for a micro-batch that Spark no longer waits for, having been stopped."""
        with self._working:
            return


def collect_blobs(frame: DataFrame, _batch: int = 0) -> list[bytes]:
    """Run what a packed DataFrame stands for; the blobs that come out."""
    return [bytes(row.blob) for row in frame.select("blob").collect()]
