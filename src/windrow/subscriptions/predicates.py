"""What a subscription asks for: frozen descriptions, free of any index.

A subscription is an identifier and one or more *entries*, of which one has to match (a
disjunction). An entry has a *condition* on each attribute that it speaks of, and all of them have
to hold (a conjunction; Wu, Chen, Yu 2004, 2.1). A condition is a range or a set of values. An
attribute that an entry does not name may be anything, NULL too; a condition is never met by NULL
or NaN.

An attribute is of a *kind*: a type of CQL, or any Arrow type with an order, or texts. A type of CQL
stands for the Arrow type that its columns have. Arrow types beyond those are for columns that no
script declares: decimals, unsigned integers, times of day, moments in other units. Of each there is
one form here (``plain_type``): how texts are laid out, and in how many bits a small decimal is
stored, makes no difference to a comparison.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa

from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.schema import Type

Kind: TypeAlias = Type | pa.DataType

NARROW_DIGITS = 18
"""Decimals of no more digits are 64-bit integers of their last place."""
DIGITS_OF_128_BITS = 38
SUPPORTED = "a boolean, a number, a decimal, a date, a time, a timestamp or a text"
Value = bool | int | float | Decimal | str | date | datetime | time
Id = int | str
EXACT_FLOATS = 2.0**53


def arrow_of(kind: Kind) -> pa.DataType:
    """The Arrow type whose values are compared."""
    return ARROW[kind] if isinstance(kind, Type) else plain_type(kind)


def plain_type(found: pa.DataType) -> pa.DataType:
    """The one form of types that differ in their layout only."""
    kinds = pa.types
    if kinds.is_dictionary(found):
        return plain_type(found.value_type)
    if kinds.is_large_string(found) or kinds.is_string_view(found):
        return pa.string()
    if kinds.is_date64(found):
        return pa.date32()
    if kinds.is_decimal(found):
        wide = found.precision > DIGITS_OF_128_BITS
        make = pa.decimal256 if wide else pa.decimal128
        return make(found.precision, found.scale)
    return found


def is_text(kind: Kind) -> bool:
    """Whether values are compared for equality only."""
    return bool(pa.types.is_string(arrow_of(kind)))


def words_of(kind: Kind) -> int:
    """In how many 64-bit words a value is kept beside its key; 0 if the key says it all."""
    found = arrow_of(kind)
    if not pa.types.is_decimal(found) or found.precision <= NARROW_DIGITS:
        return 0
    return 2 if found.precision <= DIGITS_OF_128_BITS else 4


def kind_text(kind: Kind) -> str:
    """The type as messages call it."""
    return kind.value if isinstance(kind, Type) else str(arrow_of(kind))


def check_kind(name: str, kind: Kind) -> Kind:
    """The kind, if attributes can be of it."""
    found, kinds = arrow_of(kind), pa.types
    known = (
        kinds.is_boolean, kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_date,
        kinds.is_time, kinds.is_timestamp, kinds.is_string,
    )  # fmt: skip
    if not any(of_it(found) for of_it in known):
        raise InputError(
            where=f"attribute {name}",
            expected=SUPPORTED,
            found=str(found),
            remedy="match on a column that is cast to one of these",
        )
    return kind


def value_text(value: object) -> str:
    """A value as text that says which it is.

    A floating point number is the shortest decimal that is read as it, or the whole number that
    it is if it is too large to have places.

    >>> value_text(0.1), value_text(2.0**60), value_text(Decimal("1.50"))
    ('0.1', '1152921504606846976', '1.50')
    """
    if isinstance(value, float) and EXACT_FLOATS <= abs(value) < math.inf:
        return str(int(value))
    return str(value)


@dataclass(frozen=True)
class Range:
    """Values from ``low`` to ``high``; None is no bound. Ends are included unless they are open.

    >>> str(Range(100, 200, high_open=True)), str(Range(low=5, low_open=True)), str(Range(7, 7))
    ('[100, 200)', '> 5', '= 7')
    """

    low: Value | None = None
    high: Value | None = None
    low_open: bool = False
    high_open: bool = False

    def __str__(self) -> str:
        if self.low is None and self.high is None:
            return "*"
        low, high = value_text(self.low), value_text(self.high)
        if self.high is None:
            return f"{'>' if self.low_open else '>='} {low}"
        if self.low is None:
            return f"{'<' if self.high_open else '<='} {high}"
        if self.low == self.high and not self.low_open and not self.high_open:
            return f"= {low}"
        left, right = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"{left}{low}, {high}{right}"


@dataclass(frozen=True)
class OneOf:
    """Any of some values: equality of texts, and IN.

    >>> str(OneOf(("tcp", "udp"))), str(OneOf((1, 2)))
    ("in ('tcp', 'udp')", 'in (1, 2)')
    """

    values: tuple[Value, ...]

    def __str__(self) -> str:
        listed = (
            "'" + v.replace("'", "''") + "'" if isinstance(v, str) else value_text(v)
            for v in self.values
        )
        return f"in ({', '.join(listed)})"


Condition = Range | OneOf


@dataclass(frozen=True)
class Entry:
    """Conditions by attribute, all of which have to hold."""

    conditions: tuple[tuple[str, Condition | Value], ...]

    @classmethod
    def of(cls, conditions: Mapping[str, Condition | Value]) -> Entry:
        return cls(tuple(conditions.items()))


@dataclass(frozen=True)
class Subscription:
    """An identifier and its entries, one of which has to match.

    >>> Subscription.of(7, {"bytes": Range(low=1000)}).entries[0].conditions[0][0]
    'bytes'
    """

    id: Id
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, name: Id, /, *entries: Mapping[str, Condition | Value]) -> Subscription:
        """A subscription from one mapping per entry.

        A condition may be written as text, as in files; any other plain value stands for
        equality.

        >>> alert = Subscription.of("a1", {"bytes": "> 1000", "proto": "tcp"}, {"bytes": 0})
        >>> len(alert.entries)
        2
        """
        return cls(name, tuple(Entry.of(e) for e in entries))
