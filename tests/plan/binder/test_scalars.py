"""What expressions mean, and which types they have."""

from __future__ import annotations

import pytest

from tests.plan.scripts import bound
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Expression, Literal, columns_of, render
from windrow.plan.nodes import (
    Projection,
    Selection,
    walk,
)
from windrow.plan.optimiser import optimise


def value(expression: str, stream: str = "s") -> str:
    """The bound expression, rendered again."""
    plan = bound(f"SELECT {expression} AS v FROM {stream}")
    assert isinstance(plan, Projection)
    return render(plan.columns[0].expression)


def kind(expression: str, stream: str = "s") -> Type:
    return bound(f"SELECT {expression} AS v FROM {stream}").schema[0].type


def test_double_quotes_hold_a_column_and_single_quotes_a_text() -> None:
    plan = bound("""SELECT k FROM s WHERE "name" = 'ab'""")
    selection = next(n for n in walk(plan) if isinstance(n, Selection))
    assert render(selection.predicate) == "name = 'ab'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b", Type.BIGINT), ("a / b", Type.BIGINT), ("a % 2", Type.BIGINT), ("-a", Type.BIGINT),
        ("a * x", Type.DOUBLE), ("1", Type.INT), ("3000000000", Type.BIGINT), ("1.5", Type.DOUBLE),
        ("a > x", Type.BOOLEAN), ("name || 'x'", Type.STRING), ("length(name)", Type.BIGINT),
        ("CAST(name AS INT)", Type.INT), ("name::DOUBLE", Type.DOUBLE),
        ("round(x, 2)", Type.DOUBLE),
        ("floor(a)", Type.INT), ("sqrt(a)", Type.DOUBLE), ("coalesce(a, x)", Type.DOUBLE),
        ("nullif(a, 0)", Type.INT), ("greatest(a, ts)", Type.BIGINT), ("abs(a)", Type.BIGINT),
        ("CASE WHEN a > 1 THEN name END", Type.STRING), ("CASE a WHEN 1 THEN 2 ELSE x END",
                                                         Type.DOUBLE),
        ("substring(name, 1, 2)", Type.STRING), ("SUBSTRING(name FROM 2)", Type.STRING),
        ("POSITION('b' IN name)", Type.BIGINT), ("left(name, 1)", Type.STRING),
        ("starts_with(name, 'a')", Type.BOOLEAN), ("TRY_CAST(name AS BIGINT)", Type.BIGINT),
        ("mod(a, 3)", Type.BIGINT), ("trim(name)", Type.STRING), ("replace(name, 'a', 'b')",
                                                                  Type.STRING),
    ],
)  # fmt: skip
def test_expressions_have_the_types_of_the_language(expression: str, expected: Type) -> None:
    assert kind(expression) is expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("ts + INTERVAL 5 MINUTES", Type.TIMESTAMP), ("ts - INTERVAL '1' DAY", Type.TIMESTAMP),
        ("ts - seen", Type.BIGINT), ("EXTRACT(HOUR FROM ts)", Type.BIGINT),
        ("date_trunc('Hour', ts)", Type.TIMESTAMP), ("year(day)", Type.BIGINT),
        ("ts > '2024-01-01'", Type.BOOLEAN), ("ts > day", Type.BOOLEAN),
    ],
)  # fmt: skip
def test_times_have_their_own_arithmetic(expression: str, expected: Type) -> None:
    assert kind(expression, "f") is expected


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a <> 1", "a <> 1"), ("a != 1", "a <> 1"), ("name IS NOT NULL", "NOT (name IS NULL)"),
        ("a BETWEEN 1 AND 3", "a >= 1 AND a <= 3"), ("NOT a = 1", "NOT (a = 1)"),
        ("a IN (1, 2)", "a IN (1, 2)"), ("a IN (1, b)", "a = 1 OR a = b"),
        ("a NOT IN (1, 2)", "NOT (a IN (1, 2))"), ("name NOT LIKE 'x%'", "NOT (name LIKE 'x%')"),
        ("name RLIKE '^a'", "REGEXP_MATCHES(name, '^a')"),
        ("name NOT REGEXP '\\(?P'", "NOT (REGEXP_MATCHES(name, '\\(?P'))"),
        ("name ->> 'a'", "JSON_EXTRACT_STRING(name, '$.a')"),
        ("name ->> 'a.b c'", "JSON_EXTRACT_STRING(name, '$.\"a.b c\"')"),
        ("name ->> 'a\"b'", "JSON_EXTRACT_STRING(name, 'a\"b')"),
        ("name -> 'a' ->> -1",
         "JSON_EXTRACT_STRING(JSON_EXTRACT(name, '$.a'), '$[-1]')"),
        ("name -> 0 -> '$.a.b c'", "JSON_EXTRACT(JSON_EXTRACT(name, '$[0]'), '$.a.\"b c\"')"),
        ("get_json_object(name, '$.a')", "JSON_EXTRACT_STRING(name, '$.a')"),
        ("name || name", "CONCAT(name, name)"), ("-3", "-3"), ("x IS TRUE", None),
        ("coalesce(a, 1.5)", "COALESCE(CAST(a AS DOUBLE), 1.5)"), ("a = NULL", "a = NULL"),
    ],
)  # fmt: skip
def test_sugar_is_gone_after_binding(written: str, meant: str | None) -> None:
    if meant is None:
        with pytest.raises(Exception, match="does not take these types"):
            value(written)
    else:
        assert value(written) == meant


