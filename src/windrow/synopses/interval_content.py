"""What is kept of an interval: the protocol, the classes of aggregates, and its input."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.synopses.errors import SynopsisError

V = TypeVar("V")
Array = npt.NDArray[Any]


class AggregateClass(Enum):
    """What an aggregate can be computed from (Golab 2006, 2.2.1 and 2.3.4).

    >>> from windrow.synopses import AggregateClass, content_for
    >>> content_for("SUM").kind is AggregateClass.SUBTRACTABLE
    True
    """

    SUBTRACTABLE = "subtractable"
    """f(X - Y) = f(X) - f(Y); distributive as well."""
    DISTRIBUTIVE = "distributive"
    """From its own values over the parts of a set."""
    ALGEBRAIC = "algebraic"
    """From a fixed number of distributive ones."""
    HOLISTIC = "holistic"
    """From the whole distribution: counters or a sketch of it."""


class Content(Protocol[V]):
    """f: what is kept of an interval, how two are put together, and what can be read from it.

    A value of it is immutable. ``groups`` and ``values`` are arrays of equal length.

    >>> import numpy as np
    >>> from windrow.synopses import Content, content_for
    >>> sums: Content = content_for("SUM")
    >>> parts = [sums.summarise(np.array([7, 8, 7]), np.array([1, 2, 3])) for _ in range(2)]
    >>> sums.answer("SUM", sums.merge(parts)).to_pydict()
    {'group': [7, 8], 'value': [8, 4]}
    """

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> AggregateClass: ...

    @property
    def answers(self) -> frozenset[str]:
        """The aggregates that can be read from it."""
        ...

    def empty(self) -> V: ...

    def summarise(self, groups: Array, values: Array) -> V: ...

    def merge(self, parts: Sequence[V]) -> V:
        """Of at least one interval; the intervals are disjoint."""
        ...

    def subtract(self, whole: V, part: V) -> V:
        """For subtractable ones."""
        ...

    def answer(
        self, function: str, summary: V, parameter: float | None = None
    ) -> pa.RecordBatch: ...

    def size(self, summary: V) -> int:
        """How many numbers, counters or sketches it holds."""
        ...

    def to_batch(self, summary: V) -> pa.RecordBatch: ...

    def from_batch(self, batch: pa.RecordBatch) -> V: ...


class ClosedInterval(NamedTuple, Generic[V]):
    """A sub-window that is full: its number, and what is kept of it.

    >>> import numpy as np
    >>> from windrow.synopses import RowBuffer, content_for
    >>> [closed.number for closed in RowBuffer(content_for("COUNT"), s=2).feed(np.arange(5))]
    [1, 2]
    """

    number: int
    summary: V


def as_array(values: Any) -> Array:
    """Values or groups as numpy has them: integers, floats or texts, and no NULL among them."""
    array = np.asarray(values)
    kind = array.dtype.kind
    if kind in "ib" or (kind == "u" and not (array > np.iinfo(np.int64).max).any()):
        return array.astype(np.int64, copy=False)
    if kind == "f":
        return array.astype(np.float64, copy=False)
    if kind == "U" or (kind == "O" and all(isinstance(value, str) for value in array)):
        return array.astype(np.str_)
    raise SynopsisError(
        where="values", expected="64-bit integers, floats or texts, without NULLs",
        found=f"an array of {array.dtype}",
        remedy="leave rows with NULL out, and turn timestamps and dates into integers",
    )  # fmt: skip
