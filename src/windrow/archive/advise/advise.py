"""Which layout suits somebody's data, on somebody's disk: measured on a sample, then reckoned.

``calibrate`` times the archive's own operations with the sample, in both run formats;
``choose`` rehearses every layout's days on paper and adds up what they would cost. Time is
told by the ``timer`` that is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from windrow.archive.advise.calibrate import Timer, measure_prices
from windrow.archive.advise.choose import Choice, WaveLayout, choose
from windrow.archive.advise.parameters import Parameters
from windrow.archive.advise.recommend import Constraints, duration_text
from windrow.archive.advise.rehearse import Prices
from windrow.archive.errors import ArchiveError
from windrow.archive.format.run_ref import Format


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


@dataclass(frozen=True)
class Workload:
    """What is expected of the archive. Rows, probes and scans are those of a day.

    A scan reads the newest ``scan_days`` days, or the whole window, and of them ``scan_columns``,
    or all columns; it is taken to look at every value that it reads.
    """

    window: int
    rows: int
    probes: float
    scans: float
    scan_days: int | None = None
    scan_columns: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Advice:
    """The best layouts, best first; the run format; and the prices that they follow from.

    ``parameters`` are the prices as the paper's model has them.
    """

    recommendations: tuple[Choice, ...]
    format: FormatChoice
    prices: Prices
    parameters: Parameters


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
    arrow, parquet = (_cost(form, prices_of[form], workload) for form in forms)
    choice = choose_format(arrow, parquet, probes=workload.probes, scans=workload.scans)
    prices = prices_of["arrow" if choice.chosen is arrow else "parquet"]
    parameters = _parameters(prices, workload)
    found = choose(
        workload.window,
        prices,
        parameters,
        constraints or Constraints(),
        workload.scan_days,
        progress,
    )
    return Advice(tuple(found), choice, prices, parameters)


def _cost(form: Format, prices: Prices, workload: Workload) -> FormatCost:
    """A format by itself: a handful of packed runs."""
    runs = min(workload.window, 4)
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
