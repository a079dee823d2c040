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

    def __str__(self) -> str:
        if not self.late and not self.waiting:
            return f"{self.name}: on time, {self.executions:,} times"
        now = f", {self.waiting:,} updates late now" if self.waiting else ""
        return (
            f"{self.name}: late {self.late:,} of {self.executions:,} times, by {self.mean:.2f} "
            f"updates on average, {self.greatest:,} at most{now}"
        )


class LatenessLog:
    """Counts the latencies of one query."""

    def __init__(self) -> None:
        self.executions = self.late = self.total = self.greatest = 0

    def add(self, latency: int) -> None:
        self.executions += 1
        if latency > 0:
            self.late += 1
            self.total += latency
            self.greatest = max(self.greatest, latency)
