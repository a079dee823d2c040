"""What lies between two numbers, worked out without error and rounded once.

``low + (high - low) * share`` in doubles overflows between -1e308 and 1e308, and loses what is
small where the two nearly cancel. Here the three products that it is worth are added as whole
numbers over 2**-2148 (``windrow.columns.limbs``).
"""

from __future__ import annotations

import numpy as np

from windrow.columns.exactsum import BASE, LIMBS, is_special, mantissa_of
from windrow.columns.kernels import boolean, floats, floats_out, inline, ints, kernel, void
from windrow.columns.limbs import add_product, as_double, carry_out, magnitude_of

WIDE = 2 * LIMBS + 3
WHOLE = 1 << 53
"""Integers up to here are doubles."""


@inline
def _add_part(limbs, number, integral, word, place, sign):  # type: ignore[no-untyped-def]
    """Add the number, times the double that ``word`` at ``place`` is."""
    if integral:
        size, at = np.uint64(abs(number)), BASE
    else:
        size, at = mantissa_of(number)
    add_product(limbs, at + place, size, word, -sign if number < 0 else sign)


@kernel(void, ints, ints, floats, boolean, floats_out)
def interpolate(low, high, share, integral, between):  # type: ignore[no-untyped-def]
    """Numbers are integers, or the bits of doubles; ``share`` is from 0 to 1 (below 0: nothing)."""
    limbs, scratch = np.empty(WIDE, np.int64), np.empty(WIDE, np.int64)
    ends, part = np.empty(2, np.float64), np.empty(1, np.float64)
    for i in range(len(share)):
        if integral:
            ends[0], ends[1] = np.float64(low[i]), np.float64(high[i])
        else:
            ends.view(np.int64)[0], ends.view(np.int64)[1] = low[i], high[i]
        one, other, s = ends[0], ends[1], share[i]
        middle = (one + other) * 0.5
        if low[i] == high[i] or s <= 0.0:
            between[i] = one
        elif s >= 1.0:
            between[i] = other
        elif not integral and (is_special(low[i]) or is_special(high[i])):
            between[i] = one * (1.0 - s) + other * s
        elif (
            s == 0.5
            and 1e-290 < abs(middle) < 1e300
            and (not integral or -WHOLE <= low[i] <= high[i] <= WHOLE)
        ):
            between[i] = middle  # halving is exact, so it was rounded once
        else:
            part[0] = s
            word, place = mantissa_of(part.view(np.int64)[0])
            limbs[:] = 0
            _add_part(limbs, low[i], integral, np.uint64(1), BASE, 1)
            _add_part(limbs, low[i], integral, word, place, -1)
            _add_part(limbs, high[i], integral, word, place, 1)
            carry_out(limbs, WIDE)
            negative = magnitude_of(limbs, WIDE, 0, scratch)
            between[i] = as_double(scratch, WIDE, 2 * BASE, False, negative)
