"""How rows come to pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame

from windrow.core.time import BEGINNING, Wall, wall_clock
from windrow.streams.quarantine import Quarantine
from windrow.streams.stream_time import StreamTime


@dataclass(frozen=True)
class Delivery:
    """An inbox as a pipeline finds it when it starts; ``since`` is for relations (see
    ``windrow.spark.source.file_source``)."""

    directory: Path
    first: int
    start: StreamTime
    since: int = BEGINNING


@dataclass(frozen=True)
class Feed:
    """``once`` ends with the files that are there; ``live`` never pauses.

    ``files`` is how many files of a stream a trigger takes; None leaves it to their size. Results
    of another run are refused unless ``overwrite`` says that they may go. By the ``wall`` rows are
    ahead and streams idle.
    """

    once: bool = False
    live: bool = False
    files: int | None = None
    quarantine: Quarantine | None = None
    overwrite: bool = False
    inboxes: Mapping[str, Delivery] = field(default_factory=dict)
    frames: Mapping[str, DataFrame] = field(default_factory=dict)
    wall: Wall = wall_clock
