"""Pipelines over files start one after the other.

The Python workers of many must not all start at once: Spark gives each of them ten seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.run.spark_run import SparkRun

SECONDS_BETWEEN_LOOKS = 0.2
LONGEST_START = 60.0
"""Seconds that a query's sources are waited for before the next query starts."""


class StartsInTurn:
    """See the module."""

    def __init__(self) -> None:
        self._waited = 0.0

    def look(self, pipelines: Sequence[Pipeline], runs: Sequence[SparkRun]) -> bool:
        """Start a pipeline if none is starting, and look at all: whether one of them runs."""
        waiting = next((p for p in pipelines if not p.has_started), None)
        if waiting is not None:
            starting = any(p.starting for p in pipelines) and self._waited < LONGEST_START
            if not starting:
                waiting.start()
                self._waited = 0.0
        running = waiting is not None or any(p.active for p in pipelines)
        for run in runs:
            run.look()
        again = [pipeline.look() for pipeline in pipelines if pipeline.has_started]
        self._waited += SECONDS_BETWEEN_LOOKS
        return running or any(again)
