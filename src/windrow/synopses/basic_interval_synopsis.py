"""Basic interval synopsis: one value per sub-window (Golab 2006, 2.3.4).

For any f whose values merge. A window of n sub-windows combines n values, an update writes one and
drops one. It is half an interval synopsis in space, and all its windows can be answered in one scan
from the youngest sub-window to the oldest (rule CS2 of 8.3.1): from b / log b queries at a time on,
that is less work than an interval synopsis.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

from windrow.synopses.base import Synopsis
from windrow.synopses.interval_content import V


class BasicIntervalSynopsis(Synopsis[V]):
    """b values; a probe reads n.

    >>> import numpy as np
    >>> from windrow.synopses import BasicIntervalSynopsis, RowBuffer, content_for
    >>> most = content_for("MAX")
    >>> synopsis = BasicIntervalSynopsis(most, s=1, b=8)
    >>> synopsis.follow(RowBuffer(most, s=1).feed(np.array([8, 9, 2, 3, 1, 0, 4, 5])))
    >>> synopsis.answer("MAX", 7)["value"].to_pylist(), synopsis.work.combined
    ([9], 7)
    >>> shared = synopsis.scan([2, 6, 7])
    >>> {n: most.answer("MAX", value)["value"].to_pylist() for n, value in shared.items()}
    {2: [5], 6: [5], 7: [9]}
    >>> synopsis.work.combined
    14
    """

    kind: ClassVar[str] = "basic interval synopsis"

    def _insert(self, number: int, summary: V) -> None:
        self._put((0, number), summary)

    def _amend(self, parts: Mapping[int, V]) -> None:
        for number, part in parts.items():
            self._merge_into((0, number), part)

    def _expire(self, oldest: int) -> None:
        self._drop((0, oldest - 1))

    def _combine(self, number: int, n: int) -> V:
        return self.f.merge(self._values(number - n + 1, number) or [self.f.empty()])

    def _values(self, first: int, last: int) -> list[V]:
        """Those of these sub-windows; what is older than the stream has none."""
        places = [(0, k) for k in range(first, last + 1) if (0, k) in self._held]
        self.work.combined += len(places)
        return [self._held[place] for place in places]

    def scan(self, lengths: Iterable[int]) -> dict[int, V]:
        """Windows of several lengths in one scan: no value is read twice (rule CS2)."""
        wanted = sorted(set(lengths))
        for n in wanted:
            self.check_window(n)
        found: dict[int, V] = {}
        so_far, reached = self.f.empty(), 0
        for n in wanted:
            if self.number is not None:
                values = self._values(self.number - n + 1, self.number - reached)
                so_far = self.f.merge([*values, so_far])
            found[n], reached = so_far, n
        return found
