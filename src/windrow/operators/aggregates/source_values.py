"""What synopses say of an aggregate that several queries share, at the instants that are due.

A *source* is read once for all probes that are put together from the same synopses
(``windrow.operators.aggregates.shared_reads``): the sizes of groups and the aggregates, at each
instant and at the execution before it. Stores whose predicates overlap nowhere are added, and those
of a supercover's rest subtracted (SS4; Golab 2006, 8.3.3). All aggregates of one argument share one
scan of its counters, or of what stands for them (CS2).

Cost: a probe of each synopsis for each group and instant; of counters, one scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from windrow.columns.arrays import Int64s
from windrow.operators.aggregates.counter_scans import AskedWindows, Scanned
from windrow.operators.aggregates.shared_reads import (
    AskedRows,
    ReadAggregate,
    ScannedAggregate,
    Source,
    SourceValues,
    TouchedRows,
    number_ranges,
    row_offsets,
    split_halves,
)
from windrow.operators.aggregates.shared_values import CountValue, LongExtremeValue, Pair
from windrow.operators.state.predicate_store import PredicateStore


def read_source(
    source: Source,
    rows: TouchedRows,
    stores: Sequence[PredicateStore],
    windows_of_probes: Int64s,
) -> SourceValues | None:
    """Sizes of groups and aggregates, at the executions before the instants and at them."""
    due = [p for p in source.probes if rows.lengths[p]]
    if not due:
        return None
    offsets = row_offsets(due, rows.lengths)
    at = number_ranges(rows.starts[due], rows.lengths[due])
    count, probe = len(at), rows.probe[at]
    until, groups, windows = rows.time[at], rows.group[at], windows_of_probes[probe]
    earlier = rows.earlier[at]
    sizes = CountValue()
    sizes.begin(2 * count)
    wanted = [_begin(a, offsets, rows.lengths, count) for a in source.aggregates]
    signed = [(s, 1) for s in source.added] + [(s, -1) for s in source.subtracted]
    for slot, (number, sign) in enumerate(signed):
        store = stores[number]
        of = np.array([source.predicates[p][slot] for p in due], np.int64)
        asked_of = store.codes_of(np.repeat(of, rows.lengths[due]), groups)
        place, codes = store.cells_of(asked_of)
        here = slice(None) if place is None else place
        words = store.probe_sums(codes, windows[here], until[here], earlier[here])
        hi = np.concatenate([earlier[here], until[here]])
        lo, codes = hi - _twice(windows[here]), _twice(codes)
        place = None if place is None else np.concatenate([place, place + count])
        sizes.add(place, words, sign)
        for a, asked in zip(source.aggregates, wanted, strict=True):
            if asked is not None and isinstance(a, ReadAggregate):
                chosen = asked.choose(place)
                column, to = a.places[slot], asked.places(place)
                if not a.extreme:
                    a.value.add(to, words[chosen, column : column + a.width], sign)
                    continue
                found = store.probe_extreme(column, codes[chosen], lo[chosen], hi[chosen])
                if isinstance(a.value, LongExtremeValue):
                    a.value.add_values(to, store.values_of(column, found))
                else:
                    a.value.add(to, found, sign)
    scanned: Iterator[Scanned] = iter(())
    if any(isinstance(a, ScannedAggregate) for a in source.aggregates):
        until = np.concatenate([earlier, until])
        after = until - _twice(windows)
        scanned = _scan(source, stores, wanted, _twice(groups), after, until)
    read: list[tuple[Mapping[int, int], Pair] | None] = []
    for a, asked in zip(source.aggregates, wanted, strict=True):
        if asked is None:
            read.append(None)
            continue
        found = a.value.read(next(scanned)) if isinstance(a, ScannedAggregate) else a.value.read()
        read.append((asked.offsets, split_halves(found.cast(a.kind))))
    return SourceValues(offsets, (sizes.counts[:count], sizes.counts[count:]), read)


def _scan(
    source: Source,
    stores: Sequence[PredicateStore],
    wanted: Sequence[AskedRows | None],
    groups: Int64s,
    after: Int64s,
    until: Int64s,
) -> Iterator[Scanned]:
    """What the cells by value say of the windows that aggregates over them are asked for, in turn.

    All aggregates of the same cells share a scan.
    """
    asking = [
        (n, a, slice(None) if asked.at is None else asked.at)
        for n, (a, asked) in enumerate(zip(source.aggregates, wanted, strict=True))
        if asked is not None and isinstance(a, ScannedAggregate)
    ]
    found: dict[int, Scanned] = {}
    for cells in dict.fromkeys(a.cells for _, a, _ in asking):
        own = [(n, a.value, at) for n, a, at in asking if a.cells == cells]
        sizes = [len(groups[at]) for _, _, at in own]
        fractions = [value.fraction or 0.0 for _, value, _ in own]
        columns = (np.concatenate([c[at] for _, _, at in own]) for c in (groups, after, until))
        group, begin, end = columns
        windows = AskedWindows(group, begin, end, np.repeat(fractions, sizes))
        added = [stores[number] for number in source.added]
        scanned, passed = own[0][1].scan([store.by_value[cells] for store in added], windows)
        added[0].scans[cells].combined += passed
        stops = np.cumsum(sizes).tolist()
        for (n, _, _), size, stop in zip(own, sizes, stops, strict=True):
            found[n] = scanned.among(stop - size, stop)
    return (found[n] for n, _, _ in asking)


def _begin(
    aggregate: ReadAggregate | ScannedAggregate,
    offsets: Mapping[int, int],
    lengths: Int64s,
    count: int,
) -> AskedRows | None:
    """Which of the rows of a source an aggregate is asked for."""
    due = [p for p in aggregate.probes if lengths[p]]
    if not due:
        return None
    starts = np.array([offsets[p] for p in due], np.int64)
    at = number_ranges(starts, lengths[due])
    if isinstance(aggregate, ReadAggregate):
        aggregate.value.begin(2 * len(at))
    every = len(at) == count
    both = None if every else np.concatenate([at, at + count])
    return AskedRows(row_offsets(due, lengths) if not every else offsets, both, 2 * count)


def _twice(values: Int64s) -> Int64s:
    """Once for the instants before and once for those at which something is due; for arrays as
    short as these ``np.tile`` takes several times as long."""
    return np.concatenate([values, values])
