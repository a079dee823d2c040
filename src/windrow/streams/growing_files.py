"""What is to be read next of a source's files, as files come, grow and go wrong.

Lines of plain text are read as soon as they are whole, and growth when it comes. Compressed and
Parquet files are read when they are whole. What has been read is never read again: a file that
is rewritten or gets shorter is refused in words, and so is whatever cannot be read; the next file
goes on. A file of which nothing could be read is tried again when it changes.

A last row without its newline may be half a row. It waits for the newline, and counts without one
when nobody has written to the file for an hour.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from windrow.core.errors import InputError
from windrow.core.file_formats import is_compressed
from windrow.core.time import Wall
from windrow.plan.catalog import StreamDeclaration
from windrow.plan.nodes import FileSource
from windrow.streams.finished_files import FinishedFiles
from windrow.tables.file_part import Part
from windrow.tables.find_files import Found, base_of, list_files
from windrow.tables.readers import format_of

SECOND = 1_000_000_000
LEFT_ALONE = 3600 * SECOND
"""A file that was not written to for so long is not about to get another newline."""
SETTLING = 60 * SECOND
"""A file that was written to within this time may be unfinished: what is wrong is not said yet."""
SAMPLE = 4096
SHOWN = 200


@dataclass(frozen=True)
class Arrival:
    """A part of a file that is to be read; or, if ``refused`` says why, is not read.

    ``row`` and ``text`` are those of the row that is refused; of a whole file there are none.
    ``cut``: more of the file is there, and comes after this part.
    """

    path: Path
    part: Part
    size: int
    changed: int
    refused: str = ""
    row: int = 0
    text: str = ""
    cut: bool = False

    @property
    def words(self) -> str:
        """Why it is refused, for people."""
        return f"{self.path}, row {self.row}: {self.refused}" if self.row else self.refused


class _State(Enum):
    READ = "read up to where ``part`` starts"
    UNREADABLE = "nothing could be read of it"
    SPOILED = "changed: no more of it is read"


@dataclass(frozen=True)
class _Known:
    """A file that was met: where to go on in it, and how it was when it was looked at."""

    state: _State
    part: Part
    size: int
    changed: int
    mark: str = ""
    told: bool = False
    """Whether it has been said that it cannot be read, or that its last row is not whole."""
    final: bool = False
    """Whether its last row was taken without a newline, if it had none."""


class Arrivals:
    """See the module. ``patient``: what seems unfinished is given time before it is refused.

    ``look`` gives parts; of each, ``took`` or ``note_failure`` says what came of it.
    """

    def __init__(
        self, source: FileSource, declaration: StreamDeclaration, wall: Wall, *, patient: bool
    ) -> None:
        self._source, self._declaration, self._wall = source, declaration, wall
        self.patient = patient
        self._known: dict[Path, _Known] = {}
        self._unfinished: dict[Path, _Known] = {}  # those that end in the middle of a row
        self._last: Path | None = None
        self._finished = FinishedFiles()

    def look(self) -> list[Arrival]:
        """What there is to read or to refuse by now, in the order of the files."""
        self._finished.begin_look(self._wall() * 1000)
        found = list_files(self._source, self._finished)
        return [arrival for file in found for arrival in self._arrivals_of(file)]

    def _arrivals_of(self, file: Found) -> list[Arrival]:
        known = self._known.get(file.path)
        found = list(self._next(file, known))
        spoiled = known is not None and known.state is _State.SPOILED
        read = known is not None and known.state is _State.READ and known.part.start >= file.size
        self._finished.note(file, finished=not found and (spoiled or read))
        return found

    @property
    def watched_paths(self) -> tuple[Path, ...]:
        """Where most of what comes is seen without a listing: the place of the files, the file
        that was read last and its directory."""
        base, last = base_of(self._source), self._last
        return (base,) if last is None else (base, last.parent, last)

    def took(self, arrival: Arrival, after: Part | None) -> str:
        """A part has been read, up to ``after``; returns the mark of all that was read so far."""
        return self._note_read(arrival, after, None)

    def recall(self, arrival: Arrival, after: Part | None, mark: str) -> None:
        """A part was read up to ``after`` by somebody who went before us."""
        self._note_read(arrival, after or Part(start=arrival.size), mark)

    def _note_read(self, arrival: Arrival, after: Part | None, mark: str | None) -> str:
        part = replace(arrival.part, stop=None, final=False)
        if not self.grows(arrival.path):
            part = Part(start=arrival.size)
        elif after is not None:
            part = replace(after, stop=None, final=False)
        if mark is None:
            mark = mark_of(arrival.path, part.start)
        size = part.start if arrival.cut else arrival.size
        self._last = arrival.path
        known = _Known(_State.READ, part, size, arrival.changed, mark, final=arrival.part.final)
        self._remember(arrival.path, known)
        return mark

    def _remember(self, path: Path, known: _Known) -> None:
        self._known[path] = known
        if known.state is _State.READ and known.part.start < known.size:
            self._unfinished[path] = known
        else:
            self._unfinished.pop(path, None)

    def gave_up(self, arrival: Arrival) -> None:
        """It has been said why a part is refused; nothing more is read of the file."""
        known = self._known[arrival.path]
        self._remember(arrival.path, replace(known, state=_State.SPOILED))

    def note_failure(self, arrival: Arrival, reason: str, *, some: bool = False) -> Arrival | None:
        """A part could not be read, or only ``some`` of it: what to say, if it is time to say it.

        Of a part that goes on where others ended nothing more is read.
        """
        path, size, changed = arrival.path, arrival.size, arrival.changed
        some = some or arrival.part.start > 0
        told = some or self._ripe(changed) or not path.exists()
        state = _State.SPOILED if some else _State.UNREADABLE
        self._remember(path, _Known(state, arrival.part, size, changed, told=told))
        return replace(arrival, refused=reason) if told else None

    def unfinished_rows(self) -> list[Arrival]:
        """The last rows that have no newline, each said once."""
        found = []
        for path, known in tuple(self._unfinished.items()):
            if known.told or known.final or not self._ripe(known.changed):
                continue
            self._remember(path, replace(known, told=True))
            reason = (
                "the file ends in the middle of this row: it has no newline yet, so it may be half "
                "a row and is not read; end it with a newline if it is whole"
            )
            text = _text(path, known.part.start, known.size)
            found.append(
                Arrival(
                    path, known.part, known.size, known.changed, reason, known.part.row + 1, text
                )
            )
        return found

    def _next(self, file: Found, known: _Known | None) -> Iterator[Arrival]:
        if known is None or known.state is _State.UNREADABLE:
            same = known is not None and (known.size, known.changed) == (file.size, file.changed)
            if known is not None and same and (known.told or not self._ripe(file.changed)):
                return
            if file.size or format_of(file.path, self._declaration) == "parquet":
                yield self._part(file, Part())
        elif known.state is _State.READ:
            yield from self._more(file, known)

    def _more(self, file: Found, known: _Known) -> Iterator[Arrival]:
        """What has come to a file of which some was read."""
        if (known.size, known.changed) == (file.size, file.changed):
            if known.part.start < file.size and not known.final and self._left_alone(file.changed):
                yield self._part(file, known.part)
            return
        problem = self._rewritten(file, known)
        if problem:
            yield Arrival(file.path, known.part, file.size, file.changed, problem)
        elif file.size > known.part.start:
            yield self._part(file, known.part)
        else:
            self._remember(file.path, replace(known, changed=file.changed))

    def _part(self, file: Found, part: Part) -> Arrival:
        final = self._left_alone(file.changed)
        part = replace(part, stop=file.size, final=final)
        return Arrival(file.path, part, file.size, file.changed)

    def _rewritten(self, file: Found, known: _Known) -> str:
        """In which way a file is not the one that was read, if it is not."""
        end = known.part.start
        found = ""
        if file.size < end:
            found = f"{file.size:,} bytes, of which {end:,} had been read"
        elif known.mark and mark_of(file.path, end) != known.mark:
            found = "different bytes where rows had been read"
        elif file.size > end and not self.grows(file.path):
            found = f"{file.size - end:,} bytes more than when it was read"
        if not found:
            return ""
        grows = self.grows(file.path)
        return str(
            InputError(
                where=str(file.path),
                expected="a file that grows at its end only"
                if grows
                else "a compressed or parquet file that stays as it was read",
                found=found,
                remedy="no more of it is read: write new rows to a new file",
            )
        )

    def grows(self, path: Path) -> bool:
        """Whether more can be read of the file when it gets longer."""
        return format_of(path, self._declaration) != "parquet" and not is_compressed(path)

    def _ripe(self, changed: int) -> bool:
        return not self.patient or self._age(changed) >= SETTLING

    def _left_alone(self, changed: int) -> bool:
        return self._age(changed) >= LEFT_ALONE

    def _age(self, changed: int) -> int:
        return self._wall() * 1000 - changed


def mark_of(path: Path, end: int) -> str:
    """What tells the first ``end`` bytes of a file from others: samples of their two ends.

    Empty if the file cannot be read any more.
    """
    try:
        with path.open("rb", buffering=0) as file:
            first = zlib.crc32(file.read(min(SAMPLE, end)))
            file.seek(max(0, end - SAMPLE))
            return f"{first:08x}{zlib.crc32(file.read(min(SAMPLE, end))):08x}"
    except OSError:
        return ""


def _text(path: Path, start: int, stop: int) -> str:
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            return file.read(min(stop - start, SHOWN)).decode("utf-8", errors="replace")
    except OSError:
        return ""
