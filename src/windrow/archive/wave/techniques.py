"""The update techniques: how an index that was changed is written over immutable runs.

Nothing is read or written here. The operations of a step move *pieces* about in a ``Draft``: a part
of a run that is there already, a run that is to be merged from parts, a run that is to be copied.
Only when all operations are through does an update technique say which pieces are rewritten; so
what one operation adds and the next deletes is never written, and an index that two names share is
written once. Data of a day is taken from wherever it stood when the step began.

The techniques are in place, by simple shadow and by packed shadow (Shivakumar, Garcia-Molina 1997,
2.1), and packed at rest, which is in-place updating while days come and one packed run once none
do.

An index that is not packed merges its runs by the growth factor of CONTIGUOUS, which gives a bucket
that has no room left g times the space and copies it there (Faloutsos, Jagadish, as used in 2.1 and
5). Over immutable runs the first run is the bucket and the runs after it fill its room: when they
hold more than (g - 1) times its entries, all are merged into one, which has room again. Likewise
when fewer than 1/g of the entries that are stored count. So at most g times the space is used that
a packed index needs, and an entry is rewritten about 1/(g - 1) times for each doubling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol

from windrow.archive.format.run_ref import RunRef
from windrow.archive.wave.operations import (
    Add,
    Build,
    Copy,
    Days,
    Delete,
    Operation,
    Pack,
    Rename,
    join_days,
)
from windrow.archive.wave.scheme_state import is_constituent
from windrow.archive.wave.wave import Index, Part, Settings


@dataclass(frozen=True)
class Merged:
    """A packed run of what counts of some parts, to be written."""

    parts: tuple[Part, ...]

    @cached_property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    def without(self, days: Days) -> Merged:
        return Merged(tuple(part.without(days) for part in self.parts))


@dataclass(frozen=True)
class Copied:
    """The same run under another name, to be written; ``owner`` keeps copies apart."""

    part: Part
    owner: str

    @property
    def rows(self) -> int:
        return self.part.rows


Piece = Part | Merged | Copied


@dataclass(frozen=True)
class Planned:
    """An index to be: ``changed`` if days were added to it or deleted from it."""

    days: Days
    pieces: tuple[Piece, ...]
    changed: bool = False


class Technique(Protocol):
    """How an index that was changed is written (Shivakumar, Garcia-Molina 1997, 2.1).

    ``packs_at_rest`` says whether constituents are packed once the day is in: those that the next
    day leaves alone, and those that have outgrown their room.
    """

    packs_at_rest: ClassVar[bool]

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        """Its pieces as they shall be; ``shared`` names the runs that queries could see before."""


@dataclass
class Draft:
    """Indexes on which operations are being carried out; start it anew for each step."""

    indexes: Mapping[str, Index]
    ahead: Mapping[int, Sequence[RunRef]]
    planned: dict[str, Planned | Index] = field(init=False)
    """What no operation has touched is the index that it was."""

    def __post_init__(self) -> None:
        self.planned = dict(self.indexes)

    def carry_out(self, operation: Operation) -> None:
        planned = self.planned
        if isinstance(operation, Build):
            planned[operation.target] = Planned(operation.days, _pack(self._of(operation.days)))
        elif isinstance(operation, Add):
            old = _as_planned(planned[operation.target])
            days = join_days(old.days, operation.days)
            found = self._of(operation.days)
            whole = [part for part in found if not part.masked]
            cut = [part for part in found if part.masked]
            pieces = (*old.pieces, *whole, *_pack(cut))
            planned[operation.target] = Planned(days, pieces, changed=True)
        elif isinstance(operation, Delete):
            old = _as_planned(planned[operation.target])
            days = tuple(day for day in old.days if day not in operation.days)
            pieces = tuple(_without(piece, operation.days) for piece in old.pieces)
            planned[operation.target] = Planned(days, pieces, changed=True)
        elif isinstance(operation, Copy):
            planned[operation.target] = planned[operation.source]
        elif isinstance(operation, Rename):
            planned[operation.target] = planned.pop(operation.source)
        elif isinstance(operation, Pack):
            old = _as_planned(planned[operation.target])
            planned[operation.target] = replace(old, pieces=merge_pieces(old.pieces))
        else:
            del planned[operation.target]

    def finish(self, technique: Technique) -> dict[str, Planned | Index]:
        """All indexes with their pieces as the technique wants them; what counts nothing is out."""
        shared = frozenset(
            part.run.name
            for name, index in self.indexes.items()
            if is_constituent(name)
            for part in index.parts
        )
        done: dict[str, Planned | Index] = {}
        for name, planned in self.planned.items():
            if isinstance(planned, Index):
                done[name] = planned
                continue
            pieces = tuple(piece for piece in planned.pieces if piece.rows)
            if planned.changed:
                pieces = technique.rewrite(name, Planned(planned.days, pieces, True), shared)
            done[name] = Planned(planned.days, pieces, planned.changed)
        return done

    def _of(self, days: Days) -> list[Part]:
        """The parts of runs that have the data of some days, each day from one place."""
        found: dict[str, tuple[RunRef, set[int]]] = {}
        for day in days:
            for run in self._runs(day):
                found.setdefault(run.name, (run, set()))[1].add(day)
        return [
            Part(run).without(tuple(day for day, _ in run.days if day not in wanted))
            for run, wanted in found.values()
        ]

    def _runs(self, day: int) -> list[RunRef]:
        if day in self.ahead:
            return list(self.ahead[day])
        for constituents in (True, False):
            for name, index in self.indexes.items():
                if is_constituent(name) == constituents:
                    found = [part.run for part in index.parts if part.has(day)]
                    if found:
                        return found
        return []


def _as_planned(plan: Planned | Index) -> Planned:
    return Planned(plan.days, plan.parts) if isinstance(plan, Index) else plan


def merge_pieces(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """All pieces as one packed run; a run that is packed already stays what it is."""
    parts: list[Part] = []
    for piece in pieces:
        if isinstance(piece, Merged):
            parts += piece.parts
        else:
            parts.append(piece.part if isinstance(piece, Copied) else piece)
    return _pack(parts)


def _pack(parts: Sequence[Part]) -> tuple[Piece, ...]:
    live = tuple(part for part in parts if part.rows)
    if len(live) <= 1 and not any(part.masked for part in live):
        return live
    return (Merged(live),)


def _without(piece: Piece, days: Days) -> Piece:
    assert not isinstance(piece, Copied)  # copies are made when all operations are through
    return piece.without(days)


def overgrown(pieces: tuple[Piece, ...], growth: float) -> bool:
    """Whether the pieces of an index, in the order in which they came, are to be merged."""
    if not pieces:
        return False
    stored = [_stored_rows(piece) for piece in pieces]
    live = sum(piece.rows for piece in pieces)
    return sum(stored[1:]) > (growth - 1) * stored[0] or sum(stored) > growth * live


def _stored_rows(piece: Piece) -> int:
    """The entries that the run of a piece has, or will have when it is written."""
    if isinstance(piece, Merged):
        return piece.rows
    part = piece.part if isinstance(piece, Copied) else piece
    return part.run.rows


@dataclass(frozen=True)
class InPlace:
    """Shivakumar, Garcia-Molina 1997, 2.1. Runs are immutable, so readers need no protection.

    Writes the new day and nothing else, until the index has outgrown its room.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = False

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        return merge_pieces(pieces) if overgrown(pieces, self.growth) else pieces


