"""Observed rates, values and selectivities reach the optimiser."""

from __future__ import annotations

import numpy as np

import windrow
from windrow.engine.connection import Connection

STREAMS = """
CREATE STREAM a (ts BIGINT, k INT, p STRING);
CREATE STREAM b (ts BIGINT, k INT, p STRING);
CREATE STREAM c (ts BIGINT, k INT, p STRING);
"""
NEGATION = """
SELECT a.k, c.k FROM a [RANGE 1000 SECONDS], c [RANGE 1000 SECONDS]
WHERE a.k = c.k AND NOT EXISTS (SELECT * FROM b [RANGE 1000 SECONDS] WHERE b.k = a.k)
"""


def connection(rates: dict[str, int], keys: int) -> Connection:
    rng = np.random.default_rng(0)
    db = windrow.connect()
    db.execute(STREAMS)
    for name, rate in rates.items():
        ts = np.repeat(np.arange(100), rate)
        rows = {"ts": ts, "k": rng.integers(0, keys, len(ts)), "p": ["x"] * len(ts)}
        db.push(name, {column: list(values) for column, values in rows.items()})
    return db


def test_a_query_over_streams_that_were_seen_is_planned_with_what_was_seen() -> None:
    db = connection({"a": 3, "b": 1, "c": 2}, keys=50)
    (query,) = db.execute("SELECT k FROM a [RANGE 5 SECONDS] WHERE p = 'y' AND k < 25;")
    seen = db._runtime.inputs.statistics([query.declaration.plan])
    assert seen is not None
    assert seen.rates == {"a": 3.0, "b": 1.0, "c": 2.0}
    assert seen.distinct["a.k"] == 50
    assert seen.selectivities["a.p = 'y'"] == 0
    assert 0.3 < seen.selectivities["a.k < 25"] < 0.7


def test_explain_cost_uses_the_observed_figures() -> None:
    few, many = connection({"a": 1, "b": 1, "c": 1}, 4), connection({"a": 40, "b": 1, "c": 1}, 4000)
    costs = [db.explain(f"EXPLAIN COST {NEGATION};") for db in (few, many)]
    assert costs[0] != costs[1]


def test_nothing_seen_means_assumptions() -> None:
    db = windrow.connect()
    assert db._runtime.inputs.statistics() is None
    assert "strategy UPA" in db.explain(STREAMS + NEGATION + ";")


def test_explain_declares_streams_beside_those_that_are_pushed_to() -> None:
    db = connection({"a": 1}, 4)
    declared = "CREATE STREAM z (ts BIGINT, k INT);"
    text = db.explain(f"{declared} SELECT a.k FROM a [RANGE 9 SECONDS], z WHERE a.k = z.k;")
    assert "join" in text.lower()
    assert not db._runtime.inputs.knows("z")
