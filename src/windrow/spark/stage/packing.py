"""Packing: the tuples of a sender as one blob per stage and bucket, filtered, projected, hashed.

A packed DataFrame has the columns ``job``, ``stage``, ``bucket`` and ``blob``. All stages of a job
stand in one chain, whatever their dependencies, and a stage hands on the blobs that are meant for
later ones: so every stream is read once, and all stages hear of time in the same micro-batch.

The header of a blob has ``order`` (where its tuples stand in their stream), ``times`` (see
``windrow.streams.stream_time``) and ``counts`` (what became of the input rows).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.hashing import bucket_of
from windrow.columns.integer_overflow import Overflows, count_overflows
from windrow.columns.types import arrow_schema
from windrow.engine.build_group_by import summaries_of
from windrow.operators.summarise_rows import Groups, SummariseForMany, SummariseRows
from windrow.plan.expressions import columns_of
from windrow.plan.nodes import (
    Node,
    Projection,
    Routed,
    Selection,
    SharedGroupBy,
    SlidingGroupBy,
    Subscribe,
)
from windrow.plan.physical.stages import RangeKey, StageEdge
from windrow.spark.stage.blobs import Header, pack, pack_delta, send_by_file
from windrow.spark.stage.routes import Routes
from windrow.spark.stage.subscription_index import matching_for, range_of, routing_for
from windrow.spark.stage.thinning import thin_out
from windrow.streams.stream_time import Times, to_json

PACKED_ARROW = pa.schema(
    [("job", pa.int32()), ("stage", pa.int32()), ("bucket", pa.int32()), ("blob", pa.binary())]
)
RESULT = -1
"""The ``stage`` of blobs that are for the sink."""

Counts = dict[str, int]
Blob = tuple[int, int, bytes]
"""Stage, bucket, and what is for them."""


@dataclass
class Parcel:
    """What one sender has for one bucket of one stage."""

    parts: dict[str, pa.RecordBatch] = field(default_factory=dict)
    header: Header = field(default_factory=dict)


Scattered = dict[int, tuple[list[tuple[int, pa.RecordBatch]], int]]
"""What was made of some tuples along edges that are alike: packed, by bucket; and overflows."""


def scatter(
    delta: Delta,
    routes: Routes,
    counts: Counts,
    order: Sequence[int] = (),
    known: Scattered | None = None,
) -> dict[tuple[int, int], Parcel]:
    """The tuples by stage and bucket, for those that get any; overflows are counted.

    What is ``known`` of the same tuples need not be done again: many jobs may have edges alike.
    """
    parcels: dict[tuple[int, int], Parcel] = {}
    known = {} if known is None else known
    kinds = routes.kinds or range(len(routes.edges))
    for kind, (stage, edge) in zip(kinds, routes.edges, strict=True):
        if kind not in known:
            known[kind] = _packed_by_bucket(delta, edge, routes)
        packed, overflows = known[kind]
        for bucket, part in packed:
            parcel = parcels.setdefault((stage, bucket), Parcel())
            parcel.parts[edge.name] = part
            parcel.header = {"order": list(order)} if order else {}
        if overflows:
            counts["overflows"] = counts.get("overflows", 0) + overflows
    return parcels


def _packed_by_bucket(
    delta: Delta, edge: StageEdge, routes: Routes
) -> tuple[list[tuple[int, pa.RecordBatch]], int]:
    overflows = Overflows()
    with count_overflows(overflows):
        return pack_prepared(prepare_tuples(edge.pre, delta), edge, routes), overflows.count


def pack_prepared(
    tuples: Delta, edge: StageEdge, routes: Routes
) -> list[tuple[int, pa.RecordBatch]]:
    """What ``edge.pre`` gives, by bucket, as the stage wants it."""
    if edge.summed is not None:
        tuples = summariser_for(edge.summed).summarise(tuples, _wanted_groups(edge, routes))
    if edge.thinned is not None and routes.wanted is None:  # who has all here has nothing to send
        tuples = thin_out(tuples, edge.thinned)
    return [(bucket, pack_delta(part)) for bucket, part in by_bucket(tuples, edge, routes)]


def tell(
    parcels: dict[tuple[int, int], Parcel],
    stage: int,
    buckets: Sequence[int],
    times: Times,
    counts: Counts,
) -> None:
    """Let every bucket of ``stage`` know of time, and one of them of the counts."""
    for bucket in buckets:
        parcel = parcels.setdefault((stage, bucket), Parcel())
        parcel.header["times"] = to_json(times)
    parcels[stage, buckets[0]].header["counts"] = counts


def add_counts(counts: Iterable[Mapping[str, int]]) -> Counts:
    """What was counted in several places, together."""
    total: Counts = {}
    for part in counts:
        for name, count in part.items():
            total[name] = total.get(name, 0) + count
    return total


def blobs(parcels: Mapping[tuple[int, int], Parcel], exchange: str | None = None) -> Iterator[Blob]:
    """What is sent: parcels, or where large ones are."""
    for (stage, bucket), parcel in parcels.items():
        yield stage, bucket, send_by_file(pack(parcel.header, parcel.parts), exchange)


def packed_batch(rows: Iterable[Blob], job: int = 0) -> pa.RecordBatch:
    """Blobs of a job as a batch of a packed DataFrame."""
    stages, buckets, found = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    columns = ([job] * len(rows), stages, buckets, found)
    arrays = [pa.array(c, f.type) for c, f in zip(columns, PACKED_ARROW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PACKED_ARROW)


def prepare_tuples(pre: Node, delta: Delta) -> Delta:
    """The selections, projections and matches that stand directly on a stream, done."""
    match pre:
        case Selection():
            below = prepare_tuples(pre.input, delta)
            return below.filter(selection_mask(pre.predicate, below.rows))
        case Projection():
            below = prepare_tuples(pre.input, delta)
            columns = [evaluate(c.expression, below.rows) for c in pre.columns]
            return below.with_rows(batch_of(columns, arrow_schema(pre.schema), len(below)))
        case Subscribe():
            return matching_for(pre).match(prepare_tuples(pre.input, delta))
        case Routed():
            return routing_for(pre).add_members(prepare_tuples(pre.input, delta))
        case _:
            return delta


Summed = SlidingGroupBy | SharedGroupBy
_SUMMARISERS: OrderedDict[int, tuple[Summed, SummariseRows | SummariseForMany]] = OrderedDict()
SUMMARISERS = 64
"""Group-bys whose summarisers a worker has."""


def summariser_for(node: Summed) -> SummariseRows | SummariseForMany:
    """What makes summaries of tuples for a group-by over sub-windows.

    It is known by the very node, which stays in the worker's memory: to compare nodes of a thousand
    queries takes longer than to summarise.
    """
    known = _SUMMARISERS.get(id(node))
    if known is None:
        known = _SUMMARISERS[id(node)] = node, summaries_of(node)
        if len(_SUMMARISERS) > SUMMARISERS:
            _SUMMARISERS.popitem(last=False)
    return known[1]


def _wanted_groups(edge: StageEdge, routes: Routes) -> Groups | None:
    """Which groups are for wanted buckets, if others are not; None: all may be."""
    key, wanted = edge.key, routes.wanted
    if wanted is None or key is None or isinstance(key, RangeKey):
        return None
    assert edge.summed is not None
    if any(c.index >= len(edge.summed.keys) for k in key for c in columns_of(k)):
        return None
    places = [i for i, bucket in enumerate(routes.buckets) if bucket in wanted]
    return lambda rows: np.isin(
        bucket_of([evaluate(k, rows) for k in key], len(routes.buckets)), places
    )


def by_bucket(delta: Delta, edge: StageEdge, routes: Routes) -> Iterator[tuple[int, Delta]]:
    """The tuples of each wanted bucket that gets some, in the order in which they stand."""
    buckets, wanted = routes.buckets, routes.wanted
    if not len(delta):
        return
    if edge.key is None or len(buckets) == 1:
        if wanted is None or buckets[0] in wanted:
            yield buckets[0], delta
        return
    if isinstance(edge.key, RangeKey):
        chosen = range_of(edge.key, delta.rows) % len(buckets)
    else:
        chosen = bucket_of([evaluate(k, delta.rows) for k in edge.key], len(buckets))
    chosen = chosen.astype(np.int16)
    if wanted is not None:
        places = [i for i, bucket in enumerate(buckets) if bucket in wanted]
        if len(places) == 1:  # as a rule: a task has one bucket of a stage
            mine = delta.filter(chosen == places[0])
            if len(mine):
                yield buckets[places[0]], mine
            return
        kept = np.isin(chosen, places)
        delta, chosen = delta.filter(kept), chosen[kept]
    order = np.argsort(chosen, kind="stable")
    ends = np.cumsum(np.bincount(chosen, minlength=len(buckets)))
    grouped = delta.take(order)
    for bucket, start, end in zip(buckets, (0, *ends[:-1]), ends, strict=True):
        if start < end:
            yield bucket, grouped.slice(int(start), int(end))
