"""What is spent and what is held, counted in days, before any parameter puts a price on it."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.advise.parameters import Parameters


@dataclass(frozen=True)
class Effort:
    """Days built, added and deleted; days of unpacked and of packed index copied."""

    built: int = 0
    added: int = 0
    deleted: int = 0
    copied: int = 0
    smart_copied: int = 0

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.built + other.built,
            self.added + other.added,
            self.deleted + other.deleted,
            self.copied + other.copied,
            self.smart_copied + other.smart_copied,
        )

    def seconds(self, of: Parameters) -> float:
        return (
            self.built * of.build
            + self.added * of.add
            + self.deleted * of.delete
            + self.copied * of.copy
            + self.smart_copied * of.smart_copy
        )


@dataclass(frozen=True, order=True)
class Held:
    """Days in packed and in other indexes."""

    packed: int = 0
    unpacked: int = 0

    def __add__(self, other: Held) -> Held:
        return Held(self.packed + other.packed, self.unpacked + other.unpacked)

    def __sub__(self, other: Held) -> Held:
        return Held(self.packed - other.packed, self.unpacked - other.unpacked)

    @property
    def days(self) -> int:
        return self.packed + self.unpacked

    def megabytes(self, of: Parameters) -> float:
        return self.packed * of.packed + self.unpacked * of.unpacked


@dataclass(frozen=True)
class DayEffort:
    """One day of one scheme under one technique.

    ``pre`` is all work but the transition: what is done before the data arrives and what
    prepares later days. ``shown`` is what queries read once the day is in, ``resting`` that
    and the temporaries, ``peaks`` the most that is held at any moment of the step.
    """

    pre: Effort
    transition: Effort
    shown: Held
    resting: Held
    peaks: tuple[Held, ...]


def highest(moments: set[Held]) -> tuple[Held, ...]:
    """Those of which none covers another: one of them is the peak, whatever S and S' are."""
    kept: list[Held] = []
    for moment in sorted(moments, reverse=True):
        if not kept or moment.unpacked > kept[-1].unpacked:
            kept.append(moment)
    return tuple(kept)
