"""Typed calls, and forms that are no plain calls: BETWEEN, IN, IS, CASE, LIKE with ESCAPE.

The type of a call is what its function gives; constants take the type of the values beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Protocol

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.plan.binder.interval_arithmetic import (
    constant_multiple,
    fit_intervals,
    interval_remedy,
)
from windrow.plan.binder.literals import as_digits, cast_target, coerce, fit_constants
from windrow.plan.expressions import OPERATORS, Call, Column, Expression, Literal, connect
from windrow.plan.functions import AGGREGATES, FUNCTIONS, Function, common

CHOSEN = "windrow_chosen"
"""Where an ARRAY_AGG has the condition of its FILTER: for it a NULL is a value like others."""
STRING_HINT = "cast what is no string: CAST(... AS STRING)"
KINDS_OF_NULLS = (Type.STRING, Type.BIGINT, Type.TIMESTAMP, Type.INTERVAL)
SYMBOLS = {**OPERATORS, "concat": "||", "negate": "-"}


def typed_call(
    function: str, args: Sequence[Expression], spans: list[Span], span: Span, written: str = ""
) -> Expression:
    """The call of a function; constants take the type of their neighbours first.

    ``spans`` are where the arguments stand, ``span`` is where the whole call does; ``written`` is
    how the function was called, if not by the name that it has here.
    """
    arguments = list(args)
    if function in ("date_trunc", "date_diff"):  # whose first argument is no time
        arguments[1:] = fit_constants(arguments[1:], spans[1:])
    elif function == "strftime":
        arguments[:1] = [null_as(arguments[0], Type.TIMESTAMP)]
    elif function in ("array_contains", "any_equal"):
        arguments = _with_element(arguments, spans)
    elif function not in ("and", "or", "not", "case", "is_null"):
        read_times = "string" not in FUNCTIONS[function].takes
        arguments = fit_constants(arguments, spans, read_times=read_times)
    elif function in ("and", "or", "not"):
        arguments = [null_as(a, Type.BOOLEAN) for a in arguments]
    arguments = fit_intervals(function, arguments, span)
    if (constant := constant_multiple(function, arguments, span)) is not None:
        return constant
    description = FUNCTIONS[function]
    kinds = [a.type for a in arguments]
    result = description.rule(kinds)
    if result is None and any(_is_null(a) for a in args):
        arguments = _with_typed_nulls(description, args) or arguments
        kinds = [a.type for a in arguments]
        result = description.rule(kinds)
    if result is None:
        part = function.removeprefix("extract_")
        named = function if part == function else f"extract {part}"
        shown = written.upper() or SYMBOLS.get(function, named.upper())
        raise BindError(
            f"{shown} does not take these types", span=span, expected=description.takes,
            found=" and ".join(k.value for k in kinds),
            remedy=interval_remedy(function, kinds) or _cast_hint(kinds, description.takes),
        )  # fmt: skip
    if function == "array" and result.element is not None:
        arguments = [coerce(a, result.element, s) for a, s in zip(arguments, spans, strict=True)]
    elif function in ("coalesce", "greatest", "least", "nullif"):
        arguments = [coerce(a, result, s) for a, s in zip(arguments, spans, strict=True)]
    elif function in ("eq", "ne", "lt", "le", "gt", "ge", "in"):
        target = common(kinds)
        if target is Type.TIMESTAMP:
            arguments = [coerce(a, target, s) for a, s in zip(arguments, spans, strict=True)]
    elif result is Type.TIMESTAMP or Type.DATE in kinds:
        arguments = [
            coerce(a, Type.TIMESTAMP, span) if a.type is Type.DATE else a for a in arguments
        ]
    return Call(function, tuple(arguments), result)


def _with_element(arguments: list[Expression], spans: list[Span]) -> list[Expression]:
    """An ARRAY and a value, both in the type in which they are compared."""
    element = arguments[0].type.element
    if element is None:
        return arguments
    beside = fit_constants([Column(0, "", element), arguments[1]], [spans[0], spans[1]])[1]
    kind = common([element, beside.type])
    if kind is None:
        return [arguments[0], beside]
    return [coerce(arguments[0], Type.array(kind), spans[0]), coerce(beside, kind, spans[1])]


def _with_typed_nulls(
    description: Function, arguments: Sequence[Expression]
) -> list[Expression] | None:
    """The arguments of a function that takes several types, its NULLs in the first that fit."""
    places = [place for place, argument in enumerate(arguments) if _is_null(argument)]
    for kinds in product(KINDS_OF_NULLS, repeat=len(places)):
        tried = list(arguments)
        for place, kind in zip(places, kinds, strict=True):
            tried[place] = Literal(None, kind)
        if description.rule([a.type for a in tried]) is not None:
            return tried
    return None


def null_as(expression: Expression, kind: Type) -> Expression:
    return Literal(None, kind) if _is_null(expression) else expression


def _is_null(expression: Expression) -> bool:
    """Whether it is a NULL without a CAST, which takes any type."""
    return isinstance(expression, Literal) and expression.value is None


def castable(source: Type, target: Type) -> bool:
    if Type.INTERVAL in (source, target):
        return False
    if source.element is not None and target.element is not None:
        return castable(source.element, target.element)
    if source.fields and len(source.fields) == len(target.fields):
        return all(castable(s[1], t[1]) for s, t in zip(source.fields, target.fields, strict=True))
    if source.is_nested or target.is_nested:
        return source is target
    if source is target or Type.STRING in (source, target):
        return True
    times = {Type.TIMESTAMP, Type.DATE}
    return (source in times) == (target in times)


def _cast_hint(kinds: Sequence[Type], takes: str) -> str:
    """What to write when a string meets something else, or is ``takes`` and something else came."""
    other = [k for k in kinds if k is not Type.STRING]
    if takes.endswith("strings") or takes == "a string":
        return STRING_HINT if other else ""
    if takes.startswith("a string"):
        return STRING_HINT if kinds[0] is not Type.STRING else ""
    alike = any(words in takes for words in ("two numbers", "of one type", "comparable", "such"))
    if alike and other and len(other) < len(kinds):
        return f"cast one side, as in CAST(... AS {other[0].value})"
    return ""


def wrong_number(function: str, takes: str, found: int, span: Span) -> BindError:
    """A function was given more or fewer arguments than it takes."""
    return BindError(
        f"wrong number of arguments for {function}", span=span, expected=takes,
        found=f"{found} argument{'' if found == 1 else 's'}",
    )  # fmt: skip


class Binder(Protocol):
    """What binds the parts of a form: an ``ExpressionBinder``."""

    def bind(self, node: exp.Expr) -> Expression: ...
    def condition(self, node: exp.Expr) -> Expression: ...
    def span(self, node: exp.Expr) -> Span: ...
    def call(
        self, function: str, args: Sequence[Expression], nodes: Sequence[exp.Expr], span: Span
    ) -> Expression: ...


def bind_cast(binder: Binder, node: exp.Cast, span: Span) -> Expression:
    """CAST and TRY_CAST; what a constant is in another type is said now, if it is known."""
    target = cast_target(node.to, span)
    inner = binder.bind(node.this)
    function = "try_cast" if isinstance(node, exp.TryCast) else "cast"
    if target.is_decimal:
        inner = as_digits(inner)
    if isinstance(inner, Literal) and inner.value is None:
        # Stays inside of a CAST: unlike NULL alone it takes no other type from beside it.
        return Call("cast", (Literal(None, target),), target)
    if isinstance(inner, Literal) and function == "cast":
        folded = coerce(inner, target, span)
        if isinstance(folded, Literal):
            return folded
    if not castable(inner.type, target):
        raise BindError(f"{inner.type.value} cannot be cast to {target.value}", span=span)
    return inner if inner.type is target else Call(function, (inner,), target)


def bind_between(binder: Binder, node: exp.Between, span: Span) -> Expression:
    low, high = node.args["low"], node.args["high"]
    value = binder.bind(node.this)
    at_least = binder.call("ge", [value, binder.bind(low)], [node.this, low], span)
    at_most = binder.call("le", [value, binder.bind(high)], [node.this, high], span)
    return Call("and", (at_least, at_most), Type.BOOLEAN)


def bind_escape(binder: Binder, node: exp.Escape, span: Span) -> Expression:
    """LIKE or ILIKE, perhaps with NOT, and the character that takes the next one literally."""
    like, mark = node.this, node.expression
    nodes = [like.this, like.expression, mark]
    bound = [binder.bind(n) for n in nodes]
    constant = bound[2].value if isinstance(bound[2], Literal) else None
    if not isinstance(constant, str) or len(constant) != 1:
        raise BindError(
            span=binder.span(mark), expected="one character in quotes after ESCAPE",
            found="something else", remedy="write for example ESCAPE '!'",
        )  # fmt: skip
    pattern = bound[1].value if isinstance(bound[1], Literal) else None
    if isinstance(pattern, str) and pattern.replace(constant * 2, "").endswith(constant):
        raise BindError(
            span=binder.span(like.expression), expected=f"a character after each {constant}",
            found="the end of the pattern",
            remedy=f"write {constant}{constant} for the character itself",
        )  # fmt: skip
    matched = binder.call("ilike" if isinstance(like, exp.ILike) else "like", bound, nodes, span)
    return Call("not", (matched,), Type.BOOLEAN) if like.args.get("negate") else matched


def bind_is(binder: Binder, node: exp.Is, span: Span) -> Expression | None:
    """IS NULL, IS TRUE, IS FALSE; None for any other form of it."""
    value = binder.bind(node.this)
    match node.expression:
        case exp.Null():
            return Call("is_null", (value,), Type.BOOLEAN)
        case exp.Boolean():
            truth = Literal(bool(node.expression.this), Type.BOOLEAN)
            equal = binder.call("eq", [value, truth], [node.this, node.expression], span)
            return Call("coalesce", (equal, Literal(False, Type.BOOLEAN)), Type.BOOLEAN)
    return None


def bind_distinct_from(binder: Binder, node: exp.Binary, span: Span) -> Expression:
    nodes = [node.this, node.expression]
    left, right = fit_constants([binder.bind(n) for n in nodes], [binder.span(n) for n in nodes])
    equal = binder.call("eq", [left, right], nodes, span)
    nulls = (Call("is_null", (left,), Type.BOOLEAN), Call("is_null", (right,), Type.BOOLEAN))
    same = Call("case", (
        Call("and", nulls, Type.BOOLEAN), Literal(True, Type.BOOLEAN),
        Call("or", nulls, Type.BOOLEAN), Literal(False, Type.BOOLEAN), equal,
    ), Type.BOOLEAN)  # fmt: skip
    return same if isinstance(node, exp.NullSafeEQ) else Call("not", (same,), Type.BOOLEAN)


def bind_in(binder: Binder, node: exp.In, span: Span) -> Expression:
    rows = _constant_rows(node)
    if rows is not None:
        return binder.bind(_any_equal(binder, node, rows))
    if node.args.get("query") is not None:
        raise BindError(
            "IN with a sub-query is not allowed here", span=span,
            remedy="write it as an operand of AND, OR or NOT in WHERE",
        )  # fmt: skip
    choices = node.expressions
    bound = binder.call(
        "in", [binder.bind(n) for n in (node.this, *choices)], [node.this, *choices], span
    )
    assert isinstance(bound, Call)
    if all(isinstance(a, Literal) for a in bound.args[1:]):
        return bound
    tests = [Call("eq", (bound.args[0], a), Type.BOOLEAN) for a in bound.args[1:]]
    return connect("or", tuple(tests))


def _constant_rows(node: exp.In) -> list[list[exp.Expr]] | None:
    """What stands in ``IN (VALUES ...)``, or after IN where rows are compared; None elsewhere."""
    choices = node.expressions
    if len(choices) == 1 and isinstance(choices[0], exp.Values):
        return [list(row.expressions) for row in choices[0].expressions]
    if isinstance(node.this, exp.Tuple) and node.args.get("query") is None:
        return [list(c.expressions) if isinstance(c, exp.Tuple) else [c] for c in choices]
    return None


def _any_equal(binder: Binder, node: exp.In, rows: list[list[exp.Expr]]) -> exp.Expr:
    """One of the rows is equal: a comparison of each value, beside AND and OR."""
    values = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    if not rows or any(len(row) != len(values) for row in rows):
        raise BindError(
            span=binder.span(node), expected=f"rows of {len(values)} values after IN",
            found="another number", remedy="write for example (a, b) IN ((1, 2), (3, 4))",
        )  # fmt: skip
    found: exp.Expr | None = None
    for row in rows:
        same: exp.Expr | None = None
        for value, other in zip(values, row, strict=True):
            test = exp.EQ(this=value.copy(), expression=other)
            test.meta.update(node.meta)
            same = test if same is None else exp.And(this=same, expression=test)
        found = same if found is None or same is None else exp.Or(this=found, expression=same)
    assert found is not None
    found.meta.update(node.meta)
    return found


def bind_filter(binder: Binder, node: exp.Filter, span: Span) -> Expression:
    """``SUM(x) FILTER (WHERE c)`` is the sum of CASE WHEN c THEN x END: NULLs do not count."""
    call, condition = node.this.copy(), node.expression.this
    if not isinstance(call, exp.Anonymous) or call.name.lower() not in AGGREGATES:
        raise BindError(
            span=span, expected="an aggregate before FILTER", found="something else",
            remedy="write for example COUNT(*) FILTER (WHERE ...)",
        )  # fmt: skip
    if AGGREGATES[call.name.lower()] == "ARRAY_AGG":
        call.meta.update(node.meta)
        call.meta[CHOSEN] = condition
        return binder.bind(call)
    first = call.expressions[0] if call.expressions else None
    holder = first if isinstance(first, exp.Distinct) else call
    arguments = list(holder.expressions)
    # The first, unless that is the fraction of a quantile: without a value nothing else counts.
    plain = [place for place, a in enumerate(arguments) if not isinstance(a, exp.Literal)]
    place = plain[0] if plain else 0
    if arguments:
        argument = arguments[place]
        ordered = isinstance(argument, exp.Order)
        value = argument.this if ordered else argument
        if isinstance(value, exp.Star) and call.name.lower() == "count":
            value = exp.Literal.number(1)
        chosen = exp.Case(ifs=[exp.If(this=condition.copy(), true=value)])
        chosen.meta.update(argument.meta)
        if ordered:
            argument.set("this", chosen)
        else:
            arguments[place] = chosen
    holder.set("expressions", arguments)
    call.meta.update(node.meta)
    return binder.bind(call)


def bind_case(binder: Binder, node: exp.Expr, span: Span) -> Expression:
    branches = node.args["ifs"] if isinstance(node, exp.Case) else [node]
    subject = node.this if isinstance(node, exp.Case) else None
    conditions: list[Expression] = []
    value_nodes: list[exp.Expr] = []
    for branch in branches:
        test = branch.this
        if subject is not None:
            both = [binder.bind(subject), binder.bind(test)]
            conditions.append(binder.call("eq", both, [subject, test], binder.span(test)))
        else:
            conditions.append(binder.condition(test))
        value_nodes.append(branch.args["true"])
    otherwise = node.args.get("default") or node.args.get("false")
    values = [binder.bind(n) for n in value_nodes]
    values.append(binder.bind(otherwise) if otherwise else Literal(None, Type.STRING))
    spans = [binder.span(n) for n in value_nodes] + [binder.span(otherwise) if otherwise else span]
    values = fit_constants(values, spans)
    kind = common([v.type for v in values])
    if kind is None:
        found = " and ".join(dict.fromkeys(v.type.value for v in values))
        raise BindError(span=span, expected="values of one type in CASE", found=found)
    values = [coerce(v, kind, s) for v, s in zip(values, spans, strict=True)]
    args = [part for pair in zip(conditions, values[:-1], strict=True) for part in pair]
    return Call("case", (*args, values[-1]), kind)
