"""Functions of the user's own: CREATE FUNCTION, and ``connection.function``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import windrow
from windrow.engine.function_code import is_same_code
from windrow.engine.function_declarations import declare_function

ROWS = {"ts": [1, 2, 3], "x": [1.5, None, 4.0], "n": [1, 2, 3], "k": ["a", "b", "c"]}
STREAM = "CREATE STREAM s (ts BIGINT, x DOUBLE, n INT, k STRING);"
Functions = dict[str, tuple[Callable[..., Any], dict[str, Any]]]


def longer(text: str, times: int) -> str:
    return text * times


def answer(query: str, functions: Functions | None = None, script: str = "") -> list[Any]:
    """The one column of a query over the rows."""
    with windrow.connect() as connection:
        connection.execute(STREAM + script)
        for name, (function, described) in (functions or {}).items():
            connection.function(name, function, **described)
        (asked,) = connection.execute(f"{query};")
        connection.push("s", ROWS)
        connection.advance(to=3)
        return [next(iter(row.values())) for row in asked.answer().to_pylist()]


def test_a_function_takes_the_values_of_a_row_and_is_not_called_for_null() -> None:
    seen = []

    def half(x: float) -> float | None:
        seen.append(x)
        return x / 2 if x < 4 else None

    functions: Functions = {"half": (half, {"returns": "DOUBLE"})}
    assert answer("SELECT half(x) FROM s [RANGE 9]", functions) == [0.75, None, None]
    assert set(seen) == {1.5, 4.0}


def test_a_vectorised_function_takes_arrays_with_their_nulls() -> None:
    def filled(x: pa.Array, n: pa.Array) -> pa.Array:
        return pc.coalesce(x, n.cast(pa.float64()))

    functions: Functions = {
        "filled": (
            filled, {"takes": ["DOUBLE", "INT"], "returns": "DOUBLE", "vectorised": True}
        )
    }  # fmt: skip
    assert answer("SELECT filled(x, n) FROM s [RANGE 9]", functions) == [1.5, 2.0, 4.0]
    assert answer("SELECT filled(x, 7) FROM s [RANGE 9]", functions) == [1.5, 7.0, 4.0]


def test_constants_and_narrower_types_are_converted() -> None:
    def dated(t: dt.datetime, x: float) -> str:
        return f"{t:%d}-{x}"

    query = "SELECT dated('2026-03-04 01:02:03', n) FROM s [RANGE 9] WHERE k = 'b'"
    assert answer(query, {"dated": (dated, {})}) == ["04-2.0"]
    assert answer("SELECT dated(NULL, 1) FROM s [NOW]", {"dated": (dated, {})}) == [None]


def test_functions_stand_wherever_expressions_do() -> None:
    query = (
        "SELECT MAX(longer(k, n)) AS m FROM s [RANGE 9] WHERE length(longer(k, 2)) = 2 "
        "AND NOT EXISTS (SELECT * FROM s [RANGE 9] AS o WHERE longer(o.k, 2) = longer(s.k, 1)) "
        "GROUP BY longer('z', 2) HAVING longer(MIN(k), 1) = 'a'"
    )
    script = f"CREATE FUNCTION longer (t STRING, n INT) RETURNS STRING AS '{__name__}:longer';"
    assert answer(query, script=script) == ["ccc"]


def test_in_case_a_function_is_called_for_its_branch_only() -> None:
    functions: Functions = {
        "inverse": (lambda n: 1 / (n - 2), {"takes": ["INT"], "returns": "DOUBLE"})
    }
    query = "SELECT CASE WHEN n <> 2 THEN inverse(n) END FROM s [RANGE 9]"
    assert answer(query, functions) == [-1.0, None, 1.0]
    with pytest.raises(windrow.WindrowError, match=r"a value of 2; found ZeroDivisionError"):
        answer("SELECT inverse(n) FROM s [RANGE 9]", functions)


@pytest.mark.parametrize(
    ("function", "described", "words"),
    [
        (lambda n: "x", {"returns": "INT"}, "expected INT, as the function was declared"),
        (lambda n: 1.5, {"returns": "BIGINT"}, "expected BIGINT"),
        (lambda n: 2**40, {"returns": "INT"}, "expected INT"),
        (lambda n: n[:1], {"returns": "INT", "vectorised": True}, "1 values for 2 rows"),
        (lambda n: 5, {"returns": "INT", "vectorised": True}, "found int"),
        (lambda n: n.cast(pa.string()), {"returns": "DATE", "vectorised": True}, "expected DATE"),
        (lambda n: pa.array([Decimal("31378432.8")] * len(n)),
         {"returns": "DECIMAL(38, 33)", "vectorised": True}, r"expected DECIMAL\(38, 33\)"),
    ],
)  # fmt: skip
def test_a_result_of_another_type_is_an_error(
    function: Callable[..., Any], described: dict[str, Any], words: str
) -> None:
    with pytest.raises(windrow.WindrowError, match=words):
        answer("SELECT f(n) FROM s [RANGE 9]", {"f": (function, {"takes": ["INT"], **described})})


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("CREATE FUNCTION f (a INT) RETURNS INT AS 'no_such:f';", "a module no_such that can be"),
        ("CREATE FUNCTION f (a INT) RETURNS INT AS 'math:no_such';", "a function no_such in math"),
        ("CREATE FUNCTION f (a INT) RETURNS INT AS 'math:pi';", "found float"),
        ("CREATE FUNCTION f (a INT) RETURNS INT AS 'print(1)';", "column 42: expected 'module:"),
        ("CREATE FUNCTION lower (a INT) RETURNS INT AS 'math:sqrt';", "a function lower already"),
        ("CREATE FUNCTION f (a DECIMAL) RETURNS INT AS 'm:f';", "digits behind the point"),
        ("CREATE FUNCTION f (a INT) RETURNS JSON AS 'm:f';", "a STRING of JSON"),
        ("CREATE FUNCTION f (a INT) RETURNS ARRAY AS 'm:f';", r"ARRAY<BIGINT> or BIGINT\[\]"),
        ("CREATE FUNCTION f (a INT) AS 'm:f';", "RETURNS"),
        ("SELECT g(k) FROM s;", "expected INT for a; found STRING; write CAST"),
        ("SELECT g(n, n) FROM s;", r"expected g\(a INT\); found 2 arguments"),
        ("CREATE VIEW v AS SELECT g(n) AS h FROM s; DROP FUNCTION g;", "g is called by view v"),
    ],
)
def test_what_is_wrong_with_a_declaration_or_a_call_is_said(script: str, words: str) -> None:
    with windrow.connect() as connection:
        connection.execute(STREAM + "CREATE FUNCTION g (a INT) RETURNS DOUBLE AS 'math:sqrt';")
        with pytest.raises(windrow.WindrowError, match=words):
            connection.execute(script)
        connection.execute("DROP FUNCTION g;")


def test_types_that_are_not_annotated_are_asked_for() -> None:
    with windrow.connect() as connection:
        with pytest.raises(windrow.WindrowError, match="a type for x; found none; pass takes="):
            connection.function("f", lambda x: x, returns="INT")
        with pytest.raises(windrow.WindrowError, match="a name such as risk"):
            connection.function("f(", longer)


def test_where_workers_import_functions_one_must_be_in_a_module() -> None:
    text = declare_function("longer", longer, None, None, vectorised=False, in_process=False)
    assert f"AS '{__name__}:longer'" in text
    with pytest.raises(windrow.WindrowError, match="a module that workers can import"):
        declare_function("f", lambda x: x, ["INT"], "INT", vectorised=False, in_process=False)


def test_explain_shows_a_function_by_its_name() -> None:
    with windrow.connect() as connection:
        connection.execute(STREAM + "CREATE FUNCTION root (a INT) RETURNS DOUBLE AS 'math:sqrt';")
        assert "Selection root(s.n) > 1.0" in str(
            connection.explain("SELECT k FROM s WHERE root(n) > 1.0;")
        )


@pytest.mark.parametrize("location", ["nomodule:f", "math:nothing"])
def test_a_function_that_is_not_there_is_underlined(location: str) -> None:
    with windrow.connect() as connection:
        with pytest.raises(windrow.ScriptError, match="line 2, column 5: expected a") as found:
            connection.execute(f"CREATE FUNCTION f (a INT) RETURNS INT\n AS '{location}';")
        assert found.value.excerpt().endswith("^" * (len(location) + 2))


def half_of(source: str = "def half(x: float) -> float:\n    return x / 2\n") -> Callable[..., Any]:
    """The function that a cell defines each time it is run."""
    cell: dict[str, Any] = GLOBALS
    exec(source, cell)
    function: Callable[..., Any] = cell["half"]
    return function


GLOBALS: dict[str, Any] = {"__name__": "__main__"}


def test_a_cell_that_declares_a_function_can_be_run_twice() -> None:
    with windrow.connect() as connection:
        connection.execute(STREAM)
        connection.function("half", half := half_of())
        (query,) = connection.execute("CREATE QUERY q AS SELECT half(x) AS h FROM s [RANGE 9];")
        connection.function("half", half)
        connection.function("half", half_of("\n\n" + "def half(x: float) -> float: return x / 2"))
        connection.push("s", ROWS)
        connection.advance(to=3)
        assert query.answer()["h"].to_pylist() == [0.75, None, 2.0]


def test_a_changed_function_replaces_one_that_nothing_calls_and_no_other() -> None:
    with windrow.connect() as connection:
        connection.execute(STREAM)
        connection.function("half", half_of())
        connection.function("half", lambda x: x / 2.5, takes=["DOUBLE"], returns="DOUBLE")
        (query,) = connection.execute("CREATE QUERY q AS SELECT half(x) AS h FROM s [RANGE 9];")
        words = "half is called by query q; drop what calls it first: DROP QUERY q"
        with pytest.raises(windrow.WindrowError, match=words):
            connection.function("half", half_of())
        connection.push("s", ROWS)
        connection.advance(to=3)
        assert query.answer()["h"].to_pylist() == [0.6, None, 1.6]


@pytest.mark.parametrize(
    "source",
    [
        "def half(x: float) -> float: return x / 3",
        "def half(x: float) -> float: return x / 2.0",
        "def half(x: float, *, by: int = 3) -> float: return x / by",
        "def make(by):\n    return lambda x: x / by\nhalf = make(3)",
        "from functools import partial\nhalf = partial(pow, 2)",
    ],
)
def test_functions_are_the_same_if_their_code_is(source: str) -> None:
    one = half_of(source)
    assert is_same_code(one, one)
    assert is_same_code(one, half_of("\n" + source)) == ("partial" not in source)
    assert not is_same_code(one, half_of())
    assert not is_same_code(one, half_of(source.replace("3", "5").replace("2", "4")))


def test_types_of_python_stand_for_those_of_cql_and_others_are_named() -> None:
    with windrow.connect() as connection:
        connection.function("twice", lambda x: 2 * x, takes=[int], returns=int)
        for kind in (list, object(), "NUMBERS"):
            with pytest.raises(
                windrow.InputError, match="function f: expected a type of CQL, such"
            ):
                connection.function("f", lambda x: x, takes=["INT"], returns=kind)
