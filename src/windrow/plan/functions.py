"""Scalar and aggregate functions: which exist, and what type each gives.

A rule takes the types of the arguments and returns the type of the result, or None if the
function does not take such arguments. NULL literals have already taken a fitting type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from windrow.core.schema import Type
from windrow.plan.decimal_types import (
    common_digits,
    is_exact,
    mean_type,
    quantile_type,
    result_type,
    rounded_type,
    sum_type,
    within_limits,
)

Types = Sequence[Type]
B, I, L, F, D = Type.BOOLEAN, Type.INT, Type.BIGINT, Type.FLOAT, Type.DOUBLE  # noqa: E741
S, T, DATE, V = Type.STRING, Type.TIMESTAMP, Type.DATE, Type.INTERVAL
TIMES = (T, DATE)


@dataclass(frozen=True)
class Function:
    """``takes`` is how messages describe the arguments; ``most`` is None if there is no limit."""

    takes: str
    least: int
    most: int | None
    rule: Callable[[Types], Type | None]


def common(types: Types) -> Type | None:
    """The one type that values of all these types can be read as, or None."""
    distinct = set(types)
    if len(distinct) == 1:
        return types[0]
    if not distinct:
        return None
    if all(t.numeric for t in distinct):
        if all(t.integral for t in distinct):
            return L
        if any(t.is_floating for t in distinct):
            return D
        return within_limits(*common_digits(distinct))
    if any(t.is_nested for t in distinct):
        return _common_nested(types)
    return T if distinct == {T, DATE} else None


def _common_nested(types: Types) -> Type | None:
    """ARRAYs of a common type, or STRUCTs of the same names with such."""
    elements = [t.element for t in types if t.element is not None]
    if len(elements) == len(types):
        inner = common(elements)
        return Type.array(inner) if inner else None
    names = {tuple(name for name, _ in t.fields) for t in types}
    if len(names) > 1 or elements:
        return None
    inside = [common([t.fields[place][1] for t in types]) for place in range(len(types[0].fields))]
    known = [kind for kind in inside if kind is not None]
    if len(known) < len(inside):
        return None
    return Type.struct(zip(next(iter(names)), known, strict=True))


def has_every_value(types: Types) -> bool:
    """Whether the common type, if there is one, has every value of these types as it is.

    Doubles are what numbers are compared as beside doubles, so they count as such.
    """
    if all(t is types[0] for t in types):
        return True
    if all(t.element is not None for t in types):
        return has_every_value([t.element for t in types if t.element is not None])
    if all(t.fields for t in types):
        inside = zip(*([kind for _, kind in t.fields] for t in types), strict=False)
        return all(map(has_every_value, inside))
    kind = common(types)
    return kind is None or not kind.is_decimal or is_exact(types)


def _arithmetic(types: Types, function: str = "add") -> Type | None:
    if not all(t.numeric for t in types):
        return None
    if any(t.is_floating for t in types):
        return D
    if all(t.integral for t in types):
        return L
    return result_type(function, *types) if len(types) > 1 else types[0]


def _add(types: Types) -> Type | None:
    if set(types) in ({T, V}, {DATE, V}):
        return T
    return V if set(types) == {V} else _arithmetic(types)


def _subtract(types: Types) -> Type | None:
    match tuple(types):
        case (Type.TIMESTAMP | Type.DATE, Type.TIMESTAMP | Type.DATE):
            return L
        case (Type.TIMESTAMP | Type.DATE, Type.INTERVAL):
            return T
        case (Type.INTERVAL, Type.INTERVAL):
            return V
    return _arithmetic(types, "subtract")


def _multiply(types: Types) -> Type | None:
    if types.count(V) == 1 and any(t.integral for t in types):
        return V
    return _arithmetic(types, "multiply")


def _compare(types: Types) -> Type | None:
    return B if common(types) is not None else None


def _all(kind: Type, result: Type) -> Callable[[Types], Type | None]:
    return lambda types: result if all(t is kind for t in types) else None


def _same_number(types: Types) -> Type | None:
    if not types[0].numeric or not all(t.integral for t in types[1:]):
        return None
    kind = types[0]
    return rounded_type(kind) if kind.is_decimal else kind


def _doubles(types: Types) -> Type | None:
    return D if all(t.numeric for t in types) else None


def _string_then_integers(types: Types) -> Type | None:
    return S if types[0] is S and all(t.integral for t in types[1:]) else None


def _case(types: Types) -> Type | None:
    conditions, values = types[0:-1:2], [*types[1:-1:2], types[-1]]
    return common(values) if all(t is B for t in conditions) else None


def _part_of_time(types: Types) -> Type | None:
    return L if types[0] in TIMES else None


def _negate(types: Types) -> Type | None:
    return types[0] if types[0] is V else _arithmetic(types)


def _truncation(types: Types) -> Type | None:
    return T if types[0] is S and types[1] in TIMES else None


def _difference(types: Types) -> Type | None:
    return L if types[0] is S and all(t in TIMES for t in types[1:]) else None


def _moment_of(types: Types) -> Type | None:
    return T if types[0].numeric else None


def _formatted(types: Types) -> Type | None:
    return S if types[0] in TIMES and types[1] is S else None


def _extraction(types: Types) -> Type | None:
    group_fits = all(t.integral for t in types[2:3])
    return S if group_fits and all(t is S for t in (*types[:2], *types[3:])) else None


def _pad(types: Types) -> Type | None:
    return S if types[0] is S and types[1].integral and all(t is S for t in types[2:]) else None


def _part_of_text(types: Types) -> Type | None:
    return S if types[0] is S and types[1] is S and types[2].integral else None


def _length(types: Types) -> Type | None:
    return L if types[0] is S or types[0].element is not None else None


def _cardinality(types: Types) -> Type | None:
    return L if types[0].element is not None else None


def _membership(types: Types) -> Type | None:
    element = types[0].element
    return B if element is not None and common([element, types[1]]) is not None else None


def _array(types: Types) -> Type | None:
    element = common(types)
    return None if element is None or element is V else Type.array(element)


def _like(types: Types) -> Type | None:
    return B if all(t is S for t in types) else None


TRIGONOMETRY = ("sin", "cos", "tan", "asin", "acos", "atan", "radians", "degrees")
_COMPARISON = Function("two values of comparable types", 2, 2, _compare)
_STRING = Function("a string", 1, 1, _all(S, S))
_TWO_STRINGS = Function("two strings", 2, 2, _all(S, B))
_PART = Function("a TIMESTAMP or DATE", 1, 1, _part_of_time)
_REAL = Function("a number", 1, 1, _doubles)
_CONDITIONS = Function("conditions", 2, None, _all(B, B))
_ALIKE = Function("values of one type", 1, None, common)

FUNCTIONS: Mapping[str, Function] = {
    "add": Function("two numbers, or a TIMESTAMP and an INTERVAL", 2, 2, _add),
    "subtract": Function("two numbers, or a TIMESTAMP and an INTERVAL", 2, 2, _subtract),
    **{name: Function("two numbers", 2, 2, partial(_arithmetic, function=name))
       for name in ("divide", "modulo")},
    "multiply": Function("two numbers, or a whole number and an INTERVAL", 2, 2, _multiply),
    "negate": Function("a number", 1, 1, _negate),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _COMPARISON),
    "is_null": Function("a value", 1, 1, lambda _: B),
    **dict.fromkeys(("and", "or"), _CONDITIONS),
    "not": Function("a condition", 1, 1, _all(B, B)),
    **dict.fromkeys(("like", "ilike"), Function("a string and a pattern", 2, 3, _like)),
    "in": Function("a value and a list of such values", 2, None, _compare),
    "case": Function("conditions, and values of one type", 3, None, _case),
    **dict.fromkeys(("coalesce", "greatest", "least"), _ALIKE),
    "nullif": Function("two values of one type", 2, 2, common),
    **dict.fromkeys(("upper", "lower", "reverse", "initcap"), _STRING),
    **dict.fromkeys(("trim", "ltrim", "rtrim"),
                    Function("a string, and the characters that go", 1, 2, _all(S, S))),
    "length": Function("a string or an ARRAY", 1, 1, _length),
    "cardinality": Function("an ARRAY", 1, 1, _cardinality),
    "array": Function("values of one type", 1, None, _array),
    **dict.fromkeys(("array_contains", "any_equal"),
                    Function("an ARRAY and a value of its type", 2, 2, _membership)),
    "substring": Function("a string, a start and a length", 2, 3, _string_then_integers),
    "concat": Function("strings", 1, None, _all(S, S)),
    "replace": Function("three strings", 3, 3, _all(S, S)),
    **dict.fromkeys(("starts_with", "ends_with", "contains"), _TWO_STRINGS),
    **dict.fromkeys(("left", "right"), Function("a string and a number", 2, 2,
                                                _string_then_integers)),
    "strpos": Function("two strings", 2, 2, _all(S, L)),
    "abs": Function("a number", 1, 1, _arithmetic),
    "round": Function("a number and a number of digits", 1, 2, _same_number),
    **dict.fromkeys(("floor", "ceil"), Function("a number", 1, 1, _same_number)),
    **dict.fromkeys(("sqrt", "ln", "log10", "exp", *TRIGONOMETRY), _REAL),
    **dict.fromkeys(("power", "atan2"), Function("two numbers", 2, 2, _doubles)),
    "sign": Function("a number", 1, 1, _same_number),
    **dict.fromkeys((f"extract_{part}" for part in (
        "year", "quarter", "month", "week", "day", "doy", "dow", "isodow", "hour", "minute",
        "second", "epoch")), _PART),
    "date_trunc": Function("a unit in quotes and a TIMESTAMP", 2, 2, _truncation),
    "to_timestamp": Function("a number of seconds since 1970", 1, 1, _moment_of),
    "strftime": Function("a TIMESTAMP and a format in quotes", 2, 2, _formatted),
    "date_diff": Function("a unit in quotes and two TIMESTAMPs", 3, 3, _difference),
    "regexp_matches": Function("a string, a pattern and options", 2, 3, _all(S, B)),
    "regexp_extract": Function("a string, a pattern, a group and options", 2, 4, _extraction),
    "regexp_replace": Function("a string, a pattern, a replacement and options", 3, 4, _all(S, S)),
    **dict.fromkeys(("json_extract", "json_extract_string"),
                    Function("a string and a path", 2, 2, _all(S, S))),
    **dict.fromkeys(("md5", "sha256"), _STRING),
    "concat_ws": Function("a separator and strings", 2, None, _all(S, S)),
    **dict.fromkeys(("lpad", "rpad"), Function("a string, a length and what fills it", 2, 3, _pad)),
    "split_part": Function("a string, a separator and a number", 3, 3, _part_of_text),
}  # fmt: skip
"""By the name that ``Call.function`` has; ``cast`` and ``try_cast`` are typed by their target."""

SYNONYMS: Mapping[str, str] = {
    "ceiling": "ceil", "pow": "power", "mod": "modulo", "substr": "substring", "len": "length",
    **dict.fromkeys(("array_length", "array_size", "list_length"), "cardinality"),
    **dict.fromkeys(("list_contains", "array_has", "list_has"), "array_contains"),
    **dict.fromkeys(("list_value", "make_array"), "array"),
    "char_length": "length", "character_length": "length", "ucase": "upper", "lcase": "lower",
    "startswith": "starts_with", "endswith": "ends_with", "prefix": "starts_with",
    "suffix": "ends_with", "instr": "strpos", "position": "strpos", "ifnull": "coalesce",
    "nvl": "coalesce", "log": "log10",
    "year": "extract_year", "month": "extract_month", "day": "extract_day",
    "hour": "extract_hour", "minute": "extract_minute", "second": "extract_second",
    "quarter": "extract_quarter", "week": "extract_week", "weekofyear": "extract_week",
    "dayofyear": "extract_doy", "isodow": "extract_isodow", "datediff": "date_diff",
    "regexp_like": "regexp_matches", "json_extract_scalar": "json_extract_string",
    "get_json_object": "json_extract_string", "json_value": "json_extract_string",
    "dayofweek": "extract_dow", "dow": "extract_dow", "epoch": "extract_epoch",
}  # fmt: skip
"""Other names under which people write the functions above."""

OPERATORS_ONLY = frozenset({
    "add", "subtract", "multiply", "divide", "negate", "eq", "ne", "lt", "le", "gt", "ge",
    "is_null", "and", "or", "not", "like", "ilike", "in", "case", "any_equal",
})  # fmt: skip
"""Written as operators or keywords, never as calls."""

AGGREGATES: Mapping[str, str] = {
    "count": "COUNT", "sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX", "mean": "AVG",
    "median": "MEDIAN", "quantile": "QUANTILE", "var": "VAR", "variance": "VAR",
    "stddev": "STDDEV", "array_agg": "ARRAY_AGG", "list": "ARRAY_AGG",
    "string_agg": "STRING_AGG", "group_concat": "STRING_AGG",
    "listagg": "STRING_AGG", "first": "FIRST", "last": "LAST", "min_by": "MIN_BY",
    "max_by": "MAX_BY", "arg_min": "MIN_BY", "arg_max": "MAX_BY", "var_samp": "VAR",
    "stddev_samp": "STDDEV", "quantile_cont": "QUANTILE",
}  # fmt: skip


OTHER_FORMS: Mapping[str, str] = {
    "approx_distinct": "the values of a group (APPROXIMATE COUNT(DISTINCT x))",
    "approx_count_distinct": "the values of a group (APPROXIMATE COUNT(DISTINCT x))",
    **dict.fromkeys(("count_if", "countif"), "a condition on the rows of a group (COUNT)"),
    **dict.fromkeys(("bool_and", "every"), "a condition on the rows of a group (MIN)"),
    "bool_or": "a condition on the rows of a group (MAX)",
    "percentile_cont": "a fraction, WITHIN GROUP (ORDER BY x) (QUANTILE)",
    "extract": "a part FROM a TIMESTAMP or DATE, as in EXTRACT(HOUR FROM t)",
    "if": "a condition, a value and another one of its type",
    **dict.fromkeys(("cast", "try_cast"), "a value AS a type"),
}  # fmt: skip
"""What is called like a function, and read as something else: how SHOW FUNCTIONS describes it."""


OF_DECIMALS = frozenset({"AVG", "MEDIAN", "QUANTILE"})
"""Aggregates that are decimals of decimals, and doubles of other numbers."""


def aggregate_type(function: str, argument: Type | None) -> Type | None:
    """The type of an aggregate's result; None if it does not take such an argument."""
    if function == "COUNT":
        return L
    if argument is None:
        return None
    if function in ("MIN", "MAX"):
        return argument if argument is not V and not argument.is_nested else None
    if not argument.numeric:
        return None
    if function == "SUM":
        return L if argument.integral else sum_type(argument) if argument.is_decimal else D
    if not argument.is_decimal or function not in OF_DECIMALS:
        return D
    return mean_type(argument) if function == "AVG" else quantile_type(argument)
