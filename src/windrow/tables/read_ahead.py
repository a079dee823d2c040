"""Files read and parsed in threads, some of it before it is asked for.

`ReadAhead` reads batches of a file. Reading, cutting and typing release the lock of Python most of
the time, so on a second core they cost whoever works with the rows nothing. The order of the
batches and the place of an error among them are those of the source. At most ``AHEAD`` batches
wait.

The thread never waits for whoever asks: it does one batch for each that may wait, and rests. So a
reading that is given up needs no farewell, but ``close`` ends it at once. To start a thread takes
as long as to read some thousand rows; whoever reads file after file keeps ``Readers``.

`parse_ahead` parses chunks of text while the rows before them are processed. Arrow parses without
the lock of Python, so two threads parse twice as much, and an engine that is busy with one chunk
need not wait for the next. Chunks are cut one after another and come out in that order; no more
than ``CHUNKS_AHEAD`` wait. An error comes after the chunks before it.

Both let the C library keep memory that was freed. If it gives every chunk's back to the system,
each page of the next one is made anew, which takes as long as to read and parse what is in it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Generic, TypeVar

from windrow.core.thresholds import Threshold
from windrow.tables.chunks import Chunk

AHEAD = 3
LARGE_FILE = Threshold(1 << 17, least=1)
"""Bytes of a part of a file that are worth a thread."""
Item = TypeVar("Item")


KEPT = 31 << 20
"""Bytes: just below the most that the C library of Linux learns from."""


@cache
def keep_freed_memory() -> None:
    """Let the C library keep what is freed for the next who asks, up to twice ``KEPT``.

    That of Linux does so from the moment when somebody has freed one large piece (mallopt(3),
    M_MMAP_THRESHOLD). Nothing is written to this one, so that it takes no memory; others ignore it.
    """
    bytes(KEPT)


class Readers:
    """Threads that read files and rest between them, as many as there are processors.

    Where all are busy a file waits for others that were begun before.
    """

    def __init__(self, most: int = 0) -> None:
        self._most = most or os.cpu_count() or 1
        self._files: dict[ThreadPoolExecutor, int] = {}

    def take(self) -> ThreadPoolExecutor:
        """The one that has the fewest files, or a new one, for one file more."""
        free = min(self._files, key=self._files.__getitem__, default=None)
        if free is None or (self._files[free] and len(self._files) < self._most):
            free = ThreadPoolExecutor(1, "windrow-read")
            self._files[free] = 0
        self._files[free] += 1
        return free

    def give_back(self, reader: ThreadPoolExecutor) -> None:
        """One of its files has been read, or is given up."""
        self._files[reader] -= 1

    def close(self) -> None:
        """Let those end that rest."""
        for reader in [r for r, files in self._files.items() if not files]:
            del self._files[reader]
            reader.shutdown()


class ReadAhead(Generic[Item], Iterator[Item]):
    """See the module. Reading begins when it is made."""

    def __init__(self, source: Generator[Item, None, None], readers: Readers) -> None:
        keep_freed_memory()
        self._source, self._readers = source, readers
        self._reader: ThreadPoolExecutor | None = readers.take()
        self._waiting: deque[Future[Item | None]] = deque()
        for _ in range(AHEAD):
            self._read_one()

    def _read_one(self) -> None:
        assert self._reader is not None
        self._waiting.append(self._reader.submit(next, self._source, None))

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
        reader, self._reader = self._reader, None
        if reader is None:
            return
        wait([future for future in self._waiting if not future.cancel()])
        self._waiting.clear()
        self._source.close()
        self._readers.give_back(reader)


CHUNKS_AHEAD = 2
"""Chunks that are parsed at a time, each in a thread; each may take as much memory as a block."""
LARGE_CHUNK = Threshold(1 << 19, least=1)
"""Bytes of a chunk that are worth a thread."""
Result = TypeVar("Result")


def parse_ahead(
    chunks: Iterator[Chunk], parse: Callable[[Chunk], Result]
) -> Iterator[tuple[Chunk, Result]]:
    """Each chunk, in order, with what ``parse`` makes of it.

    Threads belong to one reading of one file: they start with its first large chunk, so a process
    may fork between two files, and they have ended when the reading has.
    """
    for chunk in chunks:
        if len(chunk.data) >= LARGE_CHUNK.value:
            keep_freed_memory()
            with ThreadPoolExecutor(CHUNKS_AHEAD, "windrow-parse") as pool:
                yield from _in_threads(chunk, chunks, parse, pool)
        else:
            yield chunk, parse(chunk)


def _in_threads(
    first: Chunk,
    others: Iterator[Chunk],
    parse: Callable[[Chunk], Result],
    pool: ThreadPoolExecutor,
) -> Iterator[tuple[Chunk, Result]]:
    waiting: deque[tuple[Chunk, Future[Result]]] = deque([(first, pool.submit(parse, first))])
    failure: Exception | None = None
    while True:
        try:
            chunk = next(others, None)
        except Exception as error:
            failure = error
            break
        if chunk is None:
            break
        waiting.append((chunk, pool.submit(parse, chunk)))
        if len(waiting) > CHUNKS_AHEAD:
            done, result = waiting.popleft()
            yield done, result.result()
    for done, result in waiting:
        yield done, result.result()
    if failure is not None:
        raise failure
