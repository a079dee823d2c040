"""Subscriptions on Spark: the same matches as embedded, however the index is spread."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import windrow
import windrow.spark
from tests.spark.scripts import net_changes, run_embedded, run_on_spark
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.spark import match_frame
from windrow.spark.run import spark_job
from windrow.spark.run.session import INDEX_MEMORY, configure, index_memory
from windrow.spark.stage.subscription_index import cut_by, part_of, parts_for
from windrow.subscriptions.subscriptions import Subscriptions

pytestmark = pytest.mark.spark

ATTRIBUTES = {"src": Type.STRING, "bytes": Type.BIGINT, "x": Type.DOUBLE}


def rows(count: int = 3_000) -> pa.Table:
    rng = np.random.default_rng(3)
    nothing = rng.random(count) < 0.1
    x = rng.random(count)
    x[::50] = np.nan
    return pa.table(
        {
            "ts": np.sort(rng.integers(0, 100, count)),
            "bytes": pa.array(rng.integers(-50, 1000, count), mask=nothing),
            "src": pa.array([f"h{i}" for i in rng.integers(0, 9, count)]),
            "x": x,
        }
    )


def subscriptions() -> Subscriptions:
    rng = np.random.default_rng(4)
    found = Subscriptions(ATTRIBUTES)
    entries = [{"id": "all", "bytes": "*"}, {"id": "one", "bytes": "> 900"},
               {"id": "h1", "src": "h1"}, {"id": "low", "x": "< 0.1"}]  # fmt: skip
    for number in range(300):
        low = int(rng.integers(-60, 990))
        entries.append(
            {"id": f"s{number // 2}", "bytes": f"[{low}, {low + 20})",
             "src": "in (h1, h2, h3)" if number % 3 == 0 else None}
        )  # fmt: skip
    found.add(entries)
    return found


def pairs(table: pa.Table) -> list[tuple]:
    columns = [table[n].to_pylist() for n in ("subscription", "ts", "bytes", "src", "x")]
    return sorted(map(repr, zip(*columns, strict=True)))


def expected(table: pa.Table, wanted: Subscriptions, ts: np.ndarray | None = None) -> list[tuple]:
    found = wanted.match(table, ts)
    chosen = table.take(found["row"])
    return pairs(chosen.append_column("subscription", found["subscription"]))


@pytest.mark.parametrize(("partitions", "by"), [(None, None), (3, None), (5, "x"), (1, "bytes")])
def test_a_dataframe_is_matched_as_embedded(spark, partitions, by):
    table, wanted = rows(), subscriptions()
    frame = spark.createDataFrame(table).repartition(2)
    found = windrow.spark.match(frame, wanted, partitions=partitions, by=by).toArrow()
    assert pairs(found) == expected(table, wanted)
    assert found.column_names == ["subscription", "ts", "bytes", "src", "x"]


def test_an_index_past_the_memory_of_a_worker_is_cut_without_being_asked(spark, monkeypatch):
    table, wanted = rows(), subscriptions()
    cuts = []

    def noting(entries, attributes, by, count):
        cuts.append(count)
        return cut_by(entries, attributes, by, count)

    monkeypatch.setattr(match_frame, "cut_by", noting)
    frame = spark.createDataFrame(table)
    session = frame.sparkSession
    assert windrow.spark.match(frame, wanted) is not None
    assert cuts == [], "the whole index is within the default"
    session.conf.set(INDEX_MEMORY, "16k")
    try:
        found = windrow.spark.match(frame, wanted).toArrow()
        beside = configure(session)
        assert index_memory(beside) == 16 << 10
        session.conf.set(INDEX_MEMORY, "a lot")
        with pytest.raises(InputError, match="a size such as 512m"):
            windrow.spark.match(frame, wanted)
    finally:
        session.conf.unset(INDEX_MEMORY)
    assert cuts == [parts_for([wanted.entries()], ATTRIBUTES, 16 << 10)]
    assert cuts[0] > 1
    assert pairs(found) == expected(table, wanted)


def test_changes_take_effect_at_their_instants_on_a_dataframe_too(spark):
    table, wanted = rows(), subscriptions()
    wanted.drop("one", at=40)
    wanted.add([{"id": "late", "bytes": "< 100"}], at=60)
    frame = spark.createDataFrame(table)
    found = windrow.spark.match(frame, wanted, ts="ts", partitions=2).toArrow()
    assert pairs(found) == expected(table, wanted, table["ts"].to_numpy())


def test_a_part_holds_what_its_range_can_meet_and_no_more():
    entries = subscriptions().entries()
    cut = cut_by([entries], ATTRIBUTES, None, 8)
    sizes = [len(part_of(entries, cut, number)) for number in range(8)]
    assert cut.name == "bytes"
    assert max(sizes) < len(entries) / 3
    assert sum(sizes) >= len(entries)


def test_what_cannot_be_cut_or_found_is_named(spark):
    wanted = subscriptions()
    with pytest.raises(InputError, match="texts have no order"):
        cut_by([wanted.entries()], ATTRIBUTES, "src", 2)
    frame = spark.createDataFrame(pa.table({"bytes": [1]}))
    with pytest.raises(InputError, match="a column src"):
        windrow.spark.match(frame, wanted)


def catalog_in(directory: Path, data: Path) -> Catalog:
    directory.mkdir()
    return compile_script(
        f"CREATE STREAM flows (ts BIGINT, bytes BIGINT, src STRING) FROM '{data}/rows' "
        f"FORMAT parquet;"
        f"CREATE VIEW large AS SELECT src, bytes * 2 AS twice FROM flows WHERE bytes > 500;"
        f"CREATE SUBSCRIPTIONS alerts ON flows (bytes, src) FROM '{data}/alerts.csv' "
        f"INTO '{directory}/alerts' FORMAT parquet;"
        f"CREATE SUBSCRIPTIONS views ON large (twice) FROM '{data}/views.csv' "
        f"INTO '{directory}/views' FORMAT csv;"
    ).catalog


def test_a_script_with_subscriptions_gives_the_same_on_both_runners(spark, tmp_path, monkeypatch):
    # So little that one of the indexes is cut by ranges and the other is not.
    monkeypatch.setattr(spark_job, "index_memory", lambda _: 600)
    table = rows().drop_columns(["x"])
    (tmp_path / "rows").mkdir()
    for number in range(3):
        pq.write_table(table.slice(number * 1000, 1000), tmp_path / f"rows/{number}.parquet")
    (tmp_path / "alerts.csv").write_text(
        'id,bytes,src,since,until\na,"[100, 300)",h1,,\na,> 950,,40,\nb,,"in (h2, h3)",10,20\n'
    )
    (tmp_path / "views.csv").write_text("id,twice_min,twice_max\nv,1500,\nw,,1400\n")
    embedded, on_spark = (catalog_in(tmp_path / n, tmp_path) for n in ("one", "two"))
    reference = run_embedded(embedded)
    report = run_on_spark(on_spark, tmp_path / "checkpoint")
    homes = [json.loads((tmp_path / f"checkpoint/{n}/windrow.json").read_text())
             for n in ("alerts", "views")]  # fmt: skip
    assert [home["cut"] is None for home in homes] == [False, True]
    for ours, theirs in zip(report.queries, reference.queries, strict=True):
        assert net_changes(on_spark, ours.name) == net_changes(embedded, theirs.name) != {}
        assert (ours.rows_in, ours.rows_out) == (theirs.rows_in, theirs.rows_out)


def test_subscriptions_of_a_connection_are_matched_as_rows_are_pushed(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("alerts.csv").write_text("id,bytes\nbig,> 500\n")
    script = (
        "CREATE STREAM flows (ts BIGINT, bytes BIGINT, src STRING);"
        "CREATE SUBSCRIPTIONS alerts ON flows (bytes) FROM 'alerts.csv';"
    )
    answers = []
    for session in (None, spark):
        with windrow.connect(spark=session) as db:
            (alerts,) = db.execute(script)
            db.push("flows", rows(500).drop_columns(["x"]))
            db.advance(to=200)
            answers.append(sorted(map(repr, alerts.answer().to_pylist())))
            if session is not None:
                with pytest.raises(InputError, match="changes in their file"):
                    db.subscriptions["alerts"].drop("big", at=300)
    assert answers[0] == answers[1] != []
