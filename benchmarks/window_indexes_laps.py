"""Windows and streams of ``window_indexes``, and one timed lap of a way to query them."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from windrow.papers.window_indexes.basic_windows import CountBased


@dataclass(frozen=True)
class Shape:
    """A window of ``tuples`` in ``basic_windows`` over values below ``values``."""

    tuples: int
    basic_windows: int
    values: int
    skewed: bool = False

    @property
    def spec(self) -> CountBased:
        return CountBased(self.basic_windows, self.tuples // self.basic_windows)

    def stream(self, seed: int) -> np.ndarray:
        """Tuples that fill the window, and as many more; by a power law with exponent 1 if skewed.

        Which values are the frequent ones is drawn, so that lists have them anywhere.
        """
        rng = np.random.default_rng(seed)
        if not self.skewed:
            return rng.integers(0, self.values, 2 * self.tuples)
        shares = 1 / np.arange(1, self.values + 1)
        ranks = rng.choice(self.values, 2 * self.tuples, p=shares / shares.sum())
        return rng.permutation(self.values)[ranks]


def other(values: np.ndarray, limit: int) -> np.ndarray:
    """A second stream of as many different values: other ones are frequent, at other times."""
    return (values[::-1] * 7 + 3) % limit


class Way(Protocol):
    """One way to keep a window and to answer a query over it."""

    def feed(self, values: np.ndarray) -> Iterator[int]:
        """Take tuples in, pausing after each turn."""
        ...

    def ask(self) -> Any:
        """The query's answer now."""
        ...

    def plain(self, answer: Any) -> tuple[np.ndarray, ...]:
        """An answer as arrays, for comparison."""
        ...


@dataclass(frozen=True)
class Lap:
    """Seconds of processor time to replace a window once; ``deletion`` is part of maintenance.

    ``digest`` is over the answers at all turns, ``last`` is the one at the end.
    """

    maintenance: float
    query: float
    deletion: float
    digest: int
    last: tuple[np.ndarray, ...]

    @property
    def total(self) -> float:
        return self.maintenance + self.query


def lap(way: Way, values: np.ndarray, *, asked: bool = True) -> Lap:
    """Fill the window with half of the values and time the other half; digests are not timed.

    ``asked`` at every turn, or else at the end only, without timing it.
    """
    half = len(values) // 2
    for _ in way.feed(values[:half]):
        pass
    deleted = -deletion_so_far(way)
    maintenance = query = 0.0
    digest, last = 0, ()
    began = time.process_time()
    for _ in way.feed(values[half:]):
        turned = time.process_time()
        maintenance += turned - began
        if asked:
            answer = way.ask()
            query += time.process_time() - turned
            last = way.plain(answer)
            digest = digest_of(last, digest)
        began = time.process_time()
    if not asked:
        last = way.plain(way.ask())
        digest = digest_of(last)
    return Lap(maintenance, query, deleted + deletion_so_far(way), digest, last)


def digest_of(answer: tuple[np.ndarray, ...], before: int = 0) -> int:
    for part in answer:
        before = zlib.crc32(np.ascontiguousarray(part, np.int64).tobytes(), before)
    return before


def deletion_so_far(way: Way) -> float:
    return float(getattr(way, "deletion_seconds", 0.0))
