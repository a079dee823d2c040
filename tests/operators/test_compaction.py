"""Large inputs, in which buffers are compacted and groups numbered anew, against plain counts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import windrow
from windrow.plan.strategy import Strategy

STREAMS = (
    "CREATE STREAM a (ts BIGINT, k BIGINT, g BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT);"
    "CREATE QUERY q AS "
)
Columns = dict[str, np.ndarray]


def cut(columns: Columns, pieces: int) -> list[Columns]:
    """The rows in so many pieces, none of which ends inside an instant."""
    edges = np.linspace(0, columns["ts"][-1] + 1, pieces + 1)
    places = np.searchsorted(columns["ts"], edges)
    return [
        {name: values[start:stop] for name, values in columns.items()}
        for start, stop in pairwise(places)
    ]


def answer(
    query: str, a: Columns, b: Columns, pieces: int, strategy: Strategy = Strategy.UPA
) -> list[tuple[Any, ...]]:
    with windrow.connect(strategy=strategy) as db:
        db.execute(STREAMS + query)
        for rows in zip(cut(a, pieces), cut(b, pieces), strict=True):
            for name, columns in zip("ab", rows, strict=True):
                db.push(name, pa.table(columns))
        db.advance(to=int(a["ts"][-1]))
        return sorted(tuple(row.values()) for row in db.queries["q"].answer().to_pylist())


def streams(rows: int, span: int, values: int) -> tuple[Columns, Columns]:
    rng = np.random.default_rng(rows)
    ts = np.arange(rows) * span // rows
    return (
        {"ts": ts, "k": rng.integers(0, values, rows), "g": rng.integers(0, 20, rows)},
        {"ts": ts[::3], "k": rng.integers(0, values, len(ts[::3]))},
    )


def window(columns: Columns, length: int, now: int) -> list[tuple[int, ...]]:
    held = (columns["ts"] > now - length) & (columns["ts"] <= now)
    return list(zip(*(v[held].tolist() for v in columns.values()), strict=True))


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("pieces", [1, 4])
def test_groups_stay_apart_over_a_join_that_withdraws(strategy: Strategy, pieces: int) -> None:
    a, b = streams(800, 40, 20)
    query = (
        "SELECT a.g, COUNT(*) AS n, MIN(b.ts) AS m, COUNT(DISTINCT b.ts) AS d "
        "FROM a [RANGE 20 SECONDS], b [RANGE 20 SECONDS] WHERE a.k = b.k "
        "AND NOT EXISTS (SELECT * FROM b [RANGE 1 SECONDS] AS n WHERE n.k = a.k) GROUP BY a.g;"
    )
    met: dict[int, list[int]] = {}
    closed = {k for _, k in window(b, 1, 39)}
    for _, k, g in window(a, 20, 39):
        for ts, key in window(b, 20, 39):
            if k == key and k not in closed:
                met.setdefault(g, []).append(ts)
    expected = sorted((g, len(t), min(t), len(set(t))) for g, t in met.items())
    assert answer(query, a, b, pieces, strategy) == expected


@pytest.mark.parametrize("strategy", Strategy)
def test_the_first_rows_over_a_negation_are_found_after_a_move(strategy: Strategy) -> None:
    a, b = streams(20_000, 2_000, 60)
    query = (
        "SELECT TOP 20 k, g, ts FROM a [RANGE 1500 SECONDS] "
        "WHERE NOT EXISTS (SELECT * FROM b [RANGE 2 SECONDS] WHERE b.k = a.k) "
        "ORDER BY g DESC, ts DESC, k;"
    )
    closed = {k for _, k in window(b, 2, 1_999)}
    rows = [(k, g, ts) for ts, k, g in window(a, 1_500, 1_999) if k not in closed]
    expected = sorted(rows, key=lambda row: (-row[1], -row[2], row[0]))[:20]
    assert answer(query, a, b, 40, strategy) == sorted(expected)


@pytest.mark.parametrize("pieces", [1, 7])
def test_short_and_long_lives_side_by_side(pieces: int) -> None:
    a, b = streams(30_000, 15_000, 9_000)
    both = (
        "((SELECT k, ts FROM a [RANGE 10 SECONDS]) UNION ALL "
        "(SELECT k, ts FROM b [RANGE 9000 SECONDS])) AS u"
    )
    rows = [(k, ts) for ts, k, _ in window(a, 10, 14_999)]
    rows += [(k, ts) for ts, k in window(b, 9_000, 14_999)]
    counts, latest = Counter(k for k, _ in rows), dict(sorted(rows))
    grouped = answer(f"SELECT k, COUNT(*), MAX(ts) FROM {both} GROUP BY k;", a, b, pieces)
    assert grouped == sorted((k, n, latest[k]) for k, n in counts.items())
    first = answer(f"SELECT TOP 20 k, ts FROM {both} ORDER BY ts;", a, b, pieces)
    assert first == sorted(sorted(rows, key=lambda row: row[::-1])[:20])


@pytest.mark.parametrize("pieces", [3, 60])
def test_a_median_is_that_of_its_group_after_thousands_of_groups(pieces: int) -> None:
    """Many groups of one tuple come and go while a few hold thousands of values."""
    a, b = streams(18_000, 9_000, 10)
    a["g"] = np.arange(18_000)
    query = (
        "SELECT g, MEDIAN(v) FROM ((SELECT g + 100 AS g, k AS v FROM a [RANGE 10 SECONDS]) "
        "UNION ALL (SELECT k, ts FROM b [RANGE 8000 SECONDS])) AS u GROUP BY g;"
    )
    held: dict[int, list[int]] = {g + 100: [k] for _, k, g in window(a, 10, 8_999)}
    for ts, k in window(b, 8_000, 8_999):
        held.setdefault(k, []).append(ts)
    expected = sorted((g, float(median(v))) for g, v in held.items())
    assert answer(query, a, b, pieces) == expected
