"""Into how many buckets the state of a job is spread, and into which.

Decided when a job is new, and kept as long as there is state: a bucket is where the tuples of a key
meet.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from windrow.core.thresholds import Threshold
from windrow.plan.nodes import Node, Subscribe, walk
from windrow.plan.nodes.routed import Ranges
from windrow.plan.physical.stages import Stage
from windrow.spark.stage.routes import spread_buckets
from windrow.spark.stage.subscription_index import cut_by, parts_for
from windrow.subscriptions.script_subscriptions import read
from windrow.tables.find_files import find_files

JOBS_PER_PARTITION = Threshold(4, least=1)
"""Jobs that start together for each partition, from which plain ones have one bucket each: then
jobs keep all cores busy, and a job's tuples need not be cut into parts that each take their time.
"""


@dataclass(frozen=True)
class Layout:
    """How state is spread, which stays as it is as long as there is state.

    ``cut`` gives each bucket a range of the subscriptions, if there are too many for a worker.
    """

    buckets: tuple[int, ...]
    cut: Ranges | None = None


@dataclass(frozen=True)
class Seat:
    """A job among those of a script that start together: its ``number``, of ``jobs``."""

    number: int = 0
    jobs: int = 1


ALONE = Seat()


def layout_for(
    plan: Node, stages: Sequence[Stage], partitions: int, memory: int, seat: Seat = ALONE
) -> Layout:
    """The buckets of a job and, if its subscriptions are past ``memory``, the range of each.

    There are as many ranges as buckets, and never fewer than are needed. A job that needs all of
    its tuples in one place has one bucket; which one that is depends on its plan, so that such jobs
    are not all in the same. So has one of many plain jobs: its ``seat`` says which.
    """
    buckets = spread_buckets(partitions)
    if all(edge.key is None for stage in stages for edge in stage.inputs):
        return Layout((buckets[zlib.crc32(repr(stages).encode()) % len(buckets)],))
    if is_plain(stages) and seat.jobs >= JOBS_PER_PARTITION.value * partitions:
        return Layout((buckets[seat.number % len(buckets)],))
    node = next((n for n in walk(plan) if isinstance(n, Subscribe)), None)
    if node is None:
        return Layout(buckets)
    files = find_files(node.source)
    entries = [read(p, node.source.format, node.attributes, node.clock) for p in files]
    parts = parts_for(entries, node.attributes, memory)
    if parts == 1:
        return Layout(buckets)
    buckets = spread_buckets(partitions, max(2, -(-parts // partitions)))
    cut = cut_by(entries, node.attributes, None, len(buckets))
    return Layout(buckets, Ranges(cut.place, tuple(cut.starts.tolist()), memory))


def is_plain(stages: Sequence[Stage]) -> bool:
    """Whether a job has one stage over one stream, in which a tuple meets those of its own key: no
    join, whose work may be very many times that of another job over the same tuples."""
    (first, *others) = stages
    return not others and len(first.inputs) == 1 and first.inputs[0].post is None
