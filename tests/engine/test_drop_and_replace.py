"""Declarations that are dropped, replaced or made again while a connection runs."""

from __future__ import annotations

import gc
import weakref
from datetime import timedelta
from pathlib import Path

import pytest

import windrow
from windrow.core.errors import DataError, InputError, ScriptError, StateError
from windrow.cql import call_spellings
from windrow.engine.connection import Connection
from windrow.engine.handles import Handle

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x INT);"
SUMS = "CREATE QUERY sums AS SELECT k, SUM(x) AS x FROM s [RANGE 10 SECONDS] GROUP BY k;"


@pytest.fixture
def db() -> Connection:
    connection = windrow.connect()
    connection.execute(STREAM)
    return connection


def push(db: Connection, *rows: tuple[int, str, int]) -> None:
    for ts, k, x in rows:
        db.push("s", {"ts": [ts], "k": [k], "x": [x]})
    db.advance(to=rows[-1][0])


def answer(handle: Handle) -> list[tuple[object, ...]]:
    return sorted(tuple(row.values()) for row in handle.answer().to_pylist())


def test_a_cell_that_is_run_twice_gives_the_same_query(db: Connection) -> None:
    [first] = db.execute(STREAM + SUMS)
    push(db, (1, "a", 1))
    [again] = db.execute(STREAM + "\n-- once more\n" + SUMS)
    assert again is first
    assert answer(again) == [("a", 1)]
    assert len(db.catalog.texts) == 2


def test_another_declaration_of_the_name_says_or_replace(db: Connection) -> None:
    db.execute(SUMS)
    with pytest.raises(ScriptError, match=r"differently.*CREATE OR REPLACE QUERY sums") as found:
        db.execute("CREATE QUERY sums AS SELECT x FROM s [NOW]")
    assert found.value.span is not None
    assert (found.value.span.line, found.value.span.column) == (1, 14)


def test_twice_in_one_script_is_still_a_mistake(db: Connection) -> None:
    with pytest.raises(ScriptError, match="declared already on line 1"):
        db.execute(SUMS + "\n" + SUMS)


def test_a_replaced_query_begins_with_what_the_old_one_held(db: Connection) -> None:
    [old] = db.execute(SUMS)
    push(db, (1, "a", 1), (2, "a", 5))
    [new] = db.execute(
        "CREATE OR REPLACE QUERY sums AS SELECT MAX(x) AS x FROM s [RANGE 10 SECONDS]"
    )
    assert answer(new) == [(5,)]
    assert db.queries["sums"] is new
    assert repr(old) == "<query sums: dropped>"
    with pytest.raises(StateError, match="query sums: it was dropped"):
        old.answer()


def test_or_replace_with_the_same_text_changes_nothing(db: Connection) -> None:
    [first] = db.execute(SUMS)
    assert db.execute(SUMS.replace("CREATE", "CREATE OR REPLACE"))[0] is first


def test_if_not_exists_keeps_what_there_is(db: Connection) -> None:
    [first] = db.execute(SUMS)
    other = "CREATE QUERY IF NOT EXISTS sums AS SELECT x FROM s [NOW]"
    assert db.execute(other)[0] is first
    [made] = db.execute("CREATE QUERY IF NOT EXISTS other AS SELECT x FROM s [NOW]")
    assert made.name == "other"


def test_a_dropped_query_gives_back_its_state(db: Connection) -> None:
    [sums] = db.execute(SUMS)
    push(db, (1, "a", 1))
    run = weakref.ref(sums._run)
    db.execute("DROP QUERY sums")
    gc.collect()
    assert run() is None
    assert "sums" not in db.queries
    push(db, (2, "a", 2))


