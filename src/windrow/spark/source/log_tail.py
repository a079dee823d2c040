"""A file log as the driver follows it while the source appends to it; nothing is written here."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from windrow.spark.source.file_log import Entry, read_entries
from windrow.spark.source.stretch import Stretch
from windrow.streams.stream_time import StreamTime


class LogTail:
    """The entries of a log by micro-batch; ``start`` is the stream's time before the first."""

    def __init__(self, path: Path, start: StreamTime) -> None:
        self._path, self._size = path, 0
        self._entries: list[Entry] = []
        self._batches: list[int] = []
        self._times = [start]

    def stretch(self, batch: int) -> Stretch:
        """What was admitted for a micro-batch, which has begun: it is in the log by then."""
        self._read()
        first = bisect_right(self._batches, batch - 1)
        last = bisect_right(self._batches, batch)
        return Stretch(first, self._entries[first:last], self._times[first : last + 1])

    def _read(self) -> None:
        if not self._path.exists():
            return
        with self._path.open("rb") as file:
            file.seek(self._size)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._size += len(whole)
        for entry in read_entries(whole, self._path):
            self._entries.append(entry)
            self._batches.append(entry.batch or 0)
            self._times.append(entry.after(self._times[-1]))
