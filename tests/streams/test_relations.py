"""Relations: their updates are checked, netted by instant, and reach queries as they should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import windrow
from tests.support.runs import run_embedded
from windrow.core.errors import InputError
from windrow.core.schema import Field, Schema, Type
from windrow.core.time import BEGINNING, Clock
from windrow.plan.catalog import RelationDeclaration
from windrow.plan.program import compile_script
from windrow.streams.relations import RelationMonitor, contents_in

SCHEMA = Schema((Field("k", Type.INT), Field("w", Type.STRING)))


def monitor(retroactive: bool = True, key: tuple[int, ...] = ()) -> RelationMonitor:
    declaration = RelationDeclaration("r", SCHEMA, retroactive, primary_key=key)
    return RelationMonitor(declaration, Clock.INTEGER)


def push(to: RelationMonitor, *rows: tuple[int, str, int, str]) -> None:
    names = ["instant", "change", "k", "w"]
    to.accept(to.parse_pushed({name: [row[i] for row in rows] for i, name in enumerate(names)}))


def released(of: RelationMonitor, now: int) -> list[tuple[int, int, int, str]]:
    of.advance(now)
    delta = of.release(now)
    rows = [tuple(row.values()) for row in delta.rows.to_pylist()]
    return [(int(t), int(s), *row) for t, s, row in zip(delta.ts, delta.sign, rows, strict=True)]


def test_what_comes_and_goes_within_an_instant_is_not_seen() -> None:
    relation = monitor()
    push(relation, (1, "+", 1, "a"), (1, "+", 1, "a"), (1, "-", 1, "a"), (2, "-", 1, "a"))
    assert released(relation, 5) == [(1, 1, 1, "a"), (2, -1, 1, "a")]
    assert not relation.refused


def test_deleting_what_is_not_there_is_refused_with_its_row_and_text() -> None:
    relation = monitor()
    push(relation, (1, "+", 1, "a"), (2, "-", 1, "b"), (3, "?", 1, "a"))
    assert released(relation, 5) == [(1, 1, 1, "a")]
    wrong, missing = relation.refused
    assert (wrong.row, missing.row) == (3, 2)
    assert "expected '+' or '-', found '?'" in wrong.reason
    assert "a row that is in r" in missing.reason
    assert json.loads(missing.text) == {"instant": 2, "change": "-", "k": 1, "w": "b"}


def test_an_update_that_is_late_does_not_change_what_later_ones_may_do() -> None:
    relation = monitor()
    push(relation, (5, "+", 1, "a"), (2, "+", 2, "b"), (6, "-", 2, "b"))
    assert released(relation, 9) == [(5, 1, 1, "a")]
    assert (relation.late, relation.rejected) == (1, 1)


def test_an_nrr_does_not_take_a_deleted_key_again() -> None:
    relation = monitor(retroactive=False, key=(0,))
    push(relation, (1, "+", 1, "a"), (2, "-", 1, "a"), (3, "+", 1, "b"), (3, "+", 2, "b"))
    assert released(relation, 9) == [(1, 1, 1, "a"), (2, -1, 1, "a"), (3, 1, 2, "b")]
    (refused,) = relation.refused
    assert "does not accept it again" in refused.reason


def test_contents_without_instants_are_there_from_the_beginning() -> None:
    relation = monitor()
    relation.accept(relation.parse_pushed([{"k": 1, "w": "a"}, {"k": 2, "w": "b"}]))
    assert released(relation, 0) == [(BEGINNING + 1, 1, 1, "a"), (BEGINNING + 1, 1, 2, "b")]


@pytest.mark.parametrize("name", ["instant", "Change"])
def test_one_of_the_two_columns_of_updates_alone_is_a_mistake(name: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text(f"{name},k,w\n1,1,a\n")
    declared = monitor().relation
    with pytest.raises(InputError, match=f"instant and change, or .* found {name.lower()} alone"):
        contents_in([tmp_path / "r.csv"], declared, Clock.INTEGER)
    with pytest.raises(InputError, match=r"data pushed to r: .* alone; add the other column"):
        monitor().parse_pushed([{name: 1, "k": 1, "w": "a"}])


@pytest.mark.parametrize("updates", [False, True])
def test_a_relation_has_also_what_can_be_looked_through_only_once(updates: bool) -> None:
    columns: dict[str, list[Any]] = {"k": [1, 2], "w": ["a", "b"]}
    if updates:
        columns = {"instant": [3, 4], "change": ["+", "+"], **columns}
    iterators = {name: iter(values) for name, values in columns.items()}
    for data in (iterators, pa.table(columns).to_reader()):
        db = windrow.connect()
        (query,) = db.execute("CREATE RELATION r (k INT, w STRING); SELECT k, w FROM r;")
        db.push("r", data)
        db.advance(to=5)
        assert query.answer().to_pydict() == {"k": [1, 2], "w": ["a", "b"]}


def test_a_relation_may_have_a_column_called_like_one_of_updates() -> None:
    db = windrow.connect()
    (query,) = db.execute("CREATE RELATION r (k INT, change STRING); SELECT change FROM r;")
    db.push("r", [{"k": 1, "change": "x"}])
    db.advance(to=1)
    assert query.answer().to_pydict() == {"change": ["x"]}


def test_a_query_that_starts_later_sees_what_the_relation_holds() -> None:
    db = windrow.connect()
    db.execute("CREATE STREAM s (ts BIGINT, k INT); CREATE RELATION r (k INT, w STRING);")
    updates = {
        "instant": [1, 2, 9],
        "change": ["+", "+", "-"],
        "k": [1, 2, 1],
        "w": ["a", "b", "a"],
    }
    db.push("r", updates)
    db.advance(to=5)
    (query,) = db.execute("SELECT s.k, w FROM s [RANGE 10 SECONDS], r WHERE s.k = r.k;")
    db.push("s", {"ts": [6, 7], "k": [1, 2]})
    db.advance(to=8)
    assert sorted(query.answer()["w"].to_pylist()) == ["a", "b"]
    db.advance(to=9)
    assert query.answer()["w"].to_pylist() == ["b"]


def test_a_static_file_and_a_file_of_updates_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,k\n1,1\n4,1\n6,2\n")
    (tmp_path / "static.csv").write_text("k,w\n1,a\n2,b\n")
    (tmp_path / "updates.csv").write_text("instant,change,k,w\n1,+,1,x\n5,-,1,x\n6,+,2,y\n")
    script = f"""
        CREATE STREAM s (ts BIGINT, k INT) FROM '{tmp_path}/s.csv' FORMAT csv;
        CREATE RELATION static (k INT, w STRING) FROM '{tmp_path}/static.csv' FORMAT csv;
        CREATE RELATION updates (k INT, w STRING) FROM '{tmp_path}/updates.csv' FORMAT csv;
        CREATE QUERY a AS SELECT s.k, w FROM s [RANGE 9 SECONDS], static WHERE s.k = static.k;
        CREATE QUERY b AS SELECT s.k, w FROM s [RANGE 9 SECONDS], updates WHERE s.k = updates.k;
    """
    report = run_embedded(
        compile_script(script).catalog,
        once=True, quarantine=tmp_path / "bad", on_progress=lambda _: None,
    )  # fmt: skip
    answers = {q.name: sorted(q.answer["w"].to_pylist()) for q in report.queries}
    assert answers == {"a": ["a", "a", "b"], "b": ["y"]}
    assert isinstance(report.queries[0].answer, pa.Table)
