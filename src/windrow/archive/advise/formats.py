"""Which run format to take, from the queries of a day."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.archive.advise.reasons import lasting


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
            f"{cheaper.name} takes {cheaper.megabytes:,.0f} MB where there are "
            f"{most_megabytes:,.0f}; {dearer.name} takes {dearer.megabytes:,.0f} MB"
        )
        return FormatChoice(dearer, cheaper, reason)
    reason = (
        f"{probes:,.0f} probes and {scans:,.0f} scans a day take "
        f"{lasting(cheaper.work(probes, scans))} with {cheaper.name} and "
        f"{lasting(dearer.work(probes, scans))} with {dearer.name}, writing included"
    )
    return FormatChoice(cheaper, dearer, reason)
