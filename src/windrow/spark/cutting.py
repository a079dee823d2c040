"""Whether an index of subscriptions is cut by ranges, and into how many parts.

Wu, Chen, Yu 2004, 3.4: an index that is too much for one machine is separated into ranges of the
attribute, one for each. ``windrow.spark.match`` and the subscriptions of scripts are decided alike;
what one worker may hold is a setting of the session (``windrow.spark.session``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow.plan.nodes import Node, Subscribe, walk
from windrow.plan.nodes.subscribe import Ranges
from windrow.spark.home import Layout
from windrow.spark.parts import cut_by
from windrow.spark.spreading import spread_buckets
from windrow.streams.files import find_files
from windrow.subscriptions.files import read
from windrow.subscriptions.kinds import Kind, is_text
from windrow.subscriptions.tables import Entries

BYTES_PER_CONDITION = 160
"""What a range takes with its place in an index (measured)."""


def parts_for(entries: Sequence[Entries], attributes: Mapping[str, Kind], memory: int) -> int:
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


def layout_for(plan: Node, partitions: int, memory: int) -> Layout:
    """The buckets of a query and, if its subscriptions are past ``memory``, the range of each.

    There are as many ranges as buckets, and never fewer than are needed.
    """
    node = next((n for n in walk(plan) if isinstance(n, Subscribe)), None)
    if node is None:
        return Layout(spread_buckets(partitions))
    files = find_files(node.source)
    entries = [read(p, node.source.format, node.attributes, node.clock) for p in files]
    parts = parts_for(entries, node.attributes, memory)
    if parts == 1:
        return Layout(spread_buckets(partitions))
    buckets = spread_buckets(partitions, max(2, -(-parts // partitions)))
    cut = cut_by(entries, node.attributes, None, len(buckets))
    return Layout(buckets, Ranges(cut.place, tuple(cut.starts.tolist()), memory))
