"""Where the tuples of a sender go. Apart from packing, so that who only names them loads little.

Buckets have numbers that Spark spreads evenly over the partitions of a shuffle. Spark places a row
by ``pmod(hash(bucket), partitions)``. Its hash of an integer is Murmur3 (x86, 32 bits, seed 42),
done here in Python because asking Spark costs a job, seconds on a cold machine.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from windrow.plan.physical.stages import Stage, StageEdge

PACKED = "job int, stage int, bucket int, blob binary"
"""The schema of every packed DataFrame, as Spark writes it."""
SEED = 42
WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Routes:
    """Where the tuples of one sender (a stream or a stage) go.

    Large blobs go through files of the directory ``exchange``, if there is one. Of those for other
    buckets than the ``wanted`` ones nothing is sent. Edges of the same of ``kinds``, of whatever
    job, send the same (``with_kinds``).
    """

    edges: tuple[tuple[int, StageEdge], ...]
    buckets: tuple[int, ...]
    exchange: str | None = None
    wanted: frozenset[int] | None = None
    kinds: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        source: str | int,
        stages: Sequence[Stage],
        buckets: Sequence[int],
        exchange: str | None = None,
    ) -> Routes:
        """The routes of what ``source`` sends to any of the stages."""
        edges = tuple((s.number, e) for s in stages for e in s.inputs if e.source == source)
        return cls(edges, tuple(buckets), exchange)


def with_kinds(routes: Iterable[tuple[int, Routes]]) -> tuple[tuple[int, Routes], ...]:
    """The routes of one sender to many jobs; edges that are alike get the same number."""
    known: dict[Hashable, int] = {}
    numbered = []
    for job, route in routes:
        alike = [(e.pre, e.summed, e.thinned, e.key, route.buckets) for _, e in route.edges]
        kinds = tuple(known.setdefault(same, len(known)) for same in alike)
        numbered.append((job, replace(route, kinds=kinds)))
    return tuple(numbered)


def spark_hash(value: int) -> int:
    """What Spark's ``hash`` gives for an INT.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    k = (value & WORD) * 0xCC9E2D51 & WORD
    k = _rotated(k, 15) * 0x1B873593 & WORD
    h = (_rotated(SEED ^ k, 13) * 5 + 0xE6546B64) & WORD
    h ^= 4  # the number of bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & WORD
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def spread_buckets(partitions: int, per_partition: int = 1) -> tuple[int, ...]:
    """The smallest numbers of which each partition gets ``per_partition``.

    >>> [spark_hash(b) % 2 for b in spread_buckets(2, per_partition=3)].count(0)
    3
    """
    found: dict[int, list[int]] = {p: [] for p in range(partitions)}
    number, missing = 0, partitions * per_partition
    while missing:
        chosen = found[spark_hash(number) % partitions]
        if len(chosen) < per_partition:
            chosen.append(number)
            missing -= 1
        number += 1
    return tuple(sorted(b for chosen in found.values() for b in chosen))


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & WORD
