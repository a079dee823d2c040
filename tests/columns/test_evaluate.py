"""What the evaluator promises beyond agreeing with DuckDB: errors, laziness, types, NULLs."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from windrow.columns.evaluate import (
    KERNELS,
    MANY_ROWS,
    SelectionMasks,
    SharedParts,
    evaluate,
    selection_mask,
)
from windrow.columns.types import ARROW, parse
from windrow.core.errors import DataError
from windrow.core.schema import PLAIN_TYPES, Type
from windrow.plan.expressions import Call, Column, Expression, Literal

B, I, L, D = Type.BOOLEAN, Type.INT, Type.BIGINT, Type.DOUBLE  # noqa: E741
S, T, F = Type.STRING, Type.TIMESTAMP, Type.FLOAT


def rows(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def number(value: int) -> Literal:
    return Literal(value, I)


A, TEXT = Column(0, "a", L), Column(0, "s", S)
INTS = rows(a=pa.array([1, None, -7], pa.int64()))
BIG = rows(a=pa.array([1, 2**62], pa.int64()))
WORDS = rows(s=pa.array(["12", "x", None]))


def values(expression: Expression, batch: pa.RecordBatch) -> list[object]:
    return evaluate(expression, batch).to_pylist()


def test_integers_divide_towards_zero_and_by_zero_to_null():
    assert values(Call("divide", (A, number(2)), L), INTS) == [0, None, -3]
    assert values(Call("modulo", (A, number(2)), L), INTS) == [1, None, -1]
    assert values(Call("divide", (A, number(0)), L), INTS) == [None] * 3
    zero = Literal(0.0, D)
    assert values(Call("divide", (A, zero), D), INTS) == [None] * 3


def test_a_failed_cast_names_the_value_and_the_way_out():
    with pytest.raises(DataError, match=r"CAST\(s AS INT\).*'x'.*TRY_CAST"):
        evaluate(Call("cast", (TEXT,), I), WORDS)
    assert values(Call("try_cast", (TEXT,), I), WORDS) == [12, None, None]


def test_integers_that_a_narrower_type_does_not_have_are_refused_or_null():
    wide = rows(a=pa.array([2**63 - 1, 2**53 + 1, 2**31, 2**31 - 1, -(2**31), None]))
    assert values(Call("try_cast", (A,), I), wide) == [None, None, None, 2**31 - 1, -(2**31), None]
    with pytest.raises(DataError, match=rf"expected a value that is INT; found {2**63 - 1}; write"):
        evaluate(Call("cast", (A,), I), wide)


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (1e300, 10, 1e300), (1e300, 400, 1e300), (2.5, 2**62, 2.5), (-2.5, 0, -3.0),
        (0.125, 2, 0.13), (1.5e-310, 309, 1.5e-310), (2.5, -(2**62), 0.0), (17.0, -1, 20.0),
        (float("inf"), -(2**62), float("inf")), (float("-inf"), 3, float("-inf")), (None, 5, None),
    ],
)  # fmt: skip
def test_round_takes_any_number_of_digits(value, digits, expected):
    x = rows(x=pa.array([value], pa.float64()), n=pa.array([digits]))
    column, count = Column(0, "x", D), Column(1, "n", L)
    assert values(Call("round", (column, Literal(digits, L)), D), x) == [expected]
    assert values(Call("round", (column, count), D), x) == [expected]


@pytest.mark.parametrize(("digits", "expected"), [(2**62, 17), (-1, 20), (-(2**62), 0)])
def test_round_of_an_integer_takes_any_number_of_digits(digits, expected):
    x = rows(a=pa.array([17]), n=pa.array([digits]))
    assert values(Call("round", (A, Literal(digits, L)), L), x) == [expected]
    assert values(Call("round", (A, Column(1, "n", L)), L), x) == [expected]


@pytest.mark.parametrize("digits", range(-40, 1))
@pytest.mark.parametrize(("kind", "bits"), [(I, 31), (L, 63)])
def test_round_of_integers_is_exact_or_null(digits: int, kind: Type, bits: int) -> None:
    step = 10**-digits
    for value in (0, 17, 5 * 10 ** (bits // 4), 2**bits - 1, -(2**bits), None):
        x = rows(a=pa.array([value], ARROW[kind]), n=pa.array([digits]))
        near = None if value is None else (abs(value) + step // 2) // step * step
        for count in (Literal(digits, L), Column(1, "n", L)):
            call = Call("round", (Column(0, "a", kind), count), kind)
            if near is None or near < 2**bits or -near == value:
                assert values(call, x) == [near if value is None or value > 0 else -near]
            else:
                assert values(call, x) == [None]


@pytest.mark.parametrize("digits", [5, 30, 31, 38, 39, 45, 60, 300, 301])
def test_round_of_a_float_takes_any_number_of_digits(digits: int) -> None:
    kept = [0.5, 0.0, float(2**100), float("inf"), None]
    x = rows(x=pa.array(kept, pa.float32()))
    assert values(Call("round", (Column(0, "x", F), Literal(digits, L)), F), x) == kept


def test_case_evaluates_a_cast_only_on_the_rows_that_take_it():
    is_number = Call("ne", (TEXT, Literal("x", S)), B)
    cast = Call("cast", (TEXT,), L)
    assert values(Call("case", (is_number, cast, number(0)), L), WORDS) == [12, 0, 0]


def test_case_without_a_matching_branch_takes_otherwise_also_on_no_rows():
    never = Call("case", (Literal(None, B), Call("cast", (TEXT,), L), Literal(7, L)), L)
    assert values(never, WORDS) == [7, 7, 7]
    assert values(never, WORDS.slice(0, 0)) == []


def test_coalesce_evaluates_a_cast_only_where_all_before_is_null():
    batch = rows(s=pa.array(["x", "5"]), a=pa.array([1, None], pa.int64()))
    lazy = Call("coalesce", (Column(1, "a", L), Call("cast", (TEXT,), L)), L)
    assert values(lazy, batch) == [1, 5]


def test_null_is_neither_true_nor_selected():
    unknown = Call("gt", (A, number(0)), B)
    assert selection_mask(unknown, INTS).tolist() == [True, False, False]
    assert selection_mask(Call("not", (unknown,), B), INTS).tolist() == [False, False, True]


def test_in_is_unknown_when_nothing_matches_and_a_member_is_null():
    members = (A, number(1), Literal(None, I))
    assert values(Call("in", members, B), INTS) == [True, None, None]


def test_nan_equals_itself_and_is_above_infinity():
    batch = rows(d=pa.array([math.nan, math.inf, None]))
    column, nan = Column(0, "d", D), Literal(math.nan, D)
    assert values(Call("eq", (column, nan), B), batch) == [True, False, None]
    assert values(Call("lt", (column, nan), B), batch) == [False, True, None]


def test_bigints_beyond_two_to_the_53_compare_with_doubles():
    batch = rows(a=pa.array([2**53 + 1]))
    assert values(Call("gt", (A, Literal(1.5, D)), B), batch) == [True]


@pytest.mark.parametrize("kind", [k for k in PLAIN_TYPES if k is not Type.INTERVAL])
def test_a_literal_is_repeated_in_its_own_type(kind):
    found = evaluate(Literal(None, kind), INTS)
    assert (found.type, found.to_pylist()) == (ARROW[kind], [None] * 3)


def test_like_takes_an_escaped_wild_card_literally_and_a_newline_as_any_character():
    batch = rows(s=pa.array(["a%", "ab", "a\nb"]))
    assert values(Call("like", (TEXT, Literal("a\\%", S)), B), batch) == [True, False, False]
    assert values(Call("like", (TEXT, Literal("a_b", S)), B), batch) == [False, False, True]


def test_replacing_an_empty_text_changes_nothing():
    call = Call("replace", (TEXT, Literal("", S), Literal("y", S)), S)
    assert values(call, WORDS) == ["12", "x", None]


def test_an_unknown_unit_of_date_trunc_is_named():
    batch = rows(t=pa.array([0], pa.timestamp("us")))
    with pytest.raises(DataError, match="'fortnight'"):
        evaluate(Call("date_trunc", (Literal("fortnight", S), Column(0, "t", T)), T), batch)


TIMES = {
    "2020-01-02T03:04:05": 1577934245000000,
    "2020-01-02 03:04:05.5": 1577934245500000,
    "2020-01-02T03:04:05Z": 1577934245000000,
    "2020-01-02T05:04:05+02:00": 1577934245000000,
    "2020-01-02T01:34:05-0130": 1577934245000000,
    "2020-01-02T03:04:05.123456789Z": 1577934245123456,
    " 2020-01-02 ": 1577923200000000,
    "1577934245": None,
    "2020-02-30": None,
    "": None,
}


def test_a_text_is_read_the_same_alone_and_among_others():
    together = parse(pa.array(list(TIMES)), T).cast(pa.int64()).to_pylist()
    alone = [parse(pa.array([t]), T).cast(pa.int64())[0].as_py() for t in TIMES]
    assert together == alone == list(TIMES.values())


def test_a_part_that_several_expressions_have_is_evaluated_once(monkeypatch):
    lower = Call("lower", (TEXT,), S)
    same = [Call("eq", (lower, Literal(word, S)), B) for word in ("x", "12")]
    cast = Call("cast", (TEXT,), I)
    calls, kernel = [], KERNELS["lower"]
    monkeypatch.setitem(KERNELS, "lower", lambda args, call: calls.append(1) or kernel(args, call))
    choice = Call("case", (same[0], number(1), same[1], cast, number(0)), I)
    parts = SharedParts([choice, same[0], lower, cast])
    batch = rows(s=pa.array(["12", "X"]))
    with pytest.raises(DataError, match=r"CAST\(s AS INT\)"):  # where it is taken from all rows
        parts.evaluate(batch)
    calls.clear()
    found = SharedParts([choice, same[0], lower]).evaluate(batch)
    assert [array.to_pylist() for array in found] == [[12, 1], [False, True], ["12", "x"]]
    assert calls == [1]


def test_zero_and_minus_zero_are_two_constants():
    zeros = [Call("coalesce", (Column(0, "x", D), Literal(zero, D)), D) for zero in (0.0, -0.0)]
    found = SharedParts(zeros).evaluate(rows(x=pa.array([None], pa.float64())))
    assert [str(array[0]) for array in found] == ["0.0", "-0.0"]


@pytest.mark.parametrize(
    "name", ["sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees", "atan2"]
)
def test_functions_of_angles_are_those_of_python(name):
    values, second = [-1.0, -0.3, 0.0, 0.25, 1.0, 7.5], 0.5
    args = [Column(0, "x", D)] + [Literal(second, D)] * (name == "atan2")
    found = evaluate(Call(name, tuple(args), D), rows(x=pa.array([*values, None])))
    for value, given in zip(values, found.to_pylist()[:-1], strict=True):
        try:
            one = getattr(math, name)(*([value, second] if name == "atan2" else [value]))
        except ValueError:  # beyond what there is an angle for
            one = math.nan
        assert given == pytest.approx(one, rel=1e-14, nan_ok=True)
    assert not found[len(values)].is_valid


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("12345678901234567.89", "12345678901234567.89"), ("0.1234567890123456789",) * 2,
        ("1e400", "1E+400"), ("-1e-400", "-1E-400"), ("1.50", "1.5"), ("-0.0", "-0.0"),
        ("100.0", "100.0"), ("123456789012345678901234567890",) * 2,
    ],
)  # fmt: skip
def test_a_number_in_json_keeps_the_digits_that_a_double_has_not(written: str, shown: str):
    path = Literal("$.a", S)
    batch = rows(s=pa.array([f'{{"a": {written}}}', f'{{"a": {{"b": [{written}, "ü"]}}}}']))
    for function in ("json_extract", "json_extract_string"):
        expected = [shown, f'{{"b":[{shown},"ü"]}}']
        assert values(Call(function, (TEXT, path), S), batch) == expected


@pytest.mark.parametrize("exponent", ["1e99999999999999999999", "-1.5e-99999999999999999999"])
def test_a_json_text_with_a_number_beyond_all_decimals_is_null(exponent: str):
    batch = rows(s=pa.array([f'{{"a": {exponent}}}', '{"a": 1.5}']))
    assert values(Call("json_extract", (TEXT, Literal("$.a", S)), S), batch) == [None, "1.5"]


def test_a_long_number_in_too_many_brackets_is_null():
    deep = "[" * 600 + "0.1234567890123456789" + "]" * 600
    batch = rows(s=pa.array([f'{{"a": {deep}}}', '{"a": [1.5]}']))
    assert values(Call("json_extract", (TEXT, Literal("$.a", S)), S), batch) == [None, "[1.5]"]


def test_initcap_begins_words_with_capitals():
    texts = pa.array(["o'neil mc DONALD", "élan 2nd", "", None])
    found = evaluate(Call("initcap", (Column(0, "s", S),), S), rows(s=texts))
    assert found.to_pylist() == ["O'Neil Mc Donald", "Élan 2Nd", "", None]


def test_regular_expressions_are_asked_of_rows_that_need_them(monkeypatch):
    monkeypatch.setattr(MANY_ROWS, "value", 1)
    pattern = Literal("1(.)", S)
    asked, kernels = [], dict(KERNELS)
    for name in ("regexp_matches", "regexp_extract"):
        monkeypatch.setitem(
            KERNELS, name,
            lambda args, call: asked.append(args[0].to_pylist())
            or kernels[call.function](args, call),
        )  # fmt: skip
    short = Call("is_null", (TEXT,), B)
    matches = Call("regexp_matches", (TEXT, pattern), B)
    assert values(Call("or", (matches, short), B), WORDS) == [True, False, True]
    assert values(Call("and", (matches, short), B), WORDS) == [False, False, None]
    part = Call("regexp_extract", (TEXT, pattern, number(1)), S)
    assert values(Call("case", (short, Literal("-", S), part), S), WORDS) == ["2", "", "-"]
    assert asked == [["12", "x"], [None], ["12", "x"]]


def test_many_predicates_have_the_masks_of_each_and_share_what_they_have_in_common(monkeypatch):
    low, high = Call("ge", (A, number(0)), B), Call("lt", (A, number(5)), B)
    missing, odd = Call("is_null", (A,), B), Call("eq", (Call("add", (A, number(1)), L), A), B)
    both, one = Call("and", (low, high), B), Call("or", (Call("and", (high, low), B), missing), B)
    predicates = [None, low, both, one, Call("not", (both,), B), Call("or", (odd, low), B), odd]
    batch = rows(a=pa.array([1, None, -7, 5, 9, 2**63 - 1], pa.int64()))
    masks, evaluated, alone = SelectionMasks(predicates), [], selection_mask
    monkeypatch.setattr(
        "windrow.columns.evaluate.selection_mask",
        lambda predicate, batch: evaluated.append(predicate) or alone(predicate, batch),
    )
    found = masks.evaluate(batch)
    for mask, predicate in zip(found, predicates, strict=True):
        expected = [True] * 6 if predicate is None else alone(predicate, batch).tolist()
        assert mask.tolist() == expected
    assert evaluated == [low, high, missing, predicates[4], predicates[5], odd]
