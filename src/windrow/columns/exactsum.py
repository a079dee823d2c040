"""Sums of floating-point numbers without error, and therefore without order and without drift.

A sliding sum adds what comes and subtracts what goes. In floating point the rounding errors of
both stay for ever; here the running sum is a fixed-point number wide enough for every double
(after Neal 2015, "Fast exact summation using small and large superaccumulators"): ``LIMBS``
digits of 32 bits, held in 64-bit integers so that carries can wait. Adding is three integer
additions and subtracting undoes it exactly; reading rounds once, to nearest even. So the sum
depends only on which numbers are in the window: not on the order in which they came, nor on how
the input was cut, nor on what passed through earlier. A mean is the exact sum divided exactly and
rounded once; it is a double also where the sum is beyond all doubles.

The last three columns of a row count NaN, +infinity and -infinity.

Cost: 67 + 3 integers per sum; an addition touches three of them, a reading all.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.kernels import helper
from windrow.columns.limbs import add_word, as_double, carry_out, divide, magnitude_of

LIMBS = 67
SPECIALS = 3
NANS, POSITIVE, NEGATIVE = -3, -2, -1
"""Columns of a row, from its end: how many of each are in the sum."""
WIDTH = LIMBS + SPECIALS
BASE = 1074
FRACTION = 8
"""Limbs below a number for the fraction of a quotient."""
SCRATCH = LIMBS + FRACTION


@helper
def mantissa_of(bits):  # type: ignore[no-untyped-def]
    """A finite double as an unsigned whole number, and the place of its first bit over 2**-1074."""
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent:
        return np.uint64(mantissa | (1 << 52)), exponent - 1
    return np.uint64(mantissa), 0


@helper
def is_special(bits):  # type: ignore[no-untyped-def]
    """Whether the double is infinite or NaN."""
    return (bits >> 52) & 0x7FF == 0x7FF


@helper
def add_special(row, bits, sign):  # type: ignore[no-untyped-def]
    """Count an infinity or NaN in, or out."""
    if bits & 0xFFFFFFFFFFFFF:
        row[NANS] += sign
    elif bits < 0:
        row[NEGATIVE] += sign
    else:
        row[POSITIVE] += sign


@helper
def has_special(row):  # type: ignore[no-untyped-def]
    return row[NANS] != 0 or row[POSITIVE] != 0 or row[NEGATIVE] != 0


@helper
def add_exact(sums, row, bits, sign):  # type: ignore[no-untyped-def]
    """Add (``sign`` 1) or take away (-1) the double with these ``bits``.

    Between two readings a row takes 2**30 additions before a limb could overflow.
    """
    if is_special(bits):
        add_special(sums[row], bits, sign)
        return
    mantissa, place = mantissa_of(bits)
    add_word(sums[row], place, mantissa, -sign if bits < 0 else sign)


@helper
def read_mean(sums, row, count, scratch):  # type: ignore[no-untyped-def]
    """The sum divided by ``count``, rounded to the nearest double; a sum for a count of 1.

    Carries that waited are carried out. ``scratch`` has SCRATCH integers.
    """
    limbs = sums[row]
    carry_out(limbs, LIMBS)
    if limbs[NANS] or (limbs[POSITIVE] and limbs[NEGATIVE]):
        return np.nan
    if limbs[POSITIVE]:
        return np.inf
    if limbs[NEGATIVE]:
        return -np.inf
    negative = magnitude_of(limbs, LIMBS, FRACTION, scratch)
    sticky = count > 1 and divide(scratch, SCRATCH, count)
    return as_double(scratch, SCRATCH, BASE + 32 * FRACTION, sticky, negative)
