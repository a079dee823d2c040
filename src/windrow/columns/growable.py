"""A numpy array that grows at its end and is forgotten from its start.

Positions are *logical*: they count from the first value that was ever appended, and stay true
when the values move. The live part is always contiguous, so that it is a plain array to a
kernel. When the space at the end is used up the live part moves to the front, of a buffer twice
its size if need be, so a value is copied O(1) times on average and the buffer is at most four
times the live part.

Values that are *lent* stay where they are and as they are for whoever has them, in another thread
too: the next move of the live part is to another buffer. Only writing into ``view`` changes them.
"""

from __future__ import annotations

from copy import copy
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from windrow.core.thresholds import Threshold

SMALLEST = Threshold(64, least=1)
"""How many values there is room for at first."""
Values = TypeVar("Values", bound=np.generic)


def fresh(fill: int, dtype: npt.DTypeLike = np.int64, width: int | None = None) -> npt.NDArray[Any]:
    """An array for ``grow``, with ``fill`` in every place."""
    shape = (SMALLEST.value,) if width is None else (SMALLEST.value, width)
    return np.full(shape, fill, dtype)


def grow(values: npt.NDArray[Values], size: int, fill: int) -> npt.NDArray[Values]:
    """``values``, or a larger copy of it with room for ``size`` and ``fill`` in the new places."""
    if size <= len(values):
        return values
    larger = np.full(size * 2, fill, values.dtype)
    larger[: len(values)] = values
    return larger


def grow_rows(values: npt.NDArray[Values], size: int) -> npt.NDArray[Values]:
    """``values`` of some width, or a larger copy with room for ``size`` and zeros in new places."""
    if size <= len(values):
        return values
    larger = np.zeros((size * 2, values.shape[1]), values.dtype)
    larger[: len(values)] = values
    return larger


class Growable:
    """See the module. ``width`` columns per position make it a two-dimensional array."""

    def __init__(self, dtype: npt.DTypeLike, width: int | None = None) -> None:
        self._shape: tuple[int, ...] = () if width is None else (width,)
        self._values: npt.NDArray[Any] = np.empty((SMALLEST.value, *self._shape), dtype)
        self._start = self._stop = 0
        self._is_lent = False
        self.base = 0
        """The position of the first value that is still here."""

    def __len__(self) -> int:
        return self._stop - self._start

    @property
    def next(self) -> int:
        """The position that the next value will get."""
        return self.base + len(self)

    @property
    def view(self) -> npt.NDArray[Any]:
        """The live values; index ``position - base``. Valid until the next append."""
        return self._values[self._start : self._stop]

    def lend(self) -> npt.NDArray[Any]:
        """The live values, valid for ever; nothing is copied."""
        self._is_lent = True
        return self.view

    def snapshot(self) -> Growable:
        """The live values by position, as they are now; nothing is copied."""
        self._is_lent = True
        return copy(self)

    def append(self, values: npt.NDArray[Any]) -> int:
        """Add values at the end; the position of the first of them."""
        first = self.next
        self._reserve(len(values))
        self._values[self._stop : self._stop + len(values)] = values
        self._stop += len(values)
        return first

    def extend(self, count: int, value: Any) -> None:
        """Add one value ``count`` times."""
        self._reserve(count)
        self._values[self._stop : self._stop + count] = value
        self._stop += count

    def take(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """The values at these positions, all of which must still be here."""
        # Clipping spares numpy the bounds check that it would otherwise make in a second pass.
        return np.take(self.view, positions - self.base, axis=0, mode="clip")

    def drop_before(self, position: int) -> None:
        """Forget everything before ``position``."""
        count = min(max(position - self.base, 0), len(self))
        self._start += count
        self.base += count

    def cut(self, position: int) -> None:
        """Forget everything from ``position`` on, which others may then have."""
        if self._is_lent:
            self._values, self._is_lent = self._values.copy(), False
        self._stop = min(self._stop, self._start + max(position - self.base, 0))

    def clear(self, base: int = 0) -> None:
        """Forget everything; the next value gets position ``base``."""
        if self._is_lent:
            self._values, self._is_lent = np.empty_like(self._values), False
        self._start = self._stop = 0
        self.base = base

    def _reserve(self, count: int) -> None:
        if self._stop + count <= len(self._values):
            return
        live = self.view
        needed = len(live) + count
        if needed * 2 > len(self._values):
            target = np.empty((needed * 2, *self._shape), self._values.dtype)
        elif len(self._values) > 8 * needed + SMALLEST.value:
            target = np.empty((needed * 4, *self._shape), self._values.dtype)
        elif self._is_lent:
            target = np.empty_like(self._values)
        else:
            target = self._values
        target[: len(live)] = live
        self._values, self._start, self._stop = target, 0, len(live)
        self._is_lent = False
