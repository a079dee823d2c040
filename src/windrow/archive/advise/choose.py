"""Which layout takes the least work, of all that can be had.

``recommend`` reads the paper's figures as the paper does, which prefers few constituents for their
own sake. Where every seek and every sync has its measured price, fewer constituents have no merit
but what they save: here the least work is the best, whatever the shape of the curve. What is
within ``ALIKE`` of it is as good, since no measurement is better than that; of those the one
with the fewest constituents is taken, a hard window before a soft one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from math import inf

from windrow.archive.advise.parameters import Measures, Parameters, UpdateTechnique
from windrow.archive.advise.recommend import Constraints, constituent_counts, reasons_for
from windrow.archive.advise.rehearse import Prices, price_days, rehearse
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES, Settings, TechniqueName

ALIKE = 0.05
LONG = 40
"""Windows of more days than this are not rehearsed with every number of constituents."""
HOPELESS, TAKEN = 1.5, 5
"""A scheme and technique that promises so many times the least work found is not rehearsed at all,
unless there are fewer than this to choose from."""

WaveLayout = tuple[str, TechniqueName, int]


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
    progress: Callable[[WaveLayout, int], None] = lambda *_: None,
) -> list[Choice]:
    """The best n of each scheme and technique that can meet the constraints, best first.

    ``parameters`` are the same prices as the paper's model has them: they say where to begin
    looking in a long window. Takes some seconds for a month, a minute or two for a year.
    ``progress`` is told each layout that is about to be rehearsed, and how many were before it.
    """
    found: dict[WaveLayout, Measures] = {}

    @cache
    def work(layout: WaveLayout) -> float:
        """What a day takes, by rehearsal; infinite if the layout does not meet the constraints."""
        progress(layout, work.cache_info().currsize)
        scheme, technique, n = layout
        days = rehearse(Settings(window, scheme, n, technique), scan_days)
        measured = price_days(days, prices, parameters.probes, parameters.scans)
        if not constraints.met_by(measured, probed=parameters.probes > 0):
            return inf
        found[layout] = measured
        return measured.work

    curves = _curves(window, constraints)
    if window <= LONG:
        for layout in chain.from_iterable(curves):
            work(layout)
    else:
        _look(curves, work, window, parameters, scan_days)
    left, choices = list(found), []
    while left:
        scheme, technique, n = first = _pick(left, found)
        curve = {k: m for (s, t, k), m in found.items() if (s, t) == first[:2]}
        reasons = reasons_for(scheme, technique, n, curve, parameters)
        choices.append(Choice(scheme, technique, n, found[first], reasons))
        left = [one for one in left if one[:2] != first[:2]]
    return choices


def _pick(layouts: list[WaveLayout], found: dict[WaveLayout, Measures]) -> WaveLayout:
    least = min(found[one].work for one in layouts)
    alike = [one for one in layouts if found[one].work <= (1 + ALIKE) * least]
    return min(alike, key=lambda one: (one[2], not SCHEMES[one[0]].hard, found[one].work))


def _curves(window: int, constraints: Constraints) -> list[list[WaveLayout]]:
    """For each scheme and technique that is admitted, what can be tried, from few n to many."""
    return [
        [(name, technique, n) for n in constituent_counts(window) if n >= scheme.fewest]
        for name, scheme in SCHEMES.items()
        for technique in TECHNIQUES
        if all(constraints.admits(scheme, paper) for paper in _of_the_paper(technique))
    ]


def _look(
    curves: Sequence[Sequence[WaveLayout]],
    work: Callable[[WaveLayout], float],
    window: int,
    parameters: Parameters,
    scan_days: int | None,
) -> None:
    """Rehearse each curve around its lowest point, the most promising curves first.

    The model says where that may be, and the rehearsals where it is. It knows nothing of scans
    that want a part of a constituent, so where scans are of the newest days it is not asked about
    them: what it promises then is too little, which costs rehearsals but leaves nothing out. Such
    scans like days that lie by themselves, so curves may be low with many constituents as well:
    they are looked at from that end too.
    """
    asked = parameters if scan_days is None else replace(parameters, scans=0.0)
    promises = []
    for curve in curves:
        works = [_model_work(layout, window, asked) for layout in curve]
        promises.append((min(works), works.index(min(works)), curve))
    least, taken = inf, 0
    for promise, start, curve in sorted(promises, key=lambda one: one[0]):
        if taken < TAKEN or promise <= HOPELESS * least:
            starts = {start} if scan_days is None else {start, len(curve) - 1}
            least = min(least, *(_descend(curve, each, work) for each in starts))
            taken += 1


def _descend(curve: Sequence[WaveLayout], start: int, work: Callable[[WaveLayout], float]) -> float:
    """The least work of a curve, looked for from one place outwards until it rises both ways."""
    least = work(curve[start])
    for way in (curve[start + 1 :], curve[:start][::-1]):
        for layout in way:
            here = work(layout)
            if here > (1 + ALIKE) * least:
                break
            least = min(least, here)
    return least


def _of_the_paper(technique: TechniqueName) -> tuple[UpdateTechnique, ...]:
    """What a technique does, in the paper's terms: packing at rest is in-place, and packs."""
    if technique == "packed at rest":
        return UpdateTechnique.IN_PLACE, UpdateTechnique.PACKED_SHADOW
    return (UpdateTechnique(technique),)


def _model_work(layout: WaveLayout, window: int, parameters: Parameters) -> float:
    scheme, technique, n = layout
    papers = _of_the_paper(technique)
    return min(measures(scheme, paper, window, n, parameters).work for paper in papers)
