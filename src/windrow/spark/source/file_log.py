"""The file log: in which order a stream's files came, written down before any of them is read.

Offsets count the entries of this log, so a micro-batch that is repeated after a crash
reads the same files in the same order, with the same running maximum before each. Each entry
says for which micro-batch it was admitted, so micro-batches that are repeated because a checkpoint
was set back are what they were before, although their offsets are gone.

The log is JSON lines, appended and synced; a line that a crash left unfinished was never part of
an offset and is cut off when the log is opened again. Who appends has read all that is there: a
process that a dead run left behind cannot write to a log that the next run goes on with. The driver
follows it (``LogTail``) while the source appends; what one task reads of it is a ``Stretch``.
"""

from __future__ import annotations

import fcntl
import json
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.core.time import BEGINNING
from windrow.streams.growing_files import Arrival
from windrow.streams.horizon import UNLIMITED, Horizon
from windrow.streams.stream_time import UNKNOWN, StreamTime
from windrow.tables.file_part import WHOLE, Part

LONGEST_LINE = 1 << 14
"""Of an entry, most of which is the path of a file."""
EMPTY = ""
"""In an offset, in the place of a stream: the number of a micro-batch that has no entries."""
KEPT_ENTRIES = Threshold(5_000, least=1)
"""Entries that have been read and stay in memory."""


class LogMovedError(StateError):
    """Somebody else has written to a file log, so what was read of it is not all of it."""


@dataclass(frozen=True)
class Entry:
    """A file with its greatest credible timestamp, an instant declared closed, silence, or the end.

    ``inbox`` is the number under which a connection delivered it, if one did. Of a relation,
    ``path`` has what was accepted of the file ``origin``, and the counts say what was not, or was
    cut; of other files ``rejected`` takes back what was refused before and is read now. It was
    admitted for the micro-batch ``batch``. ``ahead`` and ``wall`` are the horizon by which the file
    was judged when it was admitted, and is judged whenever it is read again; without them, as in
    logs of old, no row of it is ahead. Of a ``part`` of a file, ``rest`` comes after it, ``mark``
    tells the bytes up to there from others, and ``changed`` is when the file was last changed
    before. ``spool`` names what was read of text when it was admitted
    (``windrow.spark.source.text_spool``). What could not be read is ``refused`` for that reason: a
    file, or the ``row`` that begins with ``text``.
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
    cut: int = 0
    batch: int | None = None
    ahead: int | None = None
    wall: int | None = None
    idle: bool = False
    part: Part = WHOLE
    rest: Part | None = None
    changed: int = 0
    mark: str = ""
    refused: str = ""
    row: int = 0
    text: str = ""
    spool: str = ""

    @property
    def arrival(self) -> Arrival:
        """The part of the file that was admitted."""
        end = self.size if self.rest is None else self.rest.start
        return Arrival(Path(self.origin or self.path or ""), self.part, end, self.changed)

    @property
    def end_of_part(self) -> int:
        """The bytes of the file up to the end of what was admitted of it."""
        return self.arrival.size

    def as_json(self) -> str:
        """What is not as it would be anyway."""
        mine = {f.name: getattr(self, f.name) for f in fields(self)}
        told = {name: value for name, value in mine.items() if value != getattr(NOTHING, name)}
        return json.dumps(told, separators=(",", ":"), default=asdict)

    @classmethod
    def from_json(cls, line: bytes) -> Entry:
        told = json.loads(line)
        parts = {name: Part(**told[name]) for name in ("part", "rest") if told.get(name)}
        return cls(**{**told, **parts})

    @property
    def horizon(self) -> Horizon:
        return UNLIMITED if self.ahead is None else Horizon(self.ahead, self.wall)

    def judged_by(self, horizon: Horizon) -> Entry:
        """The same entry with the horizon written down."""
        return replace(self, ahead=horizon.ahead, wall=horizon.wall) if horizon.is_bounded else self

    def after(self, time: StreamTime) -> StreamTime:
        """The stream's time when this entry has been read too."""
        return StreamTime(
            max(time.top, BEGINNING if self.top is None else self.top),
            max(time.advanced, BEGINNING if self.advance is None else self.advance),
            self.end,
            time.at + 1,
            self.idle or (time.idle and self.path is None and not self.end),
        )


NOTHING = Entry()


class FileLog:
    """See the module. ``times[n]`` is the stream's time before ``entries[n]``.

    The first so many are ``forgotten`` once nobody goes back to them; the file has them.
    ``last_delivered`` is the last number of the inbox, -1 if there is none.
    """

    def __init__(self, path: Path, start: StreamTime = UNKNOWN) -> None:
        self.path = path
        self.forgotten, self.last_delivered = 0, -1
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
        for entry in read_entries(whole, path):
            self._remember(entry)

    @staticmethod
    def entries_in(path: Path) -> list[Entry]:
        """The entries of a log that is looked at only, without a line that is cut short."""
        text = path.read_bytes()
        return list(read_entries(text[: text.rfind(b"\n") + 1], path))

    def append(self, entries: Sequence[Entry]) -> None:
        """Write the entries down for good."""
        if not entries:
            return
        lines = "".join(entry.as_json() + "\n" for entry in entries)
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
                remedy="run the same command once more; one run at a time may use a checkpoint",
            )

    @property
    def count(self) -> int:
        """How many entries there are, those that were forgotten included."""
        return self.forgotten + len(self.entries)

    def from_number(self, number: int) -> list[Entry]:
        """The entries from one on."""
        return self.entries[max(number - self.forgotten, 0) :]

    def forget_before(self, number: int) -> None:
        """Keep of the entries before one only the last, by which the pace is judged."""
        old = number - self.forgotten - KEPT_ENTRIES.value
        if old > KEPT_ENTRIES.value:  # not one by one
            del self.entries[:old], self.times[:old]
            self.forgotten += old

    def until(self, batch: int) -> int:
        """How many entries there are up to those of a micro-batch."""
        count = len(self.entries)
        while count and (self.entries[count - 1].batch or 0) > batch:
            count -= 1
        return self.forgotten + count

    @property
    def paths(self) -> set[str]:
        """The files of which something was admitted."""
        own = (e for e in self.entries if e.path is not None and not e.refused)
        return {e.origin or e.path or "" for e in own}

    def _remember(self, entry: Entry) -> None:
        self.last_delivered = max(self.last_delivered, -1 if entry.inbox is None else entry.inbox)
        self.entries.append(entry)
        self.times.append(entry.after(self.times[-1]))


