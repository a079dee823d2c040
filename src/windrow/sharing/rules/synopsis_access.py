"""A query with the synopses that it reads: what the rules of joint computation compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from windrow.sharing.rules.interval_contents import Contents
from windrow.sharing.rules.periodic_query import PeriodicQuery
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape


@dataclass(frozen=True)
class Reading:
    """How one of the contents that a query needs is put together.

    From one synopsis, or by SS4 from several: those ``added`` less those ``subtracted``, where
    adding minima and maxima means to take the least and the greatest.
    """

    contents: Contents
    added: tuple[SynopsisShape, ...]
    subtracted: tuple[SynopsisShape, ...] = ()

    @property
    def shapes(self) -> tuple[SynopsisShape, ...]:
        return self.added + self.subtracted

    @property
    def is_combined(self) -> bool:
        return len(self.shapes) > 1


@dataclass(frozen=True)
class SynopsisAccess:
    """A query and its readings, one for each of the contents that it needs."""

    query: PeriodicQuery
    readings: tuple[Reading, ...]

    @property
    def shapes(self) -> tuple[SynopsisShape, ...]:
        return tuple(dict.fromkeys(shape for r in self.readings for shape in r.shapes))

    @property
    def is_combined(self) -> bool:
        """Whether SS4 was needed."""
        return any(reading.is_combined for reading in self.readings)

    def common_kinds(self, other: SynopsisAccess) -> Iterator[SynopsisKind]:
        """The kinds of the synopses that both read."""
        return (shape.kind for shape in self.shapes if shape in other.shapes)
