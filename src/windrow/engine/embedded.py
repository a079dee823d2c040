"""The embedded runtime: all jobs in this process, brought on together as time passes.

After each step the outlets (``windrow.engine.outlets``) take what has changed to where ``INTO``
sends it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any

from windrow.core.errors import DataError, InputError, WindrowError
from windrow.core.time import BEGINNING, Clock, Stopwatch, Wall, no_stopwatch, no_wall_clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.arrivals import take_in
from windrow.engine.clocks import put_on_clock
from windrow.engine.constant_tuples import FIRST_INSTANT
from windrow.engine.embedded_run import EmbeddedRun
from windrow.engine.inputs import Inputs
from windrow.engine.late_start import LateStart, fill_points, late_start, relations_shown_from
from windrow.engine.live_windows import LiveWindow
from windrow.engine.outlets import Outlets, take_and_publish
from windrow.engine.progress import Progress, cut_warning, overflow_warning
from windrow.engine.runtime import lateness_of
from windrow.plan.catalog import ArchiveDeclaration, Catalog, QueryDeclaration
from windrow.plan.jobs import Group, Job, arrange, groups_of, job_of_synopses
from windrow.plan.nodes import Node, RelationScan, StreamScan, walk
from windrow.plan.physical.excerpts import Excerpt, excerpts
from windrow.plan.sharing.group_schedule import ScheduleOptions
from windrow.plan.strategy import Strategy, apply_strategy
from windrow.result_files.query_table import refuse_late
from windrow.streams.relations import RelationMonitor

POLL_SECONDS = 0.5
"""How often directories that are watched are looked at."""

Held = tuple[LiveWindow, EmbeddedRun]
"""A window and who holds it; the names of two groups may be the same."""


class Embedded:
    """See the module. ``watch``: files may come and grow as long as it runs, in their own time.

    Without ``keep`` changes are for where they are INTO only, and nobody else can ask for them.
    Archives take in no day before it is over by the ``wall``, and rows are ahead by it. Results of
    another run are replaced if ``overwrite`` says so, and refused otherwise. What has a
    ``schedule`` is late if steps take longer, by the ``stopwatch``, than the time that they cover.
    """

    in_process = True

    def __init__(
        self,
        quarantine: str | Path | None = None,
        strategy: str | Strategy = Strategy.UPA,
        wall: Wall = no_wall_clock,
        *,
        overwrite: bool = False,
        keep: bool = True,
        watch: bool = False,
        schedule: ScheduleOptions | None = None,
        stopwatch: Stopwatch = no_stopwatch,
    ) -> None:
        self.strategy, self.wall = Strategy.from_name(strategy), wall
        self.inputs = Inputs(None if quarantine is None else Path(quarantine), wall, watch=watch)
        self.runs: list[EmbeddedRun] = []
        self._joining: list[tuple[EmbeddedRun, Job]] = []
        self._keep, self._narrow = keep, not (keep or watch)
        self._outlets = Outlets(overwrite=overwrite)
        self._leaving: dict[EmbeddedRun, set[int]] = {}
        self._schedule, self._stopwatch = schedule, stopwatch
        self._spent = 0.0
        self._steps, self._looked = 0, wall()
        self._telling = Lock()

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Whatever fails within, a file that cannot be read, say, leaves everything as it was.

        What was dropped goes at the end, when nothing can fail any more.
        """
        self._leaving = {}
        outlets, runs = self._outlets.copy(), {run: run.mark() for run in self.runs}
        try:
            with self.inputs.all_or_nothing():
                yield
        except BaseException:
            self._outlets.restore(outlets)
            self.runs = [run for run in runs if run.failure is None]
            for run, (job, mark) in runs.items():
                if len(run.job.members) > len(job.members):
                    run.go_back(job, mark)
                run.put_on_clock(job.clock)
            self._leaving = {}
            raise
        self._let_go()

    def drop(self, names: Collection[str]) -> None:
        """Stop queries, archives and subscriptions, and forget streams and relations."""
        stopped = [run for run in self._outlets.runs() if run not in self.runs]
        for run in (*self.runs, *stopped):
            gone = {n for n, m in run.job.members.items() if m.name.lower() in names}
            if gone:
                self._leaving[run] = gone
        self.runs = [r for r in self.runs if r.job.members.keys() - self._leaving.get(r, set())]
        self.inputs.drop(names)

    def _let_go(self) -> None:
        """Publish what those have that go, and give back what they hold."""
        leaving, self._leaving = self._leaving, {}
        self._outlets.let_go(leaving)
        for run, numbers in leaving.items():
            if numbers != run.job.members.keys():
                run.leave(numbers)

    def jobs(
        self,
        queries: Sequence[QueryDeclaration],
        archives: Sequence[ArchiveDeclaration],
        catalog: Catalog,
    ) -> Sequence[Job]:
        """What the queries and archives of a script run as; some join a job that runs.

        Files are read again for a query that comes late, so only pushed rows are worth it.
        """
        self._joining, jobs = self._arrange(queries, archives, catalog, self._leaving)
        return [*(job for _, job in self._joining), *jobs]

    def groups_with(
        self, queries: Sequence[QueryDeclaration], dropped: Collection[str] = ()
    ) -> Sequence[Group]:
        """What queries would share, with others and with each other, if they were made now."""
        leaving = {r for r in self.runs if r.job.names & {*dropped}}
        joining, jobs = self._arrange(queries, (), Catalog(), leaving)
        return groups_of([*(job for _, job in joining), *jobs])

    def _arrange(
        self,
        queries: Sequence[QueryDeclaration],
        archives: Sequence[ArchiveDeclaration],
        catalog: Catalog,
        leaving: Collection[EmbeddedRun],
    ) -> tuple[list[tuple[EmbeddedRun, Job]], Sequence[Job]]:
        """Runs with the jobs that they become when queries join them, and the jobs of others."""
        joinable = {
            run: run.joined_after if self.inputs.missed_before(run.streams) else None
            for run in self.runs
            if self.strategy is Strategy.UPA
            and run not in leaving
            and run.failure is None
            and self.inputs.are_pushed(run.streams)
        }
        arrivals = take_in(queries, joinable, self._complete_alone)
        joining = [(run, job_of_synopses(group)) for run, group in arrivals.grown.items()]
        left = arrivals.left
        late = {query.name for query in left if self.inputs.missed_before(_inputs(query))}
        return joining, arrange(left, archives, catalog, self.strategy, late, self._schedule)

    def _complete_alone(self, query: QueryDeclaration) -> int:
        """From which instant on a query would be complete that is made now and runs alone."""
        plan = apply_strategy(query.plan, self.strategy)
        inputs = _inputs(query)
        start = self._late_start(plan, inputs, self._held(inputs, self.runs))
        return BEGINNING if start is None else max(start.complete_from, start.begins)

    def start(self, jobs: Sequence[Job], catalog: Catalog) -> list[EmbeddedRun]:
        """Start jobs, which see what the relations hold and what was read of streams' files."""
        joining, self._joining = self._joining, []
        running = {m.name for run, _ in joining for m in run.job.members.values()}
        started = {m.name for job in jobs for m in job.members.values()} - running
        refuse_late(started, catalog.queries)
        self.inputs.declare(catalog)
        together = [id(job) for _, job in joining]
        runs = [
            EmbeddedRun(job, self.strategy, self.wall, keep=self._keep)
            for job in jobs
            if id(job) not in together
        ]
        earlier = [*self.runs, *(run for run in self._leaving if run not in self.runs)]
        filled = [run for run in runs if self._fill(run, earlier)]
        self.inputs.show(runs)
        self.runs += runs
        self.inputs.open((n for run in runs for n in run.streams), self._excerpts(runs))
        members = [(run, number) for run in runs for number in run.job.members]
        for run, job in joining:
            members += [(run, number) for number in job.members if number not in run.job.members]
            run.join(job)
        outlets = self._outlets.open(members, self._leaving)
        for run in filled:
            run.follow(self.inputs.time(run.streams))
        if filled:
            take_and_publish(outlets)  # what these begin with
        return [*runs, *(run for run, _ in joining)]

    def _excerpts(self, runs: Sequence[EmbeddedRun]) -> Mapping[str, Excerpt]:
        """What of files anybody will see, if that is known: no query can come later, and no row of
        a stream that was idle is shown as it was.
        """
        known = self._narrow and len(runs) == len(self.runs)
        return excerpts([run.pipeline.plan for run in runs]) if known else {}

    def _fill(self, run: EmbeddedRun, earlier: Sequence[EmbeddedRun]) -> bool:
        """Fill a run, which has gone nowhere yet, with what earlier ones hold of what it missed."""
        plan = run.pipeline.plan
        if run.job.selection is not None:  # it begins empty, and is complete when each member is
            plan, earlier = next(iter(run.job.members.values())).query.plan, []
        held = self._held(run.streams, earlier)
        start = self._late_start(plan, run.streams, held)
        if start is None or run.job.archive is not None:
            return False
        run.fill(start)
        for stream in {choice.wanted.stream for choice in start.fills.values()}:
            windows = [c.window for c in start.fills.values() if c.wanted.stream == stream]
            slowest = min(windows, key=lambda window: window.now)
            holder = next(other for window, other in held if window is slowest)
            run.offer(stream, holder.waiting_rows(stream))
        return bool(start.fills)

    def late_words(self, query: QueryDeclaration, *, alone: bool) -> str | None:
        """What to say of a query that would be made now, and share no synopses; None if it has
        missed nothing."""
        plan = apply_strategy(query.plan, self.strategy)
        inputs = [name for name in _inputs(query) if self.inputs.knows(name)]
        if not inputs:  # all of them are declared beside the query that EXPLAIN was asked of
            return None
        start = self._late_start(plan, inputs, self._held(inputs, self.runs if alone else ()))
        return None if start is None else start.words(query.clock)

    def _held(self, streams: Sequence[str], earlier: Sequence[EmbeddedRun]) -> list[Held]:
        """What a query over some streams may be filled with, if it has missed rows."""
        if not self.inputs.missed_before(streams):
            return []
        return [(window, run) for run in earlier for window in run.windows()]

    def _late_start(
        self, plan: Node, streams: Sequence[str], held: Sequence[Held]
    ) -> LateStart | None:
        """How a query starts that is made now; None if it has missed nothing."""
        missed = self.inputs.missed_before(streams)
        known = {name: self.inputs.monitor(name) for name in streams}
        timestamps = {name: monitor.declaration.timestamp for name, monitor in known.items()}
        relations = {
            n: m.closed_instant for n, m in known.items() if isinstance(m, RelationMonitor)
        }
        began = any(m.accepted for m in known.values() if not isinstance(m, RelationMonitor))
        shown = relations_shown_from(plan, relations, began=began)
        time = self.inputs.time(streams)
        now = max([time, *relations.values()])
        if not missed:  # but a relation may be shown as of later
            return LateStart({}, shown, now, {}) if shown > time else None
        windows = [window for window, _ in held]
        start = late_start(fill_points(plan), windows, missed, timestamps, now)
        return start and replace(start, complete_from=max(start.complete_from, shown))

    def put_on_clock(self, name: str, clock: Clock | None) -> bool:
        """Put a relation, and the queries over it, on the clock of its first updates."""
        return put_on_clock(name, clock, self.inputs, self.runs)

    def read_frame(self, name: str, _frame: Any) -> None:
        raise InputError(
            where=f"stream {name}",
            expected="a connection on Spark for a streaming DataFrame",
            found="an embedded one",
            remedy="connect(spark=session), or push its rows",
        )

    def changes_frame(self, query: str) -> Any:
        raise InputError(
            where=f"query {query}",
            expected="a connection on Spark for a streaming DataFrame",
            found="an embedded one",
            remedy="connect(spark=session), or take its changes by stream() of the query",
        )

    def read(self) -> None:
        """Take in all files that have been found."""
        while self.inputs.step():
            self.step()
        if self.inputs.feeds or self._has_unanswered_constants:
            self.step()

    @property
    def _has_unanswered_constants(self) -> bool:
        """Whether there are queries over VALUES only, which wait for nothing, without answers."""
        return any(run.now is None and not run.streams for run in self.runs)

    def step(self) -> None:
        """Bring all runs to where time has come, and publish what that changes."""
        self.inputs.mark_idle()
        self._advance(publish=True)

    def _advance(self, *, publish: bool) -> None:
        """Bring all runs to where time has come, and measure how long that takes."""
        began = self._stopwatch()
        try:
            self._advance_all(publish=publish)
        finally:
            seconds, self._spent = self._spent + self._stopwatch() - began, 0.0
            for run in self.runs:
                run.note_pace(seconds)

    def _advance_all(self, *, publish: bool) -> None:
        """Bring all runs to where time has come.

        A run that meets a value it cannot compute with stops there, and is complained about when
        the others have gone on: its error is raised once, and it has no answer any more. Of several
        errors the first is raised, and the others are its notes. What cannot be written, as results
        or to an archive, is kept and tried again later.
        """
        self._steps += 1
        for name, released in self.inputs.release(self.runs):
            for run in self.runs:
                if len(released) and name in run.streams:
                    run.offer(name, released)
        failures = [error for run in tuple(self.runs) if (error := self._follow(run)) is not None]
        failures += self._outlets.advance(publish=publish)
        if failures:
            first, *others = failures
            for error in others:
                first.add_note(str(error))
            raise first

    def tell(self) -> None:
        """Let listeners hear what is new, one thread at a time.

        If another thread does so already, or a listener has pushed, whoever tells goes on with it.
        """
        while any(run.has_news for run in self.runs) and self._telling.acquire(blocking=False):
            try:
                while [run for run in tuple(self.runs) if run.tell()]:
                    pass
            finally:
                self._telling.release()

    def _follow(self, run: EmbeddedRun) -> WindrowError | None:
        try:
            run.follow(self.inputs.time(run.streams) if run.streams else FIRST_INSTANT)
        except DataError as error:
            self.runs.remove(run)
            return error
        except WindrowError as error:
            return error
        except BaseException:
            self.runs.remove(run)  # the others have their rows, and go on at the next step
            raise
        return None

    def work(self, *, once: bool) -> float | None:
        """One batch of the files, or, if nothing is left to read, a look for more."""
        began = self._stopwatch()
        read = self.inputs.step()
        self._spent += self._stopwatch() - began if read else 0
        if not read and once:
            self.inputs.finish()
        if read or once or self._has_unanswered_constants:
            self._advance(publish=False)
        if once:
            return 0.0 if read else None
        if read and self.wall() - self._looked < POLL_SECONDS * 1_000_000:
            return 0.0
        if not read:
            self.publish()
        self._looked = self.wall()
        self.inputs.look()
        if self.inputs.mark_idle():
            self._advance(publish=False)
        return 0.0 if read else POLL_SECONDS

    def publish(self) -> None:
        """All changes so far into files: nobody should wait for them while nothing comes."""
        self._outlets.publish()

    def progress(self) -> list[Progress]:
        """How far each run has come."""
        return [self._progress(run) for run in self.runs]

    def _progress(self, run: EmbeddedRun) -> Progress:
        monitors = [self.inputs.monitors[name] for name in run.streams]
        feeds = [self.inputs.feeds[name] for name in run.streams if name in self.inputs.feeds]
        late = run.late + sum(monitor.late - monitor.overtaken for monitor in monitors)
        idle = [m.declaration.name for m in monitors if m.idle]
        return Progress(
            run.name,
            sum(monitor.accepted for monitor in monitors) - run.late,
            run.rows_out(),
            run.now,
            run.clock,
            late + sum(monitor.rejected for monitor in monitors),
            late,
            self._steps,
            tuple(words for feed in feeds for words in feed.refusals),
            run.overflows,
            sum(monitor.cut for monitor in monitors),
            tuple(idle) if len(monitors) > 1 else (),  # the only one is always waited for
            self._steps or None,
            lateness_of(run),
        )

    def losses(self) -> list[tuple[str, WindrowWarning]]:
        """Sums beyond BIGINT, and nanoseconds."""
        sums = [(f"sums of {r.name}", overflow_warning(r.name)) for r in self.runs if r.overflows]
        names = [m.declaration.name for m in self.inputs.monitors.values() if m.cut]
        return [*sums, *((f"moments of {n}", cut_warning(f"stream {n}")) for n in names)]

    def close(self) -> None:
        """Let others write where results went, and forget everything."""
        self._outlets.close()
        self.runs = []
        self.inputs.forget()


def _inputs(query: QueryDeclaration) -> list[str]:
    """The lower-case names of the streams and relations that it reads."""
    leaves = (n for n in walk(query.plan) if isinstance(n, StreamScan | RelationScan))
    return [leaf.name.lower() for leaf in leaves]
