"""The file log: in which order a stream's files came, written down before any of them is read.

Spark's offsets count the entries of this log, so a micro-batch that is repeated after a crash
reads the same files in the same order, with the same running maximum before each. The log is
JSON lines, appended and synced; a line that a crash left unfinished was never part of an offset
and is cut off when the log is opened again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING
from windrow.spark.times import UNKNOWN, StreamTime


@dataclass(frozen=True)
class Entry:
    """A file with its greatest readable timestamp, an instant declared closed, or the end.

    ``inbox`` is the number under which a connection delivered it, if one did. Of a relation,
    ``path`` has what was accepted of the file ``origin``, and the counts say what was not.
    """

    path: str | None = None
    size: int = 0
    top: int | None = None
    advance: int | None = None
    end: bool = False
    inbox: int | None = None
    origin: str | None = None
    late: int = 0
    rejected: int = 0

    def after(self, time: StreamTime) -> StreamTime:
        """The stream's time when this entry has been read too."""
        return StreamTime(
            max(time.top, BEGINNING if self.top is None else self.top),
            max(time.advanced, BEGINNING if self.advance is None else self.advance),
            self.end,
            time.at + 1,
        )


class FileLog:
    """See the module. ``times[n]`` is the stream's time before entry ``n``."""

    def __init__(self, path: Path, start: StreamTime = UNKNOWN) -> None:
        self.path = path
        self.entries: list[Entry] = []
        self.times = [start]
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_bytes() if path.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]
        if len(whole) < len(text):
            with path.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._remember(Entry(**json.loads(line)))
            except (ValueError, TypeError) as error:
                raise StateError(
                    "the file log is damaged",
                    where=f"{path}, line {number}",
                    expected="an entry as Windrow writes it",
                    found=repr(line[:80]),
                    remedy="restore the checkpoint, or start again with a new one",
                ) from error

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the entries down for good."""
        if not entries:
            return
        lines = "".join(json.dumps(asdict(e), separators=(",", ":")) + "\n" for e in entries)
        with self.path.open("ab") as file:
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
        for entry in entries:
            self._remember(entry)

    @property
    def paths(self) -> set[str]:
        return {e.origin or e.path for e in self.entries if e.path is not None}

    @property
    def delivered(self) -> int:
        """The last number of the inbox that the log knows of; -1 if there is none."""
        return max((e.inbox for e in self.entries if e.inbox is not None), default=-1)

    def _remember(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.times.append(entry.after(self.times[-1]))
