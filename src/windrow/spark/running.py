"""One streaming query while it runs: its starts, its commits, and what they add up to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql.streaming.query import StreamingQuery

from windrow.engine.commits import Totals
from windrow.engine.compacted import Compacted
from windrow.engine.progress import Progress, QueryReport
from windrow.engine.published import new_commits, published
from windrow.spark.deaths import death_in
from windrow.spark.outcomes import outcome_of
from windrow.spark.query import Feed, SparkQuery
from windrow.spark.restarts import Restarts

STARTING = ("Initializing", "Getting offsets")
"""What Spark says of a query whose sources do not run yet."""


class Running:
    """One query while it runs: what its commits say so far."""

    def __init__(
        self,
        query: SparkQuery,
        on_progress: Callable[[Progress], None],
        on_restart: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._query, self._on_progress, self._on_restart = query, on_progress, on_restart
        self._restarts = Restarts(query.declaration.name)
        self._outcome = outcome_of(query)
        self._before = self._totals = Totals()
        self._first = self._last = -1
        self._streaming: StreamingQuery | None = None
        self._cut_off = False

    def start(self, feed: Feed) -> None:
        self._query.prepare(overwrite=feed.overwrite)
        known = published(self._query.results)
        self._before = self._totals = known.totals
        self._first = self._last = known.last
        self._outcome.begin()
        self._start(feed)
        self._on_progress(self._progress())

    def _start(self, feed: Feed) -> None:
        while True:
            try:
                self._streaming = self._query.start(feed)
            except Exception as failure:
                if death_in(failure) is None:  # a defect, or the query is refused
                    raise
                if not self._restarts.may_restart(failure):
                    raise self._restarts.error(failure, self._query.damage) from failure
                self._on_restart(self._restarts.note(failure))
            else:
                return

    @property
    def starting(self) -> bool:
        """Whether it runs, but its sources do not yet."""
        if self._streaming is None or not self._streaming.isActive:
            return False
        return str(self._streaming.status["message"]).startswith(STARTING)

    def start_again_if_something_died(self, feed: Feed) -> bool:
        """A query under which a process of Spark's died, or was late, goes on if it may."""
        failure = self._failure
        if failure is None:
            return False
        self._take_commits()
        if not self._restarts.may_restart(failure):
            return False
        self._on_restart(self._restarts.note(failure))
        self._start(feed)
        return True

    @property
    def _failure(self) -> BaseException | None:
        """Why it ended, if it did and nobody stopped it."""
        if self._streaming is None or self._cut_off:
            return None
        return self._streaming.exception()

    @property
    def active(self) -> bool:
        """Whether it runs, or will when it is started again."""
        if self._streaming is None:
            return False
        failure = None if self._streaming.isActive else self._failure
        return self._streaming.isActive or (
            failure is not None and self._restarts.may_restart(failure)
        )

    def look(self) -> None:
        """Pass on what was committed since the last look, or the reason why the query failed."""
        failure = self._failure
        if failure is not None and not self._restarts.may_restart(failure):
            raise self._restarts.error(failure, self._query.damage)
        self._take_commits()

    def _take_commits(self) -> None:
        before = self._last
        for commit in new_commits(self._query.results, before):
            self._totals, self._last = self._totals.plus([commit]), commit.batch
            self._on_progress(self._progress())
        compacted = Compacted.read(self._query.results)
        if compacted is not None and compacted.through > self._last:  # before it was looked at
            known = published(self._query.results)
            self._totals, self._last = known.totals, known.last
            self._on_progress(self._progress())
        if self._last > before:
            self._restarts.progressed()
            self._outcome.show(before, self._last)

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
        counts = dict(self._restarts.counts)
        found = self._outcome.reports(self._first, self._progress())
        return [replace(report, restarts=counts) for report in found]

    def _progress(self) -> Progress:
        declaration, new = self._query.declaration, self._totals.since(self._before)
        return Progress(
            query=declaration.name,
            rows_in=new.rows_in,
            rows_out=new.rows_out,
            now=new.now,
            clock=declaration.clock,
            quarantined=new.late + new.rejected,
            late=new.late,
            batches=new.batches,
            overflows=new.overflows,
            cut=new.cut,
            idle=self._query.idle_streams(),
            refused=self._query.refusals(),
        )
