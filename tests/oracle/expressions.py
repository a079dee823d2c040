"""Expressions that know their CQL text, their DuckDB text and their type.

The two texts differ where the dialects do: integer division, division by zero, the types of
sums. Columns keep their names in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

NUMERIC = ("INT", "BIGINT", "FLOAT", "DOUBLE")


@dataclass(frozen=True)
class Expr:
    """One expression in both languages."""

    cql: str
    sql: str
    type: str

    @property
    def integral(self) -> bool:
        return self.type in ("INT", "BIGINT")

    @property
    def numeric(self) -> bool:
        return self.type in NUMERIC or self.exact

    @property
    def exact(self) -> bool:
        return self.type.startswith("DECIMAL")

    @property
    def nested(self) -> bool:
        return self.type.startswith(("ARRAY", "STRUCT"))

    @property
    def element(self) -> str:
        """The type of an ARRAY's values."""
        return self.type.removeprefix("ARRAY<").removesuffix(">")

    @property
    def family(self) -> str:
        """Types of one family can be compared."""
        return "NUMBER" if self.numeric else self.type


def column(name: str, type_: str, table: str = "") -> Expr:
    """A column, asked for by its table's alias if one is given."""
    text = f"{table}.{name}" if table else name
    return Expr(text, text, type_)


def number(value: float) -> Expr:
    text = f"({value!r})" if value < 0 else repr(value)
    if isinstance(value, int):
        return Expr(text, f"CAST({value} AS BIGINT)", "BIGINT")
    return Expr(text, f"CAST({value!r} AS DOUBLE)", "DOUBLE")


def text(value: str) -> Expr:
    quoted = "'" + value.replace("'", "''") + "'"
    return Expr(quoted, quoted, "STRING")


def arithmetic(left: Expr, operator: str, right: Expr) -> Expr:
    """``+ - * / %``; integers stay BIGINT, ``/`` truncates, a division by zero is NULL."""
    cql = f"({left.cql} {operator} {right.cql})"
    if left.integral and right.integral:
        operands = [f"CAST({e.sql} AS BIGINT)" for e in (left, right)]
        symbol = "//" if operator == "/" else operator
        return Expr(cql, f"({operands[0]} {symbol} {operands[1]})", "BIGINT")
    operands = [f"CAST({e.sql} AS DOUBLE)" for e in (left, right)]
    if operator in "/%":
        operands[1] = f"NULLIF({operands[1]}, 0)"
    return Expr(cql, f"({operands[0]} {operator} {operands[1]})", "DOUBLE")


WIDEST = "DECIMAL(38, 6)"
"""What holds every decimal that is computed here."""


def plus_half(one: Expr, operator: str) -> Expr:
    """A decimal and 0.5, which beside it is a decimal too."""
    held = "DECIMAL(32, 6)" if operator in "+-" else "DECIMAL(30, 3)"
    half = "CAST(0.5 AS DECIMAL(1, 1))"
    sql = f"CAST(CAST({one.sql} AS {held}) {operator} {half} AS {WIDEST})"
    return Expr(f"({one.cql} {operator} 0.5)", sql, WIDEST)


def exact_mean(argument: Expr) -> Expr:
    """AVG of a decimal: six digits, halves away from zero, in whole numbers of the last of them."""
    units = f"CAST({argument.sql} AS DECIMAL(30, 6)) * CAST(1000000 AS DECIMAL(7, 0))"
    total, count = f"SUM(CAST({units} AS HUGEINT))", f"COUNT({argument.sql})"
    sizes = f"((2 * abs({total}) + {count}) // (2 * {count}))"
    whole = f"CAST(sign({total}) * {sizes} AS DECIMAL(30, 0))"
    sql = f"CAST({whole} * CAST(0.000001 AS DECIMAL(6, 6)) AS {WIDEST})"
    return Expr(f"AVG({argument.cql})", sql, WIDEST)


def exact_median(argument: Expr) -> Expr:
    """MEDIAN of a decimal with five digits behind the point: the sixth is exact."""
    held = "DECIMAL(31, 5)"
    units = f"CAST(CAST({argument.sql} AS {held}) * 1000000 AS HUGEINT)"
    values = f"list_sort(list({units}) FILTER (WHERE {argument.sql} IS NOT NULL))"
    both_ends = f"{values}[(len({values}) + 1) // 2] + {values}[len({values}) // 2 + 1]"
    whole = f"CAST(({both_ends}) // 2 AS DECIMAL(32, 0))"
    sql = f"CAST({whole} * CAST(0.000001 AS DECIMAL(6, 6)) AS {WIDEST})"
    return Expr(f"MEDIAN(CAST({argument.cql} AS {held}))", sql, WIDEST)


def compare(left: Expr, operator: str, right: Expr) -> Expr:
    return both("({0} " + operator + " {1})", "BOOLEAN", left, right)


