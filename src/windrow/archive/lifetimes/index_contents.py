"""What a version of an index of variable lifetimes holds, in numbers: what its manifest says.

A run is a set of buckets written together; how many of its records expire in which period is
all that has to be known of it to decide what the next update does. Runs are known by number, across
all partitionings of an index; a number is never used twice. The state is a value, goes into the
manifest as JSON, and is changed by ``plan_update`` only.

``grid_statistics`` says which periods live in which sub-index, as the paper's figures draw it, and
``plan_updates`` what is coming.
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


@dataclass(frozen=True)
class SubindexStatistics:
    """One sub-index. ``entries`` outlive the last period that is over; ``dead`` do not.

    ``inserted`` and ``expires`` are its periods among those that matter at the last update;
    that of an earlier grid, whose name begins with ``old``, is inserted into no more.
    """

    name: str
    inserted: tuple[int, ...]
    expires: tuple[int, ...]
    runs: int
    entries: int
    dead: int
    bytes: int


@dataclass(frozen=True)
class PlannedUpdate:
    """An update to come at the end of a period: the sub-indices inserted into and expired from."""

    now: int
    inserted: tuple[str, ...]
    expired: tuple[str, ...]


@dataclass(frozen=True)
class GridStatistics:
    """A version of an index in numbers."""

    version: int
    now: int | None
    grid: Grid
    periods: Periods
    format: Format
    encodings: Mapping[str, str]
    subindices: tuple[SubindexStatistics, ...]
    entries: int
    bytes: int

    def __str__(self) -> str:
        """A row for each sub-index: its ticks of insertion and of expiry."""
        heads = ("index", "inserted", "expires", "runs", "entries", "dead", "bytes")
        rows = [
            (
                s.name,
                self._ticks(s.inserted),
                self._ticks(s.expires),
                *(f"{number:,}" for number in (s.runs, s.entries, s.dead, s.bytes)),
            )
            for s in self.subindices
        ]
        table = [heads, *rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place < 3 else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        )

    def _ticks(self, periods: tuple[int, ...]) -> str:
        """Periods as ranges of ticks, neighbours joined."""
        joined = joined_neighbours(periods)
        return ", ".join(f"{self.periods.first(a)}-{self.periods.last(b)}" for a, b in joined)


def joined_neighbours(periods: tuple[int, ...]) -> list[tuple[int, int]]:
    """Periods as ranges, first and last.

    >>> joined_neighbours((1, 2, 3, 7))
    [(1, 3), (7, 7)]
    """
    joined: list[tuple[int, int]] = []
    for period in periods:
        if joined and joined[-1][1] == period - 1:
            joined[-1] = joined[-1][0], period
        else:
            joined.append((period, period))
    return joined


def grid_statistics(manifest: Manifest) -> GridStatistics:
    contents = Contents.of(manifest)
    subindices = _subindices(contents)
    return GridStatistics(
        manifest.version,
        contents.now,
        contents.grid,
        contents.periods,
        manifest.format,
        manifest.encodings,
        subindices,
        sum(s.entries for s in subindices),
        sum(s.bytes for s in subindices),
    )


def _subindices(contents: Contents) -> tuple[SubindexStatistics, ...]:
    """All of the present grid, and those of earlier ones that still hold something."""
    if contents.now is None:
        return ()
    found: list[SubindexStatistics] = []
    for number, part in enumerate(contents.partitions):
        grid, periods = part.grid, part.periods
        current = periods.of(contents.now)
        past = range(current - periods.count + 1, current + 1)
        future = range(periods.over(contents.now) + 1, current + periods.count + 1)
        rows = {period: grid.row(period, periods) for period in past}
        columns = {period: grid.column(period, periods) for period in future}
        for place, runs in enumerate(part.state.subindices):
            if number and not runs:
                continue
            entries = sum(run.live(part.state.over) for run in runs)
            found.append(
                SubindexStatistics(
                    subindex_name(number, place),
                    tuple(p for p, at in rows.items() if place in at),
                    tuple(p for p, at in columns.items() if place in at),
                    len(runs),
                    entries,
                    sum(run.total for run in runs) - entries,
                    sum(contents.runs[run.number].bytes for run in runs),
                )
            )
    return tuple(found)


def subindex_name(partition: int, place: int) -> str:
    """I1 of the present grid, old I1 of the one before, old I1 (2) of the one before that."""
    age = "" if partition < 2 else f" ({partition})"
    return f"{'old ' if partition else ''}I{place + 1}{age}"


def plan_updates(contents: Contents, updates: int) -> list[PlannedUpdate]:
    """What the next updates touch, one at the end of each period."""
    if contents.now is None:
        return []
    grid, periods = contents.grid, contents.periods
    first = periods.over(contents.now) + 1
    return [
        PlannedUpdate(
            periods.last(period),
            tuple(subindex_name(0, place) for place in grid.row(period, periods)),
            tuple(
                subindex_name(number, place)
                for number, part in enumerate(contents.partitions)
                for place in part.grid.column(period, part.periods)
                if number == 0 or part.expires_in(place, period)
            ),
        )
        for period in range(first, first + updates)
    ]
