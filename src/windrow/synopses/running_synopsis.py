"""Running synopsis: f over everything up to each of the last b + 1 updates (Golab 2006, 2.3.4).

For subtractable f. A window of n sub-windows is f([1, t]) - f([1, t - ns]): two values, whatever n
is. An update adds one value, f([1, t]) + f((t, t + s]), and drops the oldest.

Only differences are read, so the running intervals may begin at any instant before all of them,
and not only at 1. Every b updates the oldest value is taken off all others. A group that was not
seen for that long then disappears, so the synopsis holds the groups of 2b sub-windows, not those
of the whole past; it costs one value more per update, on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from windrow.synopses.base import Synopsis
from windrow.synopses.errors import UnsuitableSynopsisError
from windrow.synopses.interval_content import AggregateClass, Content, V

REASONS = {
    AggregateClass.DISTRIBUTIVE: (
        "what has left cannot be subtracted from a least or greatest value",
        "use an interval synopsis (log b values a probe) or a basic one (half the space)",
    ),
    AggregateClass.HOLISTIC: (
        "counters of the whole past grow, and its sketches lose accuracy, with old values",
        "use an interval or a basic interval synopsis",
    ),
}


class RunningSynopsis(Synopsis[V]):
    """b + 1 values; a probe reads two.

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, RunningSynopsis, content_for
    >>> synopsis = RunningSynopsis(content_for("SUM"), s=1, b=8)
    >>> synopsis.follow(RowBuffer(content_for("SUM"), s=1).feed(np.arange(1, 11)))
    >>> synopsis.answer("SUM", 7)["value"].to_pylist(), synopsis.work.combined
    ([49], 2)
    """

    kind: ClassVar[str] = "running synopsis"

    def __init__(self, f: Content[V], s: int, b: int, *, from_start: bool = True) -> None:
        if f.kind is not AggregateClass.SUBTRACTABLE:
            reason, remedy = REASONS[f.kind]
            raise UnsuitableSynopsisError(
                reason, where=f"{f.name} in a {self.kind}", expected="a subtractable aggregate",
                found=f"a {f.kind.value} one", remedy=remedy,
            )  # fmt: skip
        super().__init__(f, s, b, from_start=from_start)
        self._rebased_at: int | None = None

    def _insert(self, number: int, summary: V) -> None:
        before = self._held.get((0, number - 1))
        self._put((0, number), summary if before is None else self.f.merge([before, summary]))
        if self._rebased_at is None:
            self._rebased_at = number
        elif number - self._rebased_at >= self.b:
            self._rebase(number)

    def _amend(self, parts: Mapping[int, V]) -> None:
        """What is added to a sub-window is added to all running intervals from it on."""
        assert self.number is not None
        running: list[V] = []
        for number in range(min(parts), self.number + 1):
            running += [parts[number]] if number in parts else []
            running = [self.f.merge(running)]
            self._merge_into((0, number), running[0])

    def _rebase(self, number: int) -> None:
        """Let all running intervals begin where the oldest one ends."""
        self._rebased_at = number
        oldest = self._held.get((0, number - self.b))
        if oldest is None:
            return
        for place, value in self._held.items():
            if place[1] >= number - self.b:
                self._held[place] = self.f.subtract(value, oldest)
                self._unsaved.add(place)
                self.work.rebased += 1

    def _expire(self, oldest: int) -> None:
        self._drop((0, oldest - 2))

    def _combine(self, number: int, n: int) -> V:
        whole, before = self._held[0, number], self._held.get((0, number - n))
        if before is None:  # the stream began later
            self.work.combined += 1
            return whole
        self.work.combined += 2
        return self.f.subtract(whole, before)

    def _extra_meta(self) -> dict[str, Any]:
        return {"rebased_at": self._rebased_at}

    def _load_extra(self, meta: Mapping[str, Any]) -> None:
        self._rebased_at = meta["rebased_at"]
