"""Why a configuration is recommended, in sentences with figures."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.archive.advise.parameters import Parameters
from windrow.archive.advise.wave_costs import Measures
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TechniqueName

_SCHEMES = {
    "DEL": "deletes the day that expires and adds the new one; one constituent changes a day",
    "REINDEX": "builds one constituent anew each day, so that all are always packed",
    "REINDEX+": "builds on what it indexed the days before; half of REINDEX's work",
    "REINDEX++": "keeps the coming days' constituents ready; one day is indexed in a transition",
    "WATA": "adds the new day and throws whole constituents away; nothing is ever deleted",
    "RATA": "adds the new day and replaces the oldest constituent by one prepared before",
}

_TECHNIQUES: dict[TechniqueName, str] = {
    "in-place": "only the new day is written; runs are merged when they outgrow the first",
    "simple shadow": "readers keep the old version while its copy is changed",
    "packed shadow": "each change rewrites the constituent packed, so scans are fastest",
    "packed at rest": "the new day is written; a constituent that gets no more days is packed",
}


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
        return "level in work"
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
