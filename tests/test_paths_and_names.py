"""Paths with a scheme are refused wherever a path is given; names never lead out of a directory."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import windrow
from windrow.archive.archive import Archive
from windrow.cli.main import app
from windrow.core.errors import BindError, InputError
from windrow.core.paths import LONGEST, has_scheme, local_path
from windrow.plan.program import compile_script
from windrow.streams.quarantine import Quarantine

STREAM = "CREATE STREAM s (ts BIGINT, k STRING) FROM 's.csv';\n"
SAID = "expected a path of this machine's file system, local or mounted; found '{}"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.csv").write_text("ts,k\n1,a\n2,b\n")
    Path("q.cql").write_text(STREAM + "SELECT k FROM s [RANGE 5];")
    return tmp_path


@pytest.mark.parametrize(
    "path",
    ["s3://bucket/x.csv", "gs://b/x", "kafka://host/topic", "hdfs:///x", "file:///tmp/x.csv",
     "abfss://c@a.dfs/x", "s3:/bucket", "HTTPS://host/x.csv", "git+ssh://x/y"],
)  # fmt: skip
def test_a_scheme_is_seen_also_where_pathlib_took_a_slash_away(path: str) -> None:
    assert has_scheme(path)
    assert has_scheme(Path(path))
    with pytest.raises(InputError, match="local or mounted") as refused:
        local_path(path, "there")
    assert "mount or copy" in str(refused.value)


@pytest.mark.parametrize("path", ["x", "./a:b", "a/b://c", "C:/data", "C:\\data", "/s3://x", ":/x"])
def test_other_paths_are_paths(path: str) -> None:
    assert local_path(path, "there") == Path(path)


@pytest.mark.parametrize(
    ("statement", "underlined"),
    [
        ("CREATE STREAM t (ts BIGINT) FROM 's3://b/x' FORMAT csv", "FROM 's3"),
        ("CREATE RELATION t (k INT) FROM 'gs://b/x.csv'", "FROM 'gs"),
        ("CREATE NRR t (k INT) FROM 'gs://b/x.csv'", "FROM 'gs"),
        ("CREATE QUERY t AS SELECT k FROM s INTO 'kafka://h/t'", "INTO 'kafka"),
        ("SELECT k FROM s INTO 'file:///tmp/out' FORMAT csv", "INTO 'file"),
        ("CREATE SUBSCRIPTIONS t ON s (k) FROM 'http://h/x.csv'", "FROM 'http"),
        ("CREATE SUBSCRIPTIONS t ON s (k) FROM 'x.csv' INTO 'gs://b/x'", "INTO 'gs"),
        ("CREATE ARCHIVE t ON s KEY k WINDOW 9 SECONDS USING WATA(2) INTO 'gs://b/a'", "INTO 'gs"),
    ],
)  # fmt: skip
def test_a_script_is_refused_at_the_clause(statement: str, underlined: str) -> None:
    with pytest.raises(BindError, match="local or mounted") as refused:
        compile_script(STREAM + statement)
    span = refused.value.span
    assert span is not None
    assert statement[span.column - 1 :].startswith(underlined)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["run", "s3://b/q.cql"], ""),
        (["run", "q.cql", "--checkpoint", "gs://b/c"], "--checkpoint: "),
        (["run", "q.cql", "--quarantine", "gs://b/c"], "--quarantine: "),
        (["explain", "s3://b/q.cql"], ""),
        (["demo", "--directory", "s3://b/demo"], "--directory: "),
        (["match", "s3://b/subs.csv", "s.csv"], ""),
        (["match", "subs.csv", "s3://b/s.csv"], ""),
        (["match", "subs.csv", "s.csv", "--into", "s3://b/out"], "--into: "),
        (["archive", "create", "gs://b/a", "--key", "k", "--like", "s.csv", "--window", "3"],
         "an archive: "),
        (["archive", "create", "a", "--key", "k", "--like", "s3://b/s.csv", "--window", "3"],
         "--like: "),
        (["archive", "probe", "gs://b/a", "k"], "an archive: "),
        (["archive", "append", "a", "s3://b/day.csv", "--day", "1"], ""),
        (["archive", "stat", "hdfs://b/a"], "an archive: "),
        (["archive", "verify", "gs://b/a"], "an archive: "),
    ],
)  # fmt: skip
def test_a_command_refuses_it_and_makes_no_directory(arguments: list[str], where: str) -> None:
    Path("subs.csv").write_text("id,k\n1,a\n")
    if arguments[:2] == ["archive", "append"]:
        Archive.create("a", pa.schema([("k", pa.string())]), "k", window=3, scheme="WATA", n=2)
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2, done.output
    path = next(a for a in arguments if "://" in a)
    assert f"error: {where}" in done.stderr
    assert SAID.format(path.split("://")[0]) in done.stderr.replace("\n", " ")
    assert not [p for p in Path().iterdir() if p.name.endswith(":")]


def test_python_refuses_it_too() -> None:
    schema = pa.schema([("k", pa.string())])
    asked = [
        lambda: Archive.create("gs://b/a", schema, "k", window=3, scheme="WATA", n=2),
        lambda: Archive.open("gs://b/a"),
        lambda: windrow.connect(quarantine="gs://b/q"),
        lambda: windrow.connect(checkpoint="gs://b/q"),
        lambda: windrow.results("gs://b/out"),
        lambda: Quarantine(Path("gs://b/q")),
    ]
    for ask in asked:
        with pytest.raises(InputError, match="local or mounted"):
            ask()


BAD_NAMES = {
    "../x": "/", "a/b": "/", "/etc/x": "/", "a\\b": "\\", "..": "a dot", ".hidden": "a dot",
    " ": "nothing but blanks", "a\x01b": "the character 1", "a\nb": "the character 10",
    "n" * (LONGEST + 1): "more than 200 bytes", "ä" * 101: "more than 200 bytes",
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize(
    "statement",
    [
        'CREATE STREAM "{}" (ts BIGINT)', 'CREATE RELATION "{}" (k INT)', 'CREATE NRR "{}" (k INT)',
        'CREATE VIEW "{}" AS SELECT k FROM s', 'CREATE QUERY "{}" AS SELECT k FROM s',
        'CREATE ARCHIVE "{}" ON s KEY k WINDOW 9 SECONDS USING WATA(2)',
        'CREATE SUBSCRIPTIONS "{}" ON s (k) FROM \'x.csv\'',
    ],
)  # fmt: skip
def test_a_name_that_is_no_part_of_a_path_is_refused_where_it_stands(
    name: str, statement: str
) -> None:
    text = statement.format(name)
    with pytest.raises(BindError, match="cannot be that of a directory") as refused:
        compile_script(STREAM + text)
    assert BAD_NAMES[name] in str(refused.value)
    assert refused.value.span is not None
    assert text[refused.value.span.column - 1 :].startswith('"')


def test_a_nul_in_a_name_is_refused_too() -> None:
    with pytest.raises(BindError, match="the character 0"):
        compile_script('CREATE STREAM "a\0b" (ts BIGINT)')


@pytest.mark.parametrize("name", ["inbox", "Inbox", "shared-q"])
def test_names_of_a_checkpoints_own_directories_are_refused(name: str) -> None:
    with pytest.raises(BindError, match="checkpoints reserve"):
        compile_script(f'{STREAM}CREATE QUERY "{name}" AS SELECT k FROM s')
    compile_script(f'CREATE STREAM "{name}" (ts BIGINT)')


def test_names_that_differ_by_case_only_are_one_name() -> None:
    with pytest.raises(BindError, match="s is a stream already, declared on line 1"):
        compile_script(f'{STREAM}CREATE QUERY "S" AS SELECT k FROM s')


@pytest.mark.parametrize("name", ["Zähler 2", "a.b", "a:b", "_x", "n" * LONGEST, "a-b+c"])
def test_other_names_are_names_and_their_rows_are_put_aside_below_the_quarantine(name: str) -> None:
    db = windrow.connect(quarantine="bad")
    db.execute(f'CREATE STREAM "{name}" (ts BIGINT, v INT)')
    db.push(name, {"ts": [1], "v": ["x"]})
    (page,) = Path("bad").rglob("*.jsonl")
    assert page.resolve().is_relative_to(Path("bad").resolve())
    assert len(page.relative_to("bad").parts) == 2
