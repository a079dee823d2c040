"""Interval synopsis: values over intervals of 1, 2, 4, ... b sub-windows (Golab 2006, 2.3.4).

For f that merge but cannot be subtracted, such as MIN and MAX; b is a power of two. There are up to
b intervals of length s, b/2 of length 2s, and so on: fewer than 2b values. An interval of length
2**j ends at a multiple of 2**j, and is made from its two halves when the second of them is. So an
update writes two values on average. A window is cut into the longest intervals that fit, which are
at most 2 log b: their lengths grow from its beginning on, and fall again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from windrow.synopses.base import Synopsis
from windrow.synopses.errors import SynopsisError
from windrow.synopses.interval_content import Content, V


class IntervalSynopsis(Synopsis[V]):
    """Up to 2b values; a probe reads about log b.

    >>> import numpy as np
    >>> from windrow.synopses import IntervalSynopsis, RowBuffer, content_for
    >>> synopsis = IntervalSynopsis(content_for("MAX"), s=1, b=8)
    >>> synopsis.follow(RowBuffer(content_for("MAX"), s=1).feed(np.array([8, 9, 2, 3, 1, 0, 4, 5])))
    >>> synopsis.answer("MAX", 7)["value"].to_pylist(), synopsis.work.combined
    ([9], 3)
    """

    kind: ClassVar[str] = "interval synopsis"

    def __init__(self, f: Content[V], s: int, b: int, *, from_start: bool = True) -> None:
        super().__init__(f, s, b, from_start=from_start)
        self._check_extension(b)

    def _check_extension(self, b: int) -> None:
        if b & (b - 1):
            raise SynopsisError(
                where=self.kind, expected="b to be a power of two", found=str(b),
                remedy=f"use b = {1 << b.bit_length()}, which serves every window up to"
                f" {b} sub-windows too",
            )  # fmt: skip

    def _insert(self, number: int, summary: V) -> None:
        self._put((0, number), summary)
        level, half = 1, 1
        while number % (2 * half) == 0 and 2 * half <= self.b:
            older = self._held.get((level - 1, number - half))
            if older is None:  # it would reach back before the stream, or what is known of it
                return
            self._put((level, number), self.f.merge([older, self._held[level - 1, number]]))
            level, half = level + 1, 2 * half

    def _amend(self, parts: Mapping[int, V]) -> None:
        """Each interval that is held and has one of these sub-windows is written once."""
        level = 0
        while parts:
            for number, part in parts.items():
                if level == 0 or (level, number) in self._held:
                    self._merge_into((level, number), part)
            level += 1
            parts = self._pairs(parts, level) if 1 << level <= self.b else {}

    def _pairs(self, parts: Mapping[int, V], level: int) -> dict[int, V]:
        """The parts of intervals of the next level, by their last sub-windows."""
        pairs: dict[int, list[V]] = {}
        for number, part in parts.items():
            pairs.setdefault(-(-number >> level) << level, []).append(part)
        return {last: self.f.merge(both) for last, both in pairs.items()}

    def _expire(self, oldest: int) -> None:
        """Drop the intervals that begin just before ``oldest``."""
        for level in range(self.b.bit_length()):
            self._drop((level, oldest - 2 + (1 << level)))

    def _combine(self, number: int, n: int) -> V:
        pieces, first = [], number - n + 1
        while first <= number:
            level = self._longest(first, number)
            place = (level, first - 1 + (1 << level))
            if place in self._held:
                pieces.append(self._held[place])
            first += 1 << level
        self.work.combined += len(pieces)
        return self.f.merge(pieces or [self.f.empty()])

    def _longest(self, first: int, last: int) -> int:
        """The level of the longest interval that begins with ``first`` and is held."""
        level = 0
        while (
            (first - 1) % (2 << level) == 0
            and first - 1 + (2 << level) <= last
            and (level + 1, first - 1 + (2 << level)) in self._held
        ):
            level += 1
        return level