def test_strings_beside_times_become_times_and_null_takes_its_neighbour_s_type() -> None:
    plan = bound("SELECT src FROM f WHERE ts >= '1970-01-02 00:00:00+01:00' AND day = '1970-01-03'")
    selection = next(n for n in walk(plan) if isinstance(n, Selection))
    constants = [
        arg
        for part in (selection.predicate.args if isinstance(selection.predicate, Call) else ())
        for arg in (part.args if isinstance(part, Call) else ())
        if isinstance(arg, Literal)
    ]
    assert constants == [Literal(82_800_000_000, Type.TIMESTAMP), Literal(2, Type.DATE)]
    null = bound("SELECT coalesce(NULL, a) AS v FROM s").schema[0]
    assert null.type is Type.INT


def test_chains_of_thousands_of_conditions_are_bound_into_shallow_trees() -> None:
    tests = [f"a = {i}" for i in range(3000)]
    for word in ("OR", "AND"):
        plan = bound("SELECT k FROM s WHERE b = 1 AND (" + f" {word} ".join(tests) + ")")
        predicate = next(n.predicate for n in walk(plan) if isinstance(n, Selection))
        assert depth(predicate) < 20
        assert sum(1 for c in columns_of(predicate) if c.name == "a") == 3000
    optimise(plan)


def depth(expression: Expression) -> int:
    return 1 + max(map(depth, expression.args), default=0) if isinstance(expression, Call) else 1


def test_the_least_bigint_has_a_literal() -> None:
    for text in ("-9223372036854775808", "- 9223372036854775808", "-(9223372036854775808)"):
        assert (value(text), kind(text)) == ("-9223372036854775808", Type.BIGINT)
    assert kind("-2147483647") is Type.INT


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("SELECT a FROM s UNION ALL SELECT NULL FROM t", [Type.INT]),
        ("SELECT NULL FROM t UNION ALL SELECT NULL FROM t UNION SELECT x FROM s", [Type.DOUBLE]),
        ("SELECT NULL, src FROM f UNION ALL SELECT ts, NULL FROM f", [Type.TIMESTAMP, Type.STRING]),
        ("SELECT day FROM f EXCEPT ALL SELECT n FROM (SELECT NULL AS n FROM f) AS q", [Type.DATE]),
        ("SELECT NULL FROM s UNION ALL SELECT NULL FROM t", [Type.STRING]),
    ],
)  # fmt: skip
def test_a_column_of_nulls_takes_the_type_of_the_other_side(text: str, kinds: list[Type]) -> None:
    assert [f.type for f in bound(text).schema] == kinds


def test_escape_is_shown_as_it_was_written() -> None:
    text = "name LIKE 'a!%' ESCAPE '!'"
    assert value(text) == text
    assert value(f"NOT {text}") == value(text.replace("LIKE", "NOT LIKE")) == f"NOT ({text})"


def test_a_null_in_a_cast_keeps_its_type_and_any_other_null_takes_one_that_fits() -> None:
    assert kind("CASE WHEN a > 1 THEN NULL ELSE CAST(NULL AS DATE) END") is Type.DATE
    assert kind("coalesce(NULL, CAST(NULL AS BIGINT))") is Type.BIGINT
    assert kind("substring(CAST(NULL AS STRING), 0, 2)") is Type.STRING
    assert kind("CAST(NULL AS DATE) + INTERVAL 1 DAY") is Type.TIMESTAMP
    with pytest.raises(Exception, match=r"found INT and STRING"):
        value("a + CAST(NULL AS STRING)")
    assert kind("left(NULL, 2)") is kind("lpad(NULL, NULL)") is Type.STRING
    assert kind("abs(NULL)") is kind("NULL + NULL") is Type.BIGINT
    assert kind("date_trunc('day', NULL)") is Type.TIMESTAMP
    assert kind("EXTRACT(year FROM NULL)") is Type.BIGINT
    assert kind("CASE WHEN NULL THEN 1 END") is Type.INT


def test_try_cast_of_a_constant_that_has_no_such_value_is_not_refused() -> None:
    assert kind("TRY_CAST('abc' AS DATE)") is Type.DATE
    with pytest.raises(Exception, match="expected a DATE such as '2024-05-01'; found 'abc'"):
        value("CAST('abc' AS DATE)")
