"""A stream in tasks: its files are read once, and what they hold is packed for every job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from windrow.core.thresholds import Threshold
from windrow.spark.source.file_log import Stretch
from windrow.spark.source.file_source import SourceSpec
from windrow.spark.source.read_task import Intake
from windrow.spark.stage.level_task import failing_alone
from windrow.spark.stage.packing import Counts, Parcel, Scattered, add_counts, scatter, tell
from windrow.spark.stage.routes import Routes

ROWS_PER_BLOB = Threshold(1_000_000, least=1)
"""Tuples that a task gathers before it packs them."""

Parcels = dict[tuple[int, int], Parcel]
"""By stage and bucket."""


@dataclass(frozen=True)
class StreamTask:
    """What tasks need to know of a stream: how to read it, and where its tuples go, by job."""

    spec: SourceSpec
    routes: tuple[tuple[int, Routes], ...]

    def parcels(
        self, stretch: Stretch, jobs: frozenset[int], wanted: frozenset[int] | None = None
    ) -> Iterator[tuple[int, Parcels]]:
        """The tuples of a stretch for each of some jobs, then what is known of time.

        Of other buckets than the ``wanted`` ones nothing is sent. Who has a job's first bucket
        tells it the counts, and who has the first of all keeps the quarantine.
        """
        spec = self.spec
        routes = {job: replace(r, wanted=wanted) for job, r in self.routes if job in jobs}
        first = not routes or wanted is None or self._first_bucket in wanted
        quarantine = spec.quarantine if first else None
        intake = Intake(spec, quarantine, ROWS_PER_BLOB.value)
        counts: dict[int, Counts] = {job: {} for job in routes}
        before = zip(stretch.entries, stretch.times, strict=False)
        for chunk, delta in enumerate(intake.files(before)):
            known: Scattered = {}
            for job, route in routes.items():
                with failing_alone(job):
                    order = (stretch.first, chunk)
                    yield job, scatter(delta, route, counts[job], order, known)
        for job, route in routes.items():
            buckets = [b for b in route.buckets if wanted is None or b in wanted]
            if buckets:
                told: Parcels = {}
                counting = route.buckets[0] in buckets
                counted = add_counts([intake.counts, counts[job]]) if counting else {}
                tell(told, 0, buckets, {spec.name: stretch.times[-1]}, counted)
                yield job, told

    @property
    def _first_bucket(self) -> int:
        """The same in every micro-batch, whichever jobs take part in it."""
        return min(bucket for _, routes in self.routes for bucket in routes.buckets)
