"""Named points of a micro-batch at which a driver can fail: one thing is on disk, not the next.

admitted     files are in the logs of their streams, no micro-batch has them
tasks        a micro-batch has begun, no task has run
reports      tasks have written state and hidden results, nothing is published
between      some queries have published, others have not
published    all queries have published, the state is not committed
committed    the state is committed, nobody has noted that the micro-batch is over
noted        that is noted, and old notes are gone

The first and the last are points of a thread of ours; a streaming query of Spark's has its own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import wraps
from typing import Any

OURS = ("admitted", "noted")
POINTS = (*OURS, "tasks", "reports", "between", "published", "committed")
Patch = Callable[[type, str, Callable[..., Any]], None]
"""Replaces a method of a class."""


def fail_at(point: str, count: int, fail: Callable[[], None], patch: Patch) -> None:
    """Call ``fail`` when a point is reached for the ``count``-th time."""
    from windrow.result_files.publication import Publication  # noqa: PLC0415
    from windrow.spark.checkpoint.batch_logs import BatchNotes  # noqa: PLC0415
    from windrow.spark.run.micro_batches import MicroBatches  # noqa: PLC0415 - loads Spark
    from windrow.spark.run.publish_results import ResultPublisher  # noqa: PLC0415
    from windrow.spark.stage.state_files import StateCommits  # noqa: PLC0415

    place = {
        "admitted": (BatchNotes, "begin", True),
        "noted": (BatchNotes, "end", False),
        "tasks": (MicroBatches, "run", True),
        "reports": (ResultPublisher, "publish", True),
        "between": (Publication, "name_commit", False),
        "published": (StateCommits, "publish", True),
        "committed": (StateCommits, "publish", False),
    }
    owner, name, before = place[point]
    real, calls = getattr(owner, name), itertools.count(1)

    @wraps(real)
    def failing(*arguments: Any, **named: Any) -> Any:
        here = next(calls) == count
        if before and here:
            fail()
        found = real(*arguments, **named)
        if not before and here:
            fail()
        return found

    patch(owner, name, failing)
