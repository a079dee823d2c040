"""WHERE as a disjunctive normal form of comparisons with constants, for the rules of sharing.

What is not such a comparison (LIKE, IS NULL, one column against another) becomes an attribute of
its own that must be TRUE, named by its text: equal texts are then known to be equal, and nothing
else is concluded. NOT moves inwards; under SQL's three truth values a comparison and its opposite
are both unknown for NULL, so that is exact.
"""

from __future__ import annotations

from itertools import product

from windrow.core.schema import Type
from windrow.plan.expressions import Call, Expression, Value, render
from windrow.plan.nodes.routed import Among, Asked
from windrow.plan.sharing.shared_selection import condition_of
from windrow.sharing.rules import Atom, Attribute, Order, Predicate

MOST_TERMS = 64
"""A form with more terms is not made: the predicate counts as one atom, known by its text."""
OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
Term = tuple[Atom, ...]


def normal_form(predicate: Expression) -> Predicate:
    """The predicate over the columns of its stream, which are known by their names.

    >>> from windrow.plan.expressions import Column, Literal
    >>> a, three = Column(0, "a", Type.INT), Literal(3, Type.INT)
    >>> less, more = (Call(f, (a, three), Type.BOOLEAN) for f in ("lt", "gt"))
    >>> print(normal_form(Call("not", (Call("or", (less, more), Type.BOOLEAN),), Type.BOOLEAN)))
    a >= 3 AND a <= 3
    """
    terms = _terms(predicate, negate=False)
    if terms is None:
        terms = ((_opaque(predicate, negate=False),),)
    return Predicate(tuple(dict.fromkeys(terms)))


def _terms(predicate: Expression, *, negate: bool) -> tuple[Term, ...] | None:
    """The terms of the predicate or of its opposite; None if there are too many."""
    if isinstance(predicate, Call) and predicate.function == "not":
        return _terms(predicate.args[0], negate=not negate)
    if isinstance(predicate, Call) and predicate.function in ("and", "or"):
        parts = [_terms(arg, negate=negate) for arg in predicate.args]
        return _connect(parts, conjunctive=(predicate.function == "and") != negate)
    if isinstance(predicate, Call) and predicate.function == "ne":
        return _terms(Call("eq", predicate.args, Type.BOOLEAN), negate=not negate)
    condition = condition_of(predicate)
    if condition is None:
        return ((_opaque(predicate, negate=negate),),)
    expression, kind, asked = condition
    attribute = Attribute(render(expression), _order(kind))
    terms = _comparisons(attribute, asked)
    if not negate:
        return terms
    opposites: list[tuple[Term, ...] | None] = [
        tuple((Atom(a.attribute, OPPOSITE[a.operator], a.constant),) for a in term)
        for term in terms
    ]
    return _connect(opposites, conjunctive=True)


def _connect(parts: list[tuple[Term, ...] | None], *, conjunctive: bool) -> tuple[Term, ...] | None:
    terms: tuple[Term, ...] = ((),) if conjunctive else ()
    for part in parts:
        if part is None or len(part) * max(1, len(terms)) > MOST_TERMS:
            return None
        if conjunctive:
            both = (tuple(dict.fromkeys(a + b)) for a, b in product(terms, part))
            terms = tuple(both)
        else:
            terms += part
    return terms if len(terms) <= MOST_TERMS else None


def _comparisons(attribute: Attribute, asked: Asked) -> tuple[Term, ...]:
    """What an index would be asked for, as terms: values or an interval."""
    if isinstance(asked, Among):
        return tuple((_atom(attribute, "=", value),) for value in asked.values)
    if asked.low is not None and asked.low == asked.high:
        return ((_atom(attribute, "=", asked.low),),)
    term = []
    if asked.low is not None:
        term.append(_atom(attribute, ">" if asked.low_open else ">=", asked.low))
    if asked.high is not None:
        term.append(_atom(attribute, "<" if asked.high_open else "<=", asked.high))
    return (tuple(term),)


def _atom(attribute: Attribute, operator: str, value: Value) -> Atom:
    assert value is not None
    return Atom(attribute, operator, value)


def _opaque(predicate: Expression, *, negate: bool) -> Atom:
    return Atom(Attribute(render(predicate), Order.BOOLEAN), "=", not negate)


def _order(kind: Type) -> Order:
    if kind is Type.STRING:
        return Order.UNORDERED
    return Order.DENSE if kind is Type.DOUBLE else Order.DISCRETE
