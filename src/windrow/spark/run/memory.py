"""What the kernel tells of memory, for reports on processes that have died.

All of it is read from files that Linux has; elsewhere nothing is known, and nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SIZES = (("GB", 2**30), ("MB", 2**20), ("kB", 2**10))
COUNTERS = (Path("/sys/fs/cgroup/memory.events"), Path("/proc/vmstat"))
"""Where the kernel counts the processes that it has killed for want of memory."""


@dataclass(frozen=True)
class MemoryWatch:
    """How many processes the kernel had killed when the watch began."""

    counters: Sequence[Path] = COUNTERS
    before: int = 0

    @classmethod
    def begin(cls, counters: Sequence[Path] = COUNTERS) -> MemoryWatch:
        return cls(counters, _killed(counters))

    def count_killed(self) -> int:
        """Processes that the kernel has killed for want of memory since."""
        return max(0, _killed(self.counters) - self.before)

    def words(self) -> str:
        """What is known of memory now, for people."""
        known = []
        if killed := self.count_killed():
            processes = "a process" if killed == 1 else f"{killed} processes"
            known.append(
                f"the kernel has killed {processes} since the start because memory ran out"
            )
        free = available()
        if free is not None:
            known.append(f"{size_in_words(free)} of memory are free now")
        return ", ".join(known)


def _killed(counters: Sequence[Path]) -> int:
    """The first counter that there is; that of a container knows of no others' processes."""
    for path in counters:
        with suppress(OSError):
            found = re.search(r"^oom_kill (\d+)$", path.read_text(), re.MULTILINE)
            if found is not None:
                return int(found[1])
    return 0


def available(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """Bytes that processes could still have."""
    with suppress(OSError):
        found = re.search(r"^MemAvailable:\s+(\d+) kB$", meminfo.read_text(), re.MULTILINE)
        if found is not None:
            return int(found[1]) * 1024
    return None


def size_in_words(size: int) -> str:
    """A number of bytes as people say it.

    >>> size_in_words(3 * 2**30 // 2), size_in_words(999)
    ('1.5 GB', '999 bytes')
    """
    for unit, bytes_ in SIZES:
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{size} bytes"
