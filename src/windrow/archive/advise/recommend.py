"""Which scheme, technique and number of constituents to take (section 5).

Figures of the paper are read like this, and so are ours. *First the scheme*: what it does
with n constituents or fewer is compared with the best that any does with them, at every n.
*Then its n*: more constituents make maintenance cheaper and queries slower, and the savings
diminish; n is where the curve, scaled to its own range, and n, scaled to its own, have the
least sum: the knee. If no number of constituents saves a fifth of anything that is to be
small, the fewest are taken. *Last*, nothing stands before what does at least as well in all
respects with no more constituents: a scheme may owe its rank to an n that it is not given.

``Constraints`` are what a user wants of an archive; each recommendation says why, with figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from windrow.archive.advise.parameters import Measures, Parameters, UpdateTechnique
from windrow.archive.advise.wave_costs import measures
from windrow.archive.wave.scheme_state import Scheme
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TechniqueName

_SCHEMES = {
    "DEL": "deletes the day that expires and adds the new one; one constituent changes a day",
    "REINDEX": "rebuilds one constituent each day, so that all are always packed",
    "REINDEX+": "builds on what it indexed the days before; half of REINDEX's work",
    "REINDEX++": "keeps the coming days' constituents ready; one day is indexed in a transition",
    "WATA": "adds the new day and drops whole constituents; nothing is ever deleted",
    "RATA": "adds the new day and replaces the oldest constituent with one prepared before",
}
_TECHNIQUES: dict[TechniqueName, str] = {
    "in-place": "only the new day is written; runs are merged when they outgrow the first",
    "simple shadow": "readers keep the old version while its copy is changed",
    "packed shadow": "each change rewrites the constituent packed, so scans are fastest",
    "packed at rest": "the new day is written; a constituent that gets no more days is packed",
}
WORTH_IT = 0.2
"""The share of a measure that more constituents have to save to be worth having at all."""
Curve = dict[int, Measures]


class Measure(Enum):
    """What can be asked to be small: an average over days, in seconds or megabytes."""

    WORK = "total work"
    TRANSITION = "transition time"
    SPACE = "space"

    def of(self, measures: Measures) -> float:
        if self is Measure.WORK:
            return measures.work
        if self is Measure.TRANSITION:
            return measures.transition.average
        return measures.transition_space.average


@dataclass(frozen=True)
class Constraints:
    """What is required, and what is to be small; limits are in seconds and megabytes.

    ``hard`` asks that no expired day be seen. ``response`` limits the response time of a
    probe (of a scan, where there are no probes), ``transition`` that of the slowest day.

    >>> from windrow.archive.wave.schemes import SCHEMES
    >>> Constraints(hard=True).admits(SCHEMES["WATA"], UpdateTechnique.IN_PLACE)
    False
    """

    hard: bool = False
    techniques: tuple[UpdateTechnique, ...] = tuple(UpdateTechnique)
    minimise: tuple[Measure, ...] = (Measure.WORK,)
    space: float | None = None
    transition: float | None = None
    response: float | None = None

    def admits(self, scheme: Scheme, technique: UpdateTechnique) -> bool:
        return technique in self.techniques and (scheme.hard or not self.hard)

    def met_by(self, measures: Measures, *, probed: bool) -> bool:
        response = measures.probe if probed else measures.scan
        limits = (
            (self.space, measures.transition_space.most),
            (self.transition, measures.transition.most),
            (self.response, response),
        )
        return all(limit is None or value <= limit for limit, value in limits)


def reasons_for(
    scheme: str,
    technique: TechniqueName,
    n: int,
    curve: Mapping[int, Measures],
    parameters: Parameters,
) -> tuple[str, ...]:
    here = curve[n]
    waited = here.transition.average
    work, prepared = duration_text(here.work), duration_text(here.pre_transition.average)
    space, peak = here.space, here.transition_space
    window = (
        "hard"
        if SCHEMES[scheme].hard
        else "soft: an index holds expired days for a while, unseen unless asked for"
    )
    return (
        f"{scheme} {_SCHEMES[scheme]}; the window is {window}",
        f"{technique}: {_TECHNIQUES[technique]}",
        f"a day takes {work}, {prepared} of them for preparation",
        f"new data can be queried after {duration_text(waited)}",
        f"it holds {number_text(space.average)} MB, {number_text(peak.most)} MB at most",
        *_more_or_fewer(n, curve, parameters),
    )


def _more_or_fewer(n: int, curve: Mapping[int, Measures], parameters: Parameters) -> list[str]:
    """What the next smaller and the next larger number of constituents would change."""
    fewer = max((k for k in curve if k < n), default=None)
    more = min((k for k in curve if k > n), default=None)
    asked = "probe" if parameters.probes > 0 else "scan"
    said = []
    for other in (fewer, more):
        if other is not None:
            work = curve[other].work - curve[n].work
            then, now = (m.probe if asked == "probe" else m.scan for m in (curve[other], curve[n]))
            said.append(
                f"n = {other} instead of {n}: {_difference(work, curve[n].work)}, "
                f"a {asked} takes {duration_text(then)} instead of {duration_text(now)}"
            )
    return said


def _difference(work: float, of: float) -> str:
    """What is less than a thousandth of the work is no difference."""
    if abs(work) < of / 1000:
        return "the same work"
    return f"{'+' if work > 0 else '-'}{duration_text(abs(work))} of work"


def duration_text(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> duration_text(0), duration_text(1.02e-5), duration_text(0.0123)
    ('0 s', '10.2 µs', '12.3 ms')
    >>> duration_text(2.5), duration_text(6627)
    ('2.5 s', '6,627 s')
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{number_text(seconds / size)} {unit}"
    return f"{number_text(seconds / 1e-6)} µs" if seconds > 0 else "0 s"


def number_text(value: float) -> str:
    """Three digits, or all before the point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


