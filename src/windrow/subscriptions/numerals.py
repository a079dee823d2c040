"""Decimal numerals as integers of a last place, however long they are.

What Arrow reads in one go does not come here: these are the numerals with more places than the
attribute has, or more digits than fit, and infinities. They are few, and read one by one.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

NUMERAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", re.ASCII)
UNREAL = {
    sign + word: value
    for sign, value in (("", 1), ("+", 1), ("-", -1))
    for word in ("inf", "infinity")
}
PLACES = 400
"""Numbers of more digits before the point than any type has are as good as infinite."""


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
