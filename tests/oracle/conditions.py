"""Random expressions and conditions over the columns of a block."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.oracle.blocks import Columns
from tests.oracle.expressions import (
    COUNT_ALL,
    WIDEST,
    Expr,
    aggregate,
    arithmetic,
    both,
    collected,
    column,
    compare,
    joined,
    least_by,
    number,
    plus_half,
    text,
)

COMPARISONS = st.sampled_from(["=", "<>", "<>", "<", "<=", "<=", ">", ">=", ">="])
IN_ORDER = ("MIN_BY", "MAX_BY", "STRING_AGG", "ARRAY_AGG")
EXACT = ("COUNT(*)", "COUNT", "SUM", "AVG", "MIN", "MAX", "COUNT DISTINCT", "MEDIAN",
         "SUM DISTINCT", "AVG DISTINCT", *IN_ORDER)  # fmt: skip
ROUNDED = ("VAR", "STDDEV", "QUANTILE 0.25", "QUANTILE 0.9", "VAR DISTINCT",
           "QUANTILE 0.25 DISTINCT")  # fmt: skip
OF_ANYTHING = ("COUNT", "MIN", "MAX", "COUNT DISTINCT")


def columns_of(columns: Columns, alias: str) -> list[Expr]:
    return [column(name, type_, alias) for name, type_ in columns]


@st.composite
def scalars(draw: st.DrawFn, columns: list[Expr]) -> Expr:
    """A column, or something computed from one or two."""
    one = draw(st.sampled_from(columns))
    if not draw(st.booleans()):
        return one
    if one.type == "BOOLEAN":
        return both("(NOT {0})", "BOOLEAN", one)
    if one.type == "STRING":
        return draw(
            st.sampled_from(
                [
                    both("UPPER({0})", "STRING", one),
                    both("({0} || 'z')", "STRING", one),
                    both("COALESCE({0}, 'none')", "STRING", one),
                    both("LENGTH({0})", "BIGINT", one),
                    both("REGEXP_REPLACE({0}, '[ab]', 'x')", "STRING", one),
                    both("REGEXP_EXTRACT({0}, '[^a]')", "STRING", one),
                ]
            )
        )
    if one.nested:
        return draw(insides(one))
    operator = draw(st.sampled_from("+-*/%"))
    if one.integral:
        return arithmetic(one, operator, number(draw(st.sampled_from([-2, 0, 1, 3]))))
    if one.exact:
        return plus_half(one, draw(st.sampled_from("+-" if one.type == WIDEST else "+-*")))
    return arithmetic(one, draw(st.sampled_from("+-*")), number(0.5))


def insides(one: Expr) -> st.SearchStrategy[Expr]:
    """What is taken out of an ARRAY or a STRUCT, or made of it."""
    if one.type.startswith("STRUCT"):
        return st.sampled_from(
            [
                both("{0}.u", "INT", Expr(one.cql, f"({one.sql})", one.type)),
                both("{0}.v", "STRING", Expr(one.cql, f"({one.sql})", one.type)),
                both("{{'u': {0}.u, 'v': 'c'}}", one.type, one),
            ]
        )
    first, last = both("{0}[1]", one.element, one), both("{0}[-1]", one.element, one)
    made = Expr(f"ARRAY[{first.cql}, {last.cql}]", f"[{first.sql}, {last.sql}]", one.type)
    return st.sampled_from(
        [first, last, made, both("LEN({0})", "BIGINT", one), both("{0}[2]", one.element, one)]
    )


def nested_conditions(one: Expr) -> st.SearchStrategy[Expr]:
    """Conditions on an ARRAY or a STRUCT, or on what is inside."""
    if one.type.startswith("STRUCT"):
        some = "{{'u': 1, 'v': 'a'}}"
        return st.sampled_from(
            [both("({0} " + o + " " + some + ")", "BOOLEAN", one) for o in ("=", "<>", ">=", "<")]
            + [both("({0}.u = 1)", "BOOLEAN", one), both("({0}.v IS NULL)", "BOOLEAN", one)]
        )
    inside, some = ("1", "[1, 2]") if one.element == "BIGINT" else ("'a'", "['a', 'b']")
    return st.sampled_from(
        [both("({0} " + o + " " + some + ")", "BOOLEAN", one) for o in ("=", "<>", ">=", "<")]
        + [
            both("LIST_CONTAINS({0}, " + inside + ")", "BOOLEAN", one),
            Expr(  # of an ARRAY that is NULL, DuckDB says that nothing is equal
                f"({inside} = ANY({one.cql}))",
                f"CASE WHEN {one.sql} IS NOT NULL THEN {inside} = ANY({one.sql}) END",
                "BOOLEAN",
            ),
            both("(LEN({0}) > 1)", "BOOLEAN", one),
        ]
    )


@st.composite
def predicates(draw: st.DrawFn, columns: list[Expr]) -> Expr:
    """A condition, NULL for some tuples."""
    one = draw(st.sampled_from(columns))
    kind = draw(
        st.sampled_from(["compare", "compare", "compare", "null", "in", "and", "or", "or", "not"])
    )
    if kind == "null":
        return both(
            draw(st.sampled_from(["({0} IS NULL)", "({0} IS NOT NULL)", "({0} IS NOT NULL)"])),
            "BOOLEAN",
            one,
        )
    if kind in ("and", "or"):
        sides = draw(predicates(columns)), draw(predicates(columns))
        return both("({0} " + kind.upper() + " {1})", "BOOLEAN", *sides)
    if kind == "not":
        return both("(NOT {0})", "BOOLEAN", draw(predicates(columns)))
    if one.type == "BOOLEAN":
        return one if kind == "in" else compare(one, "=", Expr("TRUE", "TRUE", "BOOLEAN"))
    if one.type == "STRING":
        if kind == "in":
            pattern = draw(st.sampled_from(["({0} LIKE 'a%')", "REGEXP_MATCHES({0}, 'a|^$')"]))
            return both(pattern, "BOOLEAN", one)
        return compare(one, draw(COMPARISONS), text(draw(st.sampled_from(["a", "b", ""]))))
    if one.nested:
        return draw(nested_conditions(one))
    if kind == "in" and one.integral:
        return both("({0} IN (0, 1, 7))", "BOOLEAN", one)
    constant = number(draw(st.integers(-1, 5))) if one.integral else number(0.25)
    return compare(one, draw(COMPARISONS), constant)


@st.composite
def joins(draw: st.DrawFn, left: list[Expr], right: list[Expr], theta: bool) -> Expr:
    """A condition across two sources: equal keys, or a comparison; of two kinds it is TRUE."""
    pairs = [(e, f) for e in left for f in right if e.family == f.family]
    if not pairs:
        return Expr("TRUE", "TRUE", "BOOLEAN")
    # Columns of one name meet often; the others test keys of different types.
    alike = [(e, f) for e, f in pairs if e.cql.split(".")[1] == f.cql.split(".")[1]]
    one, other = draw(st.sampled_from(alike * 8 + pairs))
    if not theta:
        return compare(one, "=", other)
    return compare(one, draw(st.sampled_from(["<", ">=", "<>"])), other)


@st.composite
def aggregates(draw: st.DrawFn, columns: list[Expr], *, exact: bool = False) -> Expr:
    """An aggregate of a column; ``exact`` leaves out those that are rounded to be compared."""
    function = draw(st.sampled_from(EXACT if exact else EXACT + ROUNDED))
    if function == "COUNT(*)":
        return COUNT_ALL
    if function in ("COUNT", "COUNT DISTINCT"):
        return aggregate(function, draw(st.sampled_from(columns)))
    columns = [c for c in columns if not c.nested]
    if not columns:
        return COUNT_ALL
    if function in IN_ORDER:
        texts = [c for c in columns if c.type == "STRING"]
        by = draw(st.sampled_from(columns))
        if function == "ARRAY_AGG":
            plain = [c for c in columns if c.type in ("BIGINT", "STRING")]
            if not plain:
                return COUNT_ALL
            return collected(draw(st.sampled_from(plain)), by, draw(st.booleans()))
        if function != "STRING_AGG":
            return least_by(function, draw(st.sampled_from(columns)), by)
        return joined(texts[0], by, draw(st.booleans())) if texts else COUNT_ALL
    usable = columns if function in OF_ANYTHING else [c for c in columns if c.numeric]
    return aggregate(function, draw(st.sampled_from(usable))) if usable else COUNT_ALL
