"""A window of days as its constituents: what the manifest of a wave index says.

Invariants
    1. No day is in two constituents; a day that is waiting (``ahead``) is in none.
    2. The time-sets are those of the scheme's state once ``pending`` has been carried out.
    3. An index covers a day if and only if the day is in its time-set; entries of other days that
       its runs still have are masked. A day may be covered and have no entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

from windrow.archive.errors import ArchiveError
from windrow.archive.format.day_calendar import NUMBERS, Calendar
from windrow.archive.format.layout import MAX_DAYS, Layout
from windrow.archive.format.run_ref import Format, RunRef
from windrow.archive.versions.manifest import Manifest, unreadable_is_damaged
from windrow.archive.wave.operations import Add, Build, Copy, Days, Delete, Drop, Operation, Rename
from windrow.archive.wave.scheme_state import State, check, is_constituent
from windrow.archive.wave.schemes import scheme_of

TechniqueName = Literal["in-place", "simple shadow", "packed shadow", "packed at rest"]
TECHNIQUES: tuple[TechniqueName, ...] = get_args(TechniqueName)
KIND = "wave"
DRAINING = "old "
"""What the name of an index of an earlier layout begins with."""


@dataclass(frozen=True)
class Settings:
    """What is chosen when an archive is made. ``growth`` is CONTIGUOUS's g (``techniques.py``)."""

    window: int
    scheme: str
    n: int
    technique: TechniqueName
    growth: float = 2.0
    calendar: Calendar = NUMBERS

    def __post_init__(self) -> None:
        """Refuse what cannot be, whether an archive is made or given another layout."""
        check(scheme_of(self.scheme), self.window, self.n)
        if self.window > MAX_DAYS:
            raise ArchiveError(
                where="window", expected=f"at most {MAX_DAYS} days", found=str(self.window)
            )
        if self.technique not in TECHNIQUES:
            raise ArchiveError(
                where="technique", expected=", ".join(TECHNIQUES), found=self.technique
            )
        if not self.growth > 1:
            raise ArchiveError(
                where="growth", expected="a factor greater than 1", found=str(self.growth)
            )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Settings:
        """As a manifest has it; the first archives had no calendar."""
        return cls(**{**value, "calendar": Calendar(**value.get("calendar", {}))})


def usual_technique(scheme: str) -> TechniqueName:
    """The technique that is taken if none is named.

    Under WATA a constituent is filled day by day and then left alone until it is thrown away, so
    it is packed once; elsewhere indexes change to their end, and stay packed all the time.
    """
    return "packed at rest" if scheme_of(scheme).name == "WATA" else "packed shadow"


@dataclass(frozen=True)
class Part:
    """A run as an index uses it: without its ``masked`` days."""

    run: RunRef
    masked: Days = ()

    @cached_property
    def days(self) -> Days:
        """The days that count, in ascending order."""
        masked = set(self.masked)
        return tuple(day for day in self.run.rows_of if day not in masked)

    @cached_property
    def rows(self) -> int:
        """The entries that count."""
        return self.run.rows - sum(self.run.rows_of.get(day, 0) for day in self.masked)

    def has(self, day: int) -> bool:
        """Whether entries of a day count."""
        return day in self.run.rows_of and day not in self.masked

    def without(self, days: Days) -> Part:
        more = [day for day in days if self.has(day)]
        return Part(self.run, tuple(sorted((*self.masked, *more)))) if more else self


@dataclass(frozen=True)
class Index:
    """A constituent or a temporary index: a time-set and the runs that have its entries."""

    days: Days
    parts: tuple[Part, ...]

    @property
    def is_packed(self) -> bool:
        return len(self.parts) <= 1 and not any(part.masked for part in self.parts)


