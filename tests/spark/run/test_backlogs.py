"""A backlog, a burst and the end of very many results at once go through, as embedded."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from tests.support.runs import run_embedded, run_on_spark
from windrow.plan.catalog import Catalog
from windrow.plan.program import compile_script
from windrow.result_files.change_table import read_changes
from windrow.result_files.commits import commits
from windrow.result_files.identity import changes_schema
from windrow.result_files.reader import published_results
from windrow.spark.source.file_log import FileLog
from windrow.spark.source.pace import START

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

DAY = 86_400_000_000


def compiled(place: Path, out: str, format_: str, kind: str, **queries: str) -> Catalog:
    text = (
        f"CREATE STREAM s (ts {kind}, k INT, v BIGINT) FROM '{place / 'in'}' FORMAT {format_} "
        "TIMESTAMP BY ts SLACK 0;\n"
    )
    for name, query in queries.items():
        text += f"CREATE QUERY {name} AS {query} INTO '{place / out / name}' FORMAT parquet;\n"
    return compile_script(text).catalog


def write(place: Path, name: str, columns: dict[str, np.ndarray], format_: str) -> None:
    (place / "in").mkdir(exist_ok=True)
    hidden = place / f".{name}"
    (pc.write_csv if format_ == "csv" else pq.write_table)(pa.table(columns), hidden)
    hidden.rename(place / "in" / f"{name}.{format_}")


def changes(catalog: Catalog, name: str) -> Counter[tuple]:
    """The changes net per instant, which do not depend on how time was cut."""
    declared = next(q for q in catalog.queries if q.name == name)
    assert declared.into is not None
    schema = changes_schema(declared.plan.schema, declared.clock)
    table = read_changes(Path(declared.into.path), declared.into.format, schema)
    signs = {"+": 1, "-": -1}
    found: Counter[tuple] = Counter()
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    for instant, change, *values in zip(*columns, strict=True):
        found[instant, *values] += signs[change]
    return Counter({row: count for row, count in found.items() if count})


def batches_of(checkpoint: Path) -> Counter[int]:
    """Bytes by micro-batch."""
    (log,) = (checkpoint / "pipeline-1" / "streams").glob("*.log")
    found: Counter[int] = Counter()
    for entry in FileLog.entries_in(log):
        if entry.path is not None:
            found[entry.batch or 0] += entry.size
    return found


def assert_as_embedded(found: Catalog, expected: Catalog) -> None:
    run_embedded(expected)
    for query in expected.queries:
        assert changes(found, query.name) == changes(expected, query.name) != Counter()


@pytest.mark.parametrize(
    "results", [20_000, pytest.param(400_000, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_results_that_all_end_in_one_step_after_a_gap(tmp_path, results):
    queries = {
        "rows": "SELECT k, v FROM s [RANGE 100]",
        "distinct_keys": "SELECT DISTINCT k FROM s [RANGE 100]",
    }
    at = np.sort(np.arange(results) % 10)
    columns = {"ts": at, "k": np.arange(results, dtype=np.int32), "v": at}
    write(tmp_path, "0", columns, "parquet")
    late = np.array([1_000_000])
    write(tmp_path, "1", {"ts": late, "k": late.astype(np.int32), "v": late}, "parquet")
    found, expected = (compiled(tmp_path, o, "parquet", "BIGINT", **queries) for o in ("f", "e"))
    run_on_spark(found, tmp_path / "checkpoint", files_per_trigger=1)
    assert_as_embedded(found, expected)
    for name in queries:
        published = published_results(tmp_path / "f" / name)
        assert published.totals.rows_out == 2 * results + 1, "they came and went"
        assert published.last <= 2, "in one micro-batch each"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_day_of_backlog_is_worked_off_in_bounded_micro_batches(tmp_path):
    queries = {"sums": "SELECT k, SUM(v) AS n FROM s [RANGE 10 MINUTES SLIDE 5 MINUTES] GROUP BY k"}
    files, rows = 300, 5_000
    rng = np.random.default_rng(1)
    for number in range(files):
        ts = np.sort(rng.integers(number * DAY // files, (number + 1) * DAY // files, rows))
        stamps = ts.astype("datetime64[us]")
        columns = {"ts": stamps, "k": rng.integers(0, 20, rows), "v": rng.integers(0, 99, rows)}
        write(tmp_path, f"{number:04d}", columns, "csv")
    found, expected = (compiled(tmp_path, o, "csv", "TIMESTAMP", **queries) for o in ("f", "e"))
    run_on_spark(found, tmp_path / "checkpoint")
    sizes = batches_of(tmp_path / "checkpoint")
    total = sum(sizes.values())
    assert total > 2.5 * START.value, "it does not fit into one trigger"
    assert sizes[0] <= START.value
    assert all(sizes[n + 1] <= 2.1 * max(sizes[n], START.value) for n in range(len(sizes) - 1))
    assert_as_embedded(found, expected)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_burst_of_ten_times_the_rate_goes_through_while_the_run_is_live(tmp_path):
    queries = {"counts": "SELECT k, COUNT(*) AS n FROM s [RANGE 500] GROUP BY k"}
    rng, now = np.random.default_rng(2), 0
    found, expected = (compiled(tmp_path, o, "csv", "BIGINT", **queries) for o in ("f", "e"))
    write(tmp_path, "0000", {name: np.zeros(1, np.int64) for name in ("ts", "k", "v")}, "csv")
    stop, failed = threading.Event(), []

    def live() -> None:
        try:
            run_on_spark(found, tmp_path / "checkpoint", once=False, stop=stop)
        except BaseException as error:
            failed.append(error)

    run = threading.Thread(target=live)
    run.start()
    try:
        for step in range(1, 60):
            rows = 100_000 if 20 <= step < 40 else 10_000
            ts = np.sort(rng.integers(now, now + 50, rows))
            columns = {"ts": ts, "k": rng.integers(0, 50, rows), "v": ts}
            write(tmp_path, f"{step:04d}", columns, "csv")
            now += 50
            time.sleep(0.2)
        end = time.monotonic() + 200
        while run.is_alive() and time.monotonic() < end:
            known = FileLog.entries_in(tmp_path / "checkpoint" / "pipeline-1/streams/s.log")
            last = max((entry.batch or 0) for entry in known)
            done = [commit.batch for commit in commits(tmp_path / "f" / "counts")]
            if sum(e.path is not None for e in known) == 60 and last in done:
                break
            time.sleep(0.2)
    finally:
        stop.set()
        run.join()
    assert failed == []
    sizes = batches_of(tmp_path / "checkpoint")
    assert max(sizes.values()) <= 2.1 * START.value
    run_on_spark(found, tmp_path / "checkpoint")  # to the end of the stream
    assert_as_embedded(found, expected)
