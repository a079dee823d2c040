"""Micro-batches of files and deliveries, begun by a thread of the driver.

The thread asks the logs what there is (``LogReader``), notes how far a micro-batch reads, has it
taken, and notes that it is over: what a streaming query of Spark's does, with the same notes under
the same names (``windrow.spark.checkpoint.batch_logs``), but nothing is planned besides. A
micro-batch that was begun and is not over is repeated first.

While nothing comes it glances at the directories of streams and inboxes, and whoever waits until
all is worked off wakes it.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext

from windrow.spark.checkpoint.batch_logs import BatchNotes
from windrow.spark.source.file_source import LogReader, Offset

WATCHING = 0.1
"""Seconds for which the source may wait for something new before it is asked again."""
REMEMBERED = 1_000
"""Micro-batches whose durations are known."""
BETWEEN_CANCELS = 0.2
"""Seconds: a job may begin while those that run are cancelled."""


class BatchThread:
    """A driver of micro-batches (``BatchDriver``); it begins at once. ``take`` runs one of them."""

    def __init__(
        self,
        context: SparkContext,
        title: str,
        reader: LogReader,
        notes: BatchNotes,
        take: Callable[[int], None],
        *,
        once: bool,
    ) -> None:
        self._context, self._title, self._once = context, title, once
        self._reader, self._notes, self._take = reader, notes, take
        self._group = f"windrow-{uuid.uuid4().hex}"
        self._stopping = False
        self._wake = threading.Event()
        self._changed = threading.Condition()
        self._asked = self._answered = 0
        self._failure: BaseException | None = None
        self._durations: deque[float] = deque(maxlen=REMEMBERED)
        self.starting = True
        self.active = True
        self._thread: Any = InheritableThread(target=self._run, name=title)
        self._thread.daemon = True
        self._thread.start()

    @property
    def failure(self) -> BaseException | None:
        return self._failure

    @property
    def durations(self) -> list[float]:
        return list(self._durations)

    @property
    def is_this_thread(self) -> bool:
        return self._thread is threading.current_thread()

    def catch_up(self) -> None:
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._wake.set()
            while self._answered < mine and self.active:
                self._changed.wait()
        self._raise_failure()

    def wait(self) -> None:
        self._thread.join()
        self._raise_failure()

    def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        while self._thread.is_alive() and not self.is_this_thread:
            with suppress(Py4JError, OSError, AttributeError):  # it may be gone, or stopped
                self._context.cancelJobGroup(self._group)
            self._thread.join(BETWEEN_CANCELS)

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._context.setJobGroup(self._group, self._title, interruptOnCancel=True)
            self._work()
        except BaseException as failure:
            if not self._stopping:  # else it is what the stop gave
                self._failure = failure
        finally:
            with self._changed:
                self.active = self.starting = False
                self._changed.notify_all()

    def _work(self) -> None:
        batch, at, over = self._notes.open(self._reader.initialOffset())
        if not over:
            self.starting = False
            self._do(batch)
        if self._once:
            self._reader.prepareForTriggerAvailableNow()
        while not self._stopping:
            asked = self._asked
            found = self._look(batch + 1, at, asked)
            self.starting = False
            if found != at:
                batch, at = batch + 1, found
                self._notes.begin(batch, at)
                self._do(batch)
                self._durations.append(time.monotonic() - self._reader.looked)
            elif self._once:
                return
            elif asked > self._answered:
                with self._changed:
                    self._answered = asked
                    self._changed.notify_all()

    def _look(self, batch: int, at: Offset, asked: int) -> Offset:
        """How far the streams have come. Whoever asked gets the answer of a look that began after
        the question, and need not wait for something new."""
        if self._once or asked > self._answered:
            return self._reader.find(batch, at)
        self._wake.clear()
        if self._stopping or self._asked > asked:
            return at
        return self._reader.find(batch, at, WATCHING, self._wake.wait)

    def _do(self, batch: int) -> None:
        self._context.setJobDescription(f"{self._title}, batch = {batch}")
        self._take(batch)
        self._notes.end(batch)
