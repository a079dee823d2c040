"""Bounds as people write them, exactly: the texts of one end of many ranges to places among keys.

A text says a number, or a moment, of any precision, and an attribute has only some of them. So a
bound is read as the last key that is not above it, and whether it lies *between* that key and
the next; which key is the first or the last in a range follows from that and from whether the end
is open (``windrow.subscriptions.spans``). ``> 2.5`` is ``>= 3`` of an integer, ``<= 0.125`` is
``<= 0.12`` of a decimal with two places, ``= 12:00:00.5`` is met by no whole second.

Floating point is the one exception. A fraction is taken as the nearest number of 64 bits, as in
every language, because ``= 0.1`` is meant to be met; whole numbers without an exponent are exact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s, order_keys
from windrow.columns.decimal_casts import cast_to_decimals
from windrow.columns.types import parse, readable
from windrow.core.schema import Type
from windrow.subscriptions.predicates import DIGITS_OF_128_BITS, Kind, arrow_of
from windrow.subscriptions.wide_decimals import words_for, words_in

NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII)
UNREAL = {
    sign + word: value
    for sign, value in (("", 1), ("+", 1), ("-", -1))
    for word in ("inf", "infinity")
}
PLACES = 400
"""Numbers of more digits before the point than any type has are as good as infinite."""
NEAR, FAR = int(np.iinfo(np.int64).min), int(np.iinfo(np.int64).max)
MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}
A_DAY = 86_400_000_000
WHOLE_BEYOND_DOUBLES = r"^\s*[+-]?\d{16,}\s*$"
FINE_SECONDS = r":\d\d\.\d{6}(?P<digits>\d+)"
TIME_OF_DAY = r"^\s*\d\d:\d\d(:\d\d(\.\d+)?)?\s*$"


class Floor(NamedTuple):
    """The greatest integer not above a number, and whether the number is beyond it.

    ``far`` is 1 or -1 for what is above or below everything; None stands for NaN.
    """

    value: int
    between: bool
    far: int | None = 0


def floor_of(text: str, places: int) -> Floor | None:
    """The number in units of ``10**-places``; None if the text is no number.

    >>> floor_of("-2.5", 0), floor_of("1e2", 2)
    (Floor(value=-3, between=True, far=0), Floor(value=10000, between=False, far=0))
    """
    text = text.strip()
    if not NUMERAL.fullmatch(text):
        word = text.lower()
        if word.lstrip("+-") == "nan":
            return Floor(0, False, None)
        return Floor(0, False, UNREAL[word]) if word in UNREAL else None
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)  # it has digits, so it is finite
    size = int("".join(map(str, digits)))
    raised = exponent + places
    if size == 0:
        return Floor(0, False)
    if raised + len(digits) > PLACES:
        return Floor(0, False, -1 if sign else 1)
    if raised >= 0:
        size *= 10**raised
        return Floor(-size if sign else size, False)
    if raised + len(digits) < -1:  # nearer to zero than half of a unit
        return Floor(-1 if sign else 0, True)
    whole, rest = divmod(-size if sign else size, 10**-raised)
    return Floor(whole, rest != 0)


@dataclass
class Bounds:
    """One end of many ranges. ``at`` are keys, or the words of decimals, a row for each.

    ``given`` is where there is a bound at all, ``below`` where it is below every value, ``never``
    where nothing compares with it (NaN), and ``failed`` where the text could not be read.
    """

    at: Int64s
    between: Bools
    given: Bools
    below: Bools
    never: Bools
    failed: Bools

    @classmethod
    def over(cls, at: Int64s, given: Bools, readable: Bools) -> Bounds:
        """Bounds that lie at the keys themselves."""
        none = [np.zeros(len(given), np.bool_) for _ in range(3)]
        owned: Int64s = np.require(at, requirements="W")  # Arrow's own memory is for reading
        return cls(owned, none[0], given, none[1], none[2], given & ~readable)

    def put(self, place: int, found: Floor) -> None:
        """Take a number that was read by itself, in keys."""
        self.failed[place] = False
        self.never[place] = found.far is None
        self.below[place] = found.far == -1 or found.value < NEAR
        above = found.far == 1 or found.value > FAR
        self.between[place] = found.between or above
        self.at[place] = FAR if above else max(found.value, NEAR)


def read_bounds(texts: pa.Array, kind: Kind) -> Bounds:
    """The bounds that the texts say for an attribute of this kind; NULL says none."""
    found = arrow_of(kind)
    if pa.types.is_decimal(found):
        return _decimals(texts, found)
    if pa.types.is_integer(found):
        return _integers(texts, unsigned=pa.types.is_uint64(found))
    if pa.types.is_floating(found):
        return _floats(texts)
    if pa.types.is_boolean(found):
        return _typed_bounds(texts, parse(texts, Type.BOOLEAN))
    return _moments(texts, found)


def _typed_bounds(texts: pa.Array, values: pa.Array) -> Bounds:
    return Bounds.over(order_keys(values), *(_flags(pc.is_valid(c)) for c in (texts, values)))


def _flags(values: pa.Array) -> Bools:
    flags: Bools = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return flags


def _integers(texts: pa.Array, unsigned: bool) -> Bounds:
    """Keys are the integers; those of unsigned 64 bits begin at the least key."""
    base = NEAR if unsigned else 0
    if unsigned:
        trimmed = pc.utf8_trim_whitespace(texts)
        values = readable(trimmed, lambda part: pc.cast(part, pa.uint64()), pa.uint64())
        keys = pc.fill_null(values, 0).to_numpy().view(np.int64) ^ np.int64(NEAR)
        given = _flags(pc.is_valid(texts))
        bounds = Bounds.over(keys, given, _flags(pc.is_valid(values)))
    else:
        bounds = _typed_bounds(texts, parse(texts, Type.BIGINT))
    for place in np.flatnonzero(bounds.failed):
        number = floor_of(texts[int(place)].as_py(), 0)
        if number is not None:
            bounds.put(int(place), number._replace(value=number.value + base))
    return bounds


def _decimals(texts: pa.Array, kind: pa.DataType) -> Bounds:
    """In units of the last place, as words: bounds may have more digits than the values."""
    count = 2 if kind.precision <= DIGITS_OF_128_BITS else 4
    target = pa.decimal128(38, kind.scale) if count == 2 else pa.decimal256(76, kind.scale)
    trimmed = pc.utf8_trim_whitespace(texts)
    values = readable(trimmed, lambda part: cast_to_decimals(part, target), target)
    given, known = (_flags(pc.is_valid(c)) for c in (texts, values))
    bounds = Bounds.over(words_in(values), given, known)
    numbers: list[int] = []
    places = []
    for place in np.flatnonzero(bounds.failed):
        number = floor_of(texts[int(place)].as_py(), kind.scale)
        if number is None:
            continue
        bounds.put(int(place), number._replace(value=0))
        places.append(int(place))
        numbers.append(number.far * 10**120 if number.far else number.value)
    if places:
        # What is out of range is put at the utmost words, which no decimal has.
        bounds.at[places] = words_for(numbers, count)
        bounds.below[places] = False
    return bounds


def _floats(texts: pa.Array) -> Bounds:
    values = parse(texts, Type.DOUBLE)
    bounds = _typed_bounds(texts, values)
    bounds.never = bounds.given & (bounds.at == FAR)
    long = np.flatnonzero(_flags(pc.match_substring_regex(texts, WHOLE_BEYOND_DOUBLES)))
    for place in long:
        nearest, exact = values[int(place)].as_py(), int(texts[int(place)].as_py())
        if nearest is not None and nearest != exact:
            bounds.between[place] = True
            bounds.at[place] -= nearest > exact
    return bounds


def _moments(texts: pa.Array, kind: pa.DataType) -> Bounds:
    """Dates, times and timestamps: microseconds first, then in the unit of the attribute."""
    if pa.types.is_time(kind):
        clock = _flags(pc.match_substring_regex(texts, TIME_OF_DAY))
        dated = pc.binary_join_element_wise("1970-01-01", pc.utf8_trim_whitespace(texts), " ")
        texts = pc.if_else(pc.or_kleene(pa.array(clock), pc.is_null(texts)), dated, texts)
    values = parse(texts, Type.TIMESTAMP)
    bounds = _typed_bounds(texts, values)
    if pa.types.is_time(kind):
        bounds.failed |= bounds.given & ~clock
    finer = pc.struct_field(pc.extract_regex(texts, FINE_SECONDS), "digits")
    if pa.types.is_date(kind):
        return _coarser(bounds, A_DAY, finer)
    if kind.unit != "ns":
        return _coarser(bounds, MICROSECONDS[kind.unit], finer)
    return _nanoseconds(bounds, finer)


def _coarser(bounds: Bounds, unit: int, finer: pa.Array) -> Bounds:
    whole: npt.NDArray[np.int64] = bounds.at // unit
    bounds.between = (bounds.at != whole * unit) | _more(finer, 0)
    bounds.at = whole
    return bounds


def _nanoseconds(bounds: Bounds, finer: pa.Array) -> Bounds:
    """A thousand of them to a microsecond, which not every timestamp has room for."""
    digits = pc.utf8_slice_codeunits(pc.utf8_rpad(pc.fill_null(finer, ""), 3, "0"), 0, 3)
    more: Int64s = pc.cast(digits, pa.int64()).to_numpy()
    bounds.between = _more(finer, 3)
    outside = np.abs(bounds.at) > FAR // 1000 - 1
    places = np.flatnonzero(outside)
    exact = [int(bounds.at[p]) * 1000 + int(more[p]) for p in places]
    bounds.at = np.where(outside, 0, bounds.at) * 1000 + more
    for place, value in zip(places, exact, strict=True):
        bounds.put(int(place), Floor(value, bool(bounds.between[place])))
    return bounds


def _more(digits: pa.Array, start: int) -> Bools:
    """Where there is a digit other than 0 from ``start`` on."""
    rest = pc.utf8_slice_codeunits(pc.fill_null(digits, ""), start, 1 << 30)
    return _flags(pc.match_substring_regex(rest, "[1-9]"))
