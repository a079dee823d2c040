"""LIKE and ESCAPE against DuckDB's, on texts and patterns made of the characters that matter."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.columns.evaluate import evaluate
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Literal

TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "a\\b",
    "xa\\by",
    "a%b",
    "a_b",
    "a!b",
    "50%",
    "a\nb",
    "äb",
    "a.b",
    "%",
    "\\",
]
patterns = st.text("ab%_!\\.é", max_size=6)
B, S = Type.BOOLEAN, Type.STRING


def ends_escaped(pattern: str, escape: str) -> bool:
    return pattern.replace(escape * 2, "").endswith(escape)


@pytest.mark.parametrize("escape", ["\\", "!"])
@settings(max_examples=150, deadline=None)
@given(patterns)
def test_patterns_match_what_duckdb_says_they_match(escape: str, pattern: str) -> None:
    if ends_escaped(pattern, escape):
        return  # DuckDB refuses it
    asked = "SELECT list(t LIKE ? ESCAPE ? ORDER BY i) FROM (SELECT unnest(?) t, unnest(?) i)"
    places = list(range(len(TEXTS)))
    found = duckdb.execute(asked, [pattern, escape, TEXTS, places]).fetchall()
    (expected,) = found[0] if found else ([],)
    text = Column(0, "s", S)
    mark = () if escape == "\\" else (Literal(escape, S),)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(TEXTS), pa.array([pattern] * len(TEXTS))], ["s", "p"]
    )
    constant = Call("like", (text, Literal(pattern, S), *mark), B)
    assert evaluate(constant, batch).to_pylist() == expected
    column = Call("like", (text, Column(1, "p", S), *mark), B)
    assert evaluate(column, batch).to_pylist() == expected


def test_an_escape_character_at_the_end_stands_for_itself() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["a\\", "a", None])], ["s"])
    call = Call("ilike", (Column(0, "s", S), Literal("A\\", S)), B)
    assert evaluate(call, batch).to_pylist() == [True, False, None]
