"""Time cut into update periods, and how far a record may live.

An index takes updates every ``interval`` ticks and holds records that live at most ``longest``
ticks. Period ``k`` is the ticks ``origin + (k - 1) * interval + 1`` to ``origin + k * interval``,
so that an update at a period's last tick inserts what came in that period and forgets what
expires in it (Golab et al. 2006b, Algorithm 1, where these are S, delta and tau).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from windrow.archive.errors import LifetimeError
from windrow.archive.format.day_calendar import EPOCH, HOUR
from windrow.columns.arrays import Int64s


@dataclass(frozen=True)
class Periods:
    """Ticks to period numbers. Periods may be negative: what was there before the origin.

    ``timestamps`` says that a tick is a microsecond since 1970, so that instants can be written
    as dates; otherwise ticks are numbers that somebody else counts.
    """

    longest: int
    interval: int
    origin: int = 0
    timestamps: bool = False

    def __post_init__(self) -> None:
        if self.interval < 1 or self.longest < 1 or self.longest % self.interval:
            raise LifetimeError(
                where="lifetimes",
                expected="a longest lifetime that is a positive multiple of the update interval",
                found=f"longest {self.longest}, interval {self.interval}",
                remedy="round the longest lifetime up to a multiple",
            )

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Periods:
        """As a manifest has it; the first ones did not say what a tick is."""
        longest, interval, origin = (int(found[n]) for n in ("longest", "interval", "origin"))
        return cls(longest, interval, origin, bool(found.get("timestamps")))

    @property
    def count(self) -> int:
        """How many updates pass until all that is here now has gone (p in Appendix A)."""
        return self.longest // self.interval

    def of(self, instant: int) -> int:
        """The period in which an instant lies."""
        return -((self.origin - instant) // self.interval)

    def of_each(self, instants: Int64s) -> Int64s:
        """The period in which each of some instants lies."""
        return -((self.origin - instants) // self.interval)

    def over(self, now: int) -> int:
        """The last period that is over at ``now``: what expires in it or before is dead."""
        return (now - self.origin) // self.interval

    def label(self, instant: int) -> str:
        """An instant as people write it: a date, a moment, or its number.

        >>> Periods(30, 10).label(7), Periods(30, 10, timestamps=True).label(0)
        ('7', '1970-01-01')
        """
        if not self.timestamps:
            return str(instant)
        try:
            plain = (EPOCH + timedelta(microseconds=instant)).replace(tzinfo=None)
        except OverflowError:
            return str(instant)
        return plain.date().isoformat() if instant % (24 * HOUR) == 0 else plain.isoformat(" ")

    def first(self, period: int) -> int:
        return self.origin + (period - 1) * self.interval + 1

    def last(self, period: int) -> int:
        return self.origin + period * self.interval
