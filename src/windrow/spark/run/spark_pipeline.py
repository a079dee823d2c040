"""Jobs that read their streams together.

Each micro-batch is planned and run at the driver (``windrow.spark.run.micro_batches``). When its
tasks have reported, the results of every job are published, then the state of all is committed;
both steps may be repeated. Who begins micro-batches, and repeats one that was not over, is a thread
of ours or a streaming query of Spark's (``windrow.spark.run.batch_driver``).

A job that cannot go on stays behind, and the micro-batch is run again without it; the others go on.
Processes of Spark's that die under the query are started again as long as that helps
(``windrow.spark.run.restarts``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from windrow.core.errors import InputError, StateError, WindrowError
from windrow.spark.checkpoint.batch_logs import BatchNotes
from windrow.spark.checkpoint.late_fill import sweep_fills
from windrow.spark.checkpoint.lost_results import Noted
from windrow.spark.checkpoint.pipeline_directory import Joined, PipelineHome
from windrow.spark.checkpoint.saved_windows import newest_version
from windrow.spark.checkpoint.state import sweep
from windrow.spark.checkpoint.survey import damage_error, quick_survey, survey
from windrow.spark.run.batch_driver import BatchDriver, is_listened, start_query
from windrow.spark.run.batch_thread import BatchThread
from windrow.spark.run.failures import death_in, own_error
from windrow.spark.run.job_paces import JobPaces
from windrow.spark.run.kept_notes import KeptNotes
from windrow.spark.run.machine import death_of_machine
from windrow.spark.run.micro_batches import MicroBatches
from windrow.spark.run.pipeline_plan import PipelinePlan
from windrow.spark.run.publish_results import ResultPublisher
from windrow.spark.run.restarts import Restarts
from windrow.spark.run.session import on_one_machine
from windrow.spark.run.spark_job import Feed, SparkJob
from windrow.spark.run.status_writer import RunRecorder
from windrow.spark.source.file_source import LogReader
from windrow.spark.stage.blobs import clear_exchange, prepare_exchange
from windrow.spark.stage.level_task import TaskReport
from windrow.spark.stage.stage_task import Report
from windrow.spark.stage.state_files import RETAINED, StateCommits, Version


class Pipeline:
    """See the module. ``jobs`` are by their numbers in the checkpoint; ``published`` says in which
    micro-batch each has last published results; ``push`` puts notes into an object store."""

    def __init__(
        self,
        session: SparkSession,
        home: PipelineHome,
        jobs: Mapping[int, SparkJob],
        feed: Feed,
        tell: Callable[[str], None] = lambda _: None,
        push: Callable[[], None] | None = None,
    ) -> None:
        self._notes, self._push = KeptNotes(push), push
        self._session, self.home, self.jobs, self.feed = session, home, dict(jobs), feed
        self._tell = tell
        for job in jobs.values():
            job.joined = home.joined.get(job.name)
        self._grown: MicroBatches | None = None
        self._outgrown = False
        self._title = _title([job.declaration.name for job in jobs.values()])
        self.restarts = Restarts(self._title)
        self._exchange = home.exchange if on_one_machine(session) else None
        self._commits = StateCommits(home.state)
        self.recorder = RunRecorder(home.directory)
        self._working = threading.RLock()  # who pauses it may look at it
        self._driving = threading.RLock()  # who changes its driver
        self._driver: BatchDriver | None = None
        self._prepared = self._cut_off = self._finished = False
        self._going = set(jobs)
        self.failures: dict[int, WindrowError] = {}
        self.paces = JobPaces(
            home.state / "paces",
            {
                number: job.job.clock.ticks_per_second
                for number, job in jobs.items()
                if job.job.max_delay is not None
            },
        )
        self.published: dict[int, int] = {}
        self._publisher = ResultPublisher(on_one_machine=self._exchange is not None)
        self._hooks: dict[int, list[Callable[[], None]]] = {}
        self.on_prepared: list[Callable[[], None]] = []

    # How it runs

    def start(self) -> BatchDriver:
        """Start it, or go on; who begins its micro-batches."""
        with self._driving:
            if not self._prepared:
                self._prepare()
                self._prepared = True
            while self._driver is None:
                try:
                    self._driver = self._start()
                except Exception as failure:
                    if death_in(failure) is None:  # a defect, or the query is refused
                        raise
                    self._restart_after(failure, None)
            return self._driver

    @property
    def has_started(self) -> bool:
        return self._driver is not None

    @property
    def starting(self) -> bool:
        """Whether it runs, but has not yet looked for what there is."""
        return self._driver is not None and self._driver.starting

    @property
    def active(self) -> bool:
        return self._driver is not None and self._driver.active

    @property
    def failure(self) -> BaseException | None:
        """Why it ended, if it did and nobody stopped it."""
        if self._driver is None or self._cut_off:
            return None
        return self._driver.failure

    def look(self) -> bool:
        """If something died, go on: whether it did so. What else has ended it is an error."""
        driver, failure = self._driver, self.failure
        if failure is None:
            return False
        self._restart_after(failure, driver)
        self.start()
        return True

    def catch_up(self) -> None:
        """Wait until all that was delivered is worked off; what dies meanwhile starts again, and
        what somebody starts again goes on."""
        if self._driver is not None and self._driver.is_this_thread:
            raise InputError(
                where=f"query {self._title}",
                expected="a function of foreach_batch that uses the changes that it is given",
                found="one that asks for an answer, which is there when its micro-batch is over",
                remedy="ask from another thread, or after the run",
            )
        while not self._finished:
            driver = self.start()
            try:
                driver.catch_up()
            except Exception as failure:
                self._restart_after(failure, driver)
            else:
                with self._driving:
                    replaced = self._driver is not driver
                if not replaced:
                    self.restarts.note_progress()
                    return

    def finish(self) -> BaseException | None:
        """Stop, in the middle of a micro-batch if need be; why it had ended before, if it had.

        Whatever it is doing is interrupted, starting up included, and what that gives is a failure
        only in name: the next run does the micro-batch again.
        """
        ended = self.failure
        self._finished = True
        self._cut()
        self.recorder.stop()
        self._notes.keep_last()
        return ended

    def _cut(self) -> None:
        with self._driving:
            if self._driver is not None and self._driver.active:
                self._cut_off = True
                self._driver.stop()
            with self._working:  # what goes on here after Spark has stopped its query
                self._driver = None

    def leave(self, number: int) -> None:
        """Go on without a job; without the last one, stop."""
        if number not in self._going:
            return
        if len(self._going) == 1:
            self.finish()
            self._going.clear()
            return
        with self._working:
            self._stay_behind([number])
            self._going.discard(number)

    # Who comes later

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Between two micro-batches: none is taken meanwhile."""
        with self._working:
            yield

    @property
    def going(self) -> dict[int, SparkJob]:
        """The jobs that go on, by number."""
        return {n: job for n, job in self.jobs.items() if n in self._going - self.failures.keys()}

    def let_in(self, job: SparkJob, joined: Joined) -> int:
        """Go on with one job more, while it pauses; its number."""
        number, home = len(self.home.members), self.home
        known = {**home.joined, job.name: joined}
        self.home = home.write(members=(*home.members, job.name), joined=known)
        if self._push is not None:  # before anything of it is committed
            self._push()
        job.joined = joined
        self.grow({number: job})
        return number

    def grow(self, jobs: Mapping[int, SparkJob]) -> None:
        """Go on with other jobs of these numbers, while it pauses."""
        specs = [task.spec for task in self.plan.tasks]
        if self._prepared:
            published = newest_version(self.home.state)[1].published
            begun = self.home.last_noted
            for number, job in jobs.items():
                noted = Noted(*published.get(number, (-1, 0)), begun)
                job.results.prepare(noted, overwrite=self.feed.overwrite)
        self.jobs.update(jobs)
        self._going |= jobs.keys()
        if self._prepared:
            self.recorder.begin(self.home, self.jobs, self.feed.quarantine)
        plan = self.plan
        self._outgrown = self._outgrown or [task.spec for task in plan.tasks] != specs
        self._grown = plan.micro_batches()

    def go_on(self) -> None:
        """Start again if the source has to know more than it did."""
        with self._driving:
            if self._outgrown and self._driver is not None:
                self._cut()
                self._cut_off = False
                self.start()
            self._outgrown = False

    def error(self, failure: BaseException) -> WindrowError:
        """What to report of a failure after which it does not go on."""
        error = death_of_machine(failure) or self.restarts.error(failure, self._damage)
        self.recorder.fail(error)
        return error

    def _damage(self) -> StateError | None:
        """What is wrong with the checkpoint, if that may be why the query failed."""
        return damage_error(self.home.directory, survey(self.home.directory).problems)

    def _restart_after(self, failure: BaseException, driver: BatchDriver | None) -> None:
        """Let it be started again, if it may and there is a virtual machine to do so; once, however
        many hear that a driver has failed."""
        with self._driving:
            if self._driver is not driver:
                return
            if death_of_machine(failure) is not None or not self.restarts.may_restart(failure):
                raise self.error(failure) from failure
            words = self.restarts.note(failure)
            self.recorder.note_restart(words)
            self._tell(words)
            self._driver = None

    def _prepare(self) -> None:
        """Refuse a damaged checkpoint, or results that are gone; remove what dead runs left."""
        home = self.home
        damage = damage_error(home.directory, quick_survey(home.directory))
        if damage is not None:
            raise damage
        published, begun = home.version.published, home.last_noted
        for number, job in self.jobs.items():
            noted = Noted(*published.get(number, (-1, 0)), begun)
            job.results.prepare(noted, overwrite=self.feed.overwrite)
        sweep(home.state)
        if home.joined:
            sweep_fills(home)
        if self._exchange is not None:
            prepare_exchange(self._exchange)
        self.recorder.begin(home, self.jobs, self.feed.quarantine)
        self._notes.keep_later()
        for prepared in self.on_prepared:
            prepared()

    def when_prepared(self, tell: Callable[[], None]) -> None:
        """Call ``tell`` as soon as it is known what was published."""
        with self._working:
            if self._prepared:
                tell()
            else:
                self.on_prepared.append(tell)

    def hook(self, number: int, tell: Callable[[], None]) -> None:
        """Call ``tell`` as soon as it is known what was published, and whenever a job publishes."""
        self.when_prepared(tell)
        with self._working:
            self._hooks.setdefault(number, []).append(tell)

    def _start(self) -> BatchDriver:
        session, plan = self._session, self.plan
        self._grown = None
        title, batches = f"windrow: {self._title}", plan.micro_batches()
        if plan.is_framed or is_listened(session):
            return start_query(session, plan, title, partial(self._take, batches))
        reader = LogReader([task.spec for task in plan.tasks], str(self.home.offsets))
        notes, take = BatchNotes(self.home.spark, RETAINED), partial(self._take, batches, None)
        return BatchThread(session.sparkContext, title, reader, notes, take, once=self.feed.once)

    @property
    def plan(self) -> PipelinePlan:
        """What is run."""
        return PipelinePlan(self._session, self.home, self.jobs, self.feed, self._exchange)

    # A micro-batch

    def _take(self, batches: MicroBatches, frame: DataFrame | None, batch: int) -> None:
        """What there is to do in each micro-batch; ``frame`` has rows of DataFrames, packed."""
        began = self.feed.stopwatch()
        with self._working, self.recorder.micro_batch(batch) as noted:
            batches = self._grown or batches
            version = self._commits.before(batch)
            with self._notes.keep_meanwhile():
                reports = self._run(batches, frame, batch, version)
            found: dict[int, list[Report]] = {}
            for number, report in (item for told in reports for item in told.jobs.items()):
                found.setdefault(number, []).append(report)
            noted.add(found, batches.read)
            self._publisher.publish(self.jobs, batch, found)
            self.published |= dict.fromkeys(found, batch)
            for hook in (hook for number in found for hook in self._hooks.get(number, ())):
                hook()
            written = {key: name for told in reports for key, name in told.state.items()}
            self._commits.publish(batch, version.after(batch, written, found))
            told = {n: schedule for report in reports for n, schedule in report.schedules.items()}
            self.paces.note(self.feed.stopwatch() - began, found, told)
            noted.delays = self.paces.delays
            if self._exchange is not None:
                clear_exchange(self._exchange)
        self._notes.keep_later()

    def _run(
        self, batches: MicroBatches, frame: DataFrame | None, batch: int, version: Version
    ) -> list[TaskReport]:
        """What tasks report; jobs that fail are left behind, until the last of them fails.

        Jobs that have joined after a micro-batch take no part in it when it is repeated, and are
        filled in the first one after it.
        """
        paces = self.paces.before(batch)
        while True:
            here = self.going.items()
            jobs = frozenset(n for n, j in here if j.joined is None or j.joined.after < batch)
            new = (
                self.plan.fill_task(number) for number in sorted(jobs - version.published.keys())
            )
            fills = [fill for fill in new if fill is not None]
            reports = batches.run(frame, batch, jobs, paces, version.files, fills)
            failed = {n: why for told in reports for n, why in told.failed.items()}
            if not failed:
                return reports
            errors = {n: self._error_of(n, *why) for n, why in failed.items()}
            self.recorder.note_failures(errors)
            if jobs <= errors.keys():
                raise next(iter(errors.values()))
            self._stay_behind(errors)
            self.failures |= errors
            for error in errors.values():
                self._tell(f"{error}; the other queries go on")

    def _stay_behind(self, numbers: Iterable[int]) -> None:
        self.home = self.home.without(self.jobs[number].name for number in numbers)

    def _error_of(self, number: int, kind: str, message: str) -> WindrowError:
        name = self.jobs[number].declaration.name
        room, _, own = kind.rpartition(".")
        found = own_error(name, own, message) if room.startswith("windrow.") else None
        return found or WindrowError(
            "the query failed", where=f"query {name}", found=f"{kind}: {message}"
        )


def _title(names: list[str]) -> str:
    """Names for people, not all of very many."""
    first, more = names[:3], len(names) - 3
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")
