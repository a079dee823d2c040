"""Which layout suits somebody's data, on somebody's disk: measured on a sample, then reckoned.

``calibrate`` times the archive's own operations with the sample, in both run formats;
``choose`` rehearses every layout's days on paper and adds up what they would cost. Time is
told by the ``timer`` that is given. Where the window is larger than the memory that its pages may
take, a share of what queries read comes from the disk, and is priced as measured with a cold cache.

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
from pathlib import Path

import pyarrow as pa

from windrow.archive.advise.calibrate import Timer, measure_prices
from windrow.archive.advise.cold_cache import cold_share, usual_memory
from windrow.archive.advise.parameters import Measures, Parameters, UpdateTechnique
from windrow.archive.advise.recommend import (
    Constraints,
    constituent_counts,
    duration_text,
    reasons_for,
)
from windrow.archive.advise.rehearse import Prices, price_days, rehearse
from windrow.archive.advise.wave_costs import measures
from windrow.archive.errors import ArchiveError
from windrow.archive.format.run_ref import Format
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
class FormatCost:
    """What one format takes for this data: seconds per query and per day written, megabytes."""

    name: str
    probe: float
    scan: float
    write: float
    megabytes: float

    def work(self, probes: float, scans: float) -> float:
        return self.write + probes * self.probe + scans * self.scan


@dataclass(frozen=True)
class FormatChoice:
    """The format that takes less work, or the smaller one where only that fits."""

    chosen: FormatCost
    other: FormatCost
    reason: str


def choose_format(
    one: FormatCost,
    another: FormatCost,
    *,
    probes: float,
    scans: float,
    most_megabytes: float | None = None,
) -> FormatChoice:
    """The cheaper of two formats for so many probes and scans a day.

    One that does not fit into ``most_megabytes`` is taken only if the other does not either
    and is larger still.
    """
    by_work = sorted((one, another), key=lambda cost: cost.work(probes, scans))
    smaller = min((one, another), key=lambda cost: cost.megabytes)
    cheaper, dearer = by_work
    if most_megabytes is not None and cheaper.megabytes > most_megabytes and smaller is dearer:
        reason = (
            f"{cheaper.name} takes {cheaper.megabytes:,.0f} MB of at most "
            f"{most_megabytes:,.0f}; {dearer.name} takes {dearer.megabytes:,.0f} MB"
        )
        return FormatChoice(dearer, cheaper, reason)
    reason = (
        f"{probes:,.0f} probes and {scans:,.0f} scans a day take "
        f"{duration_text(cheaper.work(probes, scans))} with {cheaper.name} and "
        f"{duration_text(dearer.work(probes, scans))} with {dearer.name}, writing included"
    )
    return FormatChoice(cheaper, dearer, reason)


FEWEST = 1_000
RUNS = 4
"""A handful: the runs of a window before a layout is chosen."""


@dataclass(frozen=True)
class Workload:
    """What is expected of the archive. Rows, probes and scans are those of a day.

    A scan reads the newest ``scan_days`` days, or the whole window, and of them ``scan_columns``,
    or all columns; it is taken to look at every value that it reads. ``memory`` is in megabytes:
    what the system may keep the archive's pages in, None for half of what the machine has.
    """

    window: int
    rows: int
    probes: float
    scans: float
    scan_days: int | None = None
    scan_columns: tuple[str, ...] | None = None
    memory: float | None = None


@dataclass(frozen=True)
class Advice:
    """The best layouts, best first; the run format; and the prices that they follow from.

    ``parameters`` are the prices as the paper's model has them, ``prices`` are as measured, and
    ``cold`` is the share of what queries read that was taken to come from the disk.
    """

    recommendations: tuple[Choice, ...]
    format: FormatChoice
    prices: Prices
    parameters: Parameters
    cold: float


def advise(
    sample: pa.Table,
    key: str | Sequence[str],
    workload: Workload,
    directory: Path,
    timer: Timer,
    constraints: Constraints | None = None,
    progress: Callable[[WaveLayout, int], None] = lambda *_: None,
) -> Advice:
    """Measure both run formats below ``directory`` and recommend.

    Takes some seconds for a sample of a million rows. ``directory`` should be on the disk that the
    archive will be on; what is made there is left for the caller to remove. A sample of a day or
    more is best: a smaller one is scaled up. ``progress`` as in ``choose``.
    """
    if sample.num_rows < FEWEST:
        raise ArchiveError(
            where="sample",
            expected=f"at least {FEWEST:,} rows",
            found=f"{sample.num_rows:,}",
            remedy="pass a larger sample; a day or more is best",
        )
    names = (key,) if isinstance(key, str) else tuple(key)
    forms: tuple[Format, Format] = ("arrow", "parquet")
    prices_of = {
        form: measure_prices(
            sample, names, workload.rows, directory / form, form, timer, workload.scan_columns
        )
        for form in forms
    }
    cold = {form: _cold_share(prices_of[form], workload) for form in forms}
    arrow, parquet = (_cost(f, prices_of[f].with_cold(cold[f]), workload) for f in forms)
    choice = choose_format(arrow, parquet, probes=workload.probes, scans=workload.scans)
    form = forms[0] if choice.chosen is arrow else forms[1]
    prices = prices_of[form].with_cold(cold[form])
    parameters = _parameters(prices, workload)
    found = choose(
        workload.window,
        prices,
        parameters,
        constraints or Constraints(),
        workload.scan_days,
        progress,
    )
    return Advice(tuple(found), choice, prices_of[form], parameters, cold[form])


def _cold_share(prices: Prices, workload: Workload) -> float:
    """How much of a window that is packed into a handful of runs does not fit into memory."""
    if prices.cold is None:
        return 0.0
    memory = usual_memory() if workload.memory is None else workload.memory
    return cold_share(prices.space.of(min(workload.window, RUNS), workload.window), memory)


def _cost(form: Format, prices: Prices, workload: Workload) -> FormatCost:
    """A format by itself: a handful of packed runs."""
    runs = min(workload.window, RUNS)
    days = workload.scan_days or workload.window
    return FormatCost(
        form,
        prices.probe + runs * prices.search,
        prices.scan.of(min(runs, days), days) + prices.consume * days,
        prices.publish + prices.write,
        prices.space.of(runs, workload.window),
    )


def _parameters(prices: Prices, workload: Workload) -> Parameters:
    """The same prices for the model of section 4, which has none that are fixed.

    A day of a packed index is one of many in a run, one of another has a run to itself.
    """
    publish = prices.publish
    return Parameters(
        seek=prices.search,
        transfer=prices.space.day / max(prices.scan.day, 1e-9),
        packed=prices.space.day,
        unpacked=prices.space.of(1, 1),
        bucket=0.0,
        build=publish + prices.write,
        add=publish + prices.write + prices.merge.of(0, 1),
        delete=publish,
        copy=prices.copy.of(1, 1),
        smart_copy=prices.merge.of(1, 1),
        probes=workload.probes,
        scans=workload.scans,
        runs=0.5,
    )


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
