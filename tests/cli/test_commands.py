"""The commands, tried as a new user would, bad input first."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.support.bucket_fixtures import running_server, server, url
from windrow.cli import demo as demonstration
from windrow.cli import pack as packing
from windrow.cli.main import app
from windrow.cli.run import default_quarantine
from windrow.engine import runner as scripts
from windrow.object_store.object_path import path_of

__all__ = ["running_server", "server", "url"]

SCRIPT = """
CREATE STREAM calls (at BIGINT, caller STRING, seconds INT)
  FROM 'calls.csv' FORMAT csv TIMESTAMP BY at;
CREATE QUERY busy AS
  SELECT caller, COUNT(*) AS calls, SUM(seconds) AS seconds
  FROM calls [RANGE 10 SECONDS] GROUP BY caller
  INTO 'out/busy' FORMAT parquet;
"""
QUERIES = ("transfers", "sources", "protocols")
ROWS = "at,caller,seconds\n1,ann,30\n2,bob,5\n3,ann,12\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calls.csv").write_text(ROWS)
    (tmp_path / "calls.cql").write_text(SCRIPT)
    return tmp_path


def windrow(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def run_embedded(script="calls.cql", *more):
    return windrow("run", script, "--runner", "embedded", "--once", *more)


def test_a_function_that_is_not_there_is_an_error_before_anything_runs(here):
    function = "CREATE FUNCTION f (x INT) RETURNS INT AS 'nomodule:f';"
    other = "CREATE QUERY other AS SELECT f(seconds) AS f FROM calls INTO 'out/other';"
    (here / "calls.cql").write_text(f"{SCRIPT}{function}{other}")
    refused = run_embedded()
    assert refused.exit_code == 2
    assert "calls.cql: line 8, column 42: expected a module nomodule that can be" in refused.stderr
    assert not (here / "out").exists()


def test_version_is_the_packages():
    assert windrow("--version").output == f"windrow {version('windrow')}\n"


@pytest.mark.parametrize("command", ["run", "explain", "demo", "match", "pack"])
def test_help_of_every_command_has_an_example_on_its_own_line(command):
    shown = windrow(command, "--help")
    assert shown.exit_code == 0
    lines = [line.strip(" │") for line in shown.output.splitlines()]
    assert any(line.startswith(f"windrow {command}") for line in lines)


def test_a_script_runs_once_and_leaves_its_answer_and_its_changes(here):
    found = run_embedded()
    assert found.exit_code == 0, found.output
    assert "busy at 3: 2 rows" in found.stdout
    assert "│ ann    │     2 │      42 │" in found.stdout
    assert "out/busy" in found.stdout
    changes = duckdb.sql(f"SELECT caller, change FROM '{here}/out/busy/**/*.parquet'").fetchall()
    assert sorted(changes) == [("ann", "+"), ("ann", "+"), ("ann", "-"), ("bob", "+")]


def test_progress_goes_to_standard_error_and_counts_rows(here):
    found = run_embedded()
    assert "busy: 3 rows in" in found.stderr
    assert "watermark" not in found.stdout


def test_explain_shows_each_query_with_its_patterns(here):
    found = windrow("explain", "calls.cql")
    assert found.exit_code == 0
    assert "busy" in found.stdout
    assert "STRICT" in found.stdout
    assert "WEAKEST" in found.stdout


def test_a_typo_in_a_script_is_underlined(here):
    (here / "calls.cql").write_text(SCRIPT.replace("GROUP BY caller", "GROUP BY callr"))
    for found in (run_embedded(), windrow("explain", "calls.cql")):
        assert found.exit_code == 2
        assert "error: calls.cql: line 6" in found.stderr
        assert "callr" in found.stderr
        assert "^^^^^" in found.stderr
        assert "Traceback" not in found.output


def test_a_script_that_is_not_there_or_no_text_is_named(here):
    (here / "binary.cql").write_bytes(b"SELECT \xff\xfe")
    for path, words in (
        ("nowhere.cql", "nowhere.cql: expected the path of a CQL script; found no such file"),
        (".", "found a directory"),
        ("binary.cql", "binary.cql, byte 7: expected UTF-8 text"),
    ):
        found = windrow("explain", path)
        assert found.exit_code == 2
        assert words in found.stderr


def test_a_data_file_that_is_not_there_is_named(here):
    (here / "calls.csv").unlink()
    found = run_embedded()
    assert found.exit_code == 2
    assert "calls.csv" in found.stderr
    assert "Traceback" not in found.output


@pytest.mark.parametrize("text", ["", SCRIPT.partition("CREATE QUERY")[0]])
def test_a_script_that_only_declares_has_nothing_to_run(here, text):
    (here / "calls.cql").write_text(text)
    for found in (run_embedded(), windrow("explain", "calls.cql")):
        assert found.exit_code == 2
        assert (
            "calls.cql: expected a CREATE QUERY or a SELECT; found nothing to run" in found.stderr
        )


def test_explain_in_a_script_prints_the_plan_and_runs_nothing(here):
    declared = SCRIPT.partition("CREATE QUERY")[0]
    (here / "calls.cql").write_text(f"{declared} EXPLAIN SELECT caller FROM calls [NOW];")
    found = run_embedded()
    assert found.exit_code == 0, found.output
    assert "Window [NOW]" in found.stdout
    assert "rows in" not in found.output


def test_a_master_without_spark_is_refused(here):
    found = run_embedded("calls.cql", "--master", "local[2]")
    assert found.exit_code == 2
    assert "--master: expected --runner spark" in found.stderr


@pytest.mark.parametrize("option", [("--conf", "spark.a=b"), ("--py-files", "calls.csv")])
def test_options_of_spark_are_refused_without_it(here, option):
    found = run_embedded("calls.cql", *option)
    assert found.exit_code == 2
    assert f"{option[0]}: expected --runner spark" in found.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--conf", "executor.memory=2g"], "did you mean spark.executor.memory?"),
        (["--py-files", "nowhere.py"], "nowhere.py, which is not there"),
        (["--master", "spark://h:7077"], "expected a checkpoint"),
    ],
)
def test_what_spark_could_not_do_is_refused_before_it_is_started(here, monkeypatch, options, words):
    monkeypatch.setitem(sys.modules, "windrow.spark.run.runtime_factory", None)
    found = windrow("run", "calls.cql", "--once", *options)
    assert found.exit_code == 2
    assert words in " ".join(found.stderr.split())


def test_the_master_of_spark_submit_is_given_to_spark_submit(here, monkeypatch):
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    found = windrow("run", "calls.cql", "--once", "--master", "local[2]")
    assert found.exit_code == 2
    assert "give --master to spark-submit" in " ".join(found.stderr.split())


def test_an_archive_has_a_name_by_which_spark_can_unpack_it(here):
    found = windrow("pack", "environment.zip")
    assert found.exit_code == 2
    assert "ends in .tar.gz" in " ".join(found.stderr.split())


def test_an_environment_is_packed_into_the_named_file(here, monkeypatch):
    (here / "made.tar.gz").write_bytes(b"packed")
    monkeypatch.setattr(packing, "environment_archive", lambda **_: here / "made.tar.gz")
    found = windrow("pack", "new/env.tar.gz")
    assert found.exit_code == 0, found.output
    assert (here / "new" / "env.tar.gz").read_bytes() == b"packed"
    assert "spark.archives=new/env.tar.gz#windrow_env" in found.stdout


def test_bad_rows_and_late_rows_go_to_the_quarantine_and_are_counted(here):
    (here / "calls.csv").write_text(ROWS + "4,ann,many\n9,bob,1\n2,bob,7\n")
    found = run_embedded("calls.cql", "--quarantine", "bad")
    assert found.exit_code == 0, found.output
    assert "busy: 2 rows quarantined in bad, 1 late" in found.stdout
    assert "quarantined, for example: calls.csv, row " in found.stderr
    kept = "\n".join(p.read_text() for p in (here / "bad").rglob("*") if p.is_file())
    assert "4,ann,many" in kept
    assert "2,bob,7" in kept


def test_a_reason_of_each_stream_is_said_unless_it_is_of_an_earlier_run(here):
    (here / "calls.csv").write_text(ROWS + "9,bob,1\n4,[ann],many\n")
    (here / "quarantine" / "old").mkdir(parents=True)
    page = here / "quarantine" / "old" / "a.jsonl"
    page.write_text('{"file": "old.csv", "row": 1, "reason": "bad", "text": ""}')
    os.utime(page, (1, 1))
    said = run_embedded("calls.cql").stderr
    assert "for example: calls.csv, row 5: column seconds: expected INT, found 'many'\n" in said
    assert "old.csv" not in said


def test_a_query_whose_whole_input_was_put_aside_is_warned_of(here):
    (here / "calls.csv").write_text(ROWS.splitlines()[0] + "\nx,ann,many\ny,bob,1\n")
    found = run_embedded("calls.cql", "--quarantine", "bad")
    assert found.exit_code == 0, found.output
    assert "warning: busy has had no input: all 2 rows were quarantined" in found.stderr
    (reasons,) = (here / "bad").rglob("*.jsonl")
    assert f"the reasons are in {reasons.relative_to(here)}" in found.stderr
    (here / "calls.csv").write_text(ROWS + "x,ann,many\n")
    assert "warning" not in run_embedded("calls.cql", "--quarantine", "bad").stderr


def test_a_quarantine_in_an_object_store_is_pointed_at(here, url):
    (here / "calls.csv").write_text(ROWS.splitlines()[0] + "\nx,ann,many\n")
    found = run_embedded("calls.cql", "--quarantine", f"{url}/bad")
    assert found.exit_code == 0, found.output
    (page,) = path_of(f"{url}/bad").glob("calls/*.jsonl")
    assert f"the reasons are in {page}" in found.stderr.replace("\n", " ")
    assert "x,ann,many" in page.read_text()


def test_without_a_name_the_quarantine_is_where_all_workers_see_the_checkpoint():
    assert default_quarantine(None) == default_quarantine(Path("state")) == Path("quarantine")
    assert str(default_quarantine(path_of("s3://bucket/state"))) == "s3://bucket/state/quarantine"


def test_a_defect_is_called_one_and_verbose_shows_where(here, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("out of hay\nsecond line")

    monkeypatch.setattr(scripts, "run", broken)
    found = run_embedded()
    assert found.exit_code == 70
    assert "internal error: RuntimeError: out of hay\n" in found.stderr
    assert "-v" in found.stderr
    shown = run_embedded("calls.cql", "-v")
    assert shown.exit_code == 70
    assert "Traceback" in shown.stderr
    assert "in broken" in shown.stderr


def start(directory, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", "from windrow.cli.main import main; main()", *arguments],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_ctrl_c_stops_with_words_and_shows_the_answers_so_far(here):
    process = start(here, "run", "calls.cql", "--runner", "embedded")
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    heard = []
    for line in process.stderr:
        heard.append(line)
        if "rows in" in line:
            process.send_signal(signal.SIGINT)
            break
    out, err = process.communicate()
    watchdog.cancel()
    said = "".join(heard) + err
    assert process.returncode == 0, said
    assert "stopping after this batch" in said
    assert "stopped; the next run starts over" in said
    assert "busy at" in out
    assert "Traceback" not in said


def test_the_demo_script_is_the_one_in_examples(request):
    assert demonstration.script() == (request.config.rootpath / "examples/traffic.cql").read_text()


def test_the_demo_leaves_alone_what_it_did_not_make(tmp_path):
    mine = tmp_path / "out" / "sources" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    demonstration.prepare(tmp_path, 1_000)
    assert mine.exists()
    other = tmp_path / "other" / "data" / "trace" / "mine.txt"
    other.parent.mkdir(parents=True)
    other.write_text("precious")
    found = windrow("demo", "--runner", "embedded", "--directory", tmp_path / "other")
    assert found.exit_code == 2
    assert "expected a trace to replace, or nothing" in found.stderr
    assert other.exists()


def test_the_demo_replaces_its_own_results_and_no_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        found = windrow("demo", "--runner", "embedded", "--rows", 1_000)
        assert found.exit_code == 0, found.output
    shutil.rmtree("demo/data")
    found = windrow("demo", "--runner", "embedded", "--rows", 1_000)
    assert found.exit_code == 2
    assert "found those of query transfers, of another run" in found.stderr


def test_the_demo_runs_embedded_and_answers_like_the_definition(tmp_path):
    found = windrow("demo", "--runner", "embedded", "--rows", 20_000, "--directory", tmp_path)
    assert found.exit_code == 0, found.output
    for query in QUERIES:
        assert f"{query} at " in found.stdout
        assert list((tmp_path / "out" / query).rglob("*.parquet"))
    transfers = f"""
        SELECT count(*) FROM '{tmp_path}/data/trace/link1/*.parquet' a
        JOIN '{tmp_path}/data/trace/link2/*.parquet' b USING (src)
        WHERE a.protocol = 'ftp' AND b.protocol = 'ftp'
          AND abs(epoch_us(a.ts) - epoch_us(b.ts)) < 20::BIGINT * 60000000"""
    plus = f"SELECT count(*) FROM '{tmp_path}/out/transfers/**/*.parquet' WHERE change = '+'"
    assert duckdb.sql(plus).fetchall() == duckdb.sql(transfers).fetchall() != [(0,)]


@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_gives_the_same_changes_on_spark_as_embedded(tmp_path):
    changes = []
    for runner in ("spark", "embedded"):
        directory = tmp_path / runner
        found = windrow("demo", "--runner", runner, "--rows", 100_000, "--directory", directory)
        assert found.exit_code == 0, found.output
        paths = {q: sorted((directory / "out" / q).rglob("*.parquet")) for q in QUERIES}
        changes.append(
            {q: sorted(map(str, _rows(p))) for q, p in paths.items()},
        )
    assert changes[0] == changes[1]


def _rows(paths):
    return [row for path in paths for row in pq.read_table(path).to_pylist()]


def many_calls(count=57):
    rows = "".join(f"{at},c{at},1\n" for at in range(1, count + 1))
    (Path("calls.csv")).write_text("at,caller,seconds\n" + rows)


def test_the_last_table_of_a_stream_says_how_many_rows_there_were(here):
    many_calls()
    stream = SCRIPT.partition("CREATE QUERY")[0]
    (here / "s.cql").write_text(
        stream + "CREATE QUERY came AS ISTREAM(SELECT caller FROM calls [RANGE 2]);"
        "CREATE QUERY gone AS DSTREAM(SELECT caller FROM calls [RANGE 50]);"
        "CREATE QUERY few AS SELECT caller FROM calls WHERE at < 4;"
    )
    found = run_embedded("s.cql")
    assert "came at 57: the last 10 of 57 rows" in found.stdout
    assert "gone at 57: 7 rows" in found.stdout
    assert "few at 57: 3 rows" in found.stdout


def test_the_console_shows_every_change_unless_there_is_a_limit(here):
    many_calls()
    text = SCRIPT.replace("INTO 'out/busy' FORMAT parquet", "INTO 'x' FORMAT console{}")
    (here / "all.cql").write_text(text.format(""))
    (here / "some.cql").write_text(text.format(" LIMIT 5"))
    whole, some = run_embedded("all.cql").stdout, run_embedded("some.cql").stdout
    lines = [line.split()[:3] for line in whole.splitlines()]
    assert all([str(at), "+", f"c{at}"] in lines for at in range(1, 58))
    assert "more" not in whole.partition("busy at")[0]
    counted = [int(n) for n in re.findall(r"[.]{3} and (\d+) more", some)]
    printed = re.findall(r"^\d+ +[+-] ", some, re.MULTILINE)
    assert (sum(counted) + len(printed), len(printed) <= 5 * some.count("instant")) == (104, True)


def test_a_negative_limit_of_the_console_is_refused(here):
    text = SCRIPT.replace("FORMAT parquet", "FORMAT console LIMIT -1")
    (here / "bad.cql").write_text(text)
    found = run_embedded("bad.cql")
    assert found.exit_code == 2
    assert "expected a LIMIT of 0 or more; found -1" in found.stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_script_in_utf_16_is_said_to_be_one(tmp_path, encoding):
    script = tmp_path / "a.cql"
    script.write_text("SELECT a FROM s;", encoding=encoding)
    shown = CliRunner().invoke(app, ["run", str(script), "--once"])
    assert shown.exit_code == 2
    assert "a.cql: expected UTF-8 text; found UTF-16" in shown.stderr
    assert "iconv -f UTF-16" in shown.stderr


def test_a_script_has_lines_whatever_ends_them(tmp_path):
    script = tmp_path / "a.cql"
    script.write_bytes(b"-- x\r\n-- y\rSELECT a FROM nothing;")
    shown = CliRunner().invoke(app, ["run", str(script), "--once"])
    assert "a.cql: line 3, column 15" in shown.stderr