@dataclass(frozen=True)
class SimpleShadow:
    """Shivakumar, Garcia-Molina 1997, 2.1. The runs that queries could see are copied file by
    file; temporary indexes are updated in place, as no query sees them.

    Costs a copy of a constituent for each update of it. Over immutable runs it protects nobody that
    in-place updating does not; what it gives is that no version shares an updated index with the
    one before, so a version's files can be moved or thrown away by themselves.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = False

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        if overgrown(pieces, self.growth):
            return merge_pieces(pieces)
        return tuple(
            Copied(piece, name) if isinstance(piece, Part) and piece.run.name in shared else piece
            for piece in pieces
        )


@dataclass(frozen=True)
class PackedShadow:
    """Shivakumar, Garcia-Molina 1997, 2.1. One run, read and written once for each update."""

    packs_at_rest: ClassVar[bool] = False

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        return merge_pieces(planned.pieces)


@dataclass(frozen=True)
class PackedAtRest:
    """In-place updating, then one pass of packed shadow updating (Shivakumar, Garcia-Molina
    1997, 2.1) when the next day leaves the constituent alone, or it has outgrown its room.

    Under WATA a constituent takes its days one after the other and is then read for a window's
    length: all but the one that is being filled are packed. Packing comes after the switch, so
    that a transition writes the new day and nothing else; temporary indexes, which nobody awaits,
    are merged as they are in place. Where every day changes the one constituent there is (DEL with
    n = 1) nothing ever rests.
    """

    growth: float
    packs_at_rest: ClassVar[bool] = True

    def rewrite(self, name: str, planned: Planned, shared: frozenset[str]) -> tuple[Piece, ...]:
        pieces = planned.pieces
        waits = is_constituent(name)
        return merge_pieces(pieces) if not waits and overgrown(pieces, self.growth) else pieces


def technique_of(settings: Settings) -> Technique:
    if settings.technique == "in-place":
        return InPlace(settings.growth)
    if settings.technique == "simple shadow":
        return SimpleShadow(settings.growth)
    if settings.technique == "packed at rest":
        return PackedAtRest(settings.growth)
    return PackedShadow()
