"""What an interval of a synopsis holds, and which aggregates can be answered from it.

Golab 2006, 2.3.4 and 8.3.1: SUM and COUNT are subtractable; MIN and MAX are distributive only; AVG
is algebraic, the quotient of a SUM and a COUNT; COUNT DISTINCT, MEDIAN, QUANTILE and TOP k are
holistic and share exact counters of values, or, where an approximation is asked for, sketches.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Function(Enum):
    """The aggregates of 8.2."""

    SUM = "SUM"
    COUNT = "COUNT"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    COUNT_DISTINCT = "COUNT DISTINCT"
    QUANTILE = "QUANTILE"
    TOP = "TOP"


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
