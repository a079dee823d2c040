"""What runners tell while they work, and when they are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from windrow.core.time import Clock
from windrow.core.warnings import WindrowWarning
from windrow.sharing.schedule import QueryDelay


@dataclass(frozen=True)
class Lateness:
    """What became of a query's period, in seconds of its clock.

    Its answer is that for the instant ``answered``, ``seconds`` longer ago than its period. Of its
    ``executions`` so far some were ``late``, by ``mean`` and at most ``greatest`` seconds.
    """

    answered: int
    seconds: float
    executions: int
    late: int
    mean: float
    greatest: float

    @classmethod
    def of(cls, delay: QueryDelay, clock: Clock) -> Lateness:
        ticks = clock.ticks_per_second
        mean, greatest = delay.mean / ticks, delay.greatest / ticks
        late = delay.waiting / ticks
        return cls(delay.answered, late, delay.executions, delay.late, mean, greatest)


@dataclass(frozen=True)
class Progress:
    """How far one query has come; counts are totals since the run began."""

    query: str
    rows_in: int
    rows_out: int
    now: int | None
    clock: Clock
    quarantined: int
    late: int
    batches: int
    refused: tuple[str, ...] = ()
    """Of which files, or last rows of files, nothing was read, and why."""
    overflows: int = 0
    """Sums that were NULL because they did not fit into BIGINT."""
    cut: int = 0
    """Moments of the input that were finer than microseconds and were cut to them."""
    idle: tuple[str, ...] = ()
    """Streams that it no longer waits for, because they are silent."""
    batch: int | None = None
    """The number of the last micro-batch, as the checkpoint has it; embedded, of the last step."""
    lateness: Mapping[str, Lateness] = field(default_factory=dict)
    """Of those of its queries that may be late."""


@dataclass(frozen=True)
class QueryReport:
    """What one query did; ``answer`` is its relation at the last instant."""

    name: str
    rows_in: int
    rows_out: int
    quarantined: int
    late: int
    now: int | None
    clock: Clock
    destination: Path | None
    answer: pa.Table
    waiting: int | None = None
    """Of an archive: the rows that wait for the end of their day."""
    ranked: bool = False
    """Whether the rows of the answer are in the order of a TOP."""
    restarts: Mapping[str, int] = field(default_factory=dict)
    """What died under the query, and how often it was started again for it."""
    total: int | None = None
    """Of a stream: how many rows there have been, of which ``answer`` has the last."""
    lateness: Lateness | None = None
    """Of a query that may be late."""
    complete_from: int | None = None
    """Of a query that came late: from which instant on its answers are complete."""


@dataclass(frozen=True)
class Report:
    """What a run did."""

    queries: tuple[QueryReport, ...]


def overflow_warning(query: str) -> WindrowWarning:
    """What is said when it happens to a query for the first time."""
    return WindrowWarning(
        "numbers overflowed BIGINT or DECIMAL: such a SUM is NULL for its group until it fits "
        "again, such a result of arithmetic in its row",
        where=f"query {query}",
        remedy="compute with CAST(... AS DOUBLE) to get rounded results",
    )


def cut_warning(where: str) -> WindrowWarning:
    """What is said when nanoseconds are cut for the first time."""
    return WindrowWarning(
        "times were truncated to microseconds",
        where=where,
        remedy="keep the rest in a column of its own if it matters",
    )


def warnings_of(progress: Progress) -> list[WindrowWarning]:
    """What the user of the query should know by now."""
    where = f"query {progress.query}"
    found = [overflow_warning(progress.query)] if progress.overflows else []
    return [*found, cut_warning(where)] if progress.cut else found
