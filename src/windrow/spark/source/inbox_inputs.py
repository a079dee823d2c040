"""What comes in through a connection on Spark: judged here, and delivered into inboxes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.core.time import FOREVER, Wall, no_wall_clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.inputs import Inputs
from windrow.spark.source.inbox import INBOX, Inbox, deliveries
from windrow.spark.source.refused_pages import RefusedPages
from windrow.spark.source.relation_updates import read_updates
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor


class InboxInputs(Inputs):
    """Inputs whose rows go on into inboxes below ``directory``, one for each stream or relation."""

    def __init__(
        self,
        directory: Path,
        quarantine: Path | None = None,
        wall: Wall = no_wall_clock,
        pages: RefusedPages | None = None,
    ) -> None:
        super().__init__(quarantine, wall)
        self.relations_in_state = True
        self._pages = pages
        self.directory = directory
        self.inboxes: dict[str, Inbox] = {}
        self._waiting: dict[str, list[tuple[pa.RecordBatch, int | None]]] = {}

    def add(self, monitor: InputMonitor) -> None:
        """Let the monitor go on where that of an earlier connection stopped."""
        super().add(monitor)
        name = monitor.declaration.name.lower()
        inbox = self.inboxes[name] = Inbox(self.directory / INBOX / name)
        monitor.top = inbox.top
        monitor.advance(inbox.advanced)
        if isinstance(monitor, RelationMonitor):
            for entry in deliveries(inbox.directory, after=-1):
                if entry.path is not None:
                    monitor.recall(read_updates(entry.path, monitor.contents), entry.top)

    def inbox(self, name: str) -> Inbox:
        """Where what comes of a stream or relation is delivered."""
        return self.inboxes[self.monitor(name).declaration.name.lower()]

    def deliver(self) -> None:
        """What was accepted since the last time, and how far each stream has come. What cannot be
        written down is delivered the next time, before anything else."""
        for name, monitor in self.monitors.items():
            inbox, waiting = self.inboxes[name], self._waiting.setdefault(name, [])
            if isinstance(monitor, RelationMonitor):
                rows = monitor.drain().to_batch()
            else:
                rows = monitor.release(FOREVER).rows
            told = waiting[-1][1] if waiting else inbox.top
            if rows.num_rows or (monitor.top is not None and monitor.top != told):
                waiting.append((rows, monitor.top))
            with _written(inbox.directory):
                while waiting:
                    inbox.push(*waiting[0])
                    del waiting[0]
                if monitor.advanced_to > inbox.advanced:
                    inbox.advance(monitor.advanced_to)

    def quarantined_rows(self, name: str) -> pa.Table:
        """The newest rows of a stream that were put aside, here or by queries."""
        refused = self.refused.copy()
        if self._pages is not None:
            self._pages.add_to(refused, name)
        return refused.table(name)

    def refusals(self, names: Iterable[str]) -> list[tuple[str, WindrowWarning]]:
        """What to say of streams of which queries have put rows aside."""
        pages = self._pages
        reasons = {} if pages is None else {name: pages.last_reason(name) for name in names}
        place = f", and all of them in {self.quarantine.directory}" if self.quarantine else ""
        return [
            (
                name.lower(),
                WindrowWarning(
                    f"rows that a query read were quarantined; the last: {reason}",
                    where=f"stream {name}",
                    remedy=f"quarantined_rows({name!r}) has the newest of them{place}",
                ),
            )
            for name, reason in reasons.items()
            if reason
        ]

    def forget(self) -> None:
        super().forget()
        self.inboxes, self._waiting = {}, {}


@contextmanager
def _written(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StateError(
            "rows cannot be written to the checkpoint",
            where=str(directory),
            expected="a writable directory with space in it",
            found=error.strerror or str(error),
            remedy="make space, and do not push them again: they are delivered with what is pushed "
            "next, or by advance",
        ) from error
