"""The stages of a plan as Spark runs them, without Spark: its calls are made by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from pyspark.sql import Row

from tests.operators.samples import between
from windrow.columns.delta import Delta
from windrow.core.time import BEGINNING, Clock
from windrow.plan.nodes import Node, RelationScan, StreamScan, walk
from windrow.plan.physical.cut_stages import cut_into_stages
from windrow.plan.strategy import Strategy
from windrow.spark.stage.blobs import unpack
from windrow.spark.stage.packing import RESULT, Parcel, blobs, scatter, tell
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.stage_processor import StageProcessor, StageTask
from windrow.streams.stream_time import StreamTime

BUCKETS = (3, 5, 8)
Net = dict[int, Counter[str]]
Time = dict[str, tuple[int, bool]]
"""For each stream, up to which instant it is closed, and whether it is over."""


class Values:
    """Both kinds of state of one bucket."""

    def __init__(self) -> None:
        self.value: tuple[Any, ...] | None = None
        self.entries: dict[Any, Any] = {}

    def get(self) -> tuple[Any, ...] | None:
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value

    def iterator(self) -> Iterator[Any]:
        return iter(list(self.entries.items()))

    def updateValue(self, key: Any, value: Any) -> None:  # noqa: N802
        self.entries[key] = value

    def removeKey(self, key: Any) -> None:  # noqa: N802
        del self.entries[key]


class Handle:
    """Spark's handle on the state of one bucket."""

    def __init__(self) -> None:
        self.values: dict[str, Values] = {}

    def getMapState(self, name: str, *_: object) -> Values:  # noqa: N802
        return self.values.setdefault(name, Values())

    getValueState = getMapState  # noqa: N815


class Staged:
    """A query over ``BUCKETS``; ``step`` is a micro-batch, ``found`` what it has said so far."""

    def __init__(self, plan: Node, strategy: Strategy, run: str, *, archived: bool = False) -> None:
        self.stages = cut_into_stages(plan, strategy)
        self.streams = streams_in(plan)
        self.found: Net = {}
        self.processors: dict[tuple[int, int], StageProcessor] = {}
        for stage in self.stages:
            task = StageTask(
                run=run,
                stage=stage,
                slacks=dict.fromkeys(self.streams, 0),
                routes=Routes.of(stage.number, self.stages, BUCKETS),
                clock=Clock.INTEGER,
                final=stage is self.stages[-1],
                strategy=strategy,
                archived=archived,
            )
            for bucket in BUCKETS:
                processor = self.processors[stage.number, bucket] = StageProcessor(task)
                processor.init(Handle())  # type: ignore[arg-type]

    def frame(self, number: int, rows: dict[str, Delta], time: Time) -> list[Row]:
        """What a micro-batch sends to the sink."""
        frame = [row for name in rows for row in self._packed(number, name, rows[name], time[name])]
        for stage in self.stages:
            frame = [
                row
                for bucket in BUCKETS
                for row in self.processors[stage.number, bucket].handleInputRows(
                    (bucket,), iter([r for r in frame if r["bucket"] == bucket]), None
                )
            ]
        assert {row["stage"] for row in frame} == {RESULT}
        return frame

    def step(self, number: int, rows: dict[str, Delta], time: Time) -> None:
        for row in self.frame(number, rows, time):
            for change in unpack(row["blob"])[1]["changes"].to_pylist():
                instant, sign, *values = change.values()
                bag = self.found.setdefault(instant, Counter())
                bag[repr(tuple(values))] += 1 if sign == "+" else -1

    def _packed(self, number: int, name: str, rows: Delta, time: tuple[int, bool]) -> list[Row]:
        routes = Routes.of(name, self.stages, BUCKETS)
        parcels: dict[tuple[int, int], Parcel] = scatter(rows, routes, {}, (number,))
        known: dict[tuple[int, int], Parcel] = {}
        closed, over = time
        told = {name: StreamTime(closed if over else BEGINNING, closed, over, number)}
        tell(known, 0, BUCKETS, told, {})
        return [
            Row(stage=stage, bucket=bucket, blob=blob)
            for part in (parcels, known)
            for stage, bucket, blob in blobs(part)
        ]


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
    staged.step(99, rest, dict.fromkeys(staged.streams, (end, True)))
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
