"""A case on Windrow: embedded in a number of pushes, or in the buckets of Spark's stages."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

import windrow
from tests.operators.samples import between
from tests.scale.cases import Case
from tests.scale.data import DECLARATIONS, Data, pieces
from tests.spark.staged import Staged
from windrow.columns.delta import Delta
from windrow.core.time import FOREVER
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

RELATIONS = ("r", "nrr")


def feeds(data: Data, asked: str) -> dict[str, pa.Table]:
    """What the question reads, as it is pushed."""
    words = set(asked.replace(",", " ").replace("(", " ").split())
    tables = dict(data.streams) | dict.fromkeys(RELATIONS, data.updates)
    return {name: table for name, table in tables.items() if name in words}


def run_embedded(case: Case, data: Data, strategy: Strategy, pushes: int) -> pa.Table:
    """The changes of the case when each feed comes in ``pushes`` parts, side by side."""
    with windrow.connect(strategy=strategy) as connection:
        connection.execute(DECLARATIONS)
        (query,) = connection.execute(case.cql)
        parts = {name: pieces(t, pushes) for name, t in feeds(data, case.cql).items()}
        for place in range(pushes):
            for name, tables in parts.items():
                connection.push(name, tables[place])
        connection.advance(to=data.end)
        return query.changes()


def run_in_buckets(case: Case, data: Data, strategy: Strategy, batches: int) -> pa.Table:
    """The changes when stages over several buckets get the feeds in micro-batches."""
    plan = compile_script(f"{DECLARATIONS}\n{case.cql}").queries[-1].plan
    name = f"{case.name} {strategy.value} {batches} {data.size}"
    staged = Staged(plan, strategy, name)
    given = {name: delta(name, table) for name, table in feeds(data, case.cql).items()}
    rows = {name: given[name] for name in staged.streams}
    edges = [0, *np.linspace(0, data.ticks, batches + 1)[1:].astype(int).tolist(), data.end]
    found: list[pa.Table] = []
    for number, (start, stop) in enumerate(itertools.pairwise(edges)):
        part = between(rows, start if number else -1, stop)
        over = stop == data.end
        found.append(staged.changes(number, part, dict.fromkeys(staged.streams, (stop, over))))
    return pa.concat_tables(found)


def delta(name: str, table: pa.Table) -> Delta:
    """A feed as the stages get it."""
    relation = name in RELATIONS
    ts = table.column(0).to_numpy().astype(np.int64)
    sign = np.ones(len(ts), np.int8)
    if relation:
        sign[np.array(table["change"].to_pylist()) == "-"] = -1
    content = table.drop_columns(["instant", "change"]) if relation else table
    batch = content.combine_chunks().to_batches()[0]
    return Delta(ts, np.full(len(ts), FOREVER, np.int64), sign, batch)
