"""Random expressions over random rows give what DuckDB gives."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from functools import cache

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.columns.evaluate import KERNELS, evaluate, selection_mask
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, columns_of, render

B, I, L, F, D = Type.BOOLEAN, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE  # noqa: E741
S, T, DATE, V = Type.STRING, Type.TIMESTAMP, Type.DATE, Type.INTERVAL

COLUMNS = {
    "i": I, "j": I, "k": L, "n": L, "f": F, "d": D, "x": D,
    "s": S, "u": S, "digits": S, "t": T, "w": T, "day": DATE, "p": B, "q": B,
}  # fmt: skip
NAMES = list(COLUMNS)
SQL = {
    B: "BOOLEAN", I: "INTEGER", L: "BIGINT", F: "FLOAT", D: "DOUBLE",
    S: "VARCHAR", T: "TIMESTAMP", DATE: "DATE", V: "BIGINT",
}  # fmt: skip

PAIR = Type.struct([("a", L), ("b", S)])
SQL |= {Type.array(L): "BIGINT[]", Type.array(S): "VARCHAR[]", PAIR: "STRUCT(a BIGINT, b VARCHAR)"}

ALPHABET = "aAbz %_éÉß日😀\t"
texts = st.text(ALPHABET, max_size=6)
moments = st.datetimes(dt.datetime(1901, 1, 1), dt.datetime(2099, 1, 1))
doubles = st.one_of(
    st.integers(-8, 8).map(lambda v: v / 2),
    st.floats(-1e6, 1e6, width=32),
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0]),
)
VALUES: dict[Type, st.SearchStrategy[object]] = {
    B: st.booleans(),
    I: st.integers(-20, 20) | st.sampled_from([2**31 - 1, -(2**31)]),
    L: st.integers(-20, 20) | st.integers(-(2**40), 2**40),
    F: doubles,
    D: doubles,
    S: texts,
    T: moments,
    DATE: st.dates(dt.date(1901, 1, 1), dt.date(2099, 1, 1)),
}
DIGITS = st.integers(-999, 10**12).map(str) | st.sampled_from(["x", "é9", "9999999999999999999"])


@st.composite
def batches(draw: st.DrawFn, expression: Expression) -> pa.RecordBatch:
    """Rows with values in the columns that the expression reads, and NULL in others."""
    size = draw(st.integers(0, 6))
    read = {c.name for c in columns_of(expression)}
    arrays = []
    for name, kind in COLUMNS.items():
        if name not in read:
            arrays.append(pa.nulls(size, ARROW[kind]))
            continue
        values = DIGITS if name == "digits" else VALUES[kind]
        some = st.lists(st.none() | values, min_size=size, max_size=size)
        arrays.append(pa.array(draw(some), ARROW[kind]))
    return pa.RecordBatch.from_arrays(arrays, NAMES)


def column(name: str) -> Column:
    return Column(NAMES.index(name), name, COLUMNS[name])


@cache
def literal(kind: Type) -> st.SearchStrategy[Expression]:
    values: dict[Type, st.SearchStrategy[object]] = {
        **VALUES,
        I: st.integers(-5, 5),
        L: st.integers(-5, 5),
        T: st.integers(-(10**15), 10**15),
        DATE: st.integers(-20000, 20000),
        V: st.integers(-(10**12), 10**12),
    }
    # A FLOAT literal must be one that binary32 holds.
    return values[kind].map(lambda v: Literal(v, kind))


@cache
def leaf(kind: Type) -> st.SearchStrategy[Expression]:
    columns = [column(n) for n, k in COLUMNS.items() if k is kind and n != "digits"]
    null = st.just(Literal(None, kind))
    if not columns:
        return literal(kind)
    return st.one_of(st.sampled_from(columns), literal(kind), null)


USED: set[str] = set()


def call(
    function: str, kind: Type, *args: st.SearchStrategy[Expression]
) -> st.SearchStrategy[Expression]:
    USED.add(function)
    return st.tuples(*args).map(lambda values: Call(function, values, kind))


@cache
def numbers(depth: int) -> st.SearchStrategy[Expression]:
    return st.sampled_from([I, L, F, D]).flatmap(lambda k: expressions(k, depth))


@cache
def whole(depth: int) -> st.SearchStrategy[Expression]:
    return st.sampled_from([I, L]).flatmap(lambda k: expressions(k, depth))


@cache
def pair_of_comparables(depth: int) -> st.SearchStrategy[tuple[Expression, ...]]:
    alike = st.sampled_from([B, S, T, DATE]).flatmap(
        lambda k: st.tuples(expressions(k, depth), expressions(k, depth))
    )
    mixed_times = st.tuples(expressions(T, depth), expressions(DATE, depth))
    return st.one_of(st.tuples(numbers(depth), numbers(depth)), alike, mixed_times)


@cache
def expressions(kind: Type, depth: int) -> st.SearchStrategy[Expression]:
    if depth == 0:
        return leaf(kind)
    return st.one_of(leaf(kind), st.deferred(lambda: calls(kind, depth - 1)))


@cache
def calls(kind: Type, d: int) -> st.SearchStrategy[Expression]:
    same = expressions(kind, d)
    general = [
        call("case", kind, expressions(B, d), same, expressions(B, d), same, same),
        call("case", kind, expressions(B, d), same, same),
        call("coalesce", kind, same, same, same),
        call("nullif", kind, same, same),
        call("greatest", kind, same, same, same),
        call("least", kind, same, same),
    ]
    return st.one_of(*general, *OWN[kind](d))


_ATOMS = st.sampled_from(
    ["a", "A", ".", "é", "[ab]", "[^z]", r"\w", r"\s", "^", "$", r"\(", "(?:b)"]
)
_GROUPS = st.lists(_ATOMS, max_size=2).map(lambda parts: f"({'|'.join(parts)})")
_REPEATED = st.tuples(_ATOMS.filter(lambda a: a not in "^$") | _GROUPS, st.sampled_from("*+?")).map(
    "".join
)
expressions_of_re2 = st.lists(_ATOMS | _GROUPS | _REPEATED, max_size=3).map(
    lambda v: Literal("".join(v), S)
)
options = st.sampled_from(["", "i", "s"]).map(lambda v: Literal(v, S))
JSON_TEXTS = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from(["a", "é b", '"', "1.5"]),
    lambda some: st.lists(some, max_size=2) | st.dictionaries(st.sampled_from(["a", "b c"]), some),
    max_leaves=5,
).map(lambda value: Literal(json.dumps(value, ensure_ascii=False), S))
JSON_PATHS = st.lists(st.sampled_from(['."b c"', ".a", "[0]", "[-1]", "[1]"]), max_size=3).map(
    lambda steps: Literal("$" + "".join(steps), S)
)


@cache
def arrays(kind: Type) -> st.SearchStrategy[Expression]:
    """Of up to three values; NULL now and then."""
    made = (call("array", Type.array(kind), *[expressions(kind, 1)] * n) for n in (1, 2, 3))
    return st.one_of(*made, st.just(Literal(None, Type.array(kind))))


@cache
def elements(kind: Type) -> st.SearchStrategy[Expression]:
    """One of the values of an array, if there is such a one."""
    place = st.integers(-4, 4).map(lambda v: Literal(v, L)) | st.just(column("k"))
    return call("element", kind, arrays(kind), place)


@cache
def fields(kind: Type) -> st.SearchStrategy[Expression]:
    pair = call("struct", PAIR, leaf(L), leaf(S))
    name = st.just(Literal("a" if kind is L else "b", S))
    return call("field", kind, pair | st.just(Literal(None, PAIR)), name)


def memberships(d: int) -> list[st.SearchStrategy[Expression]]:
    return [
        call(f, B, arrays(kind), expressions(kind, d))
        for f in ("array_contains", "any_equal")
        for kind in (L, S)
    ]


def boolean_calls(d: int) -> list[st.SearchStrategy[Expression]]:
    truth = expressions(B, d)
    text = expressions(S, d)
    pattern = st.text("aAé%_b\\", max_size=4).map(valid_pattern).map(lambda v: Literal(v, S))
    compared = st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"])
    members = st.lists(literal(L) | st.just(Literal(None, L)), min_size=1, max_size=3)
    names = st.lists(literal(S) | st.just(Literal(None, S)), min_size=1, max_size=3)
    reals = st.lists(literal(D), min_size=1, max_size=3)
    return [
        st.tuples(compared, pair_of_comparables(d)).map(lambda v: Call(v[0], v[1], B)),
        call("and", B, truth, truth),
        call("or", B, truth, truth),
        call("not", B, truth),
        call("is_null", B, st.sampled_from(list(VALUES)).flatmap(lambda k: expressions(k, d))),
        st.tuples(st.sampled_from(["like", "ilike"]), text, pattern).map(
            lambda v: Call(v[0], v[1:], B)
        ),
        *(call(f, B, text, text) for f in ("starts_with", "ends_with", "contains")),
        st.tuples(whole(d), members).map(lambda v: Call("in", (v[0], *v[1]), B)),
        st.tuples(text, names).map(lambda v: Call("in", (v[0], *v[1]), B)),
        st.tuples(numbers(d), reals).map(lambda v: Call("in", (v[0], *v[1]), B)),
        call("cast", B, whole(d)),
        call("regexp_matches", B, text, expressions_of_re2, options),
        *memberships(d),
        st.tuples(compared, arrays(L), arrays(L)).map(lambda v: Call(v[0], v[1:], B)),
    ]


def valid_pattern(pattern: str) -> str:
    """Escapes stand before a wild card or another escape."""
    kept = pattern.rstrip("\\")
    for c in "aAéb":
        kept = kept.replace(f"\\{c}", c)
    return kept


def integer_calls(d: int) -> list[st.SearchStrategy[Expression]]:
    moment = expressions(T, d) | expressions(DATE, d)
    parts = ("year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute",
             "second", "epoch")  # fmt: skip
    unit = st.sampled_from(UNITS).map(lambda v: Literal(v, S))
    leaves = whole(0)
    return [
        *(call(f, L, whole(d), leaves) for f in ("add", "subtract", "divide", "modulo")),
        call("multiply", L, leaves, literal(I)),
        call("negate", L, whole(d)),
        call("abs", L, whole(d)),
        call("length", L, expressions(S, d)),
        *(call(f, L, arrays(L)) for f in ("length", "cardinality")),
        elements(L),
        fields(L),
        call("strpos", L, expressions(S, d), expressions(S, d)),
        call("strpos", L, expressions(S, d), literal(S)),
        call("subtract", L, expressions(T, d), expressions(T, d)),
        call("subtract", L, expressions(DATE, d), expressions(DATE, d)),
        *(call(f"extract_{p}", L, moment) for p in parts),
        call("date_diff", L, unit, moment, moment),
        call("sign", L, expressions(L, d)),
        call("round", L, expressions(L, d), st.integers(-2, 2).map(lambda v: Literal(v, I))),
        call("floor", L, expressions(L, d)),
        call("cast", L, expressions(I, d)),
        call("try_cast", L, numbers(d)),
        call("try_cast", L, st.just(column("digits"))),
        call("cast", L, expressions(B, d)),
    ]


def double_calls(d: int) -> list[st.SearchStrategy[Expression]]:
    digits = st.integers(-2, 3).map(lambda v: Literal(v, I))
    functions = ("add", "subtract", "multiply", "divide", "modulo")
    return [
        *(call(f, D, expressions(D, d), numbers(d)) for f in functions),
        *(call(f, D, numbers(d), expressions(F, d)) for f in functions),
        call("negate", D, expressions(D, d)),
        call("abs", D, expressions(D, d)),
        call("floor", D, expressions(D, d)),
        call("ceil", D, expressions(D, d)),
        call("sqrt", D, numbers(d)),
        call("sign", D, expressions(D, d)),
        call("round", D, leaf(D)),
        call("round", D, leaf(D), digits),
        call("cast", D, numbers(d)),
    ]


def string_calls(d: int) -> list[st.SearchStrategy[Expression]]:
    text = expressions(S, d)
    position = st.integers(-4, 7).map(lambda v: Literal(v, I)) | st.just(column("j"))
    length = st.integers(0, 7).map(lambda v: Literal(v, I))
    fill = st.sampled_from(["x", "é", "ab", "a"]).map(lambda v: Literal(v, S))
    place = st.sampled_from([-3, -2, -1, 1, 2, 3]).map(lambda v: Literal(v, I))
    return [
        *(call(f, S, text) for f in ("upper", "lower", "trim", "ltrim", "rtrim")),
        call("reverse", S, st.text("abcxyz", max_size=5).map(lambda v: Literal(v, S))),
        call("substring", S, text, position),
        call("substring", S, text, position, length),
        call("left", S, text, position),
        call("right", S, text, position),
        call("concat", S, text, text),
        call("replace", S, text, literal(S), literal(S)),
        call("replace", S, text, text, text),
        call("regexp_extract", S, text, expressions_of_re2, st.just(Literal(0, I)), options),
        call(
            "regexp_extract",
            S,
            text,
            st.just(Literal("([ab])(z)?", S)),
            st.integers(0, 2).map(lambda v: Literal(v, I)),
        ),
        call(
            "regexp_replace",
            S,
            text,
            expressions_of_re2,
            st.sampled_from(["", "x", r"<\0>"]).map(lambda v: Literal(v, S)),
            st.sampled_from(["", "g", "gi"]).map(lambda v: Literal(v, S)),
        ),
        *(call(f, S, JSON_TEXTS, JSON_PATHS) for f in ("json_extract", "json_extract_string")),
        *(call(f, S, text) for f in ("md5", "sha256")),
        call("concat_ws", S, text, text, text),
        *(call(f, S, text, length, fill) for f in ("lpad", "rpad")),
        call("split_part", S, text, fill, place),
        elements(S),
        fields(S),
        *(call("cast", S, expressions(k, d)) for k in (B, I, L, T, DATE)),
    ]


UNITS = ["microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month",
         "quarter", "year"]  # fmt: skip


def timestamp_calls(d: int) -> list[st.SearchStrategy[Expression]]:
    moment = expressions(T, d) | expressions(DATE, d)
    unit = st.sampled_from(UNITS).map(lambda v: Literal(v, S))
    return [
        call("add", T, moment, literal(V)),
        call("subtract", T, moment, literal(V)),
        call("date_trunc", T, unit, moment),
        call("cast", T, expressions(DATE, d)),
    ]


OWN: dict[Type, Callable[[int], list[st.SearchStrategy[Expression]]]] = {
    B: boolean_calls,
    I: lambda d: [call("try_cast", I, numbers(d))],
    L: integer_calls,
    F: lambda d: [call("cast", F, expressions(D, d)), call("floor", F, expressions(F, d))],
    D: double_calls,
    S: string_calls,
    T: timestamp_calls,
    DATE: lambda d: [call("cast", DATE, expressions(T, d))],
}

INFIX = {
    "eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "AND", "or": "OR",
    "add": "+", "subtract": "-", "multiply": "*",
}  # fmt: skip


NESTED = {
    "array": "[{all}]", "struct": "{{'a': {0}, 'b': {1}}}", "element": "({0})[{1}]",
    "cardinality": "len({0})", "array_contains": "list_contains({0}, {1})",
    "any_equal": "CASE WHEN {0} IS NOT NULL THEN {1} = ANY({0}) END",
}  # fmt: skip


def to_duckdb(e: Expression) -> str:
    """The expression in DuckDB's SQL, every intermediate result in our type."""
    return f"CAST({untyped(e)} AS {SQL[e.type]})"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def literal_sql(e: Literal) -> str:
    match e.value:
        case None:
            return "NULL"
        case str(text):
            return quoted(text)
        case bool(truth):
            return str(truth)
        case float(number):
            return quoted(repr(number))
    match e.type:
        case Type.TIMESTAMP:
            return f"make_timestamp({e.value})"
        case Type.DATE:
            return f"(DATE '1970-01-01' + ({e.value}))"
    return f"({e.value})"


