"""The measures of section 4 for a scheme, a technique and a number of constituents.

Nothing is approximated by a closed formula: the scheme itself is run for a period, the days
after which its shape returns, and what it does is priced. Where W/n is a whole number the
results are those of the formulas in the tests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean

from windrow.archive.advise.meter import DayEffort, Meter
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.wave.scheme_state import Scheme
from windrow.archive.wave.schemes import scheme_of


@dataclass(frozen=True)
class Spread:
    """A measure over the days of a period."""

    average: float
    most: float


@dataclass(frozen=True)
class Measures:
    """Megabytes and seconds; ``work`` is a day's seconds with nothing done in parallel.

    ``space`` is held between steps, ``transition_space`` at the worst moment of a step,
    ``probe`` and ``scan`` are the response times of one query, ``transition`` is the time
    from the data's arrival to its being queryable, ``pre_transition`` all other maintenance.
    """

    space: Spread
    transition_space: Spread
    probe: float
    scan: float
    transition: Spread
    pre_transition: Spread
    work: float


def measures(
    scheme: str, technique: UpdateTechnique, window: int, n: int, of: Parameters
) -> Measures:
    days = efforts(scheme, window, n)[technique]
    probed = n if of.probe_indexes is None else min(n, of.probe_indexes)
    scanned = n if of.scan_indexes is None else min(n, of.scan_indexes)
    entries = _over(days, lambda day: day.shown.days * of.bucket).average
    shown = _over(days, lambda day: day.shown.megabytes(of)).average
    pieces = 1 + of.runs * _over(days, lambda day: day.shown.unpacked).average / n
    probe = probed * pieces * of.seek + probed / n * entries / of.transfer
    scan = scanned * pieces * of.seek + scanned / n * shown / of.transfer
    transition = _over(days, lambda day: day.transition.seconds(of))
    pre = _over(days, lambda day: day.pre.seconds(of))
    return Measures(
        space=_over(days, lambda day: day.resting.megabytes(of)),
        transition_space=_over(days, lambda day: max(m.megabytes(of) for m in day.peaks)),
        probe=probe,
        scan=scan,
        transition=transition,
        pre_transition=pre,
        work=transition.average + pre.average + of.probes * probe + of.scans * scan,
    )


@lru_cache(maxsize=4096)
def efforts(scheme: str, window: int, n: int) -> dict[UpdateTechnique, tuple[DayEffort, ...]]:
    """A period's days in the steady state, by technique; costs O(W) steps of the scheme."""
    return walk_period(scheme_of(scheme), window, n)


def walk_period(
    scheme: Scheme, window: int, n: int
) -> dict[UpdateTechnique, tuple[DayEffort, ...]]:
    """As ``efforts``, for a scheme that the registry need not know."""
    meters = {technique: Meter(technique) for technique in UpdateTechnique}
    state, step = scheme.start(window, n)
    period = max(1, window + 1 - scheme.fewest)  # the lazy schemes' last constituent is one day
    noted: dict[UpdateTechnique, list[DayEffort]] = {technique: [] for technique in UpdateTechnique}
    for meter in meters.values():
        meter.step(step)
    for passed in range(window + period):
        state, step = scheme.advance(state, state.day + 1)
        for technique, meter in meters.items():
            day = meter.step(step)
            if passed >= window:
                noted[technique].append(day)
    return {technique: tuple(days) for technique, days in noted.items()}


def _over(days: tuple[DayEffort, ...], value: Callable[[DayEffort], float]) -> Spread:
    values = [value(day) for day in days]
    return Spread(fmean(values), max(values))
