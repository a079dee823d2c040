"""One-time SQL over a checkpoint: what was committed last, whatever the run does meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import windrow
from tests.spark.written_checkpoint import WrittenCheckpoint, delta_of
from windrow.cli.main import app
from windrow.core.errors import InputError, StateError
from windrow.plan.strategy import Strategy
from windrow.result_files.compaction import compact
from windrow.spark.checkpoint.checkpoint_query import query_checkpoint
from windrow.spark.stage.state_files import BucketFiles

SCRIPT = """
    CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);
    CREATE RELATION h (k STRING, owner STRING);
    CREATE VIEW big AS SELECT k, v FROM s WHERE v > 2;
    CREATE QUERY totals AS SELECT k, SUM(v) AS t FROM s [RANGE 9] GROUP BY k;
    CREATE QUERY owned AS SELECT owner, v FROM s [RANGE 5], h WHERE s.k = h.k;
    CREATE QUERY every_big AS SELECT k, v FROM big;
    CREATE QUERY slid AS SELECT k, COUNT(*) AS n, SUM(v) AS t FROM s [RANGE 8 SLIDE 4] GROUP BY k;
"""
ROWS = [(ts, "abc"[ts % 3], ts % 5) for ts in range(1, 31)]
ASKED = ("SELECT * FROM totals", "SELECT * FROM every_big", "SELECT * FROM slid")
INPUTS = {
    "s": delta_of(SCRIPT, "s", ROWS),
    "h": delta_of(SCRIPT, "h", [(1, "a", "Ann"), (2, "b", "Bob"), (12, "c", "Cid")]),
}


def bag(table: pa.Table) -> Counter[tuple]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.fixture
def written(tmp_path) -> WrittenCheckpoint:
    made = WrittenCheckpoint(tmp_path / "state", SCRIPT)
    for now in (4, 11, 20):
        made.batch(INPUTS, now)
    return made


def test_answers_relations_windows_and_views_are_tables_as_of_the_last_commit(written) -> None:
    at = written.directory
    window = query_checkpoint(at, "SELECT ts, k, v FROM s [RANGE 6]")
    assert bag(window) == Counter(row for row in ROWS if 14 < row[0] <= 20)
    assert json.loads(window.schema.metadata[b"windrow.instants"]) == {"s [range 6]": 20}
    assert bag(query_checkpoint(at, "SELECT k, owner FROM h")) == Counter(
        [("a", "Ann"), ("b", "Bob"), ("c", "Cid")]
    )
    live = [row for row in ROWS if 11 < row[0] <= 20]
    sums = Counter()
    for _, k, v in live:
        sums[k] += v
    assert bag(query_checkpoint(at, "SELECT * FROM totals")) == Counter(sums.items())
    seen = query_checkpoint(at, "SELECT * FROM big [RANGE 9]")
    assert bag(seen) == Counter((k, v) for _, k, v in live if v > 2)
    assert query_checkpoint(at, "SELECT COUNT(*) AS n FROM s").to_pylist() == [{"n": len(live)}]
    came = query_checkpoint(at, "SELECT COUNT(*) AS n FROM every_big").to_pylist()
    assert came == [{"n": sum(1 for ts, _, v in ROWS if v > 2 and ts <= 20)}]
    with windrow.connect() as embedded:
        embedded.execute(SCRIPT)
        ts, k, v = zip(*(row for row in ROWS if row[0] <= 20), strict=True)
        embedded.push("s", {"ts": ts, "k": k, "v": v})
        embedded.advance(to=20)
        sql = "SELECT * FROM slid_summaries"
        assert bag(query_checkpoint(at, sql)) == bag(embedded.query(sql)) != Counter()
    written.batch(INPUTS, 25)
    assert query_checkpoint(at, "SELECT MAX(ts) AS ts FROM s").to_pylist() == [{"ts": 25}]


@pytest.mark.parametrize("strategy", Strategy)
@settings(max_examples=2)
@given(cuts=st.sets(st.integers(1, 29), min_size=1, max_size=4), length=st.integers(1, 9))
def test_windows_are_what_the_rows_give_after_any_micro_batches(
    strategy: Strategy, cuts: set[int], length: int, tmp_path_factory
) -> None:
    made = WrittenCheckpoint(tmp_path_factory.mktemp("any") / "state", SCRIPT, strategy)
    for now in sorted(cuts):
        made.batch(INPUTS, now)
        found = query_checkpoint(made.directory, f"SELECT ts, k, v FROM s [RANGE {length}]")
        assert bag(found) == Counter(row for row in ROWS if now - length < row[0] <= now)


def test_who_finds_files_gone_takes_the_newer_commit(written, monkeypatch) -> None:
    """Between the commit and its files the run goes on, and removes what nobody goes back to."""
    read, steps = BucketFiles.read, iter([24, 27])

    def late(self: BucketFiles, name: str):
        now = next(steps, None)
        if now is not None:
            written.batch(INPUTS, now)
            written.keep_newest()
        return read(self, name)

    monkeypatch.setattr(BucketFiles, "read", late)
    found = query_checkpoint(written.directory, "SELECT ts, k, v FROM s [RANGE 6]")
    assert bag(found) == Counter(row for row in ROWS if 21 < row[0] <= 27)


def test_results_that_are_compacted_before_their_state_is_committed_are_asked_as_of_the_state(
    written,
) -> None:
    answers = {q: bag(query_checkpoint(written.directory, q)) for q in ASKED}
    written.batch(INPUTS, 27)
    for commits in written.directory.glob("pipeline-*/state/commits"):
        (commits / "3.json").unlink()
    asked = query_checkpoint(written.directory, "SELECT * FROM totals")
    assert json.loads(asked.schema.metadata[b"windrow.instants"]) == {"totals": 20}
    for query in ("totals", "every_big", "slid"):
        assert compact(written.directory / query / "results") is not None
    assert {q: bag(query_checkpoint(written.directory, q)) for q in ASKED} == answers
    asked = query_checkpoint(written.directory, "SELECT * FROM totals")
    assert json.loads(asked.schema.metadata[b"windrow.instants"]) == {"totals": None}, "not known"


def test_a_damaged_checkpoint_is_called_so(written) -> None:
    for path in written.directory.glob("pipeline-*/state/*/*.state"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(StateError, match="damaged"):
        query_checkpoint(written.directory, "SELECT k, v FROM s")


def test_what_is_not_there_is_an_error_that_says_what_is(written, tmp_path) -> None:
    with pytest.raises(InputError, match=r"s \[RANGE 9 SECONDS\] with k, v \(totals\)"):
        query_checkpoint(written.directory, "SELECT v FROM s [RANGE 10]")
    with pytest.raises(
        InputError, match="the tables are big, every_big, h, owned, s, slid, totals"
    ):
        query_checkpoint(written.directory, "SELECT * FROM nobody")
    with pytest.raises(StateError, match="--checkpoint"):
        query_checkpoint(tmp_path, "SELECT 1")
    with pytest.raises(StateError, match=r"found no such directory$"):
        query_checkpoint(tmp_path / "nowhere", "SELECT 1")


def ask(written: WrittenCheckpoint, *arguments: str):
    return CliRunner().invoke(app, ["query", str(written.directory), *arguments])


def test_the_command_prints_a_table_csv_or_json(written) -> None:
    sql = "SELECT k, COUNT(*) AS n FROM s [RANGE 2] GROUP BY k ORDER BY k"
    assert ask(written, sql, "--format", "csv").stdout == '"k","n"\n"b",1\n"c",1\n'
    lines = ask(written, sql, "--format", "json").stdout.splitlines()
    assert [json.loads(line) for line in lines] == [{"k": "b", "n": 1}, {"k": "c", "n": 1}]
    table = ask(written, sql)
    assert table.exit_code == 0
    assert "2 rows" in table.stdout
    wrong = ask(written, "SELECT * FROM nobody")
    assert wrong.exit_code != 0
    assert "the tables are" in wrong.output


def test_a_directory_of_results_is_the_answer_of_its_query(tmp_path) -> None:
    with windrow.connect() as db:
        db.execute(f"""
            CREATE STREAM s (ts BIGINT, v BIGINT);
            CREATE QUERY live AS SELECT v FROM s [RANGE 5] INTO '{tmp_path}/out' FORMAT csv;
        """)
        db.push("s", {"ts": [1, 6, 8], "v": [1, 2, 3]})
        sql = "SELECT SUM(v) AS v FROM live"
        asked = CliRunner().invoke(app, ["query", f"{tmp_path}/out", sql, "--format", "json"])
        assert asked.stdout == '{"v": 2}\n', asked.output


def test_it_needs_neither_pyspark_nor_java(written) -> None:
    program = """
import sys
sys.modules["pyspark"] = None
from windrow.cli.main import app
app(["query", sys.argv[1], "SELECT COUNT(*) AS n FROM s", "--format", "json"])
"""
    called = [sys.executable, "-c", program, str(written.directory)]
    told = subprocess.run(called, capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert told.stdout == '{"n": 9}\n', told.stderr