ANYTHING = Constraints()


@dataclass(frozen=True)
class Recommendation:
    """A configuration; ``excess`` is how far its scheme is above the lowest on average over n."""

    scheme: str
    technique: UpdateTechnique
    n: int
    measures: Measures
    excess: float
    reasons: tuple[str, ...]


def recommend(
    window: int, parameters: Parameters, constraints: Constraints = ANYTHING
) -> list[Recommendation]:
    """Every scheme and technique that can meet the constraints at its best n, best first.

    Empty if none can. Costs a run of each scheme over two windows for each n that is tried.

    >>> from windrow.archive import TPC_D
    >>> first = recommend(TPC_D.window, TPC_D.parameters)[0]
    >>> first.scheme, first.n, first.technique.value
    ('DEL', 1, 'packed shadow')
    """
    curves = _curves(window, parameters, constraints)
    excess = _excess(curves, constraints.minimise)
    found = []
    for scheme, technique in sorted(curves, key=lambda key: excess[key]):
        curve = curves[scheme, technique]
        n = knee(curve, window, constraints.minimise)
        reasons = reasons_for(scheme, technique.value, n, curve, parameters)
        found.append(
            Recommendation(scheme, technique, n, curve[n], excess[scheme, technique], reasons)
        )
    return _unbeaten_first(found, constraints.minimise)


def beats(one: Recommendation, other: Recommendation, minimise: tuple[Measure, ...]) -> bool:
    """Whether one is nowhere worse, somewhere better, and has no more constituents."""
    pairs = [(measure.of(one.measures), measure.of(other.measures)) for measure in minimise]
    return one.n <= other.n and all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def _unbeaten_first(
    ranked: list[Recommendation], minimise: tuple[Measure, ...]
) -> list[Recommendation]:
    """The same order, but for those that something after them beats: they wait for it."""
    left, done = list(ranked), []
    while left:
        first = next(r for r in left if not any(beats(other, r, minimise) for other in left))
        left.remove(first)
        done.append(first)
    return done


def knee(curve: Curve, window: int, minimise: tuple[Measure, ...]) -> int:
    """The n after which more constituents save less than they cost; the fewest on a flat curve."""
    fewest = min(curve)
    scaled: dict[int, float] = {n: n / window for n in curve}
    flat = True
    for measure in minimise:
        values = {n: measure.of(measures) for n, measures in curve.items()}
        least, most = min(values.values()), max(values.values())
        flat = flat and least > (1 - WORTH_IT) * values[fewest]
        for n, value in values.items():
            scaled[n] += (value - least) / (most - least) if most > least else 0.0
    return fewest if flat else min(scaled, key=lambda n: (scaled[n], n))


def constituent_counts(window: int) -> list[int]:
    """The numbers of constituents worth telling apart: all up to ten, then 15, 20, 30, 50, 70..."""
    numbers = list(range(1, min(window, 10) + 1))
    power = 10
    while power < window:
        numbers += [power * step // 2 for step in (3, 4, 6, 10, 14, 20)]
        power *= 10
    return [*(n for n in numbers if n < window), window]


def _curves(
    window: int, parameters: Parameters, constraints: Constraints
) -> dict[tuple[str, UpdateTechnique], Curve]:
    curves: dict[tuple[str, UpdateTechnique], Curve] = {}
    for name, scheme in SCHEMES.items():
        for technique in UpdateTechnique:
            if not constraints.admits(scheme, technique):
                continue
            curve = {
                n: measures(name, technique, window, n, parameters)
                for n in constituent_counts(window)
                if n >= scheme.fewest
            }
            probed = parameters.probes > 0
            met = {n: m for n, m in curve.items() if constraints.met_by(m, probed=probed)}
            if met:
                curves[name, technique] = met
    return curves


def _excess(
    curves: dict[tuple[str, UpdateTechnique], Curve], minimise: tuple[Measure, ...]
) -> dict[tuple[str, UpdateTechnique], float]:
    """How far each curve is above the lowest, on average over the n that all of them reach."""
    from_here = max((min(curve) for curve in curves.values()), default=0)
    numbers = sorted({n for curve in curves.values() for n in curve if n >= from_here})
    total = dict.fromkeys(curves, 0.0)
    for measure in minimise:
        for most in numbers:
            reached = {
                key: min(measure.of(found) for n, found in curve.items() if n <= most)
                for key, curve in curves.items()
            }
            least = min(reached.values())
            for key, value in reached.items():
                if value > least:
                    total[key] += value / least - 1 if least > 0 else float("inf")
    return {key: value / (len(numbers) * len(minimise)) for key, value in total.items()}
