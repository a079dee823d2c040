"""A window over WEAKEST input: a circular array of n sub-windows (Golab 2006, 7.2.1).

An update replaces the oldest sub-window as a whole, so a version is written once and never changed.
Versions that have left the array stay as long as a query needs them.

Cost: O(1) per update, per read, and per version that is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class SubWindows:
    """The contents of sub-windows by the number of the update that wrote them.

    >>> window = SubWindows(["a", "b"])
    >>> window.install("c")
    {}
    >>> window.drop_before(1)
    >>> window.read(1), window.read(2), len(window)
    ('b', 'c', 2)
    """

    def __init__(self, contents: Sequence[Any]) -> None:
        self.n, self.newest = len(contents), len(contents) - 1
        self._contents = dict(enumerate(contents))
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._contents)

    def install(self, contents: Any) -> Mapping[int, Any]:
        self.newest += 1
        self._contents[self.newest] = contents
        return {}

    def read(self, version: int, as_of: int | None = None) -> Any:
        return self._contents[version]

    def drop_before(self, version: int) -> None:
        for old in range(self._oldest, version):
            del self._contents[old]
        self._oldest = max(self._oldest, version)
