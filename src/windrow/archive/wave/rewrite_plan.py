"""Operations on indexes, carried out on paper: which runs an index will have, and from what.

Nothing is read or written here. Operations move *pieces* about: a part of a run that is there
already, a run that is to be merged from parts, a run that is to be copied. Only when all
operations of a step are through does an update technique say which pieces are rewritten; so what
one operation adds and the next deletes is never written, and an index that two names share is
written once. Data of a day is taken from wherever it stood when the step began.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol

from windrow.archive.format.run_ref import RunRef
from windrow.archive.wave.schemes.operations import (
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
from windrow.archive.wave.schemes.scheme import is_constituent
from windrow.archive.wave.wave import Index, Part


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
