"""What has been seen of the streams, as the optimiser wants to know it.

Rates come from the input monitors, numbers of values from the newest rows of each stream, and
selectivities from evaluating a query's own conditions on those rows: the first plan of a query
tells which conditions there are, and the figures then decide between its plans.

A connection plans with what it has seen of its streams (`Observed`). A script that runs over files
has seen nothing when its plans are made; so the first rows of the first file of each stream are
read for it, and again when the query reads them. A stream whose files are not there yet, are in an
object store or cannot be read is one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.types import arrow_schema
from windrow.columns.value_order import comparable_column
from windrow.core.errors import WindrowError
from windrow.core.paths import is_object_url
from windrow.core.thresholds import Threshold
from windrow.plan.catalog import Catalog, StreamDeclaration
from windrow.plan.costs.flows import (
    Overlap,
    SourceColumn,
    StreamStatistics,
    overlap_key,
    source_column,
)
from windrow.plan.expressions import conjuncts, render
from windrow.plan.nodes import (
    Join,
    MatchFlag,
    Negation,
    Node,
    Projection,
    Selection,
    StreamScan,
    walk,
)
from windrow.streams.monitor import InputMonitor
from windrow.tables.find_files import find_files
from windrow.tables.readers import UNREADABLE, read_file

SAMPLE = Threshold(10_000, least=1)
"""Rows of a stream that are looked at."""


class Observed:
    """The newest rows of each stream, and since when it has been watched."""

    def __init__(self) -> None:
        self._samples: dict[str, pa.RecordBatch] = {}
        self._first: dict[str, int] = {}

    def copy(self) -> Observed:
        """What has been seen until now, whatever is seen later."""
        copied = Observed()
        copied._samples, copied._first = dict(self._samples), dict(self._first)
        return copied

    def forget(self, stream: str) -> None:
        """The stream is no more."""
        self._samples.pop(stream, None)
        self._first.pop(stream, None)

    def note(self, stream: str, rows: pa.RecordBatch, ts: np.ndarray) -> None:
        """Rows that a stream has brought."""
        if rows.num_rows:
            self._first.setdefault(stream, int(ts.min()))
            self._samples[stream] = rows.slice(max(rows.num_rows - SAMPLE.value, 0))

    def statistics(
        self, monitors: Mapping[str, InputMonitor], plans: Iterable[Node] = ()
    ) -> StreamStatistics | None:
        """The figures, with those of the conditions in ``plans``; None if nothing was seen."""
        if not self._samples:
            return None
        rates = {}
        for name in self._samples:
            monitor = monitors[name]
            per_second = monitor.declaration.clock.ticks_per_second
            elapsed = ((monitor.top or 0) - self._first[name] + 1) / per_second
            rates[name] = monitor.accepted / max(elapsed, 1e-9)
        return statistics_of(self._samples, rates, plans)


def statistics_of(
    samples: Mapping[str, pa.RecordBatch], rates: Mapping[str, float], plans: Iterable[Node] = ()
) -> StreamStatistics:
    """What samples of streams, by their names in lower case, say for these plans."""
    distinct, selectivities = {}, {}
    overlaps: dict[str, Overlap] = {}
    for name, sample in samples.items():
        for column in sample.schema.names:
            values = float(pc.count_distinct(comparable_column(sample.column(column))).as_py())
            distinct[f"{name}.{column}".lower()] = values
    for plan in plans:
        for node in walk(plan):
            if isinstance(node, Selection):
                selectivities.update(_passing(node, samples))
            if isinstance(node, Join | MatchFlag | Negation):
                overlaps.update(_overlaps(node, samples))
    return StreamStatistics(dict(rates), distinct, selectivities, {}, overlaps)


def _overlaps(
    node: Join | MatchFlag | Negation, samples: Mapping[str, pa.RecordBatch]
) -> Iterator[tuple[str, Overlap]]:
    """How the keys of each side are spread over the other."""
    for one, other in zip(node.left_keys, node.right_keys, strict=True):
        left, right = source_column(one, node.left), source_column(other, node.right)
        mine, theirs = _column(samples, left), _column(samples, right)
        if left is None or right is None or mine is None or theirs is None:
            continue
        if mine.type == theirs.type:
            yield overlap_key(left, right), overlap(mine, theirs)
            yield overlap_key(right, left), overlap(theirs, mine)


def _column(samples: Mapping[str, pa.RecordBatch], source: SourceColumn | None) -> pa.Array | None:
    sample = None if source is None else samples.get(source[0])
    if source is None or sample is None or not sample.num_rows:
        return None
    names = [name.lower() for name in sample.schema.names]
    return sample.column(names.index(source[1])) if source[1] in names else None


def overlap(mine: pa.Array, theirs: pa.Array) -> Overlap:
    """How the values of one sample are spread over another.

    Values are put together that the other sample has about equally often, and get the mean: a
    value that a sample has not is not one that there is not.
    """
    own, seen = comparable_column(mine).value_counts(), comparable_column(theirs).value_counts()
    place = pc.index_in(own.field(0), seen.field(0))
    hits = np.asarray(pc.take(seen.field(1), place).fill_null(0), np.int64)
    counts = np.asarray(own.field(1), np.int64)
    classes = np.maximum(np.frexp(hits.astype(np.float64))[1], 1)
    pairs = []
    for number in np.unique(classes):
        of = classes == number
        share = float(hits[of].sum()) / len(theirs) / int(of.sum())
        pairs.append((share, float(counts[of].sum()) / len(mine)))
    return tuple(pairs)


def _passing(selection: Selection, samples: Mapping[str, pa.RecordBatch]) -> dict[str, float]:
    """The share of a stream's sample that passes each condition of a selection over it."""
    rows = _rows(selection.input, samples)
    if rows is None or not rows.num_rows:
        return {}
    shares = {}
    for part in conjuncts(selection.predicate):
        try:
            passing = float(selection_mask(part, rows).mean())
        except WindrowError:  # the query will say so when it meets the value
            continue
        shares[render(part, selection.input.schema)] = passing
    return shares


