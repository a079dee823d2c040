"""The stages of a plan as Spark runs them, without Spark: its calls are made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from tests.operators.samples import between
from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING, Clock
from windrow.engine.constant_tuples import FIRST_INSTANT
from windrow.plan.nodes import Node, RelationScan, StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.result_files.change_table import changes_batch
from windrow.spark.stage.level_task import LevelTask, reports_in
from windrow.spark.stage.packing import RESULT, Blob, Parcel, blobs, packed_batch, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.stage_task import Report, ResultDelivery, StageTask
from windrow.spark.stage.state_files import StateCommits
from windrow.streams.stream_time import StreamTime

BUCKETS = (3, 5, 8)
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Where state is written and read fastest."""
Net = dict[int, Counter[str]]
Time = dict[str, tuple[int, bool]]
"""For each stream, up to which instant it is closed, and whether it is over."""


class Collected:
    """A delivery that keeps what it is given; ``final`` as the tasks of a query have it."""

    room = 0

    def __init__(self, plan: Node, *, final: bool = True) -> None:
        self.plan, self.final = plan, final
        self.answers: list[Delta] = []
        self.synced = 0

    def hide(self, answers: Sequence[Delta]) -> dict[str, Any]:
        self.answers += answers
        return {}

    def sync(self, hidden: Mapping[str, Any]) -> None:
        """It is kept in memory; that it is asked for is counted."""
        self.synced += 1

    def take(self) -> pa.Table:
        """The changes since the last time."""
        answers, self.answers = self.answers, []
        found = [changes_batch(delta, self.plan.schema, Clock.INTEGER) for delta in answers]
        return pa.Table.from_batches(found)


class Staged:
    """A query over ``BUCKETS``, its state in files; ``found`` is what it has said so far."""

    def __init__(
        self, plan: Node, strategy: Strategy, run: str, delivery: ResultDelivery | None = None
    ) -> None:
        self.stages = cut_into_stages(plan, strategy)
        self.streams = streams_in(plan)
        self.found: Net = {}
        self.collected = Collected(self.stages[-1].plan)
        self._place = TemporaryDirectory(dir=MEMORY)
        self.state = Path(self._place.name)
        self.tasks = [
            LevelTask(run, stage.number, str(self.state), (self._task(stage, strategy, delivery),))
            for stage in self.stages
        ]

    def _task(self, stage: Stage, strategy: Strategy, delivery: ResultDelivery | None) -> StageTask:
        return StageTask(
            run="",
            stage=stage,
            slacks=dict.fromkeys(self.streams, 0),
            routes=Routes.of(stage.number, self.stages, BUCKETS),
            clock=Clock.INTEGER,
            delivery=(delivery or self.collected) if stage is self.stages[-1] else None,
            strategy=strategy,
        )

    def reports(self, number: int, rows: dict[str, Delta], time: Time) -> list[Report]:
        """What the tasks of a micro-batch tell the driver, which commits its state."""
        frame = [packed_batch(self._packed(number, name, rows[name], time[name])) for name in rows]
        for task in self.tasks:
            frame = [pa.concat_batches(frame)]
            frame = [
                sent
                for bucket in BUCKETS
                for sent in task.work([_of_bucket(batch, bucket) for batch in frame], number)
            ]
        assert {n for batch in frame for n in batch["stage"].to_pylist()} == {RESULT}
        told = reports_in(value.as_buffer() for batch in frame for value in batch["blob"])
        written = {key: name for report in told for key, name in report.state.items()}
        commits = StateCommits(self.state)
        commits.publish(number, commits.before(number).after(number, written, [0]))
        return [report for told_by_task in told for report in told_by_task.jobs.values()]

    def changes(self, number: int, rows: dict[str, Delta], time: Time) -> pa.Table:
        """What a micro-batch changes in the answer."""
        self.reports(number, rows, time)
        return self.collected.take()

    def step(self, number: int, rows: dict[str, Delta], time: Time) -> None:
        for change in self.changes(number, rows, time).to_pylist():
            instant, sign, *values = change.values()
            at = FIRST_INSTANT if instant is None else instant
            bag = self.found.setdefault(at, Counter())
            bag[repr(tuple(values))] += 1 if sign == "+" else -1

    def _packed(self, number: int, name: str, rows: Delta, time: tuple[int, bool]) -> list[Blob]:
        routes = Routes.of(name, self.stages, BUCKETS)
        parcels: dict[tuple[int, int], Parcel] = scatter(rows, routes, {}, (number,))
        known: dict[tuple[int, int], Parcel] = {}
        closed, over = time
        told = {name: StreamTime(closed if over else BEGINNING, closed, over, number)}
        tell(known, 0, BUCKETS, told, {})
        return [*blobs(parcels), *blobs(known)]


def _of_bucket(batch: pa.RecordBatch, bucket: int) -> pa.RecordBatch:
    return batch.filter(pa.array(batch["bucket"].to_numpy() == bucket))


def run_staged(
    plan: Node, inputs: dict[str, Delta], strategy: Strategy, seed: int, run: str
) -> Net:
    """The net changes, the streams coming at different speeds in small micro-batches."""
    rng = np.random.default_rng(seed)
    staged = Staged(plan, strategy, run)
    end = end_of(plan, inputs)
    before = min(int(inputs[name].ts.min(initial=end)) for name in staged.streams) - 1
    at = dict.fromkeys(staged.streams, before)
    for number in range(12):
        name = str(rng.choice(staged.streams))
        until = min(at[name] + int(rng.integers(0, (end - before) // 4 + 1)), end - 1)
        rows = between({name: inputs[name]}, at[name], until)
        at[name] = until
        staged.step(number, rows, {name: (until, False)})
    rest = {n: between({n: inputs[n]}, at[n], end)[n] for n in staged.streams}
    staged.step(12, rest, dict.fromkeys(staged.streams, (end, True)))
    return netted(staged.found)


def streams_in(plan: Node) -> list[str]:
    return sorted({n.name for n in walk(plan) if isinstance(n, StreamScan | RelationScan)})


def end_of(plan: Node, inputs: dict[str, Delta]) -> int:
    """The last instant of all that the plan reads."""
    return max(int(inputs[name].ts[-1]) for name in streams_in(plan) if len(inputs[name]))


def netted(found: Net) -> Net:
    """Without what cancels inside an instant."""
    kept = {t: Counter({v: n for v, n in bag.items() if n}) for t, bag in found.items()}
    return {t: bag for t, bag in kept.items() if bag}


def expected(changes: list[tuple[int, int, str]]) -> Net:
    """The net changes of a pipeline's own."""
    found: Net = {}
    for instant, sign, row in changes:
        found.setdefault(instant, Counter())[row] += sign
    return netted(found)
