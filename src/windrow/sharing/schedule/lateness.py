"""How late queries are: updates beyond their periods (Golab 2006, 8.5.1)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryLateness:
    """What became of a query's period.

    The latency of an execution is the number of updates since the one before, less the period; 0 if
    it is early or on time. ``waiting`` is how many updates past its deadline the query is now.
    """

    name: str
    period: int
    executions: int
    late: int
    """Executions with a latency above 0."""
    total: int
    greatest: int
    waiting: int

    @property
    def mean(self) -> float:
        return self.total / self.executions if self.executions else 0.0

    def in_ticks(self, s: int, answered: int) -> QueryDelay:
        """The same over updates every ``s`` ticks, for a query answered for that instant."""
        mean = self.total * s / self.late if self.late else 0.0
        return QueryDelay(
            answered, self.executions, self.late, mean, self.greatest * s, self.waiting * s
        )

    def __str__(self) -> str:
        if not self.late and not self.waiting:
            return f"{self.name}: on time, {self.executions:,} times"
        now = f", {self.waiting:,} updates late now" if self.waiting else ""
        return (
            f"{self.name}: late {self.late:,} of {self.executions:,} times, by {self.mean:.2f} "
            f"updates on average, {self.greatest:,} at most{now}"
        )


@dataclass(frozen=True)
class QueryDelay:
    """The lateness of a query in ticks of its clock, and the instant that its answer is true for.

    ``waiting`` is how much longer than its period the query has been without an answer; ``mean``
    and ``greatest`` are by how much the ``late`` ones of its executions were.
    """

    answered: int
    executions: int
    late: int
    mean: float
    greatest: int
    waiting: int


class LatenessLog:
    """Counts the latencies of one query."""

    def __init__(
        self, executions: int = 0, late: int = 0, total: int = 0, greatest: int = 0
    ) -> None:
        self.executions, self.late = executions, late
        self.total, self.greatest = total, greatest

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """What another one is made of."""
        return self.executions, self.late, self.total, self.greatest

    def add(self, latency: int) -> None:
        self.executions += 1
        if latency > 0:
            self.late += 1
            self.total += latency
            self.greatest = max(self.greatest, latency)
