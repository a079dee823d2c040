"""What an index of variable lifetimes holds, in numbers: sub-indices, their runs, their expiries.

A run is a set of buckets written together; how many of its records expire in which period is
all that has to be known of it to decide what the next update does. The state is a value, goes
into the manifest as JSON, and is changed by `plan_update` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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

    def stored(self) -> int:
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


def added(histograms: Iterable[Histogram], over: int) -> Histogram:
    """The sum of histograms without what is dead after period ``over``."""
    counts: dict[int, int] = {}
    for part in histograms:
        for period, records in part:
            if period > over:
                counts[period] = counts.get(period, 0) + records
    return histogram(counts)