@pytest.mark.parametrize("kind", ["VIEW", "QUERY", "ARCHIVE", "SUBSCRIPTIONS", "RELATION"])
def test_every_kind_can_be_dropped(
    db: Connection, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("subs.csv").write_text('id,x\n1,"[5, 7]"\n')
    rest = {
        "VIEW": "AS SELECT x FROM s [NOW]",
        "QUERY": "AS SELECT x FROM s [NOW]",
        "ARCHIVE": "ON s KEY k WINDOW 5 DAYS USING WATA(2) INTO 'arch'",
        "SUBSCRIPTIONS": "ON s (x) FROM 'subs.csv'",
        "RELATION": "(k STRING, x INT)",
    }[kind]
    for _ in range(2):
        db.execute(f"CREATE {kind} thing {rest}")
        db.execute(f"DROP {kind} thing; DROP {kind} IF EXISTS thing")
        assert db.catalog.find("thing") is None
        push(db, (len(db.catalog.texts), "a", 6))


def test_what_others_read_cannot_be_dropped_or_replaced(db: Connection) -> None:
    db.execute("CREATE VIEW v AS SELECT x FROM s [NOW]; CREATE QUERY q AS SELECT x FROM v;")
    for text, who in [
        ("DROP STREAM s", "view v"),
        ("DROP VIEW v", "query q"),
        ("CREATE OR REPLACE VIEW v AS SELECT k FROM s [NOW]", "query q"),
    ]:
        with pytest.raises(ScriptError, match=f"is read by {who}"):
            db.execute(text)
    db.execute("DROP QUERY q; DROP VIEW v; DROP STREAM s; CREATE STREAM s (ts BIGINT, y INT);")
    db.push("s", {"ts": [1], "y": [2]})


def test_nothing_is_dropped_if_what_follows_cannot_start(
    db: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [sums] = db.execute(SUMS)
    push(db, (1, "a", 1))
    with pytest.raises(InputError):
        db.execute("DROP QUERY sums; CREATE SUBSCRIPTIONS t ON s (x) FROM 'missing.csv'")
    push(db, (2, "a", 2))
    assert answer(sums) == [("a", 3)]


@pytest.mark.parametrize("shared", ["synopses", "selection"])
def test_a_member_of_a_group_leaves_what_others_read(db: Connection, shared: str) -> None:
    if shared == "synopses":
        texts = [
            f"SELECT k, SUM(x) AS x FROM s [RANGE {4 * n} SECONDS SLIDE 2 SECONDS] GROUP BY k"
            for n in (1, 2, 3)
        ]
    else:
        texts = [f"SELECT x FROM s [RANGE 9 SECONDS] WHERE x > {n}" for n in (1, 2, 3)]
    alone = windrow.connect()
    alone.execute(STREAM)
    made = "".join(f"CREATE QUERY q{n} AS {text};" for n, text in enumerate(texts))
    group = db.execute(made)
    assert len(db._runs) == 1
    expected = [alone.execute(f"CREATE QUERY q{n} AS {t};")[0] for n, t in enumerate(texts)]
    rows = [(t, "ab"[t % 2], t) for t in range(1, 30)]
    for connection in (db, alone):
        push(connection, *rows[:10])
    db.execute("DROP QUERY q1")
    log = db._runs[0].delivery.log  # type: ignore[attr-defined]
    for connection in (db, alone):
        push(connection, *rows[10:])
    assert repr(group[1]) == "<query q1: dropped>"
    for n in (0, 2):
        assert group[n].changes() == expected[n].changes()
        assert answer(group[n]) == answer(expected[n])
    for n in (0, 2):
        group[n].changes(drain=True)
    log.trim()
    assert len(log) == 0
    [again] = db.execute(f"CREATE QUERY q1 AS {texts[1]}")
    push(db, (40, "a", 7), (44, "a", 1))
    push(alone, (40, "a", 7), (44, "a", 1))
    assert answer(again) == answer(expected[1])
    db.execute("DROP QUERY q0; DROP QUERY q2; DROP QUERY q1")
    assert db._runs == []


def test_results_of_a_dropped_query_stay_and_those_of_a_replaced_one_are_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    into = "SELECT x FROM s [RANGE 5 SECONDS] INTO 'out' FORMAT csv"
    db = windrow.connect()
    [q] = db.execute(f"{STREAM} CREATE QUERY q AS {into}")
    push(db, (1, "a", 1))
    with pytest.raises(StateError, match="write INTO another directory"):
        db.execute(f"CREATE OR REPLACE QUERY q AS {into.replace('5', '6')}")
    push(db, (2, "a", 2))
    assert answer(q) == [(1,), (2,)]
    db.execute("DROP QUERY q")
    assert windrow.results("out").answer().num_rows == 2
    db.close()
    with windrow.connect(overwrite=True) as other:
        other.execute(f"{STREAM} CREATE QUERY q AS {into}")
        [new] = other.execute(f"CREATE OR REPLACE QUERY q AS {into.replace('5', '6')}")
        push(other, (1, "b", 8))
        assert answer(new) == [(8,)]


def test_values_of_parameters_are_literals(db: Connection) -> None:
    nasty = "x'; DROP STREAM s; --"
    [found] = db.execute(
        "CREATE QUERY found AS SELECT x FROM s [RANGE :n SECONDS] WHERE k = :k AND x > :low",
        {"k": nasty, "n": 10, "low": -3},
    )
    push(db, (1, nasty, 1), (2, "other", 2))
    assert answer(found) == [(1,)]
    assert db.catalog.find("s") is not None
    [placed] = db.execute("SELECT x FROM s [NOW] WHERE k = ? AND x < $2", ["a", 7.5])
    push(db, (3, "a", 7), (3, "a", 8))
    assert answer(placed) == [(7,)]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("{'a':1,'b':k}", {"a": 1, "b": "k"}),
        ("{'a':x}", {"a": 5}),
        ("{a:x, b:[x,:n]}", {"a": 5, "b": [5, 7]}),
        ("{'a':{'b':x},'c':-:n}", {"a": {"b": 5}, "c": -7}),
        ("{'a': :n, 'b':CASE WHEN x=:n THEN :n ELSE 0 END}", {"a": 7, "b": 0}),
        ("[x,:n][:one]", 5),
        ("ARRAY[:n]", [7]),
    ],
)
def test_a_colon_behind_a_key_is_no_parameter(db: Connection, value: str, found: object) -> None:
    given = {name: number for name, number in (("n", 7), ("one", 1)) if f":{name}" in value}
    (query,) = db.execute(f"SELECT {value} AS v FROM s [ROWS :rows]", {**given, "rows": 2})
    push(db, (1, "k", 5))
    assert answer(query) == [(found,)]


