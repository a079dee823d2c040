"""The inbox of a stream: what a connection delivers to running queries, numbered, as files.

The connection has judged the rows already: what does not fit its types or is late is not delivered.
A delivery is a Parquet file of rows or a marker that closes an instant. It appears by a rename, so
a query that lists the inbox sees it whole or not at all, and every query reads in the same order.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING
from windrow.object_store.object_path import ObjectPath, replace_object, shared_place
from windrow.spark.source.file_log import Entry

INBOX = "inbox"
"""The directory of all inboxes of a checkpoint."""
ROWS, ADVANCE = ".parquet", ".advance"
TOP = b"windrow.top"


class Inbox:
    """The writer's side: the number of the next delivery, and the time that was reported so far."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        known = deliveries(directory, after=-1)
        self.next = len(known)
        self.top = max((e.top for e in known if e.top is not None), default=None)
        self.advanced = max((e.advance for e in known if e.advance is not None), default=BEGINNING)

    def push(self, rows: pa.RecordBatch, top: int | None) -> None:
        """Deliver rows, and the greatest timestamp seen so far, also of rows that were refused."""
        hidden = self.directory / ".delivery"
        table = pa.Table.from_batches([rows]).replace_schema_metadata({TOP: json.dumps(top)})
        pyarrow.parquet.write_table(table, hidden)
        self._deliver(hidden, ROWS)
        self.top = top

    def advance(self, to: int) -> None:
        """Deliver word that every instant up to ``to`` is closed."""
        hidden = self.directory / ".delivery"
        hidden.write_text(json.dumps({"to": to}))
        self._deliver(hidden, ADVANCE)
        self.advanced = to

    def _deliver(self, hidden: Path, suffix: str) -> None:
        name = f"{self.next:08d}{suffix}"
        shared = shared_inbox(self.directory)
        if isinstance(shared, ObjectPath):  # before anybody hears of it
            self._put(shared / name, hidden.read_bytes())
        hidden.replace(self.directory / name)
        self.next += 1

    def _put(self, place: ObjectPath, data: bytes) -> None:
        if replace_object(place.bucket, place.key, data, None) is None:
            raise StateError(
                "another connection has delivered rows into this checkpoint",
                where=str(place),
                expected="nothing",
                found="a delivery",
                remedy="connect again, and push the rows that were not delivered",
            )


def shared_inbox(directory: Path) -> Path:
    """Where tasks find the deliveries of an inbox."""
    root = directory.parent.parent
    place = shared_place(root)
    return directory if place == root else place / INBOX / directory.name


def deliveries(directory: Path, after: int) -> list[Entry]:
    """The deliveries with numbers greater than ``after``, as entries for a file log."""
    found, shared = [], shared_inbox(directory.absolute())
    for path in sorted(directory.glob("[0-9]*")):
        number = int(path.stem)
        if number <= after:
            continue
        if path.suffix == ADVANCE:
            found.append(Entry(advance=json.loads(path.read_text())["to"], inbox=number))
        else:
            metadata = pyarrow.parquet.read_schema(path).metadata or {}
            top = json.loads(metadata.get(TOP, b"null"))
            found.append(Entry(str(shared / path.name), path.stat().st_size, top, inbox=number))
    return found
