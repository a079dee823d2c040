"""What runs while things are killed: a script that has something of everything, and its input.

The input comes in *steps*: one file for each of two streams and one of updates of a relation. A
file is written elsewhere and renamed, as files should arrive.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

QUERIES = {"unseen": "csv", "sums": "json", "recent": "parquet"}
ARCHIVE = "kept"
TICKS = 30
"""Of time in a step."""
KEYS = 12

SCRIPT = """
CREATE STREAM a (ts BIGINT, k INT, v BIGINT) FROM 'in/a' FORMAT parquet TIMESTAMP BY ts SLACK 4;
CREATE STREAM b (ts BIGINT, k INT, v BIGINT) FROM 'in/b' FORMAT parquet TIMESTAMP BY ts SLACK 4;
CREATE RELATION names (k INT, name STRING) FROM 'in/names' FORMAT csv;

-- Two stages: by key, then by value.
CREATE QUERY unseen AS
  SELECT a.v, COUNT(*) AS n, MIN(a.k) AS least FROM a [RANGE 40], names
  WHERE a.k = names.k AND NOT EXISTS (SELECT * FROM b [RANGE 6] AS other WHERE other.k = a.k)
  GROUP BY a.v
  INTO 'out/unseen' FORMAT csv;
CREATE QUERY sums AS
  SELECT k, SUM(v) AS total FROM b [RANGE 60 SLIDE 20] GROUP BY k
  INTO 'out/sums' FORMAT json;
CREATE QUERY recent AS
  SELECT DISTINCT k, v FROM a [RANGE 20]
  INTO 'out/recent' FORMAT parquet;
CREATE ARCHIVE kept ON b KEY k WINDOW 20 MINUTES USING WATA(3) INTO 'out/kept';
"""


class Input:
    """The steps below ``directory``; those that are not given yet wait beside it."""

    def __init__(self, directory: Path, steps: int, seed: int, rows: int = 120) -> None:
        self.steps, self.given = steps, 0
        self._waiting, self._there = directory / "waiting", directory / "in"
        rng = np.random.default_rng(seed)
        for stream in "ab":
            for step in range(steps):
                _write(self._waiting / stream, step, _rows(rng, step, rows))
        for step, updates in enumerate(_updates(rng, steps)):
            _write(self._waiting / "names", step, updates)
        for name in ("a", "b", "names"):
            (self._there / name).mkdir(parents=True)

    def give(self, steps: int = 1) -> None:
        """Let the next steps arrive."""
        for _ in range(min(steps, self.steps - self.given)):
            for file in sorted(self._waiting.glob(f"*/{self.given:05d}.*")):
                file.rename(self._there / file.parent.name / file.name)
            self.given += 1


def _rows(rng: np.random.Generator, step: int, rows: int) -> pa.Table:
    ts = np.sort(rng.integers(step * TICKS, (step + 1) * TICKS, rows))
    ts = np.maximum(ts - rng.integers(0, 4, rows), 0)  # some disorder, within the slack
    keys, values = rng.integers(0, KEYS, rows), rng.integers(0, 30, rows)
    return pa.table({"ts": ts, "k": keys.astype(np.int32), "v": values})


def _updates(rng: np.random.Generator, steps: int) -> list[pa.Table]:
    """Everybody has a name at first; in each step somebody gets another."""
    names = {k: f"n{k}" for k in range(KEYS)}
    tables = []
    for step in range(steps):
        rows = [(0, "+", k, name) for k, name in names.items()] if step == 0 else []
        at = step * TICKS + TICKS // 2
        key = int(rng.integers(0, KEYS))
        rows += [(at, "-", key, names[key]), (at, "+", key, f"n{key}-{step}")]
        names[key] = f"n{key}-{step}"
        columns = zip(*rows, strict=True)
        fields = ("instant", "change", "k", "name")
        tables.append(pa.table({n: list(c) for n, c in zip(fields, columns, strict=True)}))
    return tables


def _write(directory: Path, step: int, table: pa.Table) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    if directory.name == "names":
        pc.write_csv(table, directory / f"{step:05d}.csv")
    else:
        pq.write_table(table, directory / f"{step:05d}.parquet")
