"""A job in this process: its pipeline, the rows that wait for its time, and what it delivers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.netting import net
from windrow.columns.types import arrow_schema
from windrow.core.errors import DataError, InputError, StateError, WindrowError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING, Clock, Wall, no_wall_clock
from windrow.core.warnings import WindrowWarning
from windrow.engine.change_log import QueryChanges
from windrow.engine.day_store import strategy_for
from windrow.engine.deliver import ArchivedDays, DeliveredChanges
from windrow.engine.group_from_single import keeps_enough
from windrow.engine.growing_pipeline import GrowingPipeline, Mark
from windrow.engine.late_start import LateStart, fill_points
from windrow.engine.live_windows import LiveWindow, live_windows
from windrow.engine.pipeline import Pipeline
from windrow.engine.summary_tables import take_shared_summaries, take_summaries
from windrow.engine.synopsis_answers import probe_synopses
from windrow.object_store.object_path import path_of
from windrow.operators.shared_group_by import SharedAggregation
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.jobs import Job, job_of_synopses
from windrow.plan.nodes import RelationScan
from windrow.plan.sharing.group_of_one import Family, family_of, family_of_group, group_of_one
from windrow.plan.sharing.group_schedule import schedule_again
from windrow.plan.sharing.shared_synopses import SharedSynopses, without_queries
from windrow.plan.strategy import Strategy
from windrow.result_files.identity import changes_schema
from windrow.result_files.member_rows import ByMember, OfOne
from windrow.sharing.schedule import PaceMeter, QueryDelay
from windrow.streams.waiting_rows import WaitingRows
from windrow.subscriptions.script_subscriptions import MatchSubscriptions
from windrow.subscriptions.subscriptions import Subscriptions


class EmbeddedRun:
    """See the module. Rows come from each input in order of time and wait until all inputs have
    come that far.
    """

    def __init__(
        self,
        job: Job,
        strategy: Strategy = Strategy.UPA,
        wall: Wall = no_wall_clock,
        *,
        keep: bool = True,
    ) -> None:
        self.job, archive = job, job.archive
        strategy = strategy if archive is None else strategy_for(archive, strategy)
        pipeline = Pipeline(job.plan, changes=archive is None, strategy=strategy)
        self._operators = GrowingPipeline(pipeline)
        self._waiting = {
            name.lower(): WaitingRows(arrow_schema(leaf.columns))
            for name, leaf in job.leaves.items()
        }
        self._relations = {
            name.lower() for name, leaf in job.leaves.items() if isinstance(leaf, RelationScan)
        }
        self.delivery: DeliveredChanges | ArchivedDays = (
            DeliveredChanges(job, keep=keep) if archive is None else ArchivedDays(archive, wall)
        )
        self._live: tuple[int, ByMember | OfOne] | None = None
        self.since: dict[str, int] = {}
        """Of streams of which it has missed rows, those that were late for it among them, the last
        instant of one."""
        self.complete_from: int | None = None
        self._family: tuple[Job, Family | None] | None = None
        self._filled: dict[int, WaitingRows] = {}
        self._begins: int | None = None
        self.rows_in = self.late = self.overflows = 0
        self.meter = PaceMeter(job.clock.ticks_per_second)
        self._span, self._work = 0, 0.0
        self.failure: DataError | None = None

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def clock(self) -> Clock:
        return self.job.clock

    @property
    def streams(self) -> tuple[str, ...]:
        """Lower-case names of the streams and relations that it reads."""
        return self.job.inputs

    @property
    def pipeline(self) -> Pipeline:
        """Its operators, for all members."""
        return self._operators.pipeline

    @property
    def now(self) -> int | None:
        """The last instant that is part of the answer."""
        closed = self._operators.now
        return None if closed == BEGINNING else closed

    def rows_out(self, number: int | None = None) -> int:
        """The changes of a member, or of all, so far; of an archive, the rows that are in."""
        counts = self.delivery.counts
        return int(counts.sum() if number is None else counts[number])

    def offer(self, stream: str, delta: Delta) -> None:
        """Rows of a stream. Those of instants that were closed without it, it being idle, are late.

        Updates of a relation happen at the next instant then (see ``windrow.engine.idling``).
        """
        closed = self._operators.now
        if len(delta) and delta.ts[0] <= closed:
            if stream in self._relations:
                delta = net(replace(delta, ts=np.maximum(delta.ts, closed + 1)))
            else:
                late, delta = delta.split(closed)
                self.late += len(late)
                self.since[stream] = max(self.since.get(stream, BEGINNING), int(late.ts[-1]))
        self._waiting[stream].add(delta)
        self.rows_in += len(delta)

    def follow(self, now: int) -> None:
        """Bring the answers to ``now``, and deliver what changes.

        What comes in the middle, a Ctrl-C, say, is its end: some rows have been processed.
        """
        try:
            if self._begins is not None and now > self._operators.now:
                self._begin(now, self._begins)
            if now > self._operators.now:
                self.delivery.take(self._process(now), now)
        except WindrowError:
            raise
        except BaseException as error:
            self.failure = DataError(
                where=f"query {self.name}", found=f"{type(error).__name__} in the middle of rows"
            )
            raise

    def note_pace(self, seconds: float) -> None:
        """What has been done since the last time took so long."""
        self.meter.note(seconds, self._span, self._work)
        self._span, self._work = 0, 0.0

    def delay(self, number: int) -> QueryDelay | None:
        """How late a member is and has been; None if it never can be."""
        schedule = self.pipeline.schedule
        return None if schedule is None else schedule.delays().get(self.job.members[number].name)

    @property
    def family(self) -> Family | None:
        """What queries have in common that may join it; None if none may."""
        if self._family is None or self._family[0] is not self.job:
            synopses, members = self.job.synopses, self.job.members
            found = None if synopses is None else family_of_group(synopses)
            if synopses is None and len(members) == 1 and self.job.archive is None:
                found = family_of(next(iter(members.values())).query)
            self._family = self.job, found
        return self._family[1]

    @property
    def group(self) -> SharedSynopses | None:
        """What others may join: the queries that it answers or, of one alone, the group that this
        could become."""
        if self.job.synopses is not None:
            return self.job.synopses
        if self._begins is not None or self._filled or self.late:
            return None
        missed = self.since.get(self.streams[0], BEGINNING)
        since = None if missed == BEGINNING else missed
        group = group_of_one(self.job.members[0].query, since, self.complete_from)
        return group if group is not None and keeps_enough(group, self.pipeline) else None

    @property
    def joined_after(self) -> int:
        """The instant after which a query answers that joins it when there were tuples: the last
        one that is closed, or of which it has missed some itself."""
        return max(self._operators.now, *self.since.values(), BEGINNING)

    def join(self, job: Job) -> None:
        """Go on with queries more or fewer, which read the synopses that are there."""
        assert job.synopses is not None
        self._changes.follow(job)
        self._operators.grow(job.synopses)
        self.job, self._live = job, None

    def mark(self) -> tuple[Job, Mark]:
        """What it is now, before others join it."""
        return self.job, self._operators.mark()

    def go_back(self, job: Job, mark: Mark) -> None:
        """Be what it was before others joined it."""
        for number in self.job.members.keys() - job.members.keys():
            self._changes.drop(number)
        self._changes.follow(job)
        self._operators.go_back(mark)
        self.job, self._live = job, None

    def leave(self, numbers: Collection[int]) -> None:
        """Go on without some members; what others read stays."""
        delivery = self._changes
        names = {self.job.members[number].name for number in numbers}
        if self.job.synopses is not None:
            _ = self.pipeline  # of the first, which may go, a group is made while it is there
            self.join(job_of_synopses(schedule_again(without_queries(self.job.synopses, names))))
        else:
            members = {n: m for n, m in self.job.members.items() if n not in numbers}
            self.job = replace(self.job, members=members)
            self.pipeline.drop_members(numbers)
        for number in numbers:
            delivery.drop(number)

    def complete_for(self, number: int) -> int | None:
        """From which instant on the answers of a member are complete; None: from its first one."""
        synopses = self.job.synopses
        if synopses is None:
            return self.complete_from
        return synopses.sharing.member(self.job.members[number].name).complete_from

    def fill(self, start: LateStart) -> None:
        """Start with what others hold; what they let wait has been offered."""
        self.since = dict(start.since)
        self.complete_from = start.since_when
        if not start.fills:
            return
        self._begins = start.begins
        self.pipeline.count_rows_from(start.first_rows)
        nodes = {point.number: point.node for point in fill_points(self.pipeline.plan) or ()}
        for number, choice in start.fills.items():
            schema = arrow_schema(nodes[number].schema)
            last = start.held_upto(choice.wanted.stream)
            try:
                tuples = choice.take_insertions(schema)()
            except DataError as error:
                raise error.inside(self.name) from None
            if choice.window.has_own_times:
                tuples = tuples.split(last)[0]
            else:  # all of them have come by then, each in the slide to which it belongs
                tuples = replace(tuples, ts=np.minimum(tuples.ts, last))
            self._filled[number] = WaitingRows(schema)
            self._filled[number].add(tuples)

    def _begin(self, now: int, begins: int) -> None:
        """Come to where it begins without telling how, and then tell what the answer is there."""
        if min(now, begins) > self.pipeline.now:
            self._process(min(now, begins))
        if now < begins:
            return
        self._begins = None
        if self.job.plan.pattern is not UpdatePattern.MONOTONIC:
            rows = self.pipeline.live_rows()
            ts = np.full(rows.num_rows, begins, np.int64)
            self.delivery.take(Delta.insertions(ts, rows), begins)

    def _process(self, now: int) -> Delta:
        """What comes of the rows up to ``now``."""
        ready = {name: self._release(name, now) for name in self._waiting}
        leaves = {name: ready[name.lower()] for name in self.job.leaves}
        try:
            filled = {number: rows.release(now) for number, rows in self._filled.items()}
            self._span += now - self.pipeline.now
            self.pipeline.set_pace(self.meter.pace)
            delta = self.pipeline.process(leaves, now, filled)
            schedule = self.pipeline.schedule
            self._work += 0 if schedule is None else schedule.work
        except DataError as error:
            self.failure = error.inside(self.name)
            raise self.failure from None
        self._filled = {n: rows for n, rows in self._filled.items() if rows.pieces}
        self.overflows += self.pipeline.take_overflows()
        return delta

    def waiting_rows(self, stream: str) -> Delta:
        """The rows of a stream that wait for the others of its streams."""
        return self._waiting[stream].rows

    def _release(self, stream: str, now: int) -> Delta:
        waited = len(self._waiting[stream].pieces)
        ready = self._waiting[stream].release(now)
        return net(ready) if waited > 1 and stream in self._relations else ready

    def catch_up(self) -> None:
        """Nothing: whatever came has been worked off by the time that anybody asks."""

    def refuse_if_stopped(self) -> None:
        """A job that met a value it cannot compute with has no answer from that instant on."""
        if self.failure is not None:
            raise StateError(
                f"it has no answer, because it stopped: {self.failure}",
                where=f"query {self.name}",
                remedy=f"fix the query or the rows; DROP QUERY {self.name}, and create it again",
            )

    def losses(self) -> list[tuple[str, WindrowWarning]]:
        """Nothing: the connection has told of them when they happened."""
        return []

    @property
    def has_news(self) -> bool:
        """Whether listeners have something to hear."""
        return isinstance(self.delivery, DeliveredChanges) and self.delivery.has_news

    def tell(self) -> bool:
        """Let listeners hear what is new; whether there was anything."""
        if news := self.has_news:
            self._changes.tell()
        return news

    def put_on_clock(self, clock: Clock) -> None:
        """Go on as if the members, over relations only, had been declared on this clock."""
        if clock is not self.job.clock:
            self.job = self.job.on_clock(clock)
            self._changes.clock = clock

    def consumers(self, number: int) -> QueryChanges[Any]:
        """The changes of a member, for those who want them."""
        return self._changes.consumers[number]

    @property
    def _changes(self) -> DeliveredChanges:
        if isinstance(self.delivery, ArchivedDays):
            raise InputError(
                where=f"archive {self.name}",
                expected="probes and scans",
                found="a request for its changes",
                remedy=f"open it with windrow.archive, in {self.delivery.path}",
            )
        return self.delivery

    def live_rows(self, number: int) -> pa.Table:
        """The relation of a member at the last closed instant; cut up once per instant. It has no
        rows before the instant at which it begins, as its changes say none."""
        now = self.pipeline.now
        if self._live is None or self._live[0] != now:
            rows = self.pipeline.live_rows()
            self._live = (
                now,
                self._changes.by_member(rows[:0] if self._begins is not None else rows),
            )
        return pa.Table.from_batches([self._live[1].part(number)])

    def windows(self) -> Sequence[LiveWindow]:
        """The windows of tuples that its operators hold; none before it has all of its own."""
        if self.failure is not None or self._filled:
            return []
        return list(live_windows(self.name, self.pipeline, self.since))

    def summaries(self, number: int) -> Callable[[], pa.Table] | None:
        """The summaries of sub-windows that it keeps, to be made a table of; None if none."""
        synopses = self.job.synopses
        for operator in self.pipeline.operators if synopses is not None else ():
            if synopses is not None and isinstance(operator, SharedAggregation):
                query = self.job.members[number].query
                made = take_shared_summaries(synopses, synopses.plan, operator, number, query)
                return lambda: made
        for node, operator in self.pipeline.sliding_groups().values():
            return take_summaries(node, operator, self.clock)
        return None

    def probe_synopses(self, query: QueryDeclaration) -> tuple[pa.Table, int] | None:
        """What its synopses answer to a query that is asked once; None if they do not."""
        synopses = None if self.failure is not None else self.job.synopses
        shared = (o for o in self.pipeline.operators if isinstance(o, SharedAggregation))
        return None if synopses is None else probe_synopses(synopses, next(shared), query)

    def last_rows(self, number: int) -> pa.Table:
        """The last changes of a member that is a stream, if they are not kept for others."""
        tail = self._changes.tail(number)
        query = self.job.members[number].query
        schema = changes_schema(query.plan.schema, query.clock)
        return pa.Table.from_batches([] if tail is None else [tail], schema)

    def destination(self, number: int) -> Path | None:
        """Where the results of a member are, if they are in files."""
        if isinstance(self.delivery, ArchivedDays):
            return self.delivery.path
        into = self.job.members[number].into
        return path_of(into.path) if into is not None and into.format != "console" else None

    @property
    def waiting(self) -> int | None:
        """Of an archive: rows of days that are not over."""
        return self.delivery.waiting if isinstance(self.delivery, ArchivedDays) else None

    def total(self, number: int) -> int | None:
        """How many rows a stream has had."""
        streaming = self.job.archive is None and self.job.members[number].is_stream
        return self.rows_out(number) if streaming else None

    @property
    def restarts(self) -> Mapping[str, int]:
        """Nothing dies in here that can be started again."""
        return {}

    @property
    def subscriptions(self) -> Subscriptions:
        """Those that its rows are matched with."""
        (matching,) = (o for o in self.pipeline.operators if isinstance(o, MatchSubscriptions))
        return matching.subscriptions

    def stop(self, number: int) -> None:
        """Nothing: a connection that is closed forgets it."""

    def state(self, number: int) -> str:
        """How it is, for people."""
        stopped = ", stopped by an error" if self.failure is not None else ""
        return f"{self.rows_in} rows in, {self.rows_out(number)} changes out{stopped}"
