"""Changes on their way from a query to whoever wants them, kept until all of those have seen them.

A log is read by cursors: the outlet of INTO has one, each callback has one, and so have ``changes``
and ``answer``, unless they read what the outlet has written. What all cursors have passed is let
go, so a query whose changes are drained, heard or written holds as much as nobody has seen yet.

Callbacks are called while no lock is held, since they may wait for other threads that need the
connection. So entries may come while others are being heard, and the log has a lock of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

T = TypeVar("T")
Hear = Callable[[pa.RecordBatch], object]
TakeBatch = Callable[[pa.Table, int], object]
"""Takes the changes of a micro-batch, and its number."""


class ChangeLog(Generic[T]):
    """Entries in the order in which they came."""

    def __init__(self) -> None:
        self._entries: list[T] = []
        self._first = 0
        self._cursors: list[Cursor[T]] = []
        self._lock = Lock()

    def __len__(self) -> int:
        """How many are held."""
        return len(self._entries)

    def append(self, entry: T) -> None:
        """Add an entry, and let go of those that everybody has seen."""
        with self._lock:
            self._trim()
            self._entries.append(entry)

    @property
    def end(self) -> int:
        return self._first + len(self._entries)

    def trim(self) -> None:
        """Let go of what everybody has seen."""
        with self._lock:
            self._trim()

    def _trim(self) -> None:
        seen = min((cursor.position for cursor in self._cursors), default=self.end)
        del self._entries[: seen - self._first]
        self._first = seen

    def cursor(self) -> Cursor[T]:
        """A cursor before the first entry that is held."""
        with self._lock:
            self._trim()
            cursor = Cursor(self, self._first)
            self._cursors.append(cursor)
        return cursor

    def after(self, position: int) -> list[T]:
        with self._lock:
            return self._entries[position - self._first :]

    def drop(self, cursor: Cursor[T]) -> None:
        with self._lock:
            if cursor in self._cursors:
                self._cursors.remove(cursor)


class Cursor(Generic[T]):
    """How far somebody has come in a log."""

    def __init__(self, log: ChangeLog[T], position: int) -> None:
        self._log, self.position = log, position

    def ahead(self) -> list[T]:
        """What is still to be seen."""
        return self._log.after(self.position)

    def __iter__(self) -> Iterator[T]:
        """One entry after the other; each is seen when the next is asked for."""
        while ahead := self.ahead():
            yield ahead[0]
            self.position += 1

    def take(self) -> Iterator[T]:
        """The same, but each is seen when it is given."""
        while ahead := self.ahead():
            self.position += 1
            yield ahead[0]

    def close(self) -> None:
        self._log.drop(self)


class Stored(Protocol):
    """Where an outlet keeps changes, in numbered parts."""

    def parts(self, after: int) -> Iterator[tuple[int, pa.Table]]:
        """The parts behind number ``after``, each with its number."""
        ...

    @property
    def last(self) -> int: ...

    @property
    def pending(self) -> Sequence[pa.RecordBatch]:
        """What could not be stored yet."""
        ...


class QueryChanges(Generic[T]):
    """The changes of one query for those who want them; ``cut`` gives them out of an entry.

    With ``keep`` they are there for whoever asks, until they are drained.
    """

    def __init__(
        self, log: ChangeLog[T], cut: Callable[[T], pa.RecordBatch], *, keep: bool = True
    ) -> None:
        self._log, self._cut = log, cut
        self._kept: Cursor[T] = log.cursor()
        if not keep:
            self._kept.close()
        self._news: Cursor[T] | None = None
        self._ears: list[tuple[Cursor[T], Hear]] = []
        self._stored: Stored | None = None
        self._drained = -1

    def close(self) -> None:
        """Nobody will ask for changes any more."""
        for cursor in (self._kept, self._news, *(cursor for cursor, _ in self._ears)):
            if cursor is not None:
                cursor.close()
        self._ears = []
        self._log.trim()

    def write_to(self, stored: Stored | None) -> None:
        """There is an outlet from now on; what it stores need not be kept here."""
        self._news, self._stored = self._log.cursor(), stored
        if stored is not None:
            self._kept.close()

    def news(self) -> Iterator[pa.RecordBatch]:
        """What the outlet has not been given before."""
        assert self._news is not None, "there is an outlet"
        for entry in self._news.take():
            if (part := self._cut(entry)).num_rows:
                yield part

    def table(self, schema: pa.Schema, *, drain: bool = False) -> pa.Table:
        """All changes that were not drained; ``drain`` makes them so."""
        if drain:
            return pa.Table.from_batches(self.stream(), schema)
        if self._stored is None:
            return pa.Table.from_batches(self._cuts(self._kept.ahead()), schema)
        assert self._news is not None
        tables = [table for _, table in self._stored.parts(self._drained)]
        rest = [*self._stored.pending, *self._cuts(self._news.ahead())]
        return pa.concat_tables([*tables, pa.Table.from_batches(rest, schema)])

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, which they are when the next are asked for."""
        if self._stored is None:
            yield from self._parts(self._kept)
            return
        for number, table in self._stored.parts(self._drained):
            yield from table.to_batches()
            self._drained = number

    def hear(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come."""
        for changes in self.stream():
            listener(changes)
        cursor = self._log.cursor()
        cursor.position = self._log.end
        self._ears.append((cursor, listener))

    def each_batch(self, function: TakeBatch) -> None:
        """Call ``function`` as a listener, with numbers from 0 on.

        What it has failed on comes again under the same number.
        """
        number = 0

        def hear(changes: pa.RecordBatch) -> None:
            nonlocal number
            function(pa.Table.from_batches([changes]), number)
            number += 1

        self.hear(hear)

    def tell(self) -> None:
        """Let listeners hear what is new, which drains it.

        One that fails hears what it has failed on again the next time.
        """
        for cursor, listener in self._ears:
            for changes in self._parts(cursor):
                listener(changes)
        if self._ears:
            self._kept.position = min(cursor.position for cursor, _ in self._ears)
            self._drained = -1 if self._stored is None else self._stored.last

    @property
    def has_news(self) -> bool:
        """Whether listeners have something to hear."""
        return any(cursor.position < self._log.end for cursor, _ in self._ears)

    def _parts(self, cursor: Cursor[T]) -> Iterator[pa.RecordBatch]:
        for entry in cursor:
            if (part := self._cut(entry)).num_rows:
                yield part

    def _cuts(self, entries: Sequence[T]) -> list[pa.RecordBatch]:
        return [part for entry in entries if (part := self._cut(entry)).num_rows]
