"""Expressions in DuckDB's SQL, every intermediate result in our type."""

from __future__ import annotations

from tests.columns.random_expressions import DATE, PAIR, B, D, F, I, L, S, T, V
from windrow.core.schema import Type
from windrow.plan.expressions import Call, Column, Expression, Literal

SQL = {
    B: "BOOLEAN", I: "INTEGER", L: "BIGINT", F: "FLOAT", D: "DOUBLE",
    S: "VARCHAR", T: "TIMESTAMP", DATE: "DATE", V: "BIGINT",
}  # fmt: skip

SQL |= {Type.array(L): "BIGINT[]", Type.array(S): "VARCHAR[]", PAIR: "STRUCT(a BIGINT, b VARCHAR)"}

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