def test_a_slice_is_refused_as_such(db: Connection) -> None:
    for slice_ in ("[1:2]", "[x:x]", "[x+1:2]"):
        with pytest.raises(ScriptError, match=r"a slice \[1:2\] is not allowed .* UNNEST"):
            db.execute(f"SELECT [x, 2]{slice_} AS v FROM s [NOW]")


def test_a_parameter_without_a_value_and_a_value_without_a_parameter_are_errors(
    db: Connection,
) -> None:
    with pytest.raises(ScriptError, match=r"line 2, column 16.*the parameter :low"):
        db.execute("SELECT x FROM s [NOW]\nWHERE k = x OR :low > 1")
    with pytest.raises(ScriptError, match=r"that has a value: law; .* :low; add .*\"low\": \.\.\."):
        db.execute("SELECT x FROM s [NOW] WHERE x > :low", {"law": 1})
    with pytest.raises(InputError, match="none for high"):
        db.execute("SELECT x FROM s [NOW] WHERE x > :low", {"low": 1, "high": 2})
    with pytest.raises(InputError, match=r"parameter low: .*found a list"):
        db.execute("SELECT x FROM s [NOW] WHERE x > :low", {"low": [1]})
    with pytest.raises(InputError, match="a finite number"):
        db.execute("SELECT x FROM s [NOW] WHERE x > ?", [float("nan")])
    for single in (3, "low"):
        with pytest.raises(InputError, match=r"put a single value into a list: \[value\]"):
            db.execute("SELECT x FROM s [NOW] WHERE x > ?", single)  # type: ignore[arg-type]


