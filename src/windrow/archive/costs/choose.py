"""Which layout takes the least work, of all that can be had.

``recommend`` reads the paper's figures as the paper does, which prefers few constituents for their
own sake. Where every seek and every sync has its measured price, fewer constituents have no merit
but what they save: here the least work is the best, whatever the shape of the curve. What is
within ``ALIKE`` of it is as good, since no measurement is better than that; of those the one
with the fewest constituents is taken, a hard window before a soft one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from windrow.archive.costs.constraints import Constraints
from windrow.archive.costs.model import Measures, measures
from windrow.archive.costs.parameters import Parameters, Technique
from windrow.archive.costs.prices import Prices, priced
from windrow.archive.costs.reasons import reasons_for
from windrow.archive.costs.recommend import tried
from windrow.archive.costs.rehearse import rehearsed
from windrow.archive.schemes.registry import SCHEMES
from windrow.archive.wave import TECHNIQUES, Settings, TechniqueName

ALIKE = 0.05
LONG, FEW = 40, 60
"""Windows of more days than this are rehearsed for the most promising layouts only, this many."""

Layout = tuple[str, TechniqueName, int]


@dataclass(frozen=True)
class Choice:
    """A layout, what it costs, and why it is where it is in the list."""

    scheme: str
    technique: TechniqueName
    n: int
    measures: Measures
    reasons: tuple[str, ...]


def choose(
    window: int,
    prices: Prices,
    parameters: Parameters,
    constraints: Constraints,
    scan_days: int | None = None,
) -> list[Choice]:
    """The best n of each scheme and technique that can meet the constraints, best first.

    ``parameters`` are the same prices as the paper's model has them: they say which layouts of a
    long window are worth rehearsing. Takes some seconds.
    """
    found: dict[Layout, Measures] = {}
    for scheme, technique, n in _candidates(window, parameters, constraints):
        days = rehearsed(Settings(window, scheme, n, technique), scan_days)
        measured = priced(days, prices, parameters.probes, parameters.scans)
        if constraints.met_by(measured, probed=parameters.probes > 0):
            found[scheme, technique, n] = measured
    left, choices = list(found), []
    while left:
        scheme, technique, n = first = _preferred(left, found)
        curve = {k: m for (s, t, k), m in found.items() if (s, t) == first[:2]}
        reasons = reasons_for(scheme, technique, n, curve, parameters)
        choices.append(Choice(scheme, technique, n, found[first], reasons))
        left = [one for one in left if one[:2] != first[:2]]
    return choices


def _preferred(layouts: list[Layout], found: dict[Layout, Measures]) -> Layout:
    least = min(found[one].work for one in layouts)
    alike = [one for one in layouts if found[one].work <= (1 + ALIKE) * least]
    return min(alike, key=lambda one: (one[2], not SCHEMES[one[0]].hard, found[one].work))


def _candidates(window: int, parameters: Parameters, constraints: Constraints) -> Iterable[Layout]:
    every = [
        (name, technique, n)
        for name, scheme in SCHEMES.items()
        for technique in TECHNIQUES
        for n in tried(window)
        if n >= scheme.fewest
        and all(constraints.admits(scheme, paper) for paper in _of_the_paper(technique))
    ]
    if window <= LONG:
        return every
    return sorted(every, key=lambda one: _modelled(one, window, parameters))[:FEW]


def _of_the_paper(technique: TechniqueName) -> tuple[Technique, ...]:
    """What a technique does, in the paper's terms: packing at rest is in-place, and packs."""
    if technique == "packed at rest":
        return Technique.IN_PLACE, Technique.PACKED_SHADOW
    return (Technique(technique),)


def _modelled(layout: Layout, window: int, parameters: Parameters) -> float:
    scheme, technique, n = layout
    papers = _of_the_paper(technique)
    return min(measures(scheme, paper, window, n, parameters).work for paper in papers)
