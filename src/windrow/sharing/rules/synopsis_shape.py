"""The description of a synopsis: its kind, its s, b, g and f, and whose tuples are in it.

Golab 2006, 2.3.4 (running, interval, basic interval) and 8.3.2 (RJ, IJ, BIJ). The structures
themselves are elsewhere; the rules of sharing need the description only. Rules of joint computation
compare queries by the synopses that they read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from windrow.core.errors import WindrowError
from windrow.sharing.rules.dnf import EVERYTHING, Predicate
from windrow.sharing.rules.periodic_query import Contents, PeriodicQuery


class SynopsisKind(Enum):
    """How intervals lie in time; the last three are over the results of a join, by expiry."""

    RUNNING = "running"
    INTERVAL = "interval"
    BASIC = "basic interval"
    RJ = "running-join"
    IJ = "interval-join"
    BIJ = "basic-interval-join"

    @property
    def is_over_join(self) -> bool:
        return self in (SynopsisKind.RJ, SynopsisKind.IJ, SynopsisKind.BIJ)

    @property
    def is_basic(self) -> bool:
        """Whether one scan from the youngest interval on answers every window on its way."""
        return self in (SynopsisKind.BASIC, SynopsisKind.BIJ)

    @property
    def is_running(self) -> bool:
        return self in (SynopsisKind.RUNNING, SynopsisKind.RJ)


@dataclass(frozen=True)
class SynopsisShape:
    """A synopsis that is updated every ``s`` ticks and answers windows of up to ``b * s``.

    ``g`` is the number of oldest intervals that tell apart which side of a join is how old (8.3.2);
    it is 0 unless the windows of a join differ.
    """

    kind: SynopsisKind
    source: str
    contents: Contents
    s: int
    b: int
    g: int = 0
    predicate: Predicate = EVERYTHING
    group_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        where = f"a {self.kind.value} synopsis of {self.source}"
        if self.s < 1 or self.b < 1 or not 0 <= self.g < self.b:
            raise WindrowError(
                where=where,
                expected="s >= 1, b >= 1 and 0 <= g < b",
                found=f"s = {self.s}, b = {self.b}, g = {self.g}",
            )
        if self.g and not self.kind.is_over_join:
            raise WindrowError(where=where, expected="g = 0 without a join", found=f"g = {self.g}")
        if self.kind.is_running and not self.contents.is_subtractable:
            raise WindrowError(
                where=where,
                expected="sums or counts, which can be subtracted",
                found=self.contents.kept.value,
                remedy="use an interval or a basic interval synopsis",
            )

    def has_tuples_of(self, query: PeriodicQuery) -> bool:
        """Whether it is over the query's source, grouped like it, and its s fits; not the WHERE."""
        return (
            self.source == query.source
            and self.group_by == query.group_by
            and self.kind.is_over_join == (len(query.windows) == 2)
            and query.fits(self.s)
        )

    def describe(self, ticks: Callable[[int], str] = "{:,}".format) -> str:
        """The synopsis in words; ``ticks`` writes a length of time."""
        parts = [f"{self.kind.value} synopsis of {self.contents}"]
        if self.group_by:
            parts.append(f"by {', '.join(self.group_by)}")
        parts.append(f"over {self.source}")
        if self.predicate != EVERYTHING:
            parts.append(f"where {self.predicate}")
        size = f"s = {ticks(self.s)}, b = {self.b:,}" + (f", g = {self.g:,}" if self.g else "")
        return f"{' '.join(parts)} ({size})"


def cheapest_kind(contents: Contents, b: int, together: int, *, over_join: bool) -> SynopsisKind:
    """The kind whose probes cost least if ``together`` queries run at the same time.

    What can be subtracted is kept running: two values a probe. Otherwise a basic interval synopsis
    is scanned once for all, at most b intervals, and an interval synopsis is probed by each query,
    about log b intervals: basic pays from b / log b queries on, and has half the space (8.3.1).
    Counters are always basic, as in 8.5.1: a long interval has those of the short ones in it again,
    and combining two intervals takes as long as they have values. So are sketches: to merge many
    into one takes little longer than to read that.

    >>> from windrow.sharing.rules.periodic_query import Kept
    >>> b8 = [cheapest_kind(Contents(Kept.MAX, "x"), 8, n, over_join=False) for n in (1, 2, 3)]
    >>> [kind.value for kind in b8]
    ['interval', 'interval', 'basic interval']
    """
    if contents.is_subtractable:
        return SynopsisKind.RJ if over_join else SynopsisKind.RUNNING
    if contents.is_by_value or together * math.log2(b) >= b or b == 1:
        return SynopsisKind.BIJ if over_join else SynopsisKind.BASIC
    return SynopsisKind.IJ if over_join else SynopsisKind.INTERVAL


@dataclass(frozen=True)
class Reading:
    """How one of the contents that a query needs is put together.

    From one synopsis, or by SS4 from several: those ``added`` less those ``subtracted``, where
    adding minima and maxima means to take the least and the greatest.
    """

    contents: Contents
    added: tuple[SynopsisShape, ...]
    subtracted: tuple[SynopsisShape, ...] = ()

    @property
    def shapes(self) -> tuple[SynopsisShape, ...]:
        return self.added + self.subtracted

    @property
    def is_combined(self) -> bool:
        return len(self.shapes) > 1


@dataclass(frozen=True)
class SynopsisAccess:
    """A query and its readings, one for each of the contents that it needs."""

    query: PeriodicQuery
    readings: tuple[Reading, ...]

    @property
    def shapes(self) -> tuple[SynopsisShape, ...]:
        return tuple(dict.fromkeys(shape for r in self.readings for shape in r.shapes))

    @property
    def is_combined(self) -> bool:
        """Whether SS4 was needed."""
        return any(reading.is_combined for reading in self.readings)

    def common_kinds(self, other: SynopsisAccess) -> Iterator[SynopsisKind]:
        """The kinds of the synopses that both read."""
        return (shape.kind for shape in self.shapes if shape in other.shapes)
