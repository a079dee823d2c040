"""Files of changes read whole, in each format, and put in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from windrow.engine.identity import INSTANT


def read_file(path: Path, format_: str, schema: pa.Schema) -> pa.Table:
    """All of a file, in the types of the schema."""
    if format_ == "csv":
        options = pyarrow.csv.ConvertOptions(
            column_types=schema,
            null_values=[""],  # nothing but nothing: a NaN is no NULL
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        whole = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, parse_options=whole, convert_options=options)
    if format_ == "json":
        # Arrow reads dates of JSON from numbers only.
        texts = {f.name: pa.string() for f in schema if pa.types.is_date(f.type)}
        plain = pa.schema([(f.name, texts.get(f.name, f.type)) for f in schema])
        parsed = pyarrow.json.ParseOptions(explicit_schema=plain)
        found = pyarrow.json.read_json(path, parse_options=parsed)
        return found.select(schema.names).cast(schema)
    return pyarrow.parquet.read_table(path, schema=schema)


def in_order(changes: pa.Table) -> pa.Table:
    """In the order of their instants, those of one instant as they stood; what has none is first,
    for it has been so from the beginning.
    """
    if INSTANT not in changes.schema.names:
        return changes
    instants = changes[INSTANT].cast(pa.int64()).fill_null(np.iinfo(np.int64).min).to_numpy()
    if (instants[1:] >= instants[:-1]).all():
        return changes
    return changes.take(pa.array(np.argsort(instants, kind="stable")))
