"""Observed figures as what JSON can hold, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from windrow.plan.costs.flows import StreamStatistics

FIGURES = ("rates", "distinct", "selectivities", "sizes")


def statistics_record(statistics: StreamStatistics) -> dict[str, Any]:
    """The figures as plain values.

    >>> record = statistics_record(StreamStatistics({"s": 5.0}, overlaps={"s.a=t.a": ((0.1, 1),)}))
    >>> statistics_from(record).overlaps
    {'s.a=t.a': ((0.1, 1.0),)}
    """
    return asdict(statistics)


def statistics_from(record: dict[str, Any]) -> StreamStatistics:
    """The figures of a record; KeyError, TypeError or ValueError if it is none."""
    figures = {name: {str(k): float(v) for k, v in record[name].items()} for name in FIGURES}
    overlaps = {
        str(key): tuple((float(one), float(other)) for one, other in pairs)
        for key, pairs in record["overlaps"].items()
    }
    return StreamStatistics(**figures, overlaps=overlaps)