def arithmetic(e: Call) -> str:
    kinds = [a.type for a in e.args]
    left, right = (to_duckdb(a) for a in e.args)
    sign = INFIX[e.function]
    if V in kinds:
        return f"({left} {sign} to_microseconds({right}))"
    if kinds[0] is T:
        return f"(epoch_us({left}) - epoch_us({right}))"
    if kinds[0] is DATE:
        return f"({left} - {right})"
    target = SQL[e.type]
    return f"(CAST({left} AS {target}) {sign} CAST({right} AS {target}))"


def division(e: Call) -> str:
    target = SQL[e.type]
    left, right = (f"CAST({to_duckdb(a)} AS {target})" for a in e.args)
    if e.function == "modulo":
        return f"({left} % NULLIF({right}, 0))"
    return f"({left} {'/' if e.type is D else '//'} NULLIF({right}, 0))"


def untyped(e: Expression) -> str:
    if isinstance(e, Column):
        return e.name
    if isinstance(e, Literal):
        return literal_sql(e)
    args = [to_duckdb(a) for a in e.args]
    match e.function:
        case "add" | "subtract" | "multiply":
            return arithmetic(e)
        case "divide" | "modulo":
            return division(e)
        case "like" | "ilike":
            return f"({args[0]} {e.function.upper()} {args[1]} ESCAPE '\\')"
        case name if name in INFIX:
            return f"({args[0]} {INFIX[name]} {args[1]})"
        case "negate":
            return f"(-CAST({args[0]} AS {SQL[e.type]}))"
        case "abs":
            return f"abs(CAST({args[0]} AS {SQL[e.type]}))"
        case "is_null":
            return f"({args[0]} IS NULL)"
        case "not":
            return f"(NOT {args[0]})"
        case "in":
            kind = SQL[D] if any(a.type in (F, D) for a in e.args) else SQL[e.args[1].type]
            members = ", ".join(f"CAST({a} AS {kind})" for a in args[1:])
            return f"(CAST({args[0]} AS {kind}) IN ({members}))"
        case "case":
            pairs = zip(args[0:-1:2], args[1:-1:2], strict=True)
            whens = " ".join(f"WHEN {c} THEN {v}" for c, v in pairs)
            return f"(CASE {whens} ELSE {args[-1]} END)"
        case name if name in NESTED:
            return NESTED[name].format(*args, all=", ".join(args))
        case "length" if e.args[0].type.element is not None:
            return f"len({args[0]})"
        case "field":
            return f"{args[0]}.{args[1][6:7]}"
        case "cast":
            return args[0]
        case "try_cast":
            return f"TRY_CAST({args[0]} AS {SQL[e.type]})"
        case "concat":
            return "(" + " || ".join(args) + ")"
        case "extract_epoch":
            return f"floor(epoch_us(CAST({args[0]} AS TIMESTAMP)) / 1000000)"
        case name if name.startswith("extract_"):
            return f"date_part('{name[8:]}', {args[0]})"
        case "ceil" | "floor" | "sqrt" | "sign" | "round" if e.type is D:
            args[0] = f"CAST({args[0]} AS DOUBLE)"
    return f"{e.function}({', '.join(args)})"


