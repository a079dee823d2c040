"""From where in the inboxes of a connection a pipeline reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from windrow.core.time import BEGINNING
from windrow.plan.catalog import QueryDeclaration
from windrow.result_files.atomic_files import publish
from windrow.spark.checkpoint.pipeline_directory import PipelineHome
from windrow.spark.source.inbox_inputs import InboxInputs
from windrow.streams.relations import RelationMonitor
from windrow.streams.stream_time import StreamTime


@dataclass(frozen=True)
class Delivery:
    """An inbox as a pipeline finds it when it starts; ``since`` is for relations (see
    ``windrow.spark.source.file_source``)."""

    directory: Path
    first: int
    start: StreamTime
    since: int = BEGINNING


def deliveries(
    inputs: InboxInputs, home: PipelineHome, readers: Mapping[str, QueryDeclaration]
) -> dict[str, Delivery]:
    """Where each inbox stood when the jobs of the pipeline were made, noted in its directory.

    ``readers`` has for each stream a query that reads it. Of a relation they need all, but what it
    held by then is news to them.
    """
    if not home.inboxes.exists():
        stood = {}
        for name, query in readers.items():
            monitor = inputs.read_by(query, name)
            top = BEGINNING if monitor.top is None else monitor.top
            first, since = inputs.inbox(name).next, BEGINNING
            time = [top, monitor.advanced_to]
            if isinstance(monitor, RelationMonitor):
                first, since, time = 0, max(monitor.closed_instant, BEGINNING + 1), []
            stood[name] = [first, since, *time]
        publish(home.inboxes, json.dumps(stood))
    known = json.loads(home.inboxes.read_text())
    return {
        name: Delivery(inputs.inbox(name).directory, first, StreamTime(*time), since)
        for name, (first, since, *time) in known.items()
        if name in readers
    }
