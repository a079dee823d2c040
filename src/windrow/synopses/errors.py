"""The errors of this room."""

from __future__ import annotations

from windrow.core.errors import WindrowError
from windrow.core.patterns import UpdatePattern


class SynopsisError(WindrowError):
    """A synopsis was described, fed or asked in a way that it cannot follow.

    >>> from windrow.synopses import IntervalSynopsis, SynopsisError, content_for
    >>> try:
    ...     IntervalSynopsis(content_for("MAX"), s=60, b=10)
    ... except SynopsisError as error:
    ...     print(error.remedy)
    use b = 16, which serves every window up to 10 sub-windows too
    """


class UnsuitableSynopsisError(SynopsisError):
    """An aggregate cannot be answered from this kind of synopsis (Golab 2006, 2.3.4).

    >>> from windrow.synopses import RunningSynopsis, UnsuitableSynopsisError, content_for
    >>> try:
    ...     RunningSynopsis(content_for("MAX"), s=60, b=8)
    ... except UnsuitableSynopsisError as error:
    ...     print(error.expected)
    a subtractable aggregate
    """


class IncompleteWindowError(SynopsisError):
    """A window reaches back to sub-windows that the synopsis has not seen, or has dropped.

    ``complete_from`` is the number of the update from which it is covered.

    >>> import numpy as np
    >>> from windrow.synopses import (
    ...     BasicIntervalSynopsis, ClosedInterval, IncompleteWindowError, content_for
    ... )
    >>> counts = content_for("COUNT")
    >>> late = BasicIntervalSynopsis(counts, s=60, b=8, from_start=False)
    >>> late.update(ClosedInterval(5, counts.summarise(np.zeros(2, np.int64), np.zeros(2))))
    >>> try:
    ...     late.probe(3)
    ... except IncompleteWindowError as error:
    ...     print(error.complete_from)
    7
    """

    def __init__(self, n: int, number: int, complete_from: int) -> None:
        self.complete_from = complete_from
        super().__init__(
            where=f"a window of {n} sub-windows at update {number}",
            expected="sub-windows that the synopsis has seen and not dropped",
            found=f"that it is complete from update {complete_from} on",
            remedy="ask again then, or for a shorter window",
        )


class FrequentInputError(SynopsisError):
    """FREQUENT was put over a plan whose results do not expire in the order in which they came.

    >>> from windrow.core.patterns import UpdatePattern
    >>> from windrow.synopses import Frequent, FrequentInputError
    >>> try:
    ...     Frequent.check_input(UpdatePattern.WEAK)
    ... except FrequentInputError as error:
    ...     print(error.found)
    WEAK input
    """

    def __init__(self, pattern: UpdatePattern) -> None:
        self.pattern = pattern
        super().__init__(
            "a list of the most frequent items leaves with its sub-window, so its tuples have to"
            " expire in the order in which they came (Golab 2006, 6.2.1)",
            where="FREQUENT",
            expected="MONOTONIC or WEAKEST input",
            found=f"{pattern.name} input",
            remedy="ask it of a window over the stream itself, below joins and negations,"
            " or use TOP k, which counts exactly",
        )
