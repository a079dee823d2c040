"""What is said of predicates is what their tuples say, over every kind of attribute."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.sharing.rules.predicates import (
    FLAG,
    REAL,
    TEXT,
    TUPLES,
    WHOLE,
    atoms,
    predicates,
    select,
)
from windrow.core.errors import WindrowError
from windrow.core.thresholds import lowered_thresholds
from windrow.sharing.rules import EVERYTHING, Atom, Predicate, any_of
from windrow.sharing.rules.value_sets import values_where


@given(atom=atoms())
def test_a_set_holds_the_values_that_satisfy_the_atom(atom: Atom) -> None:
    values = values_where(atom.attribute, atom.operator, atom.constant)
    selected = select(any_of(atom))
    assert {i for i, row in enumerate(TUPLES) if row[atom.attribute] in values} == selected


@settings(max_examples=200)
@given(one=predicates(), other=predicates())
def test_implication_and_exclusion_are_those_of_the_tuples(
    one: Predicate, other: Predicate
) -> None:
    first, second = select(one), select(other)
    assert one.implies(other) == (first <= second)
    assert one.excludes(other) == (not first & second)
    assert one.is_equivalent(other) == (first == second)


@given(predicate=predicates())
def test_a_predicate_is_disjoint_if_no_tuple_satisfies_two_terms(predicate: Predicate) -> None:
    terms = [select(Predicate((term,))) for term in predicate.terms]
    assert predicate.is_disjoint == (sum(map(len, terms)) == len(frozenset().union(*terms)))


@given(one=predicates(), other=predicates())
def test_beyond_the_largest_region_implication_errs_on_the_careful_side(
    one: Predicate, other: Predicate
) -> None:
    with lowered_thresholds():
        claimed = one.implies(other)
    assert not claimed or select(one) <= select(other)


def test_null_satisfies_neither_a_comparison_nor_its_negation() -> None:
    below, rest = any_of(Atom(REAL, "<", 1)), any_of(Atom(REAL, ">=", 1))
    assert not EVERYTHING.implies(below.or_also(rest))
    assert below.or_also(rest).is_equivalent(any_of(Atom(REAL, "=", 1), Atom(REAL, "<>", 1)))


def test_between_neighbouring_integers_there_is_nothing_between_reals_there_is() -> None:
    assert not Predicate(((Atom(WHOLE, ">", 1), Atom(WHOLE, "<", 2)),)).region
    assert Predicate(((Atom(REAL, ">", 1), Atom(REAL, "<", 2)),)).region
    both = any_of(Atom(FLAG, "=", True), Atom(FLAG, "=", False))
    assert any_of(Atom(FLAG, "<", 7)).is_equivalent(both)


def test_what_has_no_place_in_an_order_is_refused() -> None:
    for atom in (Atom(TEXT, "<", "a"), Atom(REAL, "=", float("nan")), Atom(REAL, "~", 1)):
        with pytest.raises(WindrowError, match="expected"):
            _ = any_of(atom).region
