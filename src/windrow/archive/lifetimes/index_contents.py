"""What the manifest of an index of variable lifetimes says, besides its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from windrow.archive.format.layout import MAX_DAYS, Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.lifetimes.partition import Partition
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.lifetimes.periods import LifetimeError, Periods
from windrow.archive.lifetimes.state import IndexState
from windrow.archive.versions.manifest import Manifest, understood

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
        self,
        version: int,
        token: str,
        layout: Layout,
        form: Format,
        encodings: Mapping[str, str],
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
        with understood(f"version {manifest.version}"):
            return cls(
                Periods.from_json(body["periods"]),
                Grid.from_json(body["grid"]),
                None if body["now"] is None else int(body["now"]),
                None if body["state"] is None else IndexState.from_json(body["state"]),
                {int(body["numbers"][run.name]): run for run in manifest.runs},
                {str(source): int(batch) for source, batch in body["batches"].items()},
                tuple(map(Partition.from_json, body.get("draining", ()))),  # the first had none
            )
