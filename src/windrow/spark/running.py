"""One streaming query while it runs: its starts, its commits, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.streaming.query import StreamingQuery

from windrow.engine.commits import Commit, commits
from windrow.engine.progress import Progress, QueryReport
from windrow.spark.failures import translated, worker_was_late
from windrow.spark.outcomes import outcome_of
from windrow.spark.query import Feed, SparkQuery

STARTING = ("Initializing", "Getting offsets")
"""What Spark says of a query whose sources do not run yet."""
STARTS = 5
"""How often a query may be started whose Python workers are late."""


class Running:
    """One query while it runs: what its commits say so far."""

    def __init__(self, query: SparkQuery, on_progress: Callable[[Progress], None]) -> None:
        self._query, self._on_progress = query, on_progress
        self._outcome = outcome_of(query)
        self._commits: list[Commit] = []
        self._earlier = 0
        self._streaming: StreamingQuery | None = None
        self._cut_off = False
        self._starts = 0

    def start(self, feed: Feed) -> None:
        self._query.prepare()
        self._commits = commits(self._query.results)
        self._earlier = len(self._commits)
        self._start(feed)
        self._on_progress(self._progress())

    def _start(self, feed: Feed) -> None:
        while True:
            self._starts += 1
            try:
                self._streaming = self._query.start(feed)
            except Exception as failure:
                if self._starts >= STARTS or not worker_was_late(failure):
                    raise
            else:
                return

    @property
    def starting(self) -> bool:
        """Whether it runs, but its sources do not yet."""
        if self._streaming is None or not self._streaming.isActive:
            return False
        return str(self._streaming.status["message"]).startswith(STARTING)

    def start_again_if_late(self, feed: Feed) -> bool:
        """A query whose worker did not start in time goes on from its checkpoint."""
        late = self._late
        if late:
            self._start(feed)
        return late

    @property
    def _late(self) -> bool:
        failure = self._streaming.exception() if self._streaming is not None else None
        return failure is not None and self._starts < STARTS and worker_was_late(failure)

    @property
    def active(self) -> bool:
        """Whether it runs, or will when it is started again."""
        return self._streaming is not None and (self._streaming.isActive or self._late)

    def look(self) -> None:
        """Pass on what was committed since the last look, or the reason why the query failed."""
        failure = self._streaming.exception() if self._streaming is not None else None
        if failure is not None and not (self._cut_off or self._late):
            raise translated(self._query.declaration.name, failure)
        last = self._commits[-1].batch if self._commits else -1
        new = commits(self._query.results, last)
        for commit in new:
            self._commits.append(commit)
            self._on_progress(self._progress())
        if new:
            self._outcome.show(new)

    def finish(self) -> None:
        """Stop a query that runs, in the middle of a micro-batch if need be.

        Spark interrupts whatever it is doing, starting up included, and what that gives is a
        failure only in name: the next run does the micro-batch again.
        """
        if self._streaming is not None and self._streaming.isActive:
            self._cut_off = True
            self._streaming.stop()
        self._query.settle()

    def reports(self) -> list[QueryReport]:
        """What each declared query that this one answers has done."""
        return self._outcome.reports(self._commits, self._progress())

    def _progress(self) -> Progress:
        declaration, new = self._query.declaration, self._commits[self._earlier :]
        late = sum(c.late for c in new)
        return Progress(
            query=declaration.name,
            rows_in=sum(c.rows_in for c in new),
            rows_out=sum(c.rows_out for c in new),
            now=next((c.now for c in reversed(self._commits) if c.now is not None), None),
            clock=declaration.clock,
            quarantined=late + sum(c.rejected for c in new),
            late=late,
            batches=len(new),
        )
