# ruff: noqa: N802, N803 - the names and arguments of methods are Spark's
"""A stage as Spark's processes get it: what runs it is imported where rows come.

When a query starts, Spark has a process of its own ask each stage which state it keeps, and
nothing else. What a stage is made of takes a second and a half to import, so the description
travels as bytes, and only workers that are given rows unpack them.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from windrow.spark.frozen_imports import freeze_imports

if TYPE_CHECKING:
    from windrow.spark.stage.stage_processor import StageProcessor, StageTask


def open_state(handle: StatefulProcessorHandle) -> tuple[Any, Any]:
    """The state of a stage: its segments by name, and the manifest."""
    segments = handle.getMapState("segments", "name string", "blob binary")
    return segments, handle.getValueState("manifest", "token string, meta string")


class DeferredProcessor(StatefulProcessor):
    """A StageProcessor that is made when the first rows come."""

    def __init__(self, task: StageTask) -> None:
        self._task = pickle.dumps(task)
        self._processor: StageProcessor | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = open_state(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        if self._processor is None:
            self._processor = self._unpacked()
        return self._processor.handleInputRows(key, rows, timerValues)

    def _unpacked(self) -> StageProcessor:
        # Imported late: see the module.
        from windrow.spark.stage.stage_processor import StageProcessor  # noqa: PLC0415

        processor = StageProcessor(pickle.loads(self._task))  # noqa: S301 - made in __init__
        processor.segments, processor.manifest = self._state
        freeze_imports()
        return processor

    def close(self) -> None:
        """Nothing to release: the cache outlives the task on purpose."""
