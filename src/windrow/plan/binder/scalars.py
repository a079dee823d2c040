"""Scalar expressions: SQLGlot's nodes to ours, typed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NoReturn

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.cql.call_spellings import APPROXIMATE
from windrow.cql.positions import span_of
from windrow.cql.ranking import OF_RANKS
from windrow.plan.binder import other_systems
from windrow.plan.binder.aggregates import Aggregates
from windrow.plan.binder.calls import (
    bind_between,
    bind_case,
    bind_cast,
    bind_distinct_from,
    bind_escape,
    bind_filter,
    bind_in,
    bind_is,
    null_as,
    typed_call,
    wrong_number,
)
from windrow.plan.binder.constant_arguments import check_constants, json_path, refuse_changing
from windrow.plan.binder.declared_functions import bind_call
from windrow.plan.binder.literals import interval, number, too_large
from windrow.plan.binder.nested_values import (
    NAMED,
    STRUCTS,
    bind_any,
    bind_array,
    bind_element,
    bind_field,
    bind_path,
    bind_struct,
    named_values,
)
from windrow.plan.binder.restrictions import APPROXIMATED
from windrow.plan.binder.scope import Scope, did_you_mean
from windrow.plan.expressions import Call, Expression, Literal, columns_of, connect
from windrow.plan.functions import AGGREGATES, FUNCTIONS, OPERATORS_ONLY, SYNONYMS

BINARY: dict[type[exp.Expr], str] = {
    exp.Add: "add", exp.Sub: "subtract", exp.Mul: "multiply", exp.Div: "divide",
    exp.IntDiv: "divide", exp.Mod: "modulo", exp.EQ: "eq", exp.NEQ: "ne", exp.LT: "lt",
    exp.LTE: "le", exp.GT: "gt", exp.GTE: "ge", exp.Like: "like", exp.ILike: "ilike",
    exp.DPipe: "concat",
}  # fmt: skip
REFUSED = {
    "symmetric": "SYMMETRIC", "field": "IN without parentheses", "unnest": "UNNEST",
    "format": "a format", "except_": "EXCEPT after *",
    "replace": "REPLACE after *", "rename": "RENAME after *",
}  # fmt: skip
"""Arguments of SQLGlot's nodes that change their meaning to one that CQL does not have."""
WORDS = {
    "WINDOW": "OVER", "LAMBDA": "->", "PROPERTYEQ": ":=",
    "TUPLE": "a row of values", "SIMILARTO": "SIMILAR TO", "REGEXPILIKE": "~*",
}  # fmt: skip
"""How SQLGlot's nodes are written, where it is not their name."""
RANKED = ("LEAD", "RANK", "DENSE_RANK")
"""Functions with OVER for which there is another way."""
INSTEAD = {
    "LEAD": "a tuple would have to wait for the one after it; write LAG: the later tuple of the "
    "two has both values",
    **dict.fromkeys(("RANK", "DENSE_RANK"), OF_RANKS),
    "WINDOW": "bound the input with a window in FROM; for an aggregate of the group beside each "
    "row write (SELECT SUM(x) FROM s AS t WHERE t.k = s.k)",
    "SIMILARTO": "write regexp_matches(x, '^(...)$')",
    "REGEXPILIKE": "write regexp_matches(x, '...', 'i')",
    "GLOB": "write LIKE, or regexp_matches(x, '...')",
}
"""What to write for that which is not part of the language."""
MISSED = {
    "collect_list": "write ARRAY_AGG(x) FILTER (WHERE x IS NOT NULL)",
    "first_value": "write FIRST(x)", "last_value": "write LAST(x)", "any_value": "write MIN(x)",
    "unnest": "write FROM s [RANGE ...], UNNEST(s.a) AS t(x)",
    "explode": "write FROM s [RANGE ...], UNNEST(s.a) AS t(x)",
}  # fmt: skip
"""Functions of other systems, and what does their work."""
MATCHES = ("RLIKE", "REGEXP")
"""Words for one node of SQLGlot, which does not keep which of them was written."""
TRIMMED = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}
PARTS = {"DAYOFWEEK": "dow", "SECONDS": "second", "MINUTES": "minute", "HOURS": "hour"}