def test_show_and_describe_are_tables(db: Connection) -> None:
    done = db.execute(SUMS + "SHOW QUERIES; DESCRIBE s; SHOW FUNCTIONS; EXPLAIN sums;")
    shown, described, functions = done.tables
    assert shown.to_pylist() == [
        {"name": "sums", "columns": "k STRING, x BIGINT", "pattern": "STRICT", "into": None}
    ]
    assert described.column("role").to_pylist() == ["time", None, None]
    names = functions.column("name").to_pylist()
    assert {"SUM", "COUNT_IF", "BOOL_AND", "EVERY", "PERCENTILE_CONT", "EXTRACT", "IF"} <= {*names}
    assert {*call_spellings.SKETCHED_COUNTS, *call_spellings.COUNTED_CONDITIONS} <= {*names}
    assert {*call_spellings.TRUTH_VALUES, *call_spellings.JOINED_TEXTS} <= {*names}
    assert done.plans[0].startswith("sums (k, x), integer clock")


def test_what_is_advised_for_a_name_of_another_kind_is_not_refused(db: Connection) -> None:
    with pytest.raises(ScriptError, match=r"s is a stream already; .* or write DROP STREAM s bef"):
        db.execute("CREATE VIEW s AS VALUES (1)")
    db.execute("DROP STREAM s; CREATE VIEW s AS VALUES (1)")


def test_what_a_script_makes_and_drops_is_not_there(db: Connection) -> None:
    made = db.execute(
        "CREATE QUERY a AS SELECT x FROM s [NOW]; CREATE QUERY b AS SELECT x FROM s [NOW];"
        "DROP QUERY a; CREATE VIEW a AS SELECT k FROM s [NOW];"
        "CREATE OR REPLACE QUERY b AS SELECT k FROM s [NOW];"
    )
    assert [handle.name for handle in made] == ["b"]
    assert made[0].declaration.plan.schema.unique_names() == ("k",)
    assert list(db.queries) == ["b"]
    [again] = db.execute("DROP QUERY b; CREATE QUERY B AS SELECT x FROM s [NOW];")
    assert again.name == "B"
    assert list(db.queries) == ["B"]


def test_a_query_that_an_error_stopped_can_be_dropped_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = (
        "CREATE QUERY n AS SELECT CAST(k AS INT) AS n FROM s [RANGE 9 SECONDS] INTO 'n' FORMAT csv"
    )
    with windrow.connect(overwrite=True) as db:
        [stopped] = db.execute(STREAM + made)
        with pytest.raises(DataError):
            push(db, (1, "no", 1))
        with pytest.raises(StateError, match="DROP QUERY n, and create it again"):
            stopped.answer()
        db.execute("DROP QUERY n")
        [again] = db.execute(made)
        push(db, (2, "7", 1))
        assert answer(again) == [(7,)]


def test_subscriptions_that_are_replaced_are_read_again(db: Connection, tmp_path: Path) -> None:
    file = tmp_path / "b.csv"
    text = f"CREATE OR REPLACE SUBSCRIPTIONS matched ON s (x) FROM '{file}'"
    for at, name in ((1, "first"), (2, "second")):
        file.write_text(f"id,x\n{name},> 5\n")
        db.execute(text)
        push(db, (at, "a", 9))
        matches = db.queries["matched"].changes().to_pylist()
        assert [row["subscription"] for row in matches] == [name]


def test_a_timedelta_is_the_length_of_a_window_and_an_interval(db: Connection) -> None:
    db.execute("CREATE STREAM calls (at TIMESTAMP, x INT)")
    [query] = db.execute(
        "SELECT x FROM calls [RANGE :length SLIDE :slide] WHERE at - :back < '2026-01-01'",
        {
            "length": timedelta(minutes=1), "slide": timedelta(microseconds=1500000),
            "back": timedelta(seconds=-3),
        },
    )  # fmt: skip
    assert "RANGE 60 SECOND SLIDE 1500000 MICROSECOND" in query.declaration.text
    assert "at - INTERVAL - 3 SECOND" in query.declaration.text
    db.push("calls", {"at": ["2025-12-31 23:59:56", "2025-12-31 23:59:58"], "x": [1, 2]})
    db.advance(to="2026-01-01")
    assert query.answer().to_pylist() == [{"x": 1}]