@dataclass(frozen=True)
class Wave:
    """The contents of a wave index. ``now`` is the newest day of the window, None before any.

    ``ahead`` has the runs of days after ``now``; ``pending`` what remains to be done of the step
    to ``now``; ``prepared`` says that the first operations of the next step are done already.
    ``batches`` has the last batch that each named source has appended. ``draining`` are indexes of
    an earlier layout: they answer queries and lose their days one by one; to the indexes of the
    present layout those days are empty.
    """

    settings: Settings
    now: int | None = None
    state: State | None = None
    indexes: Mapping[str, Index] = field(default_factory=dict)
    ahead: Mapping[int, tuple[RunRef, ...]] = field(default_factory=dict)
    pending: tuple[Operation, ...] = ()
    prepared: bool = False
    batches: Mapping[str, int] = field(default_factory=dict)
    draining: Mapping[str, Index] = field(default_factory=dict)

    def constituents(self) -> dict[str, Index]:
        """The indexes that answer queries."""
        return {name: index for name, index in self.indexes.items() if is_constituent(name)}

    def runs(self) -> tuple[RunRef, ...]:
        """Every run, once, by name."""
        held = (*self.indexes.values(), *self.draining.values())
        parts = (part.run for index in held for part in index.parts)
        waiting = (run for runs in self.ahead.values() for run in runs)
        found = {run.name: run for run in (*parts, *waiting)}
        return tuple(found[name] for name in sorted(found))

    def manifest(
        self, version: int, token: str, layout: Layout, form: Format, encodings: Mapping[str, str]
    ) -> Manifest:
        body = {
            "settings": asdict(self.settings),
            "now": self.now,
            "state": None if self.state is None else self.state.to_json(),
            "indexes": _indexes_json(self.indexes),
            "ahead": {str(day): [r.name for r in runs] for day, runs in self.ahead.items()},
            "pending": [_operation_json(operation) for operation in self.pending],
            "prepared": self.prepared,
            "batches": dict(self.batches),
            "draining": _indexes_json(self.draining),
        }
        return Manifest(version, token, KIND, layout, form, encodings, self.runs(), body)

    @classmethod
    def of(cls, manifest: Manifest) -> Wave:
        body, runs = manifest.body, {run.name: run for run in manifest.runs}
        with unreadable_is_damaged(f"version {manifest.version}"):
            return cls(
                Settings.from_json(body["settings"]),
                None if body["now"] is None else int(body["now"]),
                None if body["state"] is None else State.from_json(body["state"]),
                _indexes(body["indexes"], runs),
                {int(day): tuple(runs[n] for n in names) for day, names in body["ahead"].items()},
                tuple(_operation(value) for value in body["pending"]),
                bool(body["prepared"]),
                {str(source): int(batch) for source, batch in body["batches"].items()},
                _indexes(body.get("draining", {}), runs),  # the first archives had none
            )


def _indexes_json(indexes: Mapping[str, Index]) -> dict[str, Any]:
    return {
        name: {
            "days": list(index.days),
            "parts": [{"run": p.run.name, "masked": list(p.masked)} for p in index.parts],
        }
        for name, index in indexes.items()
    }


def _indexes(value: Mapping[str, Any], runs: Mapping[str, RunRef]) -> dict[str, Index]:
    return {
        name: Index(
            tuple(map(int, index["days"])),
            tuple(Part(runs[p["run"]], tuple(map(int, p["masked"]))) for p in index["parts"]),
        )
        for name, index in value.items()
    }


_OPERATIONS: dict[str, Callable[..., Operation]] = {
    kind.__name__: kind for kind in (Add, Build, Copy, Delete, Drop, Rename)
}


def _operation_json(operation: Operation) -> dict[str, Any]:
    return {"operation": type(operation).__name__, **asdict(operation)}


def _operation(value: Mapping[str, Any]) -> Operation:
    fields = {n: tuple(map(int, v)) if n == "days" else str(v) for n, v in value.items()}
    return _OPERATIONS[str(fields.pop("operation"))](**fields)


@dataclass(frozen=True)
class IndexStatistics:
    """One index. ``entries`` are those that count; ``dead`` are masked ones that its runs have."""

    name: str
    constituent: bool
    days: Days
    runs: int
    entries: int
    dead: int
    bytes: int
    packed: bool


@dataclass(frozen=True)
class WaveStatistics:
    """A version of an archive in numbers. ``bytes`` are those of all its runs, each once."""

    version: int
    now: int | None
    settings: Settings
    format: Format
    encodings: Mapping[str, str]
    indexes: tuple[IndexStatistics, ...]
    ahead: Mapping[int, int]
    entries: int
    bytes: int

    def __str__(self) -> str:
        """A row for each index: its days, as the papers' tables have them."""
        rows = [
            (i.name, f"{{{', '.join(map(str, i.days))}}}", f"{i.entries:,}", f"{i.bytes:,}")
            for i in self.indexes
        ]
        rows += [("ahead", f"{{{d}}}", f"{n:,}", "") for d, n in sorted(self.ahead.items())]
        table = [("index", "days", "entries", "bytes"), *rows]
        widths = [max(len(row[i]) for row in table) for i in range(4)]
        return "\n".join(
            f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}".rstrip()
            for a, b, c, d in table
        )


def wave_statistics(manifest: Manifest, wave: Wave) -> WaveStatistics:
    indexes = tuple(_index(name, i) for name, i in (*wave.indexes.items(), *wave.draining.items()))
    return WaveStatistics(
        manifest.version,
        wave.now,
        wave.settings,
        manifest.format,
        manifest.encodings,
        indexes,
        {day: sum(run.rows for run in runs) for day, runs in wave.ahead.items()},
        sum(i.entries for i in indexes if i.constituent),
        sum(run.bytes for run in manifest.runs),
    )


def _index(name: str, index: Index) -> IndexStatistics:
    stored = sum(part.run.rows for part in index.parts)
    entries = sum(part.rows for part in index.parts)
    return IndexStatistics(
        name,
        is_constituent(name) or name.startswith(DRAINING),
        index.days,
        len(index.parts),
        entries,
        stored - entries,
        sum(part.run.bytes for part in index.parts),
        index.is_packed,
    )
