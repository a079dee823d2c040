"""``windrow shell``: what is piped in, what is completed, what a terminal gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app
from windrow.cli.shell import Session
from windrow.cli.shell_prompt import completions, names_in, read_from_terminal

STREAM = "CREATE STREAM s (ts BIGINT, x INT)\n  FROM 's.csv';\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("ts,x\n1,2\n2,3\n")
    return tmp_path


def piped(text: str, *arguments: str) -> tuple[int, str, str]:
    found = CliRunner().invoke(app, ["shell", *arguments], input=text)
    return found.exit_code, found.stdout, found.stderr


def test_statements_over_several_lines_are_answered_in_order() -> None:
    code, shown, _ = piped(
        STREAM + "SELECT x -- a ; in a comment\nFROM s [RANGE 9 SECONDS]\nWHERE x > 2; SHOW QUERIES"
    )
    assert code == 0
    assert "query1 at 2: 1 row" in shown
    assert "│ 3 │" in shown


def test_a_question_leaves_no_query_behind_and_a_created_one_stays() -> None:
    _, shown, _ = piped(
        STREAM + "SELECT x FROM s [NOW];\nCREATE QUERY total AS SELECT SUM(x) AS x FROM s;\n"
        "SHOW QUERIES;\n\\advance 7\n\\a\n\\c total\n\\sql SELECT x * 2 AS twice FROM total\n"
    )
    assert "total at 2: 1 row" in shown
    assert "total at 7: 1 row" in shown
    assert "│ total │" in shown
    assert "│ query1 │" not in shown
    assert "│       2 │ +      │ 5 │" in shown
    assert "│    10 │" in shown


def test_a_question_about_an_answer_is_one_time_sql() -> None:
    total = STREAM + "CREATE QUERY total AS SELECT SUM(x) AS x FROM s;\n"
    code, shown, said = piped(total + "SELECT x * 2 AS twice FROM total;\nSHOW QUERIES;\n")
    assert (code, said) == (0, "")
    assert "│    10 │" in shown
    assert "│ total │" in shown
    code, _, said = piped(total + "CREATE QUERY twice AS SELECT x * 2 AS twice FROM total;\n")
    assert code == 2
    assert "total is a query, which cannot be read; declare total with CREATE VIEW" in said


def test_a_question_about_an_answer_may_stand_below_a_comment_and_says_what_it_leaves_out(
    here: Path,
) -> None:
    (here / "s.csv").write_text("ts,x\n" + "".join(f"{n},{n}\n" for n in range(102)))
    numbers = STREAM + "CREATE QUERY numbers AS SELECT x FROM s;\n"
    code, shown, said = piped(numbers + "-- which are there?\nSELECT * FROM numbers;\n")
    assert (code, said) == (0, "")
    assert shown.endswith("... and 2 more\n")


def test_statements_of_one_line_are_carried_out_one_after_the_other() -> None:
    line = "CREATE QUERY total AS SELECT SUM(x) AS x FROM s; SELECT x + 1 AS more FROM total; "
    code, shown, said = piped(STREAM + line + "SELECT y FROM s; -- ;\n")
    assert code == 2
    assert "│    6 │" in shown
    assert f"standard input: line 3, column {len(line) + 8}: there is no column y" in said


def test_the_first_error_of_a_pipe_ends_it_and_has_its_line() -> None:
    code, shown, said = piped(STREAM + "\nSELECT y FROM s [NOW];\nSHOW STREAMS;\n")
    assert code == 2
    assert "standard input: line 4, column 8: there is no column y" in said
    assert "streams" not in shown
    code, _, said = piped("\\nonsense\n")
    assert code == 2
    assert "\\? lists them" in said


def test_a_file_begins_and_help_and_declarations_are_shown(here: Path) -> None:
    (here / "a.cql").write_text(STREAM)
    code, shown, _ = piped("\\d\n\\d s\n\\?\n\\q\nSELECT nothing;\n", "a.cql")
    assert code == 0
    assert "'s.csv'" in shown
    assert "│ ts     │ BIGINT │ time │" in shown
    assert "close all instants up to TO" in shown
    assert piped("\\d\n")[1] == "nothing is declared yet\n"


def test_rows_that_were_put_aside_are_told_of(here: Path) -> None:
    (here / "s.csv").write_text("ts,x\n1,many\n2,3\n")
    _, _, said = piped(STREAM + "SELECT x FROM s [NOW];")
    assert "1 row quarantined" in said


def test_names_and_keywords_are_completed() -> None:
    db = windrow.connect()
    db.execute(STREAM + "CREATE VIEW seen AS SELECT x AS sensor FROM s [NOW];")
    assert completions("se", names_in(db)) == ["seen", "sensor", "select", "session", "seconds"]
    assert completions("", names_in(db)) == []
    assert completions("STR", names_in(db)) == ["STREAM", "STREAMS"]
    assert completions("z", ["zone 1"]) == ['"zone 1"']


def test_a_terminal_gives_whole_statements_and_remembers_lines(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINDROW_HISTORY", str(here / "history"))
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        typed.send_text("SELECT x\rFROM s;\r\r\\d\rhalf\r\x03.help\r\\q\r\x04")
        found = list(read_from_terminal(windrow.connect()))
    assert found == ["SELECT x\nFROM s;", "\\d", ".help", "\\q"]
    assert "+FROM s;" in (here / "history").read_text()


@pytest.mark.parametrize("word", ["help", "help;", ".help"])
def test_help_is_asked_for_and_the_shell_left_as_elsewhere(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = Session(windrow.connect())
    assert session.attempt(word)
    assert "Commands stand alone on a line" in capsys.readouterr().out
    assert not any(session.attempt(left) for left in ("exit", ".quit", "quit;", "\\q"))


def test_an_error_in_a_file_or_an_instant_does_not_end_a_terminals_shell(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "wrong.cql").write_text("SELECT y FROM s;")
    session = Session(windrow.connect())
    assert session.attempt("\\i wrong.cql")
    assert "wrong.cql: line 1, column 15: there is no stream" in capsys.readouterr().err
    assert session.attempt("CREATE STREAM t (at TIMESTAMP, x INT);")
    for wrong in ("--5", "\u00b2"):
        assert session.attempt(f"\\advance {wrong}")
        assert "advance: expected an integer of less than 64 bits" in capsys.readouterr().err
    for to in ("'2026-03-01", '"2026-03-01 09:00"', "2026-03-01 09:01"):
        assert session.attempt(f"\\advance {to}")
        assert not capsys.readouterr().err


def test_an_interrupted_question_ends_and_the_shell_goes_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(x: int) -> int:
        raise KeyboardInterrupt

    with windrow.connect() as connection:
        connection.function("interrupt", interrupt)
        session = Session(connection)
        assert session.attempt(STREAM + "CREATE QUERY total AS SELECT SUM(x) AS x FROM s;")
        assert session.attempt("SELECT interrupt(x) AS x FROM s;")
        assert "interrupted" in capsys.readouterr().err
        assert list(connection.queries) == ["total"]
        assert session.attempt("\\a total")
        assert "│ 5 │" in capsys.readouterr().out


def test_a_question_that_fails_at_the_last_row_leaves_no_query_behind(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with windrow.connect() as connection:
        session = Session(connection)
        assert session.attempt(STREAM + "SELECT x FROM s;")
        assert session.attempt("SELECT CAST(CASE ts WHEN 2 THEN 'y' ELSE '1' END AS INT) FROM s;")
        assert "expected a value that is INT; found 'y'" in capsys.readouterr().err
        assert not connection.queries


def test_what_is_piped_in_may_ask_for_help_and_leave_by_a_word() -> None:
    code, shown, _ = piped(STREAM + "help\nSELECT x FROM s;\nexit\nnonsense\n")
    assert code == 0
    assert "\\advance" in shown
    assert "query1 at 2" in shown
