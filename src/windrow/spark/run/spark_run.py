"""A job on Spark as others see it: its pipeline's commits, and what they add up to.

Its results are in files, whoever looks at them, so everything here is read from commits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from windrow.core.errors import InputError
from windrow.core.warnings import WindrowWarning
from windrow.engine.change_log import TakeBatch
from windrow.engine.live_windows import LiveWindow
from windrow.engine.progress import Progress, cut_warning, overflow_warning
from windrow.engine.runtime import lateness_of
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.jobs import Job
from windrow.result_files.change_table import print_changes
from windrow.result_files.commits import Compacted, Totals, new_commits
from windrow.result_files.reader import published_results
from windrow.sharing.schedule import QueryDelay
from windrow.spark.checkpoint.late_fill import complete_after
from windrow.spark.checkpoint.saved_windows import (
    SavedJob,
    missed_by,
    newest_version,
    probe_saved_synopses,
    pushed_before,
    saved_shared_summaries,
    saved_summaries,
    saved_windows,
)
from windrow.spark.run.change_consumers import BatchHook, Consuming
from windrow.spark.run.job_results import MemberResults
from windrow.spark.run.newcomers import Newcomer
from windrow.spark.run.spark_job import SparkJob
from windrow.spark.run.spark_pipeline import Pipeline
from windrow.spark.source.file_log import Refusals, ends_idle
from windrow.spark.stage.state_files import Version
from windrow.subscriptions.subscriptions import Subscriptions

SayRefused: TypeAlias = Callable[[Iterable[str]], list[tuple[str, WindrowWarning]]]
"""What to say of streams of which rows were put aside."""


class SparkRun:
    """See the module. ``number`` is that of the job in its pipeline."""

    def __init__(
        self, pipeline: Pipeline, number: int, say_refused: SayRefused = lambda _: []
    ) -> None:
        self._pipeline, self._number, self._say_refused = pipeline, number, say_refused
        self._spark_job = pipeline.jobs[number]
        self.job: Job = self._spark_job.job
        self._results = self._spark_job.results
        self._before = self._totals = Totals()
        self._first = self._last = -1
        self._going = set(self.job.members)
        self._consumers: dict[int, Consuming] = {}
        self._hooks: list[tuple[int, BatchHook]] = []
        self._refusals = Refusals([pipeline.home.log(name) for name in self._streams])
        pipeline.when_prepared(self._begin)

    @property
    def _streams(self) -> list[str]:
        return [stream.name for stream in self._spark_job.streams.values()]

    def _begin(self) -> None:
        """Take note of what there is before the run."""
        known = published_results(self._results.directory)
        self._before = self._totals = known.totals
        self._first = self._last = known.last
        self._results.begin(self._first)

    @property
    def pipeline(self) -> Pipeline:
        """In which it runs."""
        return self._pipeline

    @property
    def directory(self) -> str:
        """The job's directory in the checkpoint, by which pipelines know it."""
        return self._spark_job.name

    def follow(self, job: SparkJob) -> None:
        """Go on with other members of the same group, while the pipeline pauses."""
        new = job.results
        assert isinstance(new, MemberResults)
        assert isinstance(self._results, MemberResults)
        new.go_on_from(self._results)
        self._pipeline.grow({self._number: job})
        self._going |= job.job.members.keys() - self.job.members.keys()
        self._spark_job, self.job, self._results = job, job.job, new

    # How it runs

    def start(self) -> None:
        """Let its pipeline run."""
        self._pipeline.start()

    @property
    def writes(self) -> bool:
        """Whether it runs without anybody looking."""
        return self.job.archive is not None or any(m.into for m in self.job.members.values())

    def look(self) -> None:
        """Take note of what was committed."""
        self._take_commits()

    def conclude(self) -> None:
        """Take note of the last that it has published, or of why it ended before."""
        self._take_commits()
        self._raise_failure()

    def _raise_failure(self) -> None:
        failure = self._pipeline.failures.get(self._number)
        if failure is not None:
            raise failure

    def catch_up(self) -> None:
        """Wait until all that was delivered is worked off."""
        for consuming in self._consumers.values():
            consuming.raise_failure()
        self._pipeline.catch_up()
        self._take_commits()
        self._raise_failure()

    def stop(self, number: int) -> None:
        """Nobody looks at a member any more; when none is left, it works off all and ends."""
        self._going.discard(number)
        try:
            if not self._going and self.writes:
                self.catch_up()
        finally:
            if not self._going:
                self._pipeline.leave(self._number)
            if number in self._consumers:
                self._consumers[number].stop()

    def withdraw(self, pipelines: Sequence[Pipeline]) -> None:
        """The script that made it has failed: leave the pipeline if others run in it."""
        if self._pipeline in pipelines:
            self._pipeline.leave(self._number)

    def finish(self) -> None:
        """Work off all that has come, if it writes and nobody has stopped it."""
        if self._going and self.writes:
            self.catch_up()

    def close(self) -> None:
        """Let those who listen hear the last of it."""
        self._going.clear()
        for consuming in self._consumers.values():
            consuming.stop()

    # What it has done

    def _take_commits(self) -> None:
        """Add up what was published since the last time, and print what is for the console."""
        before, results = self._last, self._results.directory
        if self._pipeline.published.get(self._number, -1) <= before:
            return
        for commit in new_commits(results, before):
            self._totals, self._last = self._totals.plus([commit]), commit.batch
        compacted = Compacted.read(results)
        if compacted is not None and compacted.through > self._last:  # before it was looked at
            known = published_results(results)
            self._totals, self._last = known.totals, known.last
        if self._last > before:
            self._pipeline.restarts.note_progress()
            for query, changes in self._results.for_console(before, self._last):
                print_changes(query.name, changes, query.into.limit if query.into else None)

    @property
    def _new(self) -> Totals:
        return self._totals.since(self._before)

    @property
    def now(self) -> int | None:
        return self._totals.now

    @property
    def complete_from(self) -> int | None:
        """Of a query that came later; None: it has missed nothing."""
        job = self._spark_job
        if job.joined is not None:
            return job.joined.complete_from
        missed = pushed_before(self._pipeline.home)
        alone = not (self.job.is_shared or self.job.archive)
        return complete_after(Newcomer.of_job(job).joining, missed) if missed and alone else None

    def complete_for(self, number: int) -> int | None:
        """Of a query that joined a group: from which instant on its answers are complete."""
        synopses = self.job.synopses
        if synopses is None:
            return self.complete_from
        return synopses.sharing.member(self.job.members[number].name).complete_from

    def delay(self, number: int) -> QueryDelay | None:
        """How late a member was after the last micro-batch; None if it cannot be."""
        delays = self._pipeline.paces.delays.get(self._number, {})
        return delays.get(self.job.members[number].name)

    @property
    def rows_in(self) -> int:
        return self._new.rows_in

    def rows_out(self, number: int | None = None) -> int:
        """The changes of a member, or of all, since this run began."""
        if number is None:
            return self._results.rows_out_in_all(self._new.rows_out)
        return self._results.rows_out(number, self._new.rows_out)

    def progress(self) -> Progress:
        new = self._new
        return Progress(
            query=self.job.name,
            rows_in=new.rows_in,
            rows_out=self.rows_out(),
            now=new.now,
            clock=self.job.clock,
            quarantined=new.late + new.rejected,
            late=new.late,
            batches=new.batches,
            overflows=new.overflows,
            cut=new.cut,
            idle=tuple(n for n in self._streams if ends_idle(self._pipeline.home.log(n))),
            refused=self._refusals.words(),
            batch=None if self._last < 0 else self._last,
            lateness=lateness_of(self),
        )

    def losses(self) -> list[tuple[str, WindrowWarning]]:
        """Sums beyond BIGINT, nanoseconds, and rows put aside; those pushed were told of."""
        name, totals = self.job.name, self._totals
        found = [(f"sums of {name}", overflow_warning(name))] if totals.overflows else []
        cut = [(f"moments of {name}", cut_warning(f"query {name}"))] if totals.cut else []
        refused = self._say_refused(self._streams) if totals.late or totals.rejected else []
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
                remedy=f"open it with windrow.archive, in {self._results.place(number)}",
            )
        if number not in self._consumers:
            self._consumers[number] = Consuming(
                partial(self._parts, number),
                self._last_committed,
                partial(self._forget, number),
                self.start,
                partial(self._hook, number),
            )
        return self._consumers[number]

    def _hook(self, number: int, function: TakeBatch) -> None:
        name = self.job.members[number].name
        earlier = sum(1 for hooked, _ in self._hooks if hooked == number)
        place = self._results.home.directory / f"foreach_batch-{name}-{earlier}.json"
        hook = BatchHook(function, self._consumers[number], place, name)
        self._hooks.append((number, hook))
        self._pipeline.hook(self._number, hook.tell)

    def _parts(self, number: int, after: int) -> Iterator[tuple[int, pa.Table]]:
        return self._results.parts(number, after)

    def _forget(self, number: int, drained: int) -> None:
        self._results.forget(number, drained)

    def _last_committed(self) -> int:
        return max(self._last, self._pipeline.published.get(self._number, -1))

    def live_rows(self, number: int) -> pa.Table:
        """The relation of a member at the last closed instant."""
        return self._results.answer_of(number)

    def windows(self) -> Sequence[LiveWindow]:
        """The windows and relations that it holds, read from its committed state.

        Of queries that share a selection or synopses there are none.
        """
        saved, (_, version) = self._saved()
        if saved is None:
            return []
        return list(saved_windows(saved, self._pipeline.home.state, version, saved.sources))

    def summaries(self, number: int) -> Callable[[], pa.Table] | None:
        """The summaries of sub-windows in its committed state; None if it keeps none."""
        synopses, home = self.job.synopses, self._pipeline.home
        if synopses is not None:
            self.catch_up()
            query = self.job.members[number].query
            stages, (_, version) = self._spark_job.stages, newest_version(home.state)
            state = SavedJob(self.job.name, self._number, stages, self._spark_job.strategy, {})
            return saved_shared_summaries(state, home.state, version, synopses, number, query)
        saved, (_, version) = self._saved()
        if saved is None:
            return None
        return saved_summaries(saved, self._pipeline.home.state, version, self.job.clock)

    def probe_synopses(self, query: QueryDeclaration) -> tuple[pa.Table, int] | None:
        """What the synopses in its committed state answer to a query that is asked once."""
        synopses, home = self.job.synopses, self._pipeline.home
        if synopses is None:
            return None
        self.catch_up()
        stages, (_, version) = self._spark_job.stages, newest_version(home.state)
        state = SavedJob(self.job.name, self._number, stages, self._spark_job.strategy, {})
        return probe_saved_synopses(state, home.state, version, synopses, query)

    def _saved(self) -> tuple[SavedJob | None, tuple[int, Version]]:
        """What says where its state is, if it is its own, when all that came is worked off."""
        job, home = self._spark_job, self._pipeline.home
        if self.job.archive is not None or self.job.is_shared:
            return None, (-1, Version())
        self.catch_up()
        since = missed_by(home, job.name)
        saved = SavedJob(self.job.name, self._number, job.stages, job.strategy, since)
        return saved, newest_version(home.state)

    last_rows = live_rows
    """Of a stream the answer is its last changes."""

    def destination(self, number: int) -> Path | None:
        return self._results.place(number)

    @property
    def waiting(self) -> int | None:
        return self._results.waiting

    def total(self, number: int) -> int | None:
        if self.job.archive is not None or not self.job.members[number].is_stream:
            return None
        return self._results.total(number)

    @property
    def restarts(self) -> Mapping[str, int]:
        return dict(self._pipeline.restarts.counts)

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
