"""What comes in through a connection on Spark: judged here, and delivered into inboxes."""

from __future__ import annotations

from pathlib import Path

from windrow.core.time import FOREVER, Wall, no_wall_clock
from windrow.engine.inputs import Inputs
from windrow.spark.source.inbox import Inbox, deliveries
from windrow.spark.source.relation_updates import read_updates
from windrow.streams.monitor import InputMonitor
from windrow.streams.relations import RelationMonitor


class InboxInputs(Inputs):
    """Inputs whose rows go on into inboxes below ``directory``, one for each stream or relation."""

    def __init__(
        self, directory: Path, quarantine: Path | None = None, wall: Wall = no_wall_clock
    ) -> None:
        super().__init__(quarantine, wall)
        self.directory = directory
        self.inboxes: dict[str, Inbox] = {}

    def add(self, monitor: InputMonitor) -> None:
        """Let the monitor go on where that of an earlier connection stopped."""
        super().add(monitor)
        name = monitor.declaration.name.lower()
        inbox = self.inboxes[name] = Inbox(self.directory / "inbox" / name)
        monitor.top = inbox.top
        monitor.advance(inbox.advanced)
        if isinstance(monitor, RelationMonitor):
            for entry in deliveries(inbox.directory, after=-1):
                if entry.path is not None:
                    monitor.recall(read_updates(Path(entry.path), monitor.contents), entry.top)

    def inbox(self, name: str) -> Inbox:
        """Where what comes of a stream or relation is delivered."""
        return self.inboxes[self.monitor(name).declaration.name.lower()]

    def deliver(self) -> None:
        """What was accepted since the last time, and how far each stream has come."""
        for name, monitor in self.monitors.items():
            inbox = self.inboxes[name]
            if isinstance(monitor, RelationMonitor):
                rows = monitor.drain().to_batch()
            else:
                rows = monitor.release(FOREVER).rows
            if rows.num_rows or (monitor.top is not None and monitor.top != inbox.top):
                inbox.push(rows, monitor.top)
            if monitor.advanced > inbox.advanced:
                inbox.advance(monitor.advanced)

    def forget(self) -> None:
        super().forget()
        self.inboxes = {}
