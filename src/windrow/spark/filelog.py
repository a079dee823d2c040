"""The file log: in which order a stream's files came, written down before any of them is read.

Spark's offsets count the entries of this log, so a micro-batch that is repeated after a crash
reads the same files in the same order, with the same running maximum before each. Each entry
says for which micro-batch it was admitted, so micro-batches that are repeated because a checkpoint
was set back are what they were before, although Spark has forgotten their offsets.

The log is JSON lines, appended and synced; a line that a crash left unfinished was never part of
an offset and is cut off when the log is opened again. Who appends has read all that is there: a
process that a dead run left behind cannot write to a log that the next run goes on with.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING
from windrow.spark.times import UNKNOWN, StreamTime
from windrow.streams.horizon import UNLIMITED, Horizon

LONGEST_LINE = 1 << 14
"""Of an entry, most of which is the path of a file."""


class LogMovedError(StateError):
    """Somebody else has written to a file log, so what was read of it is not all of it."""


@dataclass(frozen=True)
class Entry:
    """A file with its greatest credible timestamp, an instant declared closed, silence, or the end.

    ``inbox`` is the number under which a connection delivered it, if one did. Of a relation,
    ``path`` has what was accepted of the file ``origin``, and the counts say what was not. It was
    admitted for the micro-batch ``batch``. ``ahead`` and ``wall`` are the horizon by which the file
    was judged when it was admitted, and is judged whenever it is read again; without them, as in
    logs of old, no row of it is ahead.
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
    batch: int | None = None
    ahead: int | None = None
    wall: int | None = None
    idle: bool = False

    @property
    def horizon(self) -> Horizon:
        return UNLIMITED if self.ahead is None else Horizon(self.ahead, self.wall)

    def judged_by(self, horizon: Horizon) -> Entry:
        """The same entry with the horizon written down."""
        return replace(self, ahead=horizon.ahead, wall=horizon.wall) if horizon.bounded else self

    def after(self, time: StreamTime) -> StreamTime:
        """The stream's time when this entry has been read too."""
        return StreamTime(
            max(time.top, BEGINNING if self.top is None else self.top),
            max(time.advanced, BEGINNING if self.advance is None else self.advance),
            self.end,
            time.at + 1,
            self.idle or (time.idle and self.path is None and not self.end),
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
        self._size = len(whole)
        for entry in _entries(whole, path):
            self._remember(entry)

    @staticmethod
    def entries_in(path: Path) -> list[Entry]:
        """The entries of a log that is looked at only, without a line that is cut short."""
        text = path.read_bytes()
        return list(_entries(text[: text.rfind(b"\n") + 1], path))

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the entries down for good."""
        if not entries:
            return
        lines = "".join(json.dumps(asdict(e), separators=(",", ":")) + "\n" for e in entries)
        with self.path.open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # let go when the file is closed
            self._check_unchanged(os.fstat(file.fileno()).st_size)
            file.write(lines.encode())
            file.flush()
            os.fsync(file.fileno())
            self._size = file.tell()
        for entry in entries:
            self._remember(entry)

    def _check_unchanged(self, size: int) -> None:
        if size != self._size:
            raise LogMovedError(
                "another process has written to the file log",
                where=str(self.path),
                expected=f"{self._size} bytes, as when it was last read or written here",
                found=f"{size}",
                remedy="run the same command again, once; one run at a time may have a checkpoint",
            )

    def until(self, batch: int) -> int:
        """How many entries there are up to those of a micro-batch."""
        count = len(self.entries)
        while count and (self.entries[count - 1].batch or 0) > batch:
            count -= 1
        return count

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


def _entries(whole: bytes, path: Path) -> Iterator[Entry]:
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            yield Entry(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise StateError(
                "the file log is damaged",
                where=f"{path}, line {number}",
                expected="an entry as Windrow writes it",
                found=repr(line[:80]),
                remedy="restore the checkpoint, or start again with a new one; `windrow "
                "checkpoint check` says what else is damaged",
            ) from error


def ends_idle(path: Path) -> bool:
    """Whether the stream of a log is idle, as its last line tells; for those who only look."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LONGEST_LINE))
            last = file.read().splitlines()[-1]
        return bool(json.loads(last).get("idle"))
    except (OSError, IndexError, ValueError, AttributeError):  # none yet, or half a line
        return False