def _rows(node: Node, samples: Mapping[str, pa.RecordBatch]) -> pa.RecordBatch | None:
    """The sample as selections and projections over a stream hand it on."""
    match node:
        case StreamScan():
            return samples.get(node.name.lower())
        case Projection():
            below = _rows(node.input, samples)
            if below is None:
                return None
            arrays = [evaluate(c.expression, below) for c in node.columns]
            return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(node.schema))
    return None


def observe_files(catalog: Catalog, plans: Iterable[Node]) -> StreamStatistics | None:
    """The figures for these plans; None if there is no row to be seen."""
    samples, rates = {}, {}
    for stream in catalog.streams:
        rows = _first_rows(stream)
        if rows is None or not rows.num_rows:
            continue
        name = stream.name.lower()
        samples[name], rates[name] = rows, _rate(rows, stream)
    return statistics_of(samples, rates, plans) if samples else None


def _first_rows(stream: StreamDeclaration) -> pa.RecordBatch | None:
    if stream.source is None or is_object_url(stream.source.path):
        return None
    try:
        paths = find_files(stream.source)
        parsed = next(read_file(paths[0], stream, SAMPLE.value), None) if paths else None
    except (WindrowError, *UNREADABLE):
        return None  # whoever reads it for good says what is wrong
    return None if parsed is None else parsed.rows


def _rate(rows: pa.RecordBatch, stream: StreamDeclaration) -> float:
    """Tuples per second of the stream's own time."""
    times = rows.column(stream.timestamp).cast(pa.int64())
    span = pc.min_max(times).as_py()
    seconds: float = (span["max"] - span["min"] + 1) / stream.clock.ticks_per_second
    return float(rows.num_rows) / seconds
