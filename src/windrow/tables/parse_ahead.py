"""Chunks of text parsed in threads while the rows before them are processed.

Arrow parses without the lock of Python, so two threads parse twice as much, and an engine that is
busy with one chunk need not wait for the next. Chunks are cut one after another and come out in
that order; no more than ``AHEAD`` wait. An error comes after the chunks before it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from windrow.core.thresholds import Threshold
from windrow.tables.chunks import Chunk

AHEAD = 2
"""Chunks that are parsed at a time, each in a thread; each may take as much memory as a block."""
LARGE = Threshold(1 << 19, least=1)
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
        if len(chunk.data) >= LARGE.value:
            with ThreadPoolExecutor(AHEAD, "windrow-parse") as pool:
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
        if len(waiting) > AHEAD:
            done, result = waiting.popleft()
            yield done, result.result()
    for done, result in waiting:
        yield done, result.result()
    if failure is not None:
        raise failure
