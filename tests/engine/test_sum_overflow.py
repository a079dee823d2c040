"""A SUM of BIGINT that does not fit is NULL in its group while it does not, and warned of once."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app
from windrow.columns.delta import Delta
from windrow.core.warnings import WindrowWarning
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

MOST = 2**63 - 1
STREAM = "CREATE STREAM s (ts BIGINT, k STRING, v BIGINT);"
ROWS = {"ts": [1, 2, 2, 4], "k": ["a", "a", "b", "a"], "v": [MOST, 7, 5, -3]}
GROUPS = "SELECT k, SUM(v) AS total, COUNT(*) AS n FROM s [RANGE 3] GROUP BY k"


def answered(query: str, to: int, **options: Any) -> list[tuple[Any, ...]]:
    db = windrow.connect(**options)
    (asked,) = db.execute(STREAM + query)
    db.push("s", ROWS)
    db.advance(to=to)
    return sorted((tuple(row.values()) for row in asked.answer().to_pylist()), key=repr)


@pytest.mark.parametrize("strategy", [s.value for s in Strategy])
def test_the_group_alone_is_without_a_sum_until_it_fits_again(strategy: str) -> None:
    db = windrow.connect(strategy=strategy)
    (groups,) = db.execute(STREAM + GROUPS)
    with pytest.warns(WindrowWarning, match="query query1: numbers overflowed") as told:
        db.push("s", ROWS)
    db.advance(to=9)
    assert [w.filename for w in told] == [__file__]
    assert {tuple(row.values()) for row in groups.changes().to_pylist()} == {
        (1, "+", "a", MOST, 1),
        (2, "-", "a", MOST, 1), (2, "+", "a", None, 2), (2, "+", "b", 5, 1),
        (4, "-", "a", None, 2), (4, "+", "a", 4, 2),
        (5, "-", "a", 4, 2), (5, "+", "a", -3, 1), (5, "-", "b", 5, 1),
        (7, "-", "a", -3, 1),
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore::windrow.WindrowWarning")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (GROUPS + " HAVING COUNT(*) < 2", [("b", 5, 1)]),
        (GROUPS + " HAVING SUM(v) > 0", [("b", 5, 1)]),
        (GROUPS + " HAVING SUM(v) IS NULL", [("a", None, 2)]),
        ("SELECT k, SUM(v) - 1 AS less FROM s [RANGE 3] GROUP BY k", [("a", None), ("b", 4)]),
        ("SELECT TOP 2 k, SUM(v) AS t FROM s [RANGE 3] GROUP BY k", [("a", None), ("b", 5)]),
        ("SELECT TOP 1 k, SUM(v) AS t FROM s [RANGE 3] GROUP BY k", [("b", 5)]),
        ("SELECT SUM(v) AS t, SUM(DISTINCT v), AVG(v) FROM s", [(None, None, 2.0**63 / 3)]),
        ("SELECT SUM(t) AS t FROM (SELECT SUM(v) AS t FROM s [RANGE 3] GROUP BY k) AS q", [(5,)]),
        ("SELECT DISTINCT t FROM (SELECT SUM(v) AS t FROM s GROUP BY k) AS q", [(5,), (None,)]),
        ("SELECT SUM(CAST(v AS DOUBLE)) AS t FROM s WHERE k = 'a'", [(2.0**63,)]),
    ],
)  # fmt: skip
def test_what_is_done_with_the_sum_sees_a_null(query: str, expected: list[tuple[Any, ...]]) -> None:
    assert answered(query, to=3) == expected


def test_a_sum_that_passes_beyond_within_an_instant_is_not_told_of() -> None:
    db = windrow.connect()
    (total,) = db.execute(STREAM + "SELECT SUM(v) AS t FROM s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.push("s", {"ts": [1, 1, 1], "k": ["a"] * 3, "v": [MOST, MOST, -MOST]})
        db.advance(to=2)
    assert total.answer().to_pylist() == [{"t": MOST}]


def test_a_window_of_rows_over_results_is_told_of_too() -> None:
    db = windrow.connect()
    db.execute(f"{STREAM} CREATE VIEW v AS ISTREAM(SELECT k, v, COUNT(*) FROM s GROUP BY k, v);")
    db.execute("SELECT k, SUM(v) AS total FROM v [ROWS 3 SLIDE 1] GROUP BY k;")
    with pytest.warns(WindrowWarning, match="numbers overflowed"):
        db.push("s", ROWS)


@pytest.mark.parametrize("window", ["", "[ROWS 2]", "[ROWS 2 SLIDE 1]"])
def test_a_sum_beyond_is_saved_and_loaded_and_counted_once(window: str) -> None:
    script = compile_script(f"{STREAM} SELECT SUM(v) AS t FROM s {window}")
    plan, segments = script.queries[-1].plan, {}
    pipeline, answers = Pipeline(plan, changes=True), []
    for now, value in enumerate([MOST, MOST, -MOST, -MOST]):
        ts = np.array([now])
        arrays = [pa.array(ts), pa.array(["a"]), pa.array([value])]
        batch = pa.RecordBatch.from_arrays(arrays, ["ts", "k", "v"])
        pipeline.process({"s": Delta.insertions(ts, batch)}, now)
        answers.append((pipeline.live_rows().to_pylist()[0]["t"], pipeline.take_overflows()))
        saved = pipeline.save()
        segments = {n: s for n, s in segments.items() if n not in saved.drop} | saved.put
        pipeline = Pipeline(plan, changes=True)
        pipeline.load(segments, saved.meta)
        assert pipeline.take_overflows() == 0
    last = (0, 0) if window == "" else (None, 1)
    assert answers == [(MOST, 0), (None, 1), (MOST if not window else 0, 0), last]


def test_the_command_line_warns_once_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)]
    Path("s.csv").write_text("\n".join(["ts,k,v", *lines]) + "\n")
    Path("q.cql").write_text(
        STREAM.replace(";", " FROM 's.csv';") + GROUPS + " INTO 'out' FORMAT json;"
    )
    done = CliRunner().invoke(app, ["run", "q.cql", "--runner", "embedded", "--once"])
    assert done.exit_code == 0, done.output
    assert done.stderr.count("warning: query query1: numbers overflowed") == 1
    written = "".join(p.read_text() for p in Path("out").glob("*.jsonl"))
    assert '"total":null' in written.replace(" ", "")


ARITHMETIC = [
    ("SELECT k, v + 1 AS m FROM s", [("a", 8), ("a", None), ("b", 6)]),
    ("SELECT k, SUM(v) + 1 AS m FROM s WHERE v <> 7 GROUP BY k", [("a", None), ("b", 6)]),
    ("SELECT k FROM s WHERE v * 2 > 0", [("a",), ("b",)]),
    ("SELECT k FROM s WHERE NOT v * 2 > 0", []),
    ("SELECT k, MAX(v * 2) AS m FROM s GROUP BY k", [("a", 14), ("b", 10)]),
    ("SELECT x.k FROM s [RANGE 9] AS x, s [RANGE 9] AS y WHERE x.v + 1 = y.v + 3", [("a",)]),
    ("SELECT COUNT(*) AS n FROM s GROUP BY v + 1", [(1,), (1,), (1,)]),
]


@pytest.mark.parametrize(("query", "expected"), ARITHMETIC)
@pytest.mark.parametrize("strategy", [s.value for s in Strategy])
def test_arithmetic_beyond_is_null_in_its_row_and_warned_of(
    query: str, expected: list[tuple[Any, ...]], strategy: str
) -> None:
    with pytest.warns(WindrowWarning, match="numbers overflowed") as told:
        assert answered(query, to=3, strategy=strategy) == expected
    assert len(told) == 1


def test_queries_that_share_a_selection_are_told_of_what_is_beyond() -> None:
    db = windrow.connect()
    shared = db.execute(
        STREAM + "".join(f"SELECT v + 1 AS m FROM s WHERE v > {n};" for n in (0, 5))
    )
    with pytest.warns(WindrowWarning, match="numbers overflowed"):
        db.push("s", ROWS)
    db.advance(to=9)
    assert [q.answer()["m"].to_pylist() for q in shared] == [[None, 8, 6], [None, 8]]


def test_a_sum_that_two_lengths_of_a_join_share_says_so_too() -> None:
    db = windrow.connect()
    joined = "a [RANGE {0} SLIDE 2], b [RANGE {0} SLIDE 2] WHERE a.k = b.k GROUP BY a.k"
    short, long = db.execute(
        "CREATE STREAM a (ts BIGINT, k INT, v BIGINT); CREATE STREAM b (ts BIGINT, k INT);"
        + "".join(
            f"CREATE QUERY of_{n} AS SELECT a.k, SUM(a.v) AS t FROM {joined.format(n)};"
            for n in (2, 8)
        )
    )
    assert "over one join" in db.explain("of_2")
    most = 2**63 - 1
    db.push("a", {"ts": [0, 3], "k": [1, 1], "v": [most, most]})
    db.push("b", {"ts": [1, 3], "k": [1, 1]})
    with pytest.warns(WindrowWarning, match="numbers overflowed"):
        db.advance(to=4)
    assert short.answer().to_pylist() == [{"k": 1, "t": most}]
    assert long.answer().to_pylist() == [{"k": 1, "t": None}]
