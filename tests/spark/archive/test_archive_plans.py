"""What stages over buckets archive is what one pipeline archives, whatever the view."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import windrow
from tests.operators.samples import between
from tests.spark.staged import Staged
from windrow.archive.archive import Archive
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.columns.delta import Delta
from windrow.engine.day_store import strategy_for
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy
from windrow.spark.archive.filling import Filling

STREAMS = "CREATE STREAM a (ts BIGINT, k INT, v BIGINT); CREATE STREAM b (ts BIGINT, k INT, v INT);"
LASTING = {
    "selection": "SELECT k, v FROM a WHERE v > 3",
    "arrivals": "ISTREAM(SELECT a.k, a.v, b.v AS w FROM a [RANGE 30], b [RANGE 20] "
    "WHERE a.k = b.k)",
    "counts": "ISTREAM(SELECT k, COUNT(*) AS n FROM a [RANGE 50] GROUP BY k)",
}
LIVING = {
    "window": "SELECT * FROM b [RANGE 45]",
    "sliding": "SELECT k, v FROM a [RANGE 60 SLIDE 20]",
    "join": "SELECT a.k, a.v, b.v AS w FROM a [RANGE 30], b [RANGE 50] WHERE a.k = b.k",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 15]",
    "both": "SELECT k, v FROM a [RANGE 25] UNION ALL SELECT k, v FROM b [RANGE 55]",
}
END = 400


def columns(seed: int) -> dict[str, np.ndarray]:
    chance = np.random.default_rng(seed)
    ts = np.sort(chance.integers(0, END, 150))
    return {"ts": ts, "k": chance.integers(0, 6, 150), "v": chance.integers(0, 9, 150)}


def delta(found: dict[str, np.ndarray], kind: pa.DataType) -> Delta:
    rows = [pa.array(found["ts"]), pa.array(found["k"], pa.int32()), pa.array(found["v"], kind)]
    return Delta.insertions(found["ts"], pa.RecordBatch.from_arrays(rows, ["ts", "k", "v"]))


def contents(archive) -> Counter:
    assert archive.verify() == []
    with archive.reader() as reader:
        names = [*archive.layout.schema.names, "_day"]
        return Counter(tuple(r.values()) for r in reader.scan(columns=names).to_pylist())


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("view", [*LASTING, *LIVING])
def test_stages_archive_what_one_pipeline_does(tmp_path, view, strategy):
    using, kind = ("WATA(2)", Archive) if view in LASTING else ("GRID(2, 2)", LifetimeIndex)
    text = f"{STREAMS} CREATE VIEW x AS {LASTING.get(view) or LIVING[view]}; CREATE ARCHIVE m "
    text += f"ON x KEY k WINDOW 4 MINUTES USING {using} INTO '{tmp_path}/"
    given = {"a": columns(1), "b": columns(2)}
    with windrow.connect(strategy=strategy) as db:
        db.execute(f"{text}expected';")
        for name, rows in given.items():
            db.push(name, rows)
        db.advance(to=END)
        waiting = db.archives["m"].waiting

    (declared,) = compile_script(f"{text}found';", strategy=strategy).catalog.archives
    (tmp_path / "home").mkdir()
    filling = Filling(declared, tmp_path / "home", "run")
    way = strategy_for(declared, strategy)
    staged = Staged(declared.plan, way, f"{view}-{strategy}", filling.delivery)
    inputs = {"a": delta(given["a"], pa.int64()), "b": delta(given["b"], pa.int32())}
    inputs = {name: inputs[name] for name in staged.streams}
    at = -1
    for number, until in enumerate((0, 35, 61, 200, 390, END)):
        time = dict.fromkeys(inputs, (until, until == END))
        filling.publish(number, staged.reports(number, between(inputs, at, until), time))
        at = until
    assert contents(kind.open(tmp_path / "found")) == contents(kind.open(tmp_path / "expected"))
    assert contents(kind.open(tmp_path / "found"))
    assert filling.rows_waiting() == waiting
