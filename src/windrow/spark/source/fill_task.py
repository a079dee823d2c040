"""What a query that joins a running pipeline is filled with, as tasks read it.

The driver has written it down (``windrow.spark.checkpoint.late_fill``): the tuples of each edge
that other queries held, as the edge's ``pre`` would have given them. In the first micro-batch in
which the query takes part they go to its stages like any others, but for a mark in the header that
says that they are in time (``windrow.spark.stage.late_begin``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa

from windrow.columns.delta import Delta
from windrow.columns.types import arrow_schema
from windrow.object_store.object_path import path_of, readable_path
from windrow.plan.nodes import StageInput
from windrow.plan.physical.stages import StageEdge
from windrow.spark.stage.bucket_host import FILLED
from windrow.spark.stage.packing import Parcel, pack_prepared, tell
from windrow.spark.stage.routes import Routes
from windrow.streams.stream_time import from_json

Parcels = dict[tuple[int, int], Parcel]
"""By stage and bucket."""


@dataclass(frozen=True)
class FillTask:
    """What the job number ``job`` is filled with: files of tuples by stage and edge, together of
    ``size`` bytes, the ``times`` that its streams had by then, and the numbers of the first
    ``rows`` of some edges."""

    job: int
    routes: Routes
    edges: tuple[tuple[int, StageEdge, tuple[str, ...]], ...]
    times: dict[str, list[int]]
    size: int
    rows: dict[str, int] = field(default_factory=dict)

    def parcels(self, wanted: frozenset[int] | None = None) -> Iterator[Parcels]:
        """The tuples by stage and bucket, then what is known of time.

        Of other buckets than the ``wanted`` ones nothing is sent.
        """
        routes = replace(self.routes, wanted=wanted)
        for stage, edge, files in self.edges:
            for tuples in (piece for file in files for piece in read_tuples(file, edge)):
                packed = pack_prepared(tuples, edge, routes)
                header = {FILLED: self.rows.get(edge.name, 0)}
                yield {(stage, b): Parcel({edge.name: part}, header) for b, part in packed}
        buckets = [b for b in routes.buckets if wanted is None or b in wanted]
        if buckets:
            told: Parcels = {}
            tell(told, 0, buckets, from_json(self.times), {})
            yield told


def as_sent(edge: StageEdge) -> StageEdge:
    """The edge for what is as it is sent already: summaries, if senders make those."""
    if edge.summed is None:
        return edge
    return replace(edge, pre=StageInput(edge.name, edge.schema, edge.pre.pattern), summed=None)


def write_tuples(edge: StageEdge, tuples: Iterator[Delta], path: Path) -> None:
    """Deltas of one edge as a file."""
    schema = Delta.empty(arrow_schema(edge.pre.schema)).to_batch().schema
    with path.open("wb") as out, pa.ipc.new_stream(out, schema) as writer:
        for delta in tuples:
            writer.write_batch(delta.to_batch())


def read_tuples(file: str, edge: StageEdge) -> Iterator[Delta]:
    """The Deltas of such a file."""
    schema = arrow_schema(edge.pre.schema)
    with pa.memory_map(str(readable_path(path_of(file)))) as mapped:
        for batch in pa.ipc.open_stream(mapped):
            yield Delta.from_batch(batch, schema)