@pytest.fixture(scope="module")
def oracle() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def same(ours: object, theirs: object) -> bool:
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs


def check(expression: Expression, rows: pa.RecordBatch, oracle: duckdb.DuckDBPyConnection) -> None:
    ours = evaluate(expression, rows)
    assert ours.type == ARROW[expression.type]
    assert len(ours) == rows.num_rows
    ours.validate(full=True)
    oracle.register("rows", pa.Table.from_batches([rows]))
    sql = f"SELECT {to_duckdb(expression)} AS v FROM rows"
    theirs = [value for (value,) in oracle.execute(sql).fetchall()]
    for number, (mine, expected) in enumerate(zip(ours.to_pylist(), theirs, strict=True)):
        row = rows.slice(number, 1).to_pylist()[0]
        assert same(mine, expected), f"{render(expression)}\n{sql}\n{row}"


KINDS = [B, L, D, S, T, DATE, I, F]


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.value)
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_random_expressions_give_what_duckdb_gives(kind, data, oracle):
    expression = data.draw(calls(kind, 2))
    check(expression, data.draw(batches(expression)), oracle)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_selected_rows_are_those_that_a_where_clause_keeps(data, oracle):
    predicate = data.draw(calls(B, 2))
    rows = data.draw(batches(predicate))
    oracle.register("rows", pa.Table.from_batches([rows]))
    sql = f"SELECT coalesce({to_duckdb(predicate)}, false) AS v FROM rows"
    theirs = [value for (value,) in oracle.execute(sql).fetchall()]
    assert selection_mask(predicate, rows).tolist() == theirs


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["ln", "log10", "exp", "power"]),
    values=st.lists(st.none() | st.floats(-50, 50), min_size=1, max_size=8),
    exponent=st.integers(-3, 3),
)
def test_transcendental_functions_agree_with_duckdb_to_the_last_digits(
    name, values, exponent, oracle
):
    rows = pa.RecordBatch.from_arrays([pa.array(values, pa.float64())], ["v"])
    more = (Literal(exponent, I),) if name == "power" else ()
    found = evaluate(Call(name, (Column(0, "v", D), *more), D), rows).to_pylist()
    oracle.register("given", pa.Table.from_batches([rows]))
    args = f"v, {exponent}" if more else "v"
    theirs = oracle.execute(f"SELECT {name}({args}) FROM given").fetchall()
    for mine, (expected,) in zip(found, theirs, strict=True):
        if expected is None:
            assert mine is None
        else:
            assert mine == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_the_random_expressions_use_every_function_that_has_a_kernel():
    for kind in KINDS:
        calls(kind, 1)
    elsewhere = {
        "ln",
        "log10",
        "exp",
        "power",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "like",
        "ilike",
        "in",
        "strftime",
        "to_timestamp",
        "sort_pair",
        "pair_value",
        "sort_item",
        "item_text",
    }
    assert set(KERNELS) - USED - elsewhere == set()
