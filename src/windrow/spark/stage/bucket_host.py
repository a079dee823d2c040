"""What lives in one bucket of a stage: the operators, the tuples whose instant is not closed yet.

Knows nothing of Spark: blobs go in, a Delta comes out, and ``save`` says what changed. The state
of a bucket is the state of its pipeline (segments ``p.*``) and the waiting tuples: one segment per
edge and micro-batch (``w.*``), dropped when the last of its tuples is released, so that a stream
far ahead of another is not written again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.netting import net
from windrow.columns.types import arrow_schema
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.engine.pipeline import Pipeline
from windrow.operators.base import Saved, below
from windrow.plan.nodes import RelationScan, walk
from windrow.plan.physical.sliding_state import SUMMARY
from windrow.plan.physical.stages import Stage
from windrow.plan.strategy import Strategy
from windrow.sharing.schedule import Pace
from windrow.spark.stage.blobs import Header, pack_delta, unpack_delta
from windrow.spark.stage.late_begin import FROM_THE_START, LateBegin
from windrow.spark.stage.packing import Counts, add_counts
from windrow.spark.stage.subscription_index import matched_in_parts
from windrow.streams.stream_time import Times, from_json, merge_times, time_reached, to_json
from windrow.streams.waiting_rows import WaitingRows

PIPELINE, WAITING = "p", "w"
BEFORE_NAME = ":"
FILLED = "filled"
"""In the header of a blob: its tuples were held by other queries, and are in time. The value is the
number of the first of them, if they are for a window of rows."""


@dataclass(frozen=True)
class Answer:
    """What a bucket says after a micro-batch; ``late`` are tuples whose instant was closed."""

    delta: Delta
    counts: Counts
    late: dict[str, Delta]


class BucketHost:
    """See the module. ``final`` makes the answer explicit changes, expiries included; ``begin`` is
    that of a query that came late; ``constants`` are its rows of VALUES, by edge."""

    def __init__(
        self,
        stage: Stage,
        slacks: Mapping[str, int],
        *,
        final: bool,
        strategy: Strategy = Strategy.UPA,
        begin: LateBegin = FROM_THE_START,
        constants: Mapping[str, Delta] | None = None,
    ) -> None:
        self._constants = dict(constants or {})
        self._edges, self._slacks = stage.inputs, dict(slacks)
        self._begin, self._final = begin, final
        self._schemas = {e.name: arrow_schema(e.schema) for e in stage.inputs}
        self._relations = {
            e.name for e in stage.inputs if any(isinstance(n, RelationScan) for n in walk(e.pre))
        }
        # What NT changes in a plan it changed before the cut, and once is enough.
        left = Strategy.UPA if strategy is Strategy.NT else strategy
        # An answer is read from results.
        self._pipeline = Pipeline(stage.plan, changes=final, strategy=left, answers=False)
        self._waiting = {name: WaitingRows(schema) for name, schema in self._schemas.items()}
        self._saved: dict[str, int] = {}
        self.times: Times = {}
        self.now = BEGINNING
        self.step = 0

    def receive(self, blobs: Iterable[tuple[Header, dict[str, pa.RecordBatch]]]) -> Answer:
        """Take in a micro-batch, bring time as far as it allows, and answer up to there."""
        arrived = sorted(blobs, key=lambda b: b[0].get("order", []))
        self.times = merge_times([self.times, *(from_json(h.get("times", {})) for h, _ in arrived)])
        began, reached = self.now, time_reached(self.times, self._slacks)
        closed, self.now = (
            max(began, self._begin.closed),
            max(began, self._begin.instant_from(reached)),
        )
        self.step += 1
        inputs, late = {}, {}
        for edge in self._edges:
            schema = self._schemas[edge.name]
            held, fresh = (
                concat([unpack_delta(p[edge.name], schema) for p in parts], schema).sorted()
                for parts in _with_edge(arrived, edge.name)
            )
            if self.step == 1 and edge.name in self._constants:
                fresh = self._constants[edge.name]
            elif edge.name in self._relations:
                # Those of a relation that was idle happen now: a later one may rely on them.
                fresh = replace(fresh, ts=np.maximum(fresh.ts, closed + 1))
            elif isinstance(edge.source, str):
                tardy, fresh = fresh.split(closed)
                if len(tardy):
                    late[edge.name] = tardy
            if len(held):
                self._count_rows(edge.name, arrived)
                fresh = concat([held, fresh], schema).sorted()
            released = self._release(edge.name, fresh)
            post = edge.post
            inputs[edge.name] = released if post is None else matched_in_parts(post, released)
        delta = self._pipeline.process(inputs, self.now)
        if self._final and began < self._begin.begins <= self.now:
            stream = self._pipeline.plan.pattern is UpdatePattern.MONOTONIC
            delta = self._begin.tell(delta, stream=stream)
        overflows = {"overflows": self._pipeline.take_overflows()}
        counts = add_counts([*(h.get("counts", {}) for h, _ in arrived), overflows])
        return Answer(delta, counts, late)

    def _count_rows(self, edge: str, arrived: Arrived) -> None:
        """Go on counting where those have come from whom an edge is filled."""
        first = max(header.get(FILLED, 0) for header, parts in arrived if edge in parts)
        if first:
            self._pipeline.count_rows_from(dict.fromkeys(self._pipeline.leaves_of(edge), first))

    def set_pace(self, pace: Pace) -> None:
        """How fast executions of the next micro-batch will be."""
        self._pipeline.set_pace(pace)

    def told_of_schedule(self) -> dict[str, Any]:
        """What the driver has to know of scheduled executions: the work of the last ones, and how
        late queries are. It is the same for all buckets."""
        schedule = self._pipeline.schedule
        if schedule is None:
            return {}
        delays = {name: asdict(delay) for name, delay in schedule.delays().items()}
        return {"work": schedule.work, "delays": delays}

    def _release(self, edge: str, fresh: Delta) -> Delta:
        """The tuples up to ``now`` of those that waited, then of the fresh ones; the rest waits."""
        self._waiting[edge].add(fresh, f"{edge}.{self.step}")
        released = self._waiting[edge].release(self.now)
        return net(released) if edge in self._relations else released

    def save(self) -> Saved:
        """What changed since the last ``save``."""
        saved = Saved(meta={"times": to_json(self.times), "now": self.now, "step": self.step})
        saved.add(PIPELINE, self._pipeline.save())
        waiting = {n: piece for rows in self._waiting.values() for n, piece in rows.pieces.items()}
        new = {n: piece for n, piece in waiting.items() if self._saved.get(n) != len(piece)}
        saved.put.update({f"{WAITING}.{n}": self._packed(n, p) for n, p in new.items()})
        saved.drop.extend(f"{WAITING}.{n}" for n in self._saved if n not in waiting)
        self._saved = {n: len(piece) for n, piece in waiting.items()}
        return saved

    def _packed(self, name: str, piece: Delta) -> pa.RecordBatch:
        """Tuples that wait, with the names of their columns after their numbers."""
        batch, names = pack_delta(piece), self._schemas[name.rpartition(".")[0]].names
        first = batch.num_columns - len(names)
        numbered = [f"{number}{BEFORE_NAME}{name}" for number, name in enumerate(names)]
        return batch.rename_columns([*batch.schema.names[:first], *numbered])

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Become what was saved; this host must be new."""
        self.times, self.now, self.step = from_json(meta["times"]), meta["now"], meta["step"]
        self._pipeline.load(below(PIPELINE, segments), meta[PIPELINE])
        steps = sorted(below(WAITING, segments).items(), key=lambda s: _step(s[0]))
        for name, batch in steps:
            edge = name.rpartition(".")[0]
            piece = waiting_tuples(batch, self._schemas[edge])
            self._waiting[edge].add(piece, name)
            self._saved[name] = len(piece)


