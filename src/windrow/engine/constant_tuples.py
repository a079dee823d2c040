"""Rows of VALUES as tuples: all of them are there at the first instant, and stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.types import arrow_schema
from windrow.core.time import BEGINNING
from windrow.plan.nodes import ConstantRows

FIRST_INSTANT = BEGINNING + 1
"""Before it there is nothing; at it relations have the contents that have no time of their own."""


def constant_tuples(node: ConstantRows) -> Delta:
    """The rows as insertions."""
    schema, nothing = arrow_schema(node.schema), pa.record_batch({"": pa.nulls(1)})
    columns = [
        pa.concat_arrays([evaluate(value, nothing).cast(field.type) for value in column])
        for column, field in zip(zip(*node.rows, strict=True), schema, strict=True)
    ]
    rows = batch_of(columns, schema, len(node.rows))
    return Delta.insertions(np.full(len(node.rows), FIRST_INSTANT, np.int64), rows)
