"""The changes of a query on Spark for whoever looks at them: all, those that are new, or as a call.

They are in files, so this is a place up to which they were drained. Listeners are called from a
thread of their own, since queries run whether or not anybody calls the connection.

The function of ``foreach_batch`` is called with every micro-batch, between its results and the
note that it is over. A micro-batch whose function fails, or whose driver dies meanwhile, is
therefore repeated under the same number. Up to which number a function was called is written down
beside the query's state (``foreach_batch-<query>-<n>.json``), so what was published while nobody
called it comes when it is there again, and what is repeated after the call does not come twice.
Only a driver that dies between the two calls it again: at least once, in order, told apart by the
number.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.engine.change_log import Hear, TakeBatch
from windrow.result_files.atomic_files import publish, read_record

SECONDS_BETWEEN_LOOKS = 0.2

Parts = Callable[[int], Iterator[tuple[int, pa.Table]]]
"""The changes after a micro-batch, in parts, each with the last micro-batch that it is of."""


class Consuming:
    """``last`` is the last micro-batch that is committed; ``forget`` is told what was drained.

    ``start`` makes changes come, for listeners who wait for them. ``hook`` lets a function be
    called with every micro-batch.
    """

    def __init__(
        self,
        parts: Parts,
        last: Callable[[], int],
        forget: Callable[[int], None],
        start: Callable[[], object] = lambda: None,
        hook: Callable[[TakeBatch], None] = lambda _: None,
    ) -> None:
        self.parts, self._last, self._forget, self._start = parts, last, forget, start
        self._hook = hook
        self._drained = -1
        self._reading = threading.RLock()
        self._listening: _Listening | None = None

    def table(self, schema: pa.Schema, *, drain: bool) -> pa.Table:
        """All changes that were not drained; ``drain`` makes them so."""
        if drain:
            return pa.Table.from_batches(self.stream(), schema)
        with self._reading:
            tables = [table for _, table in self.parts(self._drained)]
        return pa.concat_tables([schema.empty_table(), *tables])

    def stream(self) -> Iterator[pa.RecordBatch]:
        """The changes that were not drained, which they are when the next are asked for."""
        with self._reading:
            for number, table in self.parts(self._drained):
                yield from table.to_batches()
                self._drained = number
            self._forget(self._drained)

    def hear(self, listener: Hear) -> None:
        """Call ``listener`` with all changes that were not drained, and then with all that come."""
        self._start()
        if self._listening is None:
            self._listening = _Listening(self)
            self._listening.start()
        self._listening.add(listener)

    def each_batch(self, function: TakeBatch) -> None:
        """Call ``function`` with every micro-batch (``windrow.spark.run.change_consumers``)."""
        self._hook(function)
        self._start()

    def drain_to(self, batch: int) -> None:
        """The changes up to a micro-batch have been seen."""
        with self._reading:
            self._drained = max(self._drained, batch)
            self._forget(self._drained)

    @property
    def new(self) -> bool:
        """Whether something is there that was not drained."""
        return self._last() > self._drained

    def raise_failure(self) -> None:
        """What a listener has failed with, if one has, once."""
        if self._listening is not None:
            self._listening.raise_failure()

    def stop(self) -> None:
        """Let listeners hear what is there, and nothing after that."""
        if self._listening is not None:
            self._listening.stop()
            self._listening.raise_failure()


class _Listening(threading.Thread):
    """Looks for new changes and calls listeners, until it is stopped or one of them fails."""

    def __init__(self, consuming: Consuming) -> None:
        super().__init__(name="windrow-listeners", daemon=True)
        self._consuming = consuming
        self._listeners: list[Hear] = []
        self._stopped = threading.Event()
        self._failure: Exception | None = None

    def add(self, listener: Hear) -> None:
        self._listeners.append(listener)

    def run(self) -> None:
        try:
            while not self._stopped.wait(SECONDS_BETWEEN_LOOKS):
                self._tell()
            self._tell()
        except Exception as error:
            self._failure = error

    def _tell(self) -> None:
        if self._consuming.new:
            for changes in self._consuming.stream():
                for listener in self._listeners:
                    listener(changes)

    def stop(self) -> None:
        self._stopped.set()
        if threading.current_thread() is not self:
            self.join()

    def raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure


class BatchHook:
    """A function to be called. ``place`` has the number; ``query`` is for messages."""

    def __init__(self, function: TakeBatch, changes: Consuming, place: Path, query: str) -> None:
        self._function, self._changes = function, changes
        self._place, self._query = place, query
        self._told = -1
        if place.exists():
            remedy = "remove it to have the function called with all that was published"
            self._told = read_record(
                place, "the record of calls", lambda r: int(r["batch"]), remedy=remedy
            )

    def tell(self) -> None:
        """Call the function with all that was published since the last time."""
        for batch, changes in self._changes.parts(self._told):
            if changes.num_rows:
                try:
                    self._function(changes, batch)
                except Exception as error:
                    raise StateError(
                        "the function of foreach_batch failed",
                        where=f"query {self._query}, batch {batch}",
                        found=f"{type(error).__name__}: {error}",
                        remedy="when it is fixed, run again on the same checkpoint: it is called "
                        "with the same batch",
                    ) from error
            if batch > self._told:
                self._told = batch
                publish(self._place, json.dumps({"batch": batch}))
        self._changes.drain_to(self._told)
