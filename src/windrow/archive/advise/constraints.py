"""What a user wants of an archive, and whether a configuration gives it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.archive.advise.parameters import UpdateTechnique
from windrow.archive.advise.wave_costs import Measures
from windrow.archive.wave.scheme_state import Scheme


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
