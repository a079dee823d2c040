"""The scripts of ``examples/`` in a directory of a test, and the changes that they wrote there."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from windrow.cli.demo import below
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.change_table import read_changes
from windrow.result_files.identity import changes_schema

EXAMPLES = Path(__file__).parents[2] / "examples"


def catalog_of(script: str, directory: Path) -> Catalog:
    """The script, with its data and results below the directory."""
    return below(compile_script((EXAMPLES / script).read_text()).catalog, directory)


def changes_of(catalog: Catalog, name: str) -> pa.Table:
    query = next(q for q in catalog.queries if q.name == name)
    assert query.into is not None
    schema = changes_schema(query.plan.schema, query.clock)
    return read_changes(Path(query.into.path), query.into.format, schema)


def answer_at(changes: pa.Table, instant: int | datetime) -> Counter[tuple[Any, ...]]:
    """The rows that are in the answer after all changes up to the instant."""
    bag: Counter[tuple[Any, ...]] = Counter()
    for row in changes.filter(pc.less_equal(changes["instant"], pa.scalar(instant))).to_pylist():
        _, change, *values = row.values()
        bag[tuple(values)] += 1 if change == "+" else -1
    return +bag
