"""What is legal and useless is said to be so, once, with its place, and runs."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import windrow
from tests.plan.scripts import catalog
from windrow.cli.main import app
from windrow.core.warnings import ScriptWarning, WindrowWarning
from windrow.plan.program import compile_script

STREAM = "CREATE STREAM s (ts BIGINT, k INT) FROM 's.csv';\n"


@pytest.mark.parametrize(
    ("query", "underlined"),
    [
        ("DSTREAM(SELECT k FROM s)", "DSTREAM(SELECT k FROM s)"),
        ("SELECT Dstream(k) FROM s WHERE a > 1", "Dstream(k)"),
        ("DSTREAM(SELECT k FROM s UNION ALL SELECT k FROM t)", "DSTREAM("),
        ("SELECT * FROM (DSTREAM(SELECT k FROM picked)) [RANGE 5]", "DSTREAM("),
        ("EXPLAIN DSTREAM(SELECT k FROM s [NOW INTERNAL])", "DSTREAM("),
        ("CREATE VIEW v AS DSTREAM(SELECT k FROM s); SELECT * FROM v; SELECT k FROM v", "DSTREAM("),
    ],
)
def test_a_dstream_that_can_never_speak_is_warned_of_once(query: str, underlined: str) -> None:
    (warning,) = compile_script(query, catalog()).warnings
    assert query[warning.span.column - 1 :].startswith(underlined)
    assert "DSTREAM never emits anything here" in str(warning)
    assert warning.excerpt().startswith(f"  1 | {query}")


@pytest.mark.parametrize(
    "query",
    ["DSTREAM(SELECT k FROM s [RANGE 5])", "ISTREAM(SELECT k FROM s)", "DSTREAM(SELECT k FROM r)",
     "DSTREAM(SELECT COUNT(*) FROM s)"],
)  # fmt: skip
def test_one_that_can_speak_is_not(query: str) -> None:
    assert not compile_script(query, catalog()).warnings


def test_python_warns_where_the_connection_was_called_and_goes_on() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k INT)")
    with pytest.warns(WindrowWarning, match="line 1, column 1: DSTREAM never") as told:
        [gone] = db.execute("DSTREAM(SELECT k FROM s)")
    assert [w.filename for w in told] == [__file__]
    with pytest.warns(ScriptWarning):
        db.explain("DSTREAM(SELECT k FROM s)")
    db.push("s", {"ts": [1, 2], "k": [1, 2]})
    db.advance(to=9)
    assert gone.changes().num_rows == 0


def test_a_view_of_an_earlier_script_was_warned_of_there() -> None:
    db = windrow.connect()
    with pytest.warns(ScriptWarning):
        db.execute("CREATE STREAM s (ts BIGINT, k INT); CREATE VIEW v AS DSTREAM(SELECT k FROM s)")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.execute("SELECT * FROM v [RANGE 5]")


@pytest.mark.parametrize("command", [["explain"], ["run", "--runner", "embedded", "--once"]])
def test_the_command_line_warns_on_standard_error(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("ts,k\n1,1\n")
    Path("q.cql").write_text(STREAM + "DSTREAM(SELECT k FROM s);")
    done = CliRunner().invoke(app, [command[0], "q.cql", *command[1:]])
    assert done.exit_code == 0, done.output
    assert "warning: q.cql: line 2, column 1: DSTREAM never emits anything here" in done.stderr
    assert "    | ^^^^^^^^^^^^^^^^^^^^^^^^" in done.stderr
    assert "warning" not in done.stdout
