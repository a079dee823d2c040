"""Random expressions over columns of every plain type, and rows for them."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable
from functools import cache

import pyarrow as pa
from hypothesis import strategies as st

from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal, columns_of

B, I, L, F, D = Type.BOOLEAN, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE  # noqa: E741
S, T, DATE, V = Type.STRING, Type.TIMESTAMP, Type.DATE, Type.INTERVAL

COLUMNS = {
    "i": I, "j": I, "k": L, "n": L, "f": F, "d": D, "x": D,
    "s": S, "u": S, "digits": S, "t": T, "w": T, "day": DATE, "p": B, "q": B,
}  # fmt: skip
NAMES = list(COLUMNS)
PAIR = Type.struct([("a", L), ("b", S)])

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
        *(call(f, S, text, fill | text) for f in ("trim", "ltrim", "rtrim")),
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
