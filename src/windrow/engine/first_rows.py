"""What the first rows of a script's files say, before its plans are made.

A connection plans with what it has seen of its streams (``observed``). A script that runs over
files has seen nothing when its plans are made; so the first rows of the first file of each stream
are read for it, and again when the query reads them. A stream whose files are not there yet, are
in an object store or cannot be read is one of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from windrow.core.errors import WindrowError
from windrow.core.paths import is_object_url
from windrow.engine.observed import SAMPLE, statistics_of
from windrow.plan.catalog import Catalog, StreamDeclaration
from windrow.plan.costs.flows import StreamStatistics
from windrow.plan.nodes import Node
from windrow.tables.find_files import find_files
from windrow.tables.readers import UNREADABLE, read_file


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
