"""CREATE SUBSCRIPTIONS in a task: the index beside the worker, as long as its files are the same.

Every worker that reads the stream holds the whole index, and matches while it packs. An index past
a worker's memory is cut by ranges of one attribute, such that each range is about as much work (Wu,
Chen, Yu 2004, 3.4): rows are sent to the bucket of their range, and what a worker holds are the
parts of its buckets. It reads the files one by one and keeps of each what belongs to the part.

``windrow.spark.match`` and the subscriptions of scripts are decided alike; what one worker may hold
is a setting of the session (``windrow.spark.run.session``).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.engine.routing import Routing
from windrow.plan.nodes import Node, Routed, Subscribe
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.routed import Ranges
from windrow.plan.physical.stages import RangeKey
from windrow.subscriptions.bounds import FAR, NEAR
from windrow.subscriptions.entry_columns import EntryColumns
from windrow.subscriptions.predicates import Kind, is_text
from windrow.subscriptions.script_subscriptions import MatchSubscriptions, load, read
from windrow.subscriptions.subscriptions import Subscriptions
from windrow.subscriptions.values import keys_of
from windrow.tables.find_files import find_files

LOADED: dict[Subscribe, tuple[object, MatchSubscriptions]] = {}
PARTS: OrderedDict[tuple[Subscribe, int], tuple[object, MatchSubscriptions]] = OrderedDict()
"""The parts of this worker; beyond its memory the longest unused is forgotten."""
BYTES_PER_CONDITION = 160
"""What a range takes with its place in an index (measured)."""


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


@dataclass(frozen=True)
class Cut:
    """Range ``i`` has the keys from ``starts[i - 1]`` on (the first: all before) to the next."""

    name: str
    kind: Kind
    place: int
    starts: Int64s

    def ranges_of(self, column: pa.Array) -> Int64s:
        """The range of each value; what has no key is in the first."""
        asked = keys_of(column, self.kind, self.name)
        found: Int64s = np.searchsorted(self.starts, asked.keys, side="right")
        return found if asked.valid is None else np.where(asked.valid, found, 0)


def cut_by(
    entries: Sequence[EntryColumns], attributes: Mapping[str, Kind], name: str | None, count: int
) -> Cut:
    """``count`` ranges with about as many ends of conditions in each."""
    names = list(attributes)
    ordered = [n for n in names if not is_text(attributes[n])]
    wanted = name if name is not None else (ordered or [""])[0]
    found = next((n for n in ordered if n.lower() == wanted.lower()), None)
    if found is None or count < 1:
        raise InputError(
            where="match",
            expected="partitions by ranges of an attribute with an order",
            found=f"{count} by {wanted or 'none'}; the attributes are {', '.join(names)}",
            remedy="texts have no order; leave partitions out to broadcast the whole index",
        )
    place = names.index(found)
    spans = [part.spans[place] for part in entries]
    none = np.empty(0, np.int64)
    ends = np.concatenate([none, *(s.lo for s in spans), *(s.hi for s in spans)])
    ends = np.sort(ends[(ends != NEAR) & (ends != FAR)])
    at = (np.arange(1, count) * len(ends)) // count
    starts = ends[at] if len(ends) else np.zeros(count - 1, np.int64)
    return Cut(found, attributes[found], place, starts)


def part_of(entries: EntryColumns, cut: Cut, number: int) -> EntryColumns:
    """The entries that a value of range ``number`` can meet."""
    spans = entries.spans[cut.place]
    first = NEAR if number == 0 else int(cut.starts[number - 1])
    last = FAR if number == len(cut.starts) else int(cut.starts[number]) - 1
    touched = ~spans.constrained
    touched[spans.entry[(spans.lo <= last) & (spans.hi >= first)]] = True
    kept = np.flatnonzero(touched)
    return EntryColumns(
        entries.ids.take(pa.array(kept)),
        entries.since[kept],
        entries.until[kept],
        tuple(s.of(touched) for s in entries.spans),
    )


def parts_for(entries: Sequence[EntryColumns], attributes: Mapping[str, Kind], memory: int) -> int:
    """How many parts an index needs for each to be within ``memory``; 1 is the whole index.

    Texts have no ranges: an index on nothing else stays whole.
    """
    if all(is_text(kind) for kind in attributes.values()):
        return 1
    spans = [span for part in entries for span in part.spans]
    texts: int = sum(span.texts.nbytes for span in spans if span.texts is not None)
    names: int = sum(part.ids.nbytes for part in entries)
    size = sum(map(len, spans)) * BYTES_PER_CONDITION + names + texts
    return max(1, -(-size // memory))
