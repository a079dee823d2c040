"""Files of which nothing is left to read, while they stay as they are.

To ask for the size of a file takes several times as long as to read its name in a directory, and in
a directory that gets a file every second there are soon tens of thousands. So files that nobody has
changed for some time are *at rest*: of these a look asks for the sizes of a few hundred, in turns.
"""

from __future__ import annotations

from windrow.core.thresholds import Threshold
from windrow.tables.find_files import Found, KnownFiles, Name

AT_REST = 600 * 1_000_000_000
"""Nanoseconds for which nobody has changed a file that is at rest."""
ASKED = Threshold(256, least=1)
"""Files at rest that a look asks for their sizes, about."""


class FinishedFiles(KnownFiles):
    """See the module: those of one source, by name."""

    def __init__(self) -> None:
        self._as_they_were: dict[Name, tuple[int, int]] = {}
        self._resting: dict[Name, int] = {}  # with a number, which says when it has its turn
        self._looks, self._turns, self._old = 0, 1, 0

    def begin_look(self, now: int) -> None:
        """Another look at all files, in nanoseconds since 1970."""
        self._looks += 1
        self._turns, self._old = 1 + len(self._resting) // ASKED.value, now - AT_REST

    def is_at_rest(self, name: Name) -> bool:
        number = self._resting.get(name)
        return number is not None and (self._looks - number) % self._turns != 0

    def is_same(self, name: Name, size: int, changed: int) -> bool:
        if self._as_they_were.get(name) != (size, changed):
            return False
        if changed <= self._old:
            self._resting.setdefault(name, len(self._resting))
        return True

    def note(self, file: Found, *, finished: bool) -> None:
        """Whether nothing is left to read of a file, as it is now."""
        self._resting.pop(file.name, None)
        if finished:
            self._as_they_were[file.name] = (file.size, file.changed)
        else:
            self._as_they_were.pop(file.name, None)
