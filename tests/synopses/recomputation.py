"""Aggregates over plain rows, the slow and obvious way, and the samples that tests go through."""

from __future__ import annotations

import importlib
import inspect
import math
import pkgutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import windrow.synopses
from windrow.synopses import ClosedInterval, Content, Counters, Synopsis

Row = tuple[int, Any, Any]
"""The number of its sub-window, its group, its value."""


def discovered(is_wanted: Callable[[type], bool]) -> set[type]:
    """The classes of the room that are wanted, and not abstract."""
    found = set()
    for module in pkgutil.walk_packages(windrow.synopses.__path__, "windrow.synopses."):
        for _, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if kind.__module__ == module.name and not inspect.isabstract(kind) and is_wanted(kind):
                found.add(kind)
    return found


def synopsis_kinds() -> list[type[Synopsis[Any]]]:
    kinds = discovered(lambda kind: issubclass(kind, Synopsis))
    return sorted(kinds, key=lambda kind: kind.__name__)


def content_kinds() -> set[type]:
    return discovered(lambda kind: hasattr(kind, "summarise")) - {Content}


@dataclass(frozen=True)
class Sample:
    """A content, with the kinds of values that it takes and what is asked of it."""

    make: Callable[[], Content[Any]]
    values: str
    asked: tuple[tuple[str, float | None], ...]


def samples() -> dict[str, Sample]:
    from windrow.synopses import (  # noqa: PLC0415 - sketches load a large library
        Counts,
        DistinctSketches,
        Extremes,
        FrequentSketches,
        QuantileSketches,
        Sums,
    )  # fmt: skip

    quantiles = (("QUANTILE", 0.5), ("QUANTILE", 0.9), ("QUANTILE", 0.0), ("QUANTILE", 1.0))
    numbers = (*quantiles, ("TOP", 2), ("COUNT DISTINCT", None), ("COUNT", None))
    ends = (("MIN", None), ("MAX", None))
    return {
        "counts": Sample(Counts, "ints", (("COUNT", None),)),
        "sums of ints": Sample(Sums, "ints", (("SUM", None), ("COUNT", None))),
        "sums beyond BIGINT": Sample(Sums, "huge", (("SUM", None),)),
        "sums of floats": Sample(Sums, "floats", (("SUM", None),)),
        "least": Sample(lambda: Extremes("MIN"), "floats", (("MIN", None),)),
        "greatest": Sample(lambda: Extremes("MAX"), "ints", (("MAX", None),)),
        "counters of ints": Sample(Counters, "ints", (*numbers, *ends)),
        "counters of floats": Sample(Counters, "floats", (*numbers, *ends)),
        "counters of texts": Sample(
            Counters, "texts", (("TOP", 3), ("COUNT DISTINCT", None), *ends)
        ),
        "quantile sketches": Sample(QuantileSketches, "floats", (("QUANTILE", 0.5),)),
        "distinct sketches": Sample(DistinctSketches, "texts", (("COUNT DISTINCT", None),)),
        "frequent sketches": Sample(FrequentSketches, "texts", (("TOP", 2),)),
        "frequent sketches of ints": Sample(FrequentSketches, "ints", (("TOP", 2),)),
    }


def random_values(kind: str, rng: np.random.Generator, count: int) -> np.ndarray:
    if kind == "ints":
        return rng.integers(-5, 6, count)
    if kind == "huge":
        return rng.choice([2**62, -(2**62), 2**63 - 1, 7], count)
    if kind == "floats":
        return rng.choice([0.1, 1e16, -1e16, 2.5, -7.25, 1e-300], count)
    return rng.choice(["a", "b", "cc", "d"], count)


def random_rows(kind: str, seed: int, updates: int, first: int = 1) -> list[Row]:
    """Rows of ``updates`` sub-windows; a third of these are empty."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(first, first + updates):
        count = 0 if rng.random() < 0.33 else int(rng.integers(1, 6))
        values = random_values(kind, rng, count).tolist()
        rows += zip([number] * count, rng.integers(0, 3, count).tolist(), values, strict=True)
    return rows


def closed(content: Content[Any], rows: Iterable[Row], number: int) -> ClosedInterval[Any]:
    """The sub-window of that number as a buffer would hand it over."""
    mine = [(group, value) for n, group, value in rows if n == number]
    if not mine:
        return ClosedInterval(number, content.empty())
    groups, values = zip(*mine, strict=True)
    return ClosedInterval(number, content.summarise(np.array(groups), np.array(values)))


def recompute(function: str, rows: Iterable[Row], parameter: float | None) -> dict[Any, Any]:
    """The answer for each group, over the rows."""
    by_group = defaultdict(list)
    for _, group, value in rows:
        by_group[group].append(value)
    return {g: _aggregate(function, sorted(v), parameter) for g, v in sorted(by_group.items())}


def _aggregate(function: str, values: list[Any], parameter: float | None) -> Any:
    if function == "COUNT":
        return len(values)
    if function == "SUM":
        total = sum(map(Fraction, values))
        if isinstance(values[0], float):
            return float(total)
        return int(total) if -(2**63) <= total < 2**63 else None
    if function in {"MIN", "MAX"}:
        return values[0] if function == "MIN" else values[-1]
    if function == "COUNT DISTINCT":
        return len(set(values))
    if function == "TOP":
        ranked = sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0]))
        return ranked[: int(parameter or 0)]
    place = (parameter or 0.0) * (len(values) - 1)
    low, high = values[math.floor(place)], values[math.ceil(place)]
    return float(low + (Fraction(high) - Fraction(low)) * Fraction(place - math.floor(place)))


def by_group(function: str, batch: pa.RecordBatch) -> dict[Any, Any]:
    """An answer in the form of ``recompute``."""
    rows = batch.to_pylist()
    if function != "TOP":
        return {row["group"]: row["value"] for row in rows}
    found: dict[Any, Any] = {}
    for row in rows:
        found.setdefault(row["group"], []).append((row["value"], row["count"]))
    return found


def check_answer(
    content: Content[Any], function: str, parameter: float | None, value: Any, rows: list[Row]
) -> None:
    """What is read from a value is what the rows give; for sketches, within the bound."""
    batch = content.answer(function, value, parameter)
    expected = recompute(function, rows, parameter)
    if "lower" not in batch.schema.names:
        assert by_group(function, batch) == expected
        return
    assert set(batch["group"].to_pylist()) == set(expected)
    for row in batch.to_pylist():
        if function == "QUANTILE":  # a value of the data at that rank, or the next one
            mine = sorted(v for _, g, v in rows if g == row["group"])
            place = (parameter or 0.0) * (len(mine) - 1)
            assert row["value"] in {mine[math.floor(place)], mine[math.ceil(place)]}
            assert row["lower"] <= row["value"] <= row["upper"]
        elif function == "TOP":
            true = dict(recompute("TOP", rows, 10**6)[row["group"]])
            assert row["lower"] <= true[row["value"]] <= row["upper"]
        else:
            assert row["lower"] <= expected[row["group"]] <= row["upper"]
    if function == "TOP":  # so few values that none is thrown away
        assert by_group(function, batch) == expected
