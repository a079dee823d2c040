"""A job on Spark: one streaming query, its starts, its commits, and what they add up to.

Its results are in files, whoever looks at them, so everything here is read from commits. Processes
of Spark's that die under the query are started again as long as that helps
(``windrow.spark.run.restarts``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from windrow.core.errors import InputError
from windrow.core.warnings import WindrowWarning
from windrow.engine.progress import Progress, cut_warning, overflow_warning
from windrow.plan.jobs import Job
from windrow.result_files.change_table import print_changes
from windrow.result_files.commits import Compacted, Totals
from windrow.result_files.reader import last_committed, new_commits, published_results
from windrow.spark.run.change_consumers import Consuming
from windrow.spark.run.deaths import death_in
from windrow.spark.run.machine import death_of_machine
from windrow.spark.run.restarts import Restarts
from windrow.spark.run.streaming_query import Feed, SparkQuery
from windrow.subscriptions.subscriptions import Subscriptions

Refusals: TypeAlias = Callable[[Iterable[str]], list[tuple[str, WindrowWarning]]]
"""What to say of streams of which rows were put aside."""
STARTING = ("Initializing", "Getting offsets")
"""What Spark says of a query whose sources do not run yet."""


class SparkRun:
    """See the module. ``feed`` says how rows come to it."""

    def __init__(
        self,
        job: Job,
        query: SparkQuery,
        feed: Feed,
        on_restart: Callable[[str], None] = lambda _: None,
        refusals: Refusals = lambda _: [],
    ) -> None:
        self._refusals = refusals
        self.job, self._query, self._feed, self._on_restart = job, query, feed, on_restart
        self._restarts = Restarts(job.name)
        self._before = self._totals = Totals()
        self._first = self._last = -1
        self._streaming: StreamingQuery | None = None
        self._prepared = self._cut_off = False
        self._going = set(job.members)
        self._consumers: dict[int, Consuming] = {}
        self._seen = -1
        self._ended: BaseException | None = None

    # How it runs

    def start(self) -> StreamingQuery:
        """Start it, or go on; Spark's own handle of the running query."""
        if not self._prepared:
            self._query.prepare(overwrite=self._feed.overwrite)
            known = published_results(self._query.results)
            self._before = self._totals = known.totals
            self._first = self._last = known.last
            self._query.begin(self._first)
            self._prepared = True
        while self._streaming is None:
            try:
                self._streaming = self._query.start(self._feed)
            except Exception as failure:
                if death_in(failure) is None:  # a defect, or the query is refused
                    raise
                self._restart_after(failure)
        return self._streaming

    def _restart_after(self, failure: BaseException) -> None:
        """Let it be started again, if it may."""
        if not self._restarts.may_restart(failure):
            raise self._restarts.error(failure, self._query.damage) from failure
        self._on_restart(self._restarts.note(failure))
        self._streaming = None

    @property
    def started(self) -> bool:
        return self._streaming is not None

    @property
    def starting(self) -> bool:
        """Whether it runs, but its sources do not yet."""
        if self._streaming is None or not self._streaming.isActive:
            return False
        return str(self._streaming.status["message"]).startswith(STARTING)

    @property
    def active(self) -> bool:
        return self._streaming is not None and self._streaming.isActive

    @property
    def writes(self) -> bool:
        """Whether it runs without anybody looking."""
        return self.job.archive is not None or any(m.into for m in self.job.members.values())

    @property
    def _failure(self) -> BaseException | None:
        """Why it ended, if it did and nobody stopped it."""
        if self._streaming is None or self._cut_off:
            return None
        return self._streaming.exception()

    def look(self) -> bool:
        """Take note of what was committed; if something died, go on: whether it did so.

        What else has ended it is an error.
        """
        failure = self._failure
        self._take_commits()
        if failure is None:
            return False
        self._restart_after(failure)
        self.start()
        return True

    def conclude(self) -> None:
        """Take note of the last that it has published_results, or of why it ended before."""
        self._take_commits()
        if self._ended is not None and not self._restarts.may_restart(self._ended):
            raise self._restarts.error(self._ended, self._query.damage)

    def catch_up(self) -> None:
        """Wait until all that was delivered is worked off; what dies meanwhile starts again."""
        for consuming in self._consumers.values():
            consuming.raise_failure()
        while True:
            try:
                self.start().processAllAvailable()
            except Exception as failure:
                died = death_of_machine(failure)
                if died is not None:
                    raise died from failure
                if not isinstance(failure, PySparkException):
                    raise
                self._restart_after(failure)
            else:
                self._restarts.progressed()
                self._take_commits()
                return

    def finish(self) -> None:
        """Stop, in the middle of a micro-batch if need be.

        Spark interrupts whatever it is doing, starting up included, and what that gives is a
        failure only in name: the next run does the micro-batch again.
        """
        self._ended = self._failure
        if self._streaming is not None and self._streaming.isActive:
            self._cut_off = True
            self._streaming.stop()
        self._query.settle()

    def stop(self, number: int) -> None:
        """Nobody looks at a member any more; when none is left, it works off all and ends."""
        self._going.discard(number)
        try:
            if not self._going and self.writes:
                self.catch_up()
        finally:
            if not self._going:
                self.finish()
                self._streaming = None
            if number in self._consumers:
                self._consumers[number].stop()

    # What it has done

    def _take_commits(self) -> None:
        """Add up what was published since the last time, and print what is for the console."""
        before, results = self._last, self._query.results
        for commit in new_commits(results, before):
            self._totals, self._last = self._totals.plus([commit]), commit.batch
        compacted = Compacted.read(results)
        if compacted is not None and compacted.through > self._last:  # before it was looked at
            known = published_results(results)
            self._totals, self._last = known.totals, known.last
        if self._last > before:
            self._restarts.progressed()
            for query, changes in self._query.for_console(before, self._last):
                print_changes(query.name, changes, query.into.limit if query.into else None)

    @property
    def _new(self) -> Totals:
        return self._totals.since(self._before)

    @property
    def now(self) -> int | None:
        return self._totals.now

    @property
    def rows_in(self) -> int:
        return self._new.rows_in

    def rows_out(self, number: int | None = None) -> int:
        """The changes of a member, or of all, since this run began."""
        if number is None:
            return self._new.rows_out
        return self._query.rows_out(number, self._new.rows_out)

    def progress(self) -> Progress:
        new = self._new
        return Progress(
            query=self.job.name,
            rows_in=new.rows_in,
            rows_out=new.rows_out,
            now=new.now,
            clock=self.job.clock,
            quarantined=new.late + new.rejected,
            late=new.late,
            batches=new.batches,
            overflows=new.overflows,
            cut=new.cut,
            idle=self._query.idle_streams(),
            refused=self._query.refusals(),
        )

    def losses(self) -> list[tuple[str, WindrowWarning]]:
        """Sums beyond BIGINT, nanoseconds, and rows put aside; those pushed were told of."""
        name, totals = self.job.name, self._totals
        found = [(f"sums of {name}", overflow_warning(name))] if totals.overflows else []
        cut = [(f"moments of {name}", cut_warning(f"query {name}"))] if totals.cut else []
        refused = self._refusals(self._query.streams) if totals.late or totals.rejected else []
        return [*found, *cut, *refused]

    def refuse_if_stopped(self) -> None:
        """Nothing: to catch up with a query that has stopped is the error already."""

    def consumers(self, number: int) -> Consuming:
        """The changes of a member, for those who want them."""
        if self.job.archive is not None:
            raise InputError(
                where=f"archive {self.job.name}",
                expected="probes and scans",
                found="a request for its changes",
                remedy=f"open it with windrow.archive, in {self._query.place(number)}",
            )
        if number not in self._consumers:
            self._consumers[number] = Consuming(
                partial(self._parts, number),
                self._last_committed,
                partial(self._query.forget, number),
                self.start,
            )
        return self._consumers[number]

    def _parts(self, number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        return self._query.parts(number, after)

    def _last_committed(self) -> int:
        self._seen = last_committed(self._query.results, self._seen)
        return self._seen

    def live_rows(self, number: int) -> pa.Table:
        """The relation of a member at the last closed instant."""
        return self._query.answer_of(number)

    last_rows = live_rows
    """Of a stream the answer is its last changes."""

    def destination(self, number: int) -> Path | None:
        return self._query.place(number)

    @property
    def waiting(self) -> int | None:
        return self._query.waiting

    def total(self, number: int) -> int | None:
        if self.job.archive is not None or not self.job.members[number].is_stream:
            return None
        return self._query.total(number)

    @property
    def restarts(self) -> Mapping[str, int]:
        return dict(self._restarts.counts)

    @property
    def subscriptions(self) -> Subscriptions:
        """They are what their files say, and each worker has its own copy."""
        raise InputError(
            where=f"subscriptions {self.job.name}",
            expected="changes in their file, with the columns since and until",
            found="a change from Python",
            remedy="run embedded to change subscriptions while their stream runs",
        )

    def state(self, _number: int) -> str:
        return "on Spark"
