"""CREATE SUBSCRIPTIONS in a task: the index beside the worker, as long as its files are the same.

Every worker that reads the stream holds the whole index, and matches while it packs. An index past
a worker's memory is cut by ranges (``windrow.spark.stage.range_partition``): rows are sent to the
bucket of their range, and what a worker holds are the parts of its buckets. It reads the files one
by one and keeps of each what belongs to the part.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.engine.routing import Routing
from windrow.plan.nodes import Node, Routed, Subscribe
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.routed import Ranges
from windrow.plan.physical.stages import RangeKey
from windrow.spark.stage.range_partition import Cut, part_of
from windrow.subscriptions.script_subscriptions import MatchSubscriptions, load, read
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.tables.find_files import find_files

LOADED: dict[Subscribe, tuple[object, MatchSubscriptions]] = {}
PARTS: OrderedDict[tuple[Subscribe, int], tuple[object, MatchSubscriptions]] = OrderedDict()
"""The parts of this worker; beyond its memory the longest unused is forgotten."""


def matching_for(node: Subscribe) -> MatchSubscriptions:
    """The node's operator, read once per worker and version of its files."""
    token = _version(node)
    known = LOADED.get(node)
    if known is None or known[0] != token:
        wanted = load(node.source, node.attributes, node.clock)
        known = LOADED[node] = (
            token,
            MatchSubscriptions(wanted, node.columns, arrow_schema(node.schema)),
        )
    return known[1]


def matched_in_parts(node: Subscribe, delta: Delta) -> Delta:
    """The matches of tuples, by the parts that they fall into: of one bucket's, mostly one."""
    assert node.cut is not None
    schema = arrow_schema(node.schema)
    if not len(delta):
        return Delta.empty(schema)
    chosen = _cut_of(node).ranges_of(delta.rows.column(node.columns[node.cut.place]))
    found = [
        _part(node, int(number)).match(delta.filter(chosen == number))
        for number in np.unique(chosen)
    ]
    return concat(found, schema).sorted()


def range_of(key: RangeKey, rows: pa.RecordBatch) -> Int64s:
    """The number of the range that each row falls into."""
    starts = np.array(key.starts, np.int64)
    cut = Cut(key.column.name, key.column.type, key.column.index, starts)
    return cut.ranges_of(rows.column(key.column.index))


def _part(node: Subscribe, number: int) -> MatchSubscriptions:
    """One part of the node's index, read once per worker and version of its files."""
    assert node.cut is not None
    token, key = _version(node), (node, number)
    known = PARTS.pop(key, None)
    if known is None or known[0] != token:
        wanted = Subscriptions(node.attributes, clock=node.clock)
        for path in find_files(node.source):
            entries = read(path, node.source.format, node.attributes, node.clock)
            wanted.add(part_of(entries, _cut_of(node), number))
        known = (token, MatchSubscriptions(wanted, node.columns, arrow_schema(node.schema)))
    PARTS[key] = known
    while len(PARTS) > 1 and _held() > node.cut.memory:
        PARTS.popitem(last=False)
    return known[1]


def _held() -> int:
    return sum(part.subscriptions.nbytes for _, part in PARTS.values())


def _cut_of(node: Subscribe) -> Cut:
    assert node.cut is not None
    place = node.cut.place
    name = list(node.attributes)[place]
    return Cut(name, node.attributes[name], place, np.array(node.cut.starts, np.int64))


def _version(node: Subscribe) -> object:
    """Changes when a file does."""
    stats = [(str(p), p.stat()) for p in find_files(node.source)]
    return [(name, s.st_mtime_ns, s.st_size) for name, s in stats]


@lru_cache(maxsize=8)
def routing_for(node: Routed) -> Routing:
    """The node's operator, built once per worker: the queries of a script do not change."""
    return Routing(node, arrow_schema(node.schema))


def with_cut(plan: Node, cut: Ranges | None) -> Node:
    """The plan with its subscriptions cut, if they are."""
    if isinstance(plan, Subscribe):
        return replace(plan, cut=cut)
    return map_inputs(plan, lambda child: with_cut(child, cut))


def with_whole_paths(plan: Node) -> Node:
    """The plan with files of subscriptions named such that a worker elsewhere finds them."""
    if isinstance(plan, Subscribe):
        path = str(Path(plan.source.path).absolute())
        return replace(plan, source=replace(plan.source, path=path))
    return map_inputs(plan, with_whole_paths)
