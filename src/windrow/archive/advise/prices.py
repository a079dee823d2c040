"""What the operations of an archive cost on somebody's disk, and a rehearsal priced with it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from windrow.archive.advise.rehearse import Day, Stored, Work
from windrow.archive.advise.wave_costs import Measures, Spread


@dataclass(frozen=True)
class Line:
    """Seconds or megabytes each time, and for each day of data."""

    fixed: float
    day: float

    def of(self, times: float, days: float) -> float:
        return times * self.fixed + days * self.day


@dataclass(frozen=True)
class Prices:
    """Seconds, and megabytes. ``write`` is what a new day costs by itself.

    Every operation has a fixed price, which the paper's model has not: files to be created and
    synced, a manifest to be published. Where days are small it is most of what there is to pay.
    """

    publish: float
    write: float
    merge: Line
    copy: Line
    probe: float
    search: float
    """Of a probe, for each run."""
    scan: Line
    """For each run, and for each day that is read as it lies."""
    sieve: float
    """For each day of runs of which only some days are wanted."""
    consume: float
    """For each day that a scan hands over: to decode its values and to add up what are numbers."""
    space: Line
    """Megabytes of each run (its dictionaries and its directory), and of each day in it."""

    def seconds_of(self, work: Work) -> float:
        return (
            work.versions * self.publish
            + self.merge.of(work.merges, work.merged)
            + self.copy.of(work.copies, work.copied)
        )

    def megabytes(self, stored: Stored) -> float:
        return self.space.of(stored.runs, stored.days)


def price_days(days: tuple[Day, ...], prices: Prices, probes: float, scans: float) -> Measures:
    """The measures of the paper's section 4, from what was rehearsed."""
    transition = _over(prices.write + prices.seconds_of(day.transition) for day in days)
    after = _over(prices.seconds_of(day.after) for day in days)
    probe = prices.probe + prices.search * _average(days, lambda day: day.probed)
    scan = (
        prices.scan.of(
            _average(days, lambda day: day.scanned.runs),
            _average(days, lambda day: day.scanned.whole),
        )
        + prices.sieve * _average(days, lambda day: day.scanned.sieved)
        + prices.consume * _average(days, lambda day: day.scanned.wanted)
    )
    return Measures(
        space=_over(prices.megabytes(day.held) for day in days),
        transition_space=_over(prices.megabytes(day.peak) for day in days),
        probe=probe,
        scan=scan,
        transition=transition,
        pre_transition=after,
        work=transition.average + after.average + probes * probe + scans * scan,
    )


def _average(days: tuple[Day, ...], value: Callable[[Day], float]) -> float:
    return fmean(map(value, days))


def _over(values: Iterable[float]) -> Spread:
    found = list(values)
    return Spread(fmean(found), max(found))
