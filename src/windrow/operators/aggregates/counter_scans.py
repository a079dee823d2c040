"""MEDIAN, QUANTILE and COUNT(DISTINCT) of many windows, from counters of sub-windows.

The counters of an argument are a basic interval synopsis (Golab 2006, 2.3.4): the different values
of each sub-window and group, and how often each occurs (``windrow.operators.aggregates
.value_counts``). A scan goes from the youngest sub-window of a window to its oldest, and windows
that end at the same instant are answered on its way, the shorter ones first, whichever aggregate
they ask for (CS2 of 8.3.1). What it has passed is counted in a Fenwick tree over the values of the
group, so a quantile is one descent; where it lies among decimals is worked out without error
(``windrow.operators.aggregates.decimal_quantiles``). Counters of several predicates that overlap
nowhere are scanned as one (SS4). Values at known ranks
(``windrow.operators.aggregates.rank_summaries``) are counters whose ranks may be wrong by some
places: the values that many places away are found as well.

Cost: per group and instant the counters of its longest window, O(log D) each for D different
values. Nothing is kept between scans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, numbers, order_keys, validity
from windrow.columns.decimal_words import is_wide_decimal
from windrow.columns.interner import Interner
from windrow.columns.kernels import boolean, floats, floats_out, int64, ints, ints_out, kernel
from windrow.operators.aggregates.decimal_quantiles import (
    Ordered,
    decimals_between,
    exact_place,
    fraction_parts,
    in_order,
)
from windrow.operators.aggregates.quantiles import quantiles_between
from windrow.operators.aggregates.value_counts import ValueCounts
from windrow.operators.top_k import nth_present

NOTHING = np.empty(0, np.int64)


@kernel(
    int64, ints, ints, ints, ints, floats, ints, ints, boolean, ints, ints, ints, ints, ints,
    ints_out, ints_out, floats_out, ints_out, ints_out, ints_out, ints_out, ints_out,
)  # fmt: skip
def _scan(  # type: ignore[no-untyped-def]
    order, group, after, until, fraction, upper, lower, exactly, firsts, time, key, count, error,
    low, high, share, rest, different, wrong, least, most,
):  # fmt: skip
    """Answer rows in ``order``: by group, by the end of the window, the shorter window first.

    ``firsts`` has the place of the first counter of each group, and then how many there are; those
    of a group are in the order of time. By how many places a rank may be ``wrong`` is the sum of
    errors. ``exactly``, fractions are ``upper`` and ``lower``, and a quantile lies at ``rest`` from
    the key below it. How many counters were passed is returned.
    """
    passed, i = 0, 0
    while i < len(order):
        g = group[order[i]]
        start, stop = firsts[g], firsts[g + 1]
        by_key = np.argsort(key[start:stop])
        rank, values = np.empty(stop - start, np.int64), np.empty(stop - start, np.int64)
        distinct = 0
        for c in by_key:
            if distinct == 0 or key[start + c] != values[distinct - 1]:
                values[distinct] = key[start + c]
                distinct += 1
            rank[c] = distinct - 1
        tree, held = np.empty(distinct + 1, np.int64), np.empty(distinct, np.int64)
        while i < len(order) and group[order[i]] == g:
            end = until[order[i]]
            tree[:], held[:] = 0, 0
            total, seen, places = 0, 0, 0
            at = stop - 1
            while at >= start and time[at] > end:
                at -= 1
            while i < len(order) and group[order[i]] == g and until[order[i]] == end:
                row = order[i]
                while at >= start and time[at] > after[row]:
                    r = rank[at - start]
                    seen += held[r] == 0
                    held[r] += count[at]
                    total += count[at]
                    places += error[at]
                    place = r + 1
                    while place < len(tree):
                        tree[place] += count[at]
                        place += place & -place
                    at -= 1
                    passed += 1
                different[row], share[row], rest[row], wrong[row] = seen, -1.0, -1, places
                if total > 0 and exactly:
                    k, rest[row] = exact_place(total, upper[row], lower[row])
                    low[row] = values[nth_present(tree, k + 1)]
                    high[row] = values[nth_present(tree, min(k + 2, total))]
                elif total > 0:
                    exact = fraction[row] * (total - 1)
                    k = np.int64(np.floor(exact))
                    low[row] = values[nth_present(tree, k + 1)]
                    high[row] = values[nth_present(tree, min(k + 2, total))]
                    share[row] = exact - k
                    if places > 0:
                        above = k + (1 if share[row] > 0.0 else 0)
                        least[row] = values[nth_present(tree, max(k + 1 - places, 1))]
                        most[row] = values[nth_present(tree, min(above + 1 + places, total))]
                i += 1
    return passed


@dataclass(frozen=True)
class AskedWindows:
    """Windows ``(after, until]`` of groups, and which quantile of each is wanted."""

    group: Int64s
    after: Int64s
    until: Int64s
    fraction: npt.NDArray[np.float64]


@dataclass(frozen=True)
class ScannedWindows:
    """For each window how many different values it has, and the keys next to its quantile, which
    lies at ``share`` between them (below 0: there is no value). Where ranks may be ``wrong`` by
    some places, it is between ``least`` and ``most``. Between decimals it lies at ``rest``, and the
    keys of long ones are places among those that are ``ordered``.
    """

    different: Int64s
    low: Int64s
    high: Int64s
    share: npt.NDArray[np.float64]
    wrong: Int64s
    least: Int64s
    most: Int64s
    rest: Int64s
    ordered: Ordered | None

    def among(self, start: int, stop: int) -> ScannedWindows:
        part = slice(start, stop)
        return ScannedWindows(
            self.different[part], self.low[part], self.high[part], self.share[part],
            self.wrong[part], self.least[part], self.most[part], self.rest[part], self.ordered,
        )  # fmt: skip


class ScannedValue(Protocol):
    """An aggregate that is read from cells by value; ``parts`` are those of several stores."""

    @property
    def fraction(self) -> float | None:
        """Which quantile is wanted, if one is."""
        ...

    def scan(self, parts: Sequence[Any], asked: AskedWindows) -> tuple[Scanned, int]:
        """What there is in windows, for all aggregates of the argument, and the work it took."""
        ...

    def read(self, scanned: Any) -> pa.Array:
        """The aggregate of each window, from what ``scan`` returned."""
        ...


class Scanned(Protocol):
    """What a scan found, by window."""

    def among(self, start: int, stop: int) -> Scanned: ...


class CounterValue:
    """An aggregate over counters: QUANTILE of a ``fraction``, of a type ``result``; COUNT(DISTINCT)
    if there is no fraction.
    """

    def __init__(self, kind: pa.DataType, fraction: float | None, result: pa.DataType) -> None:
        self.kind, self.fraction, self.result = kind, fraction, result

    def scan(self, parts: Sequence[ValueCounts], asked: AskedWindows) -> tuple[ScannedWindows, int]:
        return scan_counters(parts, asked)

    def read(self, scanned: ScannedWindows) -> pa.Array:
        if self.fraction is None:
            return pa.array(scanned.different)
        if pa.types.is_decimal(self.kind):
            return decimals_between(
                scanned.low, scanned.high, scanned.rest, scanned.ordered, self.kind, self.result
            )
        return quantiles_between(scanned.low, scanned.high, scanned.share, self.kind)


def scan_counters(parts: Sequence[ValueCounts], asked: AskedWindows) -> tuple[ScannedWindows, int]:
    """Scan the counters of an argument, and how many were passed; ``parts`` overlap nowhere.

    The second number of a counter, if it has one, is its error.
    """
    codes, group = np.unique(asked.group, return_inverse=True)
    found = [_counters_of(part, codes) for part in parts]
    of, time, count, error, place = (np.concatenate(column) for column in zip(*found, strict=True))
    key, ordered = _keys(parts, [columns[4] for columns in found], place)
    order = np.lexsort((time, of)) if len(parts) > 1 else np.argsort(of, kind="stable")
    firsts = np.searchsorted(of[order], np.arange(len(codes) + 1))
    rows = len(group)
    low, high, different, wrong, least, most, rest = np.zeros((7, rows), np.int64)
    share = np.empty(rows)
    exactly = pa.types.is_decimal(parts[0].kind)
    upper, lower = _parts_of(asked.fraction) if exactly else (rest, rest)
    passed = _scan(
        np.lexsort((-asked.after, asked.until, group)), group.astype(np.int64), asked.after,
        asked.until, asked.fraction, upper, lower, exactly, firsts, time[order], key[order],
        count[order], error[order], low, high, share, rest, different, wrong, least, most,
    )  # fmt: skip
    return (
        ScannedWindows(different, low, high, share, wrong, least, most, rest, ordered),
        passed,
    )


def _parts_of(fractions: npt.NDArray[np.float64]) -> tuple[Int64s, Int64s]:
    """Fractions in whole numbers."""
    different, which = np.unique(fractions, return_inverse=True)
    parts = np.array([fraction_parts(float(f)) for f in different], np.int64).reshape(-1, 2)
    return parts[which, 0], parts[which, 1]


def _counters_of(part: ValueCounts, codes: Int64s) -> tuple[Int64s, ...]:
    """The counters of the groups ``codes``, NULLs left out: the place of the group there, the
    instant at which the sub-window came, how often the value occurs, the error of ranks, and the
    position.
    """
    held = part.groups.view
    size = 1 + max(int(codes.max(initial=-1)), int(held.max(initial=-1)))
    places = np.full(size, -1, np.int64)
    places[codes] = np.arange(len(codes))
    of = places[held]
    wanted = of >= 0
    positions = np.flatnonzero(wanted) + part.groups.base
    valid = validity(part.values.column(0, positions))
    if valid is not None:
        positions = positions[valid]
    of = of[positions - part.groups.base]
    comes = part.store.instants_of(positions)[0] if len(positions) else NOTHING
    table = part.store.table.take(positions)
    errors = table[:, 1] if part.width > 1 else np.zeros(len(positions), np.int64)
    return of, comes, table[:, 0], errors, positions


def _keys(
    parts: Sequence[ValueCounts], positions: Sequence[Int64s], every: Int64s
) -> tuple[Int64s, Ordered | None]:
    """Integers that are equal where values are and, for numbers and times, in their order; those of
    long decimals are their places among all that there are.
    """
    kind = parts[0].kind
    is_ordered = pa.types.is_primitive(kind) or pa.types.is_decimal(kind)
    if len(parts) == 1 and not is_ordered:
        return parts[0].store.cells.take(every), None  # which are pairs of a group and a value
    values = pa.concat_arrays(
        [part.values.column(0, at) for part, at in zip(parts, positions, strict=True)]
    )
    if is_wide_decimal(kind):
        ordered, places = np.unique(in_order(values), return_inverse=True)
        return places.astype(np.int64), ordered
    if pa.types.is_decimal(kind):
        return numbers(values), None
    if is_ordered:
        return order_keys(values), None
    return Interner([kind]).codes([values], len(values)), None