def waiting_tuples(batch: pa.RecordBatch, schema: pa.Schema) -> Delta:
    """Tuples that wait for their instant, as they were saved."""
    return unpack_delta(_with_new_columns(batch, schema), schema)


Arrived = list[tuple[Header, dict[str, pa.RecordBatch]]]


def _with_edge(arrived: Arrived, edge: str) -> tuple[list[dict[str, pa.RecordBatch]], ...]:
    """What has come along an edge: what it is filled with, and the rest."""
    mine = [(FILLED in header, parts) for header, parts in arrived if edge in parts]
    return [p for filled, p in mine if filled], [p for filled, p in mine if not filled]


def _with_new_columns(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Tuples that waited, as they are sent now: of queries that have joined since they say nothing.

    These may have brought more integers of summaries, which are 0, values and slots of members.
    """
    known = [name.partition(BEFORE_NAME) for name in batch.schema.names]
    first = sum(not mark for _, mark, _ in known)
    names = [name for _, _, name in known[first:]]
    if not names or names == schema.names:
        return batch
    columns = dict(zip(names, batch.columns[first:], strict=True))
    for field in schema:
        if field.name not in columns:
            says_nothing = 0 if field.name.startswith(SUMMARY) else None
            scalar = pa.scalar(says_nothing, field.type)
            columns[field.name] = pa.repeat(scalar, batch.num_rows)
    arrays = [*batch.columns[:first], *(columns[name] for name in schema.names)]
    return pa.RecordBatch.from_arrays(arrays, [*batch.schema.names[:first], *schema.names])


def _step(name: str) -> int:
    return int(name.rpartition(".")[2])