def read_entries(whole: bytes, path: Path) -> Iterator[Entry]:
    """The entries of whole lines; StateError if one is damaged."""
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            yield Entry.from_json(line)
        except (ValueError, TypeError) as error:
            raise StateError(
                "the file log is damaged",
                where=f"{path}, line {number}",
                expected="a valid entry",
                found=repr(line[:80]),
                remedy="restore the checkpoint, or start over with a new one; `windrow "
                "checkpoint check` says what else is damaged",
            ) from error


def next_batch(offsets: Path) -> int:
    """The number of the micro-batch that is begun next."""
    begun = [int(p.name) for p in offsets.glob("[0-9]*") if p.name.isdigit()]
    return max(begun, default=-1) + 1


def ends_idle(path: Path) -> bool:
    """Whether the stream of a log is idle, as its last line tells; for those who only look."""
    return bool(_last_line(path).get("idle"))


def last_batch_in(path: Path) -> int:
    """The micro-batch that the last entry of a log was admitted for; -1 if there is none."""
    found = _last_line(path).get("batch")
    return found if isinstance(found, int) else -1


def _last_line(path: Path) -> dict[str, Any]:
    """The last whole line of a log, wherever it is in the middle of being written."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LONGEST_LINE))
            last = json.loads(file.read().splitlines()[-1])
    except (OSError, IndexError, ValueError):  # none yet, or half a line
        return {}
    return last if isinstance(last, dict) else {}


class Refusals:
    """What is refused in some logs from now on; for those who only look at them."""

    def __init__(self, logs: Sequence[Path]) -> None:
        self._ends = {log: log.stat().st_size if log.exists() else 0 for log in logs}
        self._words: list[str] = []

    def words(self) -> tuple[str, ...]:
        """Why each file or last row was refused so far."""
        for log, start in self._ends.items():
            text = b""
            if log.exists() and log.stat().st_size > start:
                with log.open("rb") as file:
                    file.seek(start)
                    text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._ends[log] = start + len(whole)
            refused = (line for line in whole.splitlines() if b'"refused":' in line)
            self._words += [_words(Entry.from_json(line)) for line in refused]
        return tuple(self._words)


def _words(entry: Entry) -> str:
    return f"{entry.path}, row {entry.row}: {entry.refused}" if entry.row else entry.refused


@dataclass(frozen=True)
class Stretch:
    """Consecutive entries of the log from number ``first`` on, and the stream's time before each
    and after the last."""

    first: int
    entries: list[Entry]
    times: list[StreamTime]

    @property
    def size(self) -> int:
        return sum(entry.size for entry in self.entries)

    def split(self, tasks: int) -> list[Stretch]:
        """Stretches of about equal size for so many tasks, in order; files stay whole."""
        share = max(1, -(-self.size // tasks))
        parts: list[Stretch] = []
        filled = share
        for at, entry in enumerate(self.entries):
            if filled >= share and (entry.path is not None or not parts):
                parts.append(Stretch(self.first + at, [], [self.times[at]]))
                filled = 0
            parts[-1].entries.append(entry)
            parts[-1].times.append(self.times[at + 1])
            filled += entry.size
        return parts


class LogTail:
    """The entries of a log by micro-batch; ``start`` is the stream's time before the first.

    Those of micro-batches before the last one that was asked for are forgotten: a run goes on
    for as long as it likes.
    """

    def __init__(self, path: Path, start: StreamTime) -> None:
        self._path, self._start = path, start
        self._rewind()

    def _rewind(self) -> None:
        self._size = self._first = self._batch = 0
        self._entries: list[Entry] = []
        self._batches: list[int] = []
        self._times = [self._start]

    def stretch(self, batch: int) -> Stretch:
        """What was admitted for a micro-batch, which has begun: it is in the log by then."""
        if batch < self._batch:
            self._rewind()
        self._batch = batch
        self._read()
        last = bisect_right(self._batches, batch)
        return Stretch(self._first, self._entries[:last], self._times[: last + 1])

    def _read(self) -> None:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._size)
                text = file.read()
            whole = text[: text.rfind(b"\n") + 1]
            self._size += len(whole)
            for entry in read_entries(whole, self._path):
                self._entries.append(entry)
                self._batches.append(entry.batch or 0)
                self._times.append(entry.after(self._times[-1]))
        old = bisect_right(self._batches, self._batch - 1)
        del self._entries[:old], self._batches[:old], self._times[:old]
        self._first += old
