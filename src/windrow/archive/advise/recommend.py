"""Which scheme, technique and number of constituents to take (section 5).

Figures of the paper are read like this, and so are ours. *First the scheme*: what it does
with n constituents or fewer is compared with the best that any does with them, at every n.
*Then its n*: more constituents make maintenance cheaper and queries slower, and the savings
diminish; n is where the curve, scaled to its own range, and n, scaled to its own, have the
least sum: the knee. If no number of constituents saves a fifth of anything that is to be
small, the fewest are taken. *Last*, nothing stands before what does at least as well in all
respects with no more constituents: a scheme may owe its rank to an n that it is not given.
"""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.advise.constraints import Constraints, Measure
from windrow.archive.advise.parameters import Parameters, UpdateTechnique
from windrow.archive.advise.reasons import reasons_for
from windrow.archive.advise.wave_costs import Measures, measures
from windrow.archive.wave.schemes import SCHEMES

WORTH_IT = 0.2
"""The share of a measure that more constituents have to save to be worth having at all."""

Curve = dict[int, Measures]

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
