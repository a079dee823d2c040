"""A stretch of a stream's log: what one task reads of it."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import InputPartition

from windrow.spark.source.file_log import Entry
from windrow.streams.stream_time import StreamTime


@dataclass
class Stretch(InputPartition):
    """Consecutive entries of the log, and the stream's time before each and after the last."""

    first: int
    entries: list[Entry]
    times: list[StreamTime]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)
