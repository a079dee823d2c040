"""What has been seen of the streams, as the optimiser wants to know it.

Rates come from the input monitors, numbers of values from the newest rows of each stream, and
selectivities from evaluating a query's own conditions on those rows: the first plan of a query
tells which conditions there are, and the figures then decide between its plans.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.evaluate import evaluate, selection_mask
from windrow.columns.types import arrow_schema
from windrow.core.errors import DataError
from windrow.core.thresholds import Threshold
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.expressions import conjuncts, render
from windrow.plan.nodes import Node, Projection, Selection, StreamScan, walk
from windrow.streams.monitor import InputMonitor

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
        rates, distinct, selectivities = {}, {}, {}
        for name, sample in self._samples.items():
            monitor = monitors[name]
            per_second = monitor.declaration.clock.ticks_per_second
            elapsed = ((monitor.top or 0) - self._first[name] + 1) / per_second
            rates[name] = monitor.accepted / max(elapsed, 1e-9)
            for field, column in zip(monitor.declaration.schema, sample.columns, strict=True):
                distinct[f"{name}.{field.name}".lower()] = float(pc.count_distinct(column).as_py())
        for plan in plans:
            for node in walk(plan):
                if isinstance(node, Selection):
                    selectivities.update(self._passing(node))
        return StreamStatistics(rates, distinct, selectivities)

    def _passing(self, selection: Selection) -> dict[str, float]:
        """The share of a stream's sample that passes each condition of a selection over it."""
        rows = self._rows(selection.input)
        if rows is None or not rows.num_rows:
            return {}
        shares = {}
        for part in conjuncts(selection.predicate):
            try:
                passing = float(selection_mask(part, rows).mean())
            except DataError:  # the query will say so when it meets the value
                continue
            shares[render(part, selection.input.schema)] = passing
        return shares

    def _rows(self, node: Node) -> pa.RecordBatch | None:
        """The sample as selections and projections over a stream hand it on."""
        match node:
            case StreamScan():
                return self._samples.get(node.name.lower())
            case Projection():
                below = self._rows(node.input)
                if below is None:
                    return None
                arrays = [evaluate(c.expression, below) for c in node.columns]
                return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(node.schema))
        return None
