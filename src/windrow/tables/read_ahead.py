"""Batches of a file read in a thread, some before they are asked for.

Reading, cutting and typing release the lock of Python most of the time, so on a second core they
cost whoever works with the rows nothing. The order of the batches and the place of an error among
them are those of the source. At most ``AHEAD`` batches wait.

The thread never waits for whoever asks: it does one batch for each that may wait, and rests. So a
reading that is given up needs no farewell, but ``close`` ends it at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from windrow.core.thresholds import Threshold

AHEAD = 3
LARGE = Threshold(1 << 20, least=1)
"""Bytes of a part of a file that are worth a thread."""
Item = TypeVar("Item")


class ReadAhead(Generic[Item], Iterator[Item]):
    """See the module. Reading begins when it is made."""

    def __init__(self, source: Generator[Item, None, None]) -> None:
        self._source = source
        self._pool = ThreadPoolExecutor(1, "windrow-read")
        self._waiting: deque[Future[Item | None]] = deque()
        for _ in range(AHEAD):
            self._read_one()

    def _read_one(self) -> None:
        self._waiting.append(self._pool.submit(next, self._source, None))

    def __next__(self) -> Item:
        if not self._waiting:
            raise StopIteration
        try:
            item = self._waiting.popleft().result()
        except BaseException:
            self.close()
            raise
        if item is None:
            self.close()
            raise StopIteration
        self._read_one()
        return item

    def close(self) -> None:
        """Read no more, and let go of the file."""
        self._waiting.clear()
        self._pool.shutdown(cancel_futures=True)
        self._source.close()
