"""Where the tuples of a sender go. Apart from packing, so that who only names them loads little."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from windrow.plan.physical.stages import Stage, StageEdge

PACKED = "job int, stage int, bucket int, blob binary"
"""The schema of every packed DataFrame, as Spark writes it."""


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
        alike = [(edge.pre, edge.key, route.buckets) for _, edge in route.edges]
        kinds = tuple(known.setdefault(same, len(known)) for same in alike)
        numbered.append((job, replace(route, kinds=kinds)))
    return tuple(numbered)