@dataclass
class ExpressionBinder:
    """Binds the expressions of one clause; ``aggregates`` is None where none may stand."""

    scope: Scope
    source: str
    clause: str
    aggregates: Aggregates | None = None
    seen: dict[int, Span] = field(default_factory=dict)
    """Where each column was last named outside of an aggregate."""

    def bind(self, node: exp.Expr) -> Expression:
        span = self.span(node)
        for argument, words in REFUSED.items():
            if node.args.get(argument):
                self._refuse(words, span)
        if node.args.get("negate"):  # NOT LIKE, NOT ILIKE
            plain = node.copy()
            plain.set("negate", None)
            return Call("not", (self.bind(plain),), Type.BOOLEAN)
        if isinstance(node, exp.And | exp.Or):
            return self._connect(node)
        if isinstance(node, exp.EQ) and isinstance(node.expression, exp.Any):
            return bind_any(self, node, span)
        if (function := BINARY.get(type(node))) is not None:
            operands = [node.this, node.expression]
            return self.call(function, [self.bind(o) for o in operands], operands, span)
        match node:
            case exp.Column() | exp.Identifier():
                return self._column(node, span)
            case exp.Literal():
                return (
                    Literal(node.name, Type.STRING) if node.is_string else number(node.name, span)
                )
            case exp.Null():
                return Literal(None, Type.STRING)
            case exp.Boolean():
                return Literal(bool(node.this), Type.BOOLEAN)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Interval():
                return self._interval(node, span)
            case exp.Cast():
                return bind_cast(self, node, span)
            case exp.Anonymous():
                return self._function(node, span)
            case exp.Subquery() | exp.Select() | exp.SetOperation() | exp.Exists():
                raise BindError(
                    "a sub-query is not allowed here", span=span,
                    remedy="put it into FROM of this query, and name its column here",
                )  # fmt: skip
        return self._predicate_or_form(node, span)

    def condition(self, node: exp.Expr) -> Expression:
        """An expression that must be BOOLEAN."""
        bound = null_as(self.bind(node), Type.BOOLEAN)
        if bound.type is not Type.BOOLEAN:
            raise BindError(
                span=self.span(node), expected=f"a condition in {self.clause}",
                found=f"a value of type {bound.type.value}",
            )  # fmt: skip
        return bound

    def refuse_changes_of_star(self, star: exp.Star, span: Span) -> None:
        """BindError if ``*`` is followed by REPLACE or RENAME."""
        for argument in ("replace", "rename"):
            if star.args.get(argument):
                self._refuse(REFUSED[argument], span)

    def span(self, node: exp.Expr) -> Span:
        return span_of(node, self.source)

    def call(
        self, function: str, args: Sequence[Expression], nodes: Sequence[exp.Expr], span: Span,
        written: str = "",
    ) -> Expression:  # fmt: skip
        """A typed call; ``nodes`` are what its arguments were bound from."""
        return typed_call(function, args, [self.span(n) for n in nodes], span, written)

    def _connect(self, node: exp.And | exp.Or) -> Expression:
        """A chain of ANDs or ORs as a tree that is shallow however long the chain is."""
        function = "and" if isinstance(node, exp.And) else "or"
        operands = operands_of(node, type(node))
        spans = [self.span(o) for o in operands]
        bound = [null_as(self.bind(o), Type.BOOLEAN) for o in operands]
        for operand, span in zip(bound, spans, strict=True):
            if operand.type is not Type.BOOLEAN:
                raise BindError(
                    span=span, expected=f"a condition in {self.clause}",
                    found=f"a value of type {operand.type.value}",
                )  # fmt: skip
        return connect(function, tuple(bound))

    def _column(self, node: exp.Column | exp.Identifier, span: Span) -> Expression:
        parts, quoted = [node.name], bool(node.args.get("quoted"))
        if isinstance(node, exp.Column):
            if isinstance(node.this, exp.Star):
                self._refuse("*", span)
            parts = [part.name for part in node.parts]
            quoted = bool(node.this.args.get("quoted"))
        if quoted and len(parts) == 1 and not self.scope.find(parts[0]):
            raise self._no_text(parts[0], span)
        meant = bind_path(self.scope, parts, span)
        self.seen.update({column.index: span for column in columns_of(meant)})
        return meant

    def _no_text(self, name: str, span: Span) -> BindError:
        """A word in double quotes is a name; whoever meant a text is told how to write one."""
        meant = did_you_mean(name, (field.name for field in self.scope.schema))
        text = name.replace("'", "''")
        return BindError(
            f'"{name}" is in double quotes and names no column here', span=span,
            remedy=f"for a column, {meant}; for a text, write single quotes: '{text}'",
        )  # fmt: skip

    def _function(self, node: exp.Anonymous, span: Span) -> Expression:
        name = node.name.lower()
        if name in AGGREGATES:
            return self._aggregate(node, AGGREGATES[name], span)
        if APPROXIMATE in node.meta:
            raise BindError(
                span=span, expected=f"{APPROXIMATED} after APPROXIMATE", found=node.name,
                remedy="leave APPROXIMATE out",
            )  # fmt: skip
        declared = self.scope.function(name)
        if declared is not None:
            spans = [self.span(n) for n in node.expressions]
            return bind_call(declared, [self.bind(n) for n in node.expressions], spans, span)
        if name in STRUCTS:
            named = named_values(node.expressions, span) if name == NAMED else node.expressions
            return bind_struct(self, named, span)
        name = SYNONYMS.get(name, name)
        if name not in FUNCTIONS or name in OPERATORS_ONLY:
            refuse_changing(name, span)
            known = [*(f for f in FUNCTIONS if f not in OPERATORS_ONLY), *SYNONYMS, *AGGREGATES]
            raise BindError(
                f"there is no function {node.name}", span=span,
                remedy=MISSED.get(name) or other_systems.instead_of_function(node.name, known),
            )  # fmt: skip
        description, nodes = FUNCTIONS[name], node.expressions
        if len(nodes) < description.least or len(nodes) > (description.most or len(nodes)):
            raise wrong_number(node.name, description.takes, len(nodes), span)
        args = check_constants(name, [self.bind(n) for n in nodes], [self.span(n) for n in nodes])
        return self.call(name, args, nodes, span, node.name)

    def _aggregate(self, node: exp.Anonymous, function: str, span: Span) -> Expression:
        if self.aggregates is None:
            raise BindError(
                f"an aggregate is not allowed in {self.clause}", span=span,
                remedy="use HAVING, or compute it in a sub-query"
                if self.clause == "WHERE" else "compute it in a sub-query",
            )  # fmt: skip
        inner = ExpressionBinder(self.scope, self.source, f"the argument of {function}")
        return self.aggregates.add(node, function, inner.bind, span)

    def _interval(self, node: exp.Interval, span: Span) -> Expression:
        """``INTERVAL '5' MINUTE``; of what is no constant, ``INTERVAL n MINUTE``, so many units."""
        unit = node.text("unit")
        if isinstance(node.this, exp.Literal):
            return interval(node.name, unit, span)
        amount = self.bind(node.this)
        if not unit and amount.type is Type.INTERVAL:  # SQLGlot's reading of + 2 * INTERVAL ...
            return amount
        nodes = [node.this, node]
        return self.call("multiply", [amount, interval("1", unit, span)], nodes, span)

    def _predicate_or_form(self, node: exp.Expr, span: Span) -> Expression:
        match node:
            case exp.Not():
                return self.call("not", [self.bind(node.this)], [node.this], span)
            case exp.Neg():
                inner = self._negated_number(node, span)
                if isinstance(inner, Literal):
                    return inner
                return self.call("negate", [inner], [node.this], span)
            case exp.Is():
                bound = bind_is(self, node, span)
                return bound or self._refuse("this form of IS", span)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return bind_distinct_from(self, node, span)
            case exp.Between():
                return bind_between(self, node, span)
            case exp.In():
                return bind_in(self, node, span)
            case exp.Case() | exp.If():
                return bind_case(self, node, span)
            case exp.Escape():
                return bind_escape(self, node, span)
            case exp.Filter():
                return bind_filter(self, node, span)
            case exp.Bracket():
                return bind_element(self, node, span)
            case exp.Array():
                return bind_array(self, node, span)
            case exp.Struct():
                return bind_struct(self, node.expressions, span)
            case exp.Dot():
                return bind_field(self.bind(node.this), node.expression.name, span)
        return self._keyword_call(node, span)

    def _keyword_call(self, node: exp.Expr, span: Span) -> Expression:
        """A call that is written with words or signs of its own."""
        match node:
            case exp.Extract():
                part = node.name.upper()
                part = PARTS.get(part, part.lower())
                if f"extract_{part}" not in FUNCTIONS:
                    names = [f.removeprefix("extract_") for f in FUNCTIONS if "extract_" in f]
                    remedy = other_systems.PARTS.get(part) or did_you_mean(part, names)
                    raise BindError(
                        f"there is no {part.upper()} to extract", span=span, remedy=remedy
                    )
                return self.call(
                    f"extract_{part}", [self.bind(node.expression)], [node.expression], span
                )
            case exp.Substring():
                parts = [node.this, node.args.get("start"), node.args.get("length")]
                nodes = [p for p in parts if p is not None]
                if len(nodes) < FUNCTIONS["substring"].least:
                    raise wrong_number("substring", FUNCTIONS["substring"].takes, 1, span)
                return self.call("substring", [self.bind(n) for n in nodes], nodes, span)
            case exp.Trim():
                name = TRIMMED[node.args.get("position") or "BOTH"]
                nodes = [n for n in (node.this, node.expression) if n is not None]
                return self.call(name, [self.bind(n) for n in nodes], nodes, span, name)
            case exp.RegexpLike():  # RLIKE, REGEXP
                nodes = [node.this, node.expression]
                args = [self.bind(n) for n in nodes]
                args = check_constants("regexp_matches", args, [self.span(n) for n in nodes])
                written = _word_before(self.source, self.span(node.expression), MATCHES)
                return self.call("regexp_matches", args, nodes, span, written)
            case exp.JSONExtract() | exp.JSONExtractScalar():  # -> and ->>
                text = isinstance(node, exp.JSONExtractScalar)
                name = "json_extract_string" if text else "json_extract"
                path = json_path(node.expression, span)
                nodes = [node.this, node.this]
                args = [self.bind(node.this), path]
                return self.call(name, args, nodes, span, "->>" if text else "->")
            case exp.CurrentTimestamp() | exp.CurrentDate() | exp.CurrentTime():
                refuse_changing(node.sql_name(), span)
            case exp.StrPosition():
                nodes = [node.this, node.args["substr"]]
                return self.call("strpos", [self.bind(n) for n in nodes], nodes, span)
        called = node.this.name.upper() if isinstance(node, exp.Window) else ""
        return self._refuse(called if called in RANKED else node.key.upper(), span)

    def _negated_number(self, node: exp.Neg, span: Span) -> Expression:
        """The constant that a sign and a number are together, or else what the sign stands before.

        The least BIGINT has no positive counterpart, so its digits are read with the sign.
        """
        plain = node.this
        while isinstance(plain, exp.Paren):
            plain = plain.this
        if isinstance(plain, exp.Literal) and not plain.is_string:
            return number(plain.name, span, negative=True)
        inner = self.bind(plain)
        if not isinstance(inner, Literal) or not isinstance(inner.value, int | float | Decimal):
            return inner
        if inner.value == -(2**63) and inner.type.integral:
            raise too_large(str(2**63), span)
        digits = None if inner.digits is None else inner.digits.copy_negate()
        return Literal(-inner.value, inner.type, digits)

    def _refuse(self, what: str, span: Span) -> NoReturn:
        raise BindError(
            f"{WORDS.get(what) or other_systems.WORDS.get(what, what)} is not allowed in "
            f"{self.clause}", span=span,
            remedy=INSTEAD.get(what) or other_systems.FORMS.get(what, ""),
        )  # fmt: skip


def _word_before(source: str, span: Span, words: Sequence[str]) -> str:
    """That of the words which stands last before a place."""
    lines = source.splitlines(keepends=True)[: span.line]
    lines[-1] = lines[-1][: span.column - 1]
    found = re.findall(rf"\b({'|'.join(words)})\b", "".join(lines).upper())
    return str(found[-1]) if found else words[0]


def operands_of(node: exp.Expr, connector: type[exp.Expr]) -> list[exp.Expr]:
    """The operands of a chain of one connector from left to right, parentheses opened.

    The parser makes such chains as deep as they are long.
    """
    operands: list[exp.Expr] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inner = part
        while isinstance(inner, exp.Paren):
            inner = inner.this
        if isinstance(inner, connector):
            waiting += [inner.args["expression"], inner.args["this"]]
        else:
            operands.append(part)
    return operands
