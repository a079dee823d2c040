"""Random predicates over small domains, and what they select by definition."""

from __future__ import annotations

import operator
from itertools import product
from typing import Any

from hypothesis import strategies as st

from windrow.sharing.rules import Atom, Attribute, Order, Predicate

WHOLE = Attribute("whole", Order.DISCRETE)
REAL = Attribute("real", Order.DENSE)
TEXT = Attribute("text", Order.UNORDERED)
FLAG = Attribute("flag", Order.BOOLEAN)
CONSTANTS: dict[Attribute, list[Any]] = {
    WHOLE: [1, 2, 2.5],
    REAL: [1, 2.5],
    TEXT: ["a", "b"],
    FLAG: [False, True],
}
VALUES: dict[Attribute, list[Any]] = {
    WHOLE: [None, 0, 1, 2, 3, 4],
    REAL: [None, 0.5, 1, 1.5, 2.5, 3],
    TEXT: [None, "a", "b", "another"],
    FLAG: [None, False, True],
}
"""One value at least of each kind that atoms over CONSTANTS can tell apart."""
TUPLES = [dict(zip(VALUES, values, strict=True)) for values in product(*VALUES.values())]
COMPARE = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(atom: Atom, row: dict[Attribute, Any]) -> bool:
    value = row[atom.attribute]
    return value is not None and COMPARE[atom.operator](value, atom.constant)


def select(predicate: Predicate) -> frozenset[int]:
    """The places of the tuples that satisfy the predicate, atom by atom."""
    return frozenset(
        i
        for i, row in enumerate(TUPLES)
        if any(all(holds(atom, row) for atom in term) for term in predicate.terms)
    )


@st.composite
def atoms(draw: st.DrawFn) -> Atom:
    attribute = draw(st.sampled_from(sorted(CONSTANTS, key=lambda a: a.name)))
    operators = ["=", "<>"] if attribute is TEXT else sorted(COMPARE)
    return Atom(
        attribute, draw(st.sampled_from(operators)), draw(st.sampled_from(CONSTANTS[attribute]))
    )


def predicates(terms: int = 3, width: int = 3) -> st.SearchStrategy[Predicate]:
    conjunctions = st.lists(atoms(), max_size=width).map(tuple)
    return st.lists(conjunctions, max_size=terms).map(lambda found: Predicate(tuple(found)))
