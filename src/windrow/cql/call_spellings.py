"""Calls as other systems write them, as those of CQL that mean the same.

``APPROX_DISTINCT(x)`` is ``APPROXIMATE COUNT(DISTINCT x)``, ``COUNT_IF(c)`` is ``COUNT(*) FILTER
(WHERE c)``, ``PERCENTILE_CONT(p) WITHIN GROUP (ORDER BY x)`` is ``QUANTILE(x, p)``, ``BOOL_AND(c)``
is the least truth value, and the order of ``LISTAGG(x) WITHIN GROUP (ORDER BY y)`` is written
behind its arguments. A call with other arguments stays as it is, and the binder refuses it.

``x = ANY (SELECT ...)`` and ``SOME`` are IN, ``x <> ALL (SELECT ...)`` is NOT IN.
"""

from __future__ import annotations

from sqlglot import expressions as exp

APPROXIMATE = "windrow_approximate"
"""The key under which a call says that it is approximate."""
SKETCHED_COUNTS = ("APPROX_DISTINCT", "APPROX_COUNT_DISTINCT")
COUNTED_CONDITIONS = ("COUNT_IF", "COUNTIF")
JOINED_TEXTS = ("LISTAGG", "STRING_AGG")
TRUTH_VALUES = {"BOOL_AND": "MIN", "EVERY": "MIN", "BOOL_OR": "MAX"}


def respell(found: exp.Expr | None) -> exp.Expr | None:
    """A call, with what follows it, as CQL has it."""
    if isinstance(found, exp.Filter):
        found.set("this", respell(found.this))
    elif isinstance(found, exp.WithinGroup):
        return _in_parentheses(found)
    elif isinstance(found, exp.Anonymous):
        _respell_call(found)
    return found


def in_query(found: exp.Expr | None) -> exp.In | None:
    """IN of what a comparison with ANY or ALL of a sub-query asks, if that is what it asks.

    >>> from sqlglot import parse_one
    >>> in_query(parse_one("a = ANY (SELECT b FROM t)")).sql()
    'a IN (SELECT b FROM t)'
    """
    equal = isinstance(found, exp.EQ) and isinstance(found.expression, exp.Any)
    unequal = isinstance(found, exp.NEQ) and isinstance(found.expression, exp.All)
    if found is None or not (equal or unequal):
        return None
    query = found.expression.this
    if isinstance(query, exp.Select | exp.SetOperation):
        query = exp.Subquery(this=query)
    return exp.In(this=found.this, query=query) if isinstance(query, exp.Subquery) else None


def _respell_call(call: exp.Anonymous) -> None:
    name, arguments = call.name.upper(), call.expressions
    if name in SKETCHED_COUNTS:
        call.set("this", "COUNT")
        call.set("expressions", [exp.Distinct(expressions=arguments)])
        call.meta[APPROXIMATE] = "ESTIMATE"
    elif name in COUNTED_CONDITIONS and len(arguments) == 1:
        call.set("this", "COUNT")
        call.set("expressions", [_case(arguments[0], (arguments[0], exp.Literal.number(1)))])
    elif name in TRUTH_VALUES and len(arguments) == 1:
        condition = arguments[0]
        opposite = exp.Not(this=condition.copy())
        opposite.meta.update(condition.meta)
        branches = ((condition, exp.true()), (opposite, exp.false()))
        call.set("this", TRUTH_VALUES[name])
        call.set("expressions", [_case(condition, *branches)])


def _case(written: exp.Expr, *branches: tuple[exp.Expr, exp.Expr]) -> exp.Case:
    """CASE WHEN, with the place of what was written."""
    case = exp.Case(ifs=[exp.If(this=when, true=then) for when, then in branches])
    case.meta.update(written.meta)
    return case


def _in_parentheses(found: exp.WithinGroup) -> exp.Expr:
    call, orders = found.this, found.expression.expressions
    if not isinstance(call, exp.Anonymous):
        return found
    if call.name.upper() in JOINED_TEXTS and call.expressions:
        *first, last = call.expressions
        call.set("expressions", [*first, exp.Order(this=last, expressions=orders)])
        return call
    if call.name.upper() != "PERCENTILE_CONT" or len(call.expressions) != 1:
        return found
    if len(orders) != 1 or orders[0].args.get("desc"):
        return found
    call.set("this", "QUANTILE")
    call.set("expressions", [orders[0].this, *call.expressions])
    return call
