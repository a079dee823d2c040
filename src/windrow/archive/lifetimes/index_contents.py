"""What a version of an index of variable lifetimes holds, in numbers: what its manifest says.

A run is a set of buckets written together; how many of its records expire in which period is
all that has to be known of it to decide what the next update does. Runs are known by number, across
all partitionings of an index; a number is never used twice. The state is a value, goes into the
manifest as JSON, and is changed by ``plan_update`` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from windrow.archive.errors import LifetimeError
from windrow.archive.format.layout import MAX_DAYS, Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.partition_grid import Grid, GridTechnique, Periods
from windrow.archive.versions.manifest import Manifest, unreadable_is_damaged

Histogram = tuple[tuple[int, int], ...]
"""(expiry period, records), ascending, no zeros."""


@dataclass(frozen=True)
class RunState:
    """One run of a sub-index. ``expiries`` counts all its records, also those dead by now."""

    number: int
    expiries: Histogram

    @property
    def total(self) -> int:
        return sum(records for _, records in self.expiries)

    def live(self, over: int) -> int:
        """Records that outlive period ``over``."""
        return sum(records for period, records in self.expiries if period > over)


@dataclass(frozen=True)
class IndexState:
    """All sub-indices by number, their runs oldest first; ``over`` is the last period that is."""

    over: int
    next_run: int
    subindices: tuple[tuple[RunState, ...], ...]

    @classmethod
    def empty(cls, size: int, over: int) -> IndexState:
        return cls(over, 1, ((),) * size)

    def sizes(self) -> tuple[int, ...]:
        """Live records per sub-index."""
        return tuple(sum(run.live(self.over) for run in runs) for runs in self.subindices)

    def stored_records(self) -> int:
        """Records in files, dead ones included."""
        return sum(run.total for runs in self.subindices for run in runs)

    def run_numbers(self) -> frozenset[int]:
        return frozenset(run.number for runs in self.subindices for run in runs)

    def to_json(self) -> dict[str, Any]:
        return {
            "over": self.over,
            "next_run": self.next_run,
            "subindices": [
                [{"run": run.number, "expiries": [list(e) for e in run.expiries]} for run in runs]
                for runs in self.subindices
            ],
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> IndexState:
        return cls(
            int(found["over"]),
            int(found["next_run"]),
            tuple(
                tuple(
                    RunState(int(run["run"]), tuple((int(p), int(c)) for p, c in run["expiries"]))
                    for run in runs
                )
                for runs in found["subindices"]
            ),
        )


def histogram(counts: Mapping[int, int]) -> Histogram:
    return tuple(sorted((period, records) for period, records in counts.items() if records))


def sum_histograms(histograms: Iterable[Histogram], over: int) -> Histogram:
    """The sum of histograms without what is dead after period ``over``."""
    counts: dict[int, int] = {}
    for part in histograms:
        for period, records in part:
            if period > over:
                counts[period] = counts.get(period, 0) + records
    return histogram(counts)


@dataclass(frozen=True)
class Partition:
    """``state`` is in the sub-indices of ``grid``, whose periods are those of ``periods``."""

    grid: Grid
    periods: Periods
    state: IndexState

    @property
    def live(self) -> bool:
        return any(self.state.subindices)

    def expires_in(self, place: int, period: int) -> bool:
        """Whether a sub-index has records that expire in a period."""
        ends = (end for run in self.state.subindices[place] for end, _ in run.expiries)
        return period in ends

    def to_drain(self) -> Partition:
        """The same, when nothing will be inserted any more.

        Rebuilding it with every update would cost more than the dead are worth, so it is kept as
        NoRebuild keeps a grid: files hold at most two records for each live one.
        """
        return replace(self, grid=replace(self.grid, technique=GridTechnique.NO_REBUILD))

    def to_json(self) -> dict[str, Any]:
        return {
            "grid": self.grid.to_json(),
            "periods": asdict(self.periods),
            "state": self.state.to_json(),
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Partition:
        return cls(
            Grid.from_json(found["grid"]),
            Periods.from_json(found["periods"]),
            IndexState.from_json(found["state"]),
        )


KIND = "lifetimes"


@dataclass(frozen=True)
class Contents:
    """The contents of an index. ``now`` is the instant of the last update, None before any.

    ``state`` knows runs by number, ``runs`` has them all. ``batches`` has the last batch that
    each named source has inserted. ``draining`` are partitionings that the index had before:
    their records answer queries, and expire where they are.
    """

    periods: Periods
    grid: Grid
    now: int | None = None
    state: IndexState | None = None
    runs: Mapping[int, RunRef] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    draining: tuple[Partition, ...] = ()

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """All that hold records, the present one first; none before the first update."""
        if self.state is None:
            return ()
        return Partition(self.grid, self.periods, self.state), *self.draining

    @property
    def next_run(self) -> int:
        """The first number that no run has had."""
        return max((part.state.next_run for part in self.partitions), default=1)

    def require_room(self) -> None:
        """Refuse a grid that the periods cannot fill, and more periods than a run can tell."""
        self.grid.require_room(self.periods)
        if self.periods.count >= MAX_DAYS:
            raise LifetimeError(
                where="interval",
                expected=f"fewer than {MAX_DAYS} updates in the longest lifetime",
                found=str(self.periods.count),
                remedy="update less often",
            )

    def manifest(
        self, version: int, token: str, layout: Layout, form: Format, encodings: Mapping[str, str]
    ) -> Manifest:
        body: dict[str, Any] = {
            "periods": asdict(self.periods),
            "grid": self.grid.to_json(),
            "now": self.now,
            "state": None if self.state is None else self.state.to_json(),
            "numbers": {run.name: number for number, run in self.runs.items()},
            "batches": dict(self.batches),
            "draining": [part.to_json() for part in self.draining],
        }
        runs = tuple(self.runs.values())
        return Manifest(version, token, KIND, layout, form, encodings, runs, body)

    @classmethod
    def of(cls, manifest: Manifest) -> Contents:
        body = manifest.body
        with unreadable_is_damaged(f"version {manifest.version}"):
            return cls(
                Periods.from_json(body["periods"]),
                Grid.from_json(body["grid"]),
                None if body["now"] is None else int(body["now"]),
                None if body["state"] is None else IndexState.from_json(body["state"]),
                {int(body["numbers"][run.name]): run for run in manifest.runs},
                {str(source): int(batch) for source, batch in body["batches"].items()},
                tuple(map(Partition.from_json, body.get("draining", ()))),  # the first had none
            )
