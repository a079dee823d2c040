"""One stream at the driver: which of its files a trigger admits to the log.

While there is a backlog, streams that a job reads together are read in step: one that is far ahead
of another in time waits for it, since its rows would have to wait in memory.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.core.errors import StateError
from windrow.core.thresholds import Threshold
from windrow.core.time import FOREVER
from windrow.spark.source.admission import Admission, check_some_readable
from windrow.spark.source.file_log import NOTHING, Entry, FileLog
from windrow.spark.source.pace import A_FILE, Pace
from windrow.streams.growing_files import Arrival

if TYPE_CHECKING:
    from windrow.spark.source.file_source import SourceSpec

AHEAD = Threshold(64 * 2**20)
"""Bytes of a stream that may have been admitted beyond the time of one that is behind."""


class StreamFiles:
    """One stream at the driver: its log, and what is to be added to it, at a pace."""

    def __init__(self, spec: SourceSpec, pace: Pace) -> None:
        self.spec, self._pace = spec, pace
        self._log: FileLog | None = None
        self._listing: list[Arrival | Entry] | None = None
        self._files: Admission | None = None
        self._heard: int | None = None
        self._start: int | None = None
        self.behind = False
        """Whether there was more to read than the last trigger has taken."""

    @property
    def top(self) -> int:
        """The greatest timestamp of all that was admitted."""
        return self._open().times[-1].top

    def has_entries_after(self, start: int) -> bool:
        """Whether the log has more than the first ``start`` entries."""
        return self._open().count > start

    @property
    def is_over(self) -> bool:
        """Whether an earlier run has ended with it."""
        log = self._open()
        return bool(log.entries) and log.entries[-1].end

    @property
    def has_new(self) -> bool:
        """Whether there is something to admit."""
        return bool(self._waiting())

    def _waiting(self) -> list[Arrival | Entry]:
        admission = self._admission(self._open())
        if self.spec.once and self._listing is None:
            self._listing = admission.find_new()
        return admission.find_new() if self._listing is None else self._listing

    def go_on(self, batch: int) -> None:
        """Write down that it is not over, unless it has been read for good."""
        log = self._open()
        if not self._admission(log).judges(self._waiting()):
            log.append([replace(NOTHING, batch=batch)])

    def entries_for(
        self, batch: int, start: int, slowest: int = FOREVER, *, admitting: bool = True
    ) -> int:
        """Admit what there is for a micro-batch; how many entries there are up to its last.

        ``slowest`` is how far a stream has come that this one has to wait for.
        """
        log = self._open()
        if log.count < start:
            raise StateError(
                "the file log does not match the offsets",
                where=self.spec.log,
                expected=f"at least {start} entries",
                found=f"{log.count}",
                remedy="restore all of the checkpoint, or start over with a new one",
            )
        if start != self._start:  # nobody asks before that micro-batch is over
            self._start = start
            self._admission(log).forget_before(start)
        if admitting:
            entries = self._admitted(log, slowest) or self._silence(log)
            log.append([replace(entry, batch=batch) for entry in entries])
        return max(log.until(batch), start)

    @property
    def watched_paths(self) -> list[str]:
        """Paths of which one changes, as a rule, when there is something new."""
        return [str(path) for path in self._admission(self._open()).watched_paths]

    def take_listing(self) -> None:
        """Whatever comes from now on is for the next run."""
        self._listing = self._admission(self._open()).find_new()

    def _open(self) -> FileLog:
        if self._log is None:
            self._log = FileLog(Path(self.spec.log), self.spec.start)
        return self._log

    def _admission(self, log: FileLog) -> Admission:
        if self._files is None:
            self._files = Admission(self.spec, log)
        return self._files

    def _admitted(self, log: FileLog, slowest: int) -> list[Entry]:
        """The next entries of the log: as many as one trigger should read."""
        admission = self._admission(log)
        waiting = deque(self._waiting())
        ended = bool(log.entries) and log.entries[-1].end
        contents = admission.judges(waiting)
        if contents and ended:
            return []  # a relation without updates has been read for good
        taken = self._take(admission, waiting, log, slowest)
        self.behind = bool(waiting)
        if self._listing is not None:
            self._listing = list(waiting)
        if not waiting:
            taken += admission.refuse_unfinished()
            if (self.spec.once and not log.forgotten) or not log.entries:
                check_some_readable([*log.entries, *taken])
        last = not waiting and (self.spec.once or contents)
        if last and (taken or not ended):
            taken.append(Entry(end=True))
        if taken or waiting:
            self._heard = self.spec.wall()
        return taken

    def _take(
        self, admission: Admission, waiting: deque[Arrival | Entry], log: FileLog, slowest: int
    ) -> list[Entry]:
        """Admit what waits, until it is enough; long texts piece by piece."""
        taken: list[Entry] = []
        size, memory, time = 0, 0, log.times[-1]
        ahead = 0 if self.spec.files else _bytes_after(slowest, log)
        while waiting:
            item = waiting[0]
            piece = item if self.spec.files else admission.cut(item, self._pace.piece(self._tasks))
            if ahead >= AHEAD.value or self._enough(len(taken), size + _bytes_of(piece), memory):
                self._pace.was_full()
                break
            waiting.popleft()
            number = log.count + len(taken)
            entry = admission.admit(piece, number, time)
            if entry is None and piece is not item:  # a row is longer
                piece, entry = item, admission.admit(item, number, time)
            if entry is None:
                continue
            if piece is not item and entry.rest is not None:
                assert isinstance(item, Arrival)
                rest = replace(entry.rest, stop=item.part.stop, final=item.part.final)
                waiting.appendleft(replace(item, part=rest))
            taken.append(entry)
            ahead += entry.size if time.top > slowest else 0
            size, time = size + max(entry.size, A_FILE), entry.after(time)
            memory += admission.memory_of(entry)
        return taken

    def _enough(self, files: int, size: int, memory: int) -> bool:
        if self.spec.files is not None:
            return files >= self.spec.files
        much = files >= self._tasks and size > self._pace.limit
        return much or memory >= self._pace.memory

    @property
    def _tasks(self) -> int:
        return max(1, self.spec.tasks)

    def _silence(self, log: FileLog) -> list[Entry]:
        """Word that the stream is idle, once it has been silent for too long while we looked."""
        now, last = self.spec.wall(), log.times[-1]
        # A wall that was put back starts anew.
        self._heard = now if self._heard is None else min(self._heard, now)
        if self.spec.once or last.over or last.idle or now - self._heard < self.spec.idle:
            return []
        return [Entry(idle=True, wall=now)]


def _bytes_of(item: Arrival | Entry) -> int:
    """What is still to be read of a file."""
    return item.size if isinstance(item, Entry) else item.size - item.part.start


def _bytes_after(slowest: int, log: FileLog) -> int:
    """What has been admitted of a stream behind the time that another one has reached."""
    found, number = 0, len(log.entries)
    while number and log.times[number - 1].top > slowest:
        number -= 1
        found += log.entries[number].size
    return found
