"""A stretch of a stream's log: what one task reads of it."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.spark.source.file_log import Entry
from windrow.streams.stream_time import StreamTime


@dataclass(frozen=True)
class Stretch:
    """Consecutive entries of the log from number ``first`` on, and the stream's time before each
    and after the last."""

    first: int
    entries: list[Entry]
    times: list[StreamTime]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)

    def split(self, tasks: int) -> list[Stretch]:
        """Stretches of about equal size for so many tasks, in order; files stay whole."""
        share = max(1, -(-self.size // tasks))
        parts: list[Stretch] = []
        filled = share
        for at, entry in enumerate(self.entries):
            if filled >= share and (entry.path is not None or not parts):
                parts.append(Stretch(self.first + at, [], [self.times[at]]))
                filled = 0
            parts[-1].entries.append(entry)
            parts[-1].times.append(self.times[at + 1])
            filled += entry.size
        return parts