def both(pattern: str, type_: str, *parts: Expr) -> Expr:
    """The same text in both languages, ``{0}``, ``{1}``... standing for the parts."""
    return Expr(
        pattern.format(*(p.cql for p in parts)), pattern.format(*(p.sql for p in parts)), type_
    )


def all_of(parts: Iterable[Expr]) -> Expr | None:
    """The conjunction, or None of none."""
    result: Expr | None = None
    for part in parts:
        result = part if result is None else both("({0} AND {1})", "BOOLEAN", result, part)
    return result


def least_by(function: str, value: Expr, by: Expr) -> Expr:
    """MIN_BY or MAX_BY; of equal ``by`` the least or greatest value."""
    known = f"{value.sql} IS NOT NULL AND {by.sql} IS NOT NULL"
    pair = f"CASE WHEN {known} THEN {{'by': {by.sql}, 'value': {value.sql}}} END"
    sql = f"({function[:3]}({pair})).value"
    return Expr(f"{function}({value.cql}, {by.cql})", sql, value.type)


def joined(text: Expr, by: Expr, descending: bool) -> Expr:
    """STRING_AGG in an order; texts of equal ``by`` are in their own."""
    way = " DESC" if descending else ""
    order = f"{by.sql}{way} NULLS LAST, {text.sql}"
    cql = f"STRING_AGG({text.cql}, '; ' ORDER BY {by.cql}{way})"
    return Expr(cql, f"STRING_AGG({text.sql}, '; ' ORDER BY {order})", "STRING")


def collected(value: Expr, by: Expr, descending: bool) -> Expr:
    """ARRAY_AGG in an order; values of equal ``by`` are in their own."""
    desc = " DESC" if descending else ""
    order = f"{by.sql}{desc} NULLS LAST, {value.sql} NULLS LAST"
    sql = f"ARRAY_AGG({value.sql} ORDER BY {order})"
    return Expr(f"ARRAY_AGG({value.cql} ORDER BY {by.cql}{desc})", sql, f"ARRAY<{value.type}>")


AGGREGATING = ("COUNT", "SUM", "AVG", "MEDIAN", "QUANTILE", "quantile_cont", "VAR", "var_samp",
               "STDDEV", "stddev_samp")  # fmt: skip
SPREADS = {"VAR": "var_samp", "STDDEV": "stddev_samp"}
COUNT_ALL = Expr("COUNT(*)", "COUNT(*)", "BIGINT")


def aggregate(function: str, argument: Expr) -> Expr:
    """One of the language's aggregates, or one of them and DISTINCT, or ``QUANTILE p``.

    Sums of integers are BIGINT. What is not the same to the last bit by every way of computing it
    is compared as a FLOAT.
    """
    if argument.exact and function in ("AVG", "AVG DISTINCT"):
        return exact_mean(argument) if function == "AVG" else aggregate("SUM DISTINCT", argument)
    if argument.exact and function == "MEDIAN":
        return exact_median(argument)
    if function.endswith(" DISTINCT"):
        plain = aggregate(function.removesuffix(" DISTINCT"), argument)
        return Expr(_distinct(plain.cql), _distinct(plain.sql), plain.type)
    if function in SPREADS:
        sql = f"{SPREADS[function]}(CAST({argument.sql} AS DOUBLE))"
        return both("CAST({0} AS FLOAT)", "FLOAT", Expr(f"{function}({argument.cql})", sql, ""))
    if function.startswith("QUANTILE"):
        p = function.split()[1]
        sql = f"quantile_cont(CAST({argument.sql} AS DOUBLE), {p})"
        cql = f"QUANTILE({argument.cql}, {p})"
        return both("CAST({0} AS FLOAT)", "FLOAT", Expr(cql, sql, ""))
    plain = f"{function}({argument.cql})"
    match function:
        case "COUNT":
            return Expr(plain, f"COUNT({argument.sql})", "BIGINT")
        case "SUM" if argument.integral:
            return Expr(plain, f"CAST(SUM({argument.sql}) AS BIGINT)", "BIGINT")
        case "SUM" if argument.exact:
            return Expr(plain, f"SUM(CAST({argument.sql} AS {WIDEST}))", WIDEST)
        case "SUM":
            return Expr(plain, f"SUM(CAST({argument.sql} AS DOUBLE))", "DOUBLE")
        case "AVG" | "MEDIAN":
            return Expr(plain, f"{function}(CAST({argument.sql} AS DOUBLE))", "DOUBLE")
        case _:
            return Expr(plain, f"{function}({argument.sql})", argument.type)


def _distinct(call: str) -> str:
    """The text with DISTINCT in its first (and only) call of an aggregate."""
    return re.sub(rf"\b({'|'.join(AGGREGATING)})\(", r"\1(DISTINCT ", call, count=1)
