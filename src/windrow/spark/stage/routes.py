"""Where the tuples of a sender go. Apart from packing, so that who only names them loads little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.plan.physical.stages import Stage, StageEdge

PACKED = "stage int, bucket int, blob binary"
"""The schema of every packed DataFrame, as Spark writes it."""


@dataclass(frozen=True)
class Routes:
    """Where the tuples of one sender (a stream or a stage) go.

    Large blobs go through files of the directory ``exchange``, if there is one. Of those for other
    buckets than the ``wanted`` ones nothing is sent.
    """

    edges: tuple[tuple[int, StageEdge], ...]
    buckets: tuple[int, ...]
    exchange: str | None = None
    wanted: frozenset[int] | None = None

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
