"""The description of a periodic query: all that the rules of sharing have to know of it.

Its aggregates say what the intervals of a synopsis must hold to answer it. Golab 2006, 2.3.4 and
8.3.1: SUM and COUNT are subtractable; MIN and MAX are distributive only; AVG is algebraic, the
quotient of a SUM and a COUNT, and so are VAR and STDDEV, from sums of values and of their squares;
COUNT DISTINCT, MEDIAN, QUANTILE and TOP k are holistic and share
exact counters of values, or, where an approximation is asked for, sketches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from windrow.core.errors import WindrowError
from windrow.sharing.rules.dnf import EVERYTHING, Predicate


class Function(Enum):
    """The aggregates of 8.2, and VAR and STDDEV."""

    SUM = "SUM"
    COUNT = "COUNT"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    COUNT_DISTINCT = "COUNT DISTINCT"
    QUANTILE = "QUANTILE"
    TOP = "TOP"
    VAR = "VAR"
    STDDEV = "STDDEV"


class Kept(Enum):
    """The data of one interval."""

    SUM = "sums"
    COUNT = "counts"
    MIN = "minima"
    MAX = "maxima"
    COUNTERS = "counters"
    DISTINCT_SKETCH = "sketches of distinct values"
    QUANTILE_SKETCH = "sketches of quantiles"
    FREQUENT_SKETCH = "sketches of frequent values"


AND_SQUARES = " and its squares"
"""What follows an expression of which there are two sums, and how many values it had."""


@dataclass(frozen=True)
class Contents:
    """What is kept, of which expression; None is the argument of ``COUNT(*)``."""

    kept: Kept
    argument: str | None = None

    @property
    def is_subtractable(self) -> bool:
        """Whether f(X - Y) = f(X) - f(Y) for every Y within X.

        Counters could be subtracted too; 2.3.4 says why they are never in a running synopsis.
        """
        return self.kept in (Kept.SUM, Kept.COUNT)

    @property
    def is_duplicate_sensitive(self) -> bool:
        """Whether a tuple in two overlapping sets may be counted once only (8.3.3)."""
        return self.kept not in (Kept.MIN, Kept.MAX)

    @property
    def depends_on_cut(self) -> bool:
        """Whether what is kept of two intervals comes to something else than what would have been
        kept of both in one, so that only the query's own intervals give the query's own answer.

        So it is with values at ranks. All other contents, sketches of distinct values too, say the
        same however tuples were cut.
        """
        return self.kept is Kept.QUANTILE_SKETCH

    def is_kept_beside(self, other: Contents) -> bool:
        """Whether intervals of other contents have it as well: how many tuples they are of, or of
        how many values a sum is."""
        if self.kept is not Kept.COUNT or self == other:
            return False
        return self.argument is None or other == Contents(Kept.SUM, self.argument)

    @property
    def is_by_value(self) -> bool:
        """Whether there are counters or sketches in an interval, and not one number."""
        return self.kept in _BY_VALUE

    def __str__(self) -> str:
        return f"{self.kept.value} of {self.argument}" if self.argument else self.kept.value


@dataclass(frozen=True)
class Aggregate:
    """An aggregate of a query; ``parameter`` is the k of TOP or the p of QUANTILE.

    >>> [str(contents) for contents in Aggregate(Function.AVG, "length").needs]
    ['sums of length', 'counts of length']
    """

    function: Function
    argument: str | None = None
    parameter: float | None = None
    approximate: bool = False

    @property
    def needs(self) -> tuple[Contents, ...]:
        """The contents from which it is computed."""
        if self.function is Function.AVG:
            return Contents(Kept.SUM, self.argument), Contents(Kept.COUNT, self.argument)
        if self.function in (Function.VAR, Function.STDDEV):
            return (Contents(Kept.SUM, f"{self.argument}{AND_SQUARES}"),)
        kept = _SKETCHES.get(self.function) if self.approximate else None
        return (Contents(kept or _KEPT[self.function], self.argument),)

    def __str__(self) -> str:
        inside = "*" if self.argument is None else self.argument
        parameter = "" if self.parameter is None else f", {self.parameter:g}"
        return f"{self.function.value}({inside}{parameter})"


_KEPT = {
    Function.SUM: Kept.SUM,
    Function.COUNT: Kept.COUNT,
    Function.MIN: Kept.MIN,
    Function.MAX: Kept.MAX,
    Function.COUNT_DISTINCT: Kept.COUNTERS,
    Function.QUANTILE: Kept.COUNTERS,
    Function.TOP: Kept.COUNTERS,
}
_BY_VALUE = frozenset(
    {Kept.COUNTERS, Kept.DISTINCT_SKETCH, Kept.QUANTILE_SKETCH, Kept.FREQUENT_SKETCH}
)
_SKETCHES = {
    Function.COUNT_DISTINCT: Kept.DISTINCT_SKETCH,
    Function.QUANTILE: Kept.QUANTILE_SKETCH,
    Function.TOP: Kept.FREQUENT_SKETCH,
}


@dataclass(frozen=True)
class PeriodicQuery:
    """Aggregates over a sliding window, or over a join of two (Golab 2006, 8.1 and 8.3).

    ``source`` names the stream, or the join with its condition; the same text means the same
    tuples. ``windows`` are the lengths, one or two; ``slide`` is the period. Lengths, periods and
    instants are in ticks of the source's clock (rows, if the window counts rows). Windows move at
    multiples of their slide, so synopses with the same s are updated at the same instants: they
    are *aligned* in the sense of SS2. ``finish`` is what becomes of the aggregates (HAVING, TOP):
    only CS8, by which answers are shared, looks at it.
    """

    name: str
    source: str
    aggregates: tuple[Aggregate, ...]
    windows: tuple[int, ...]
    slide: int
    predicate: Predicate = EVERYTHING
    group_by: tuple[str, ...] = ()
    priority: int = 0
    finish: str = ""

    def __post_init__(self) -> None:
        if not self.aggregates or len(self.windows) not in (1, 2):
            raise WindrowError(
                where=f"query {self.name}",
                expected="an aggregate over one window or a join of two",
                found=f"{len(self.aggregates)} aggregates, {len(self.windows)} windows",
            )
        if self.slide < 1 or min(self.windows) < 1:
            raise WindrowError(
                where=f"query {self.name}",
                expected="a window and a period of at least one tick",
                found=f"windows {self.windows}, SLIDE {self.slide}",
            )

    @property
    def window(self) -> int:
        """The longest window: that of a query without a join is its only one."""
        return max(self.windows)

    @property
    def grain(self) -> int:
        """The coarsest s that divides the windows and the period."""
        return math.gcd(*self.windows, self.slide)

    @property
    def needs(self) -> tuple[Contents, ...]:
        """What its aggregates are computed from, each once."""
        return tuple(dict.fromkeys(c for a in self.aggregates for c in a.needs))

    @property
    def has_one_grain(self) -> bool:
        """Whether no other s gives its answers; see ``Contents.depends_on_cut``."""
        return any(contents.depends_on_cut for contents in self.needs)

    def fits(self, s: int) -> bool:
        """Whether the windows and the period are multiples of s (8.4.1)."""
        return self.grain == s if self.has_one_grain else self.grain % s == 0

    def period(self, s: int) -> int:
        """The period in updates of synopses with this s."""
        return self.slide // s
