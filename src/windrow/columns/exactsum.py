"""Sums of floating-point numbers without error, and therefore without order and without drift.

A sliding sum adds what comes and subtracts what goes. In floating point the rounding errors of
both stay for ever; here the running sum is a fixed-point number wide enough for every double
(after Neal 2015, "Fast exact summation using small and large superaccumulators"): ``LIMBS``
digits of 32 bits, held in 64-bit integers so that carries can wait. Adding is three integer
additions and subtracting undoes it exactly; reading rounds once, to nearest even. So the sum
depends only on which numbers are in the window: not on the order in which they came, nor on how
the input was cut, nor on what passed through earlier.

The last three columns of a row count NaN, +infinity and -infinity.

Cost: 67 + 3 integers per sum; an addition touches three of them, a reading all.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.columns.kernels import helper

LIMBS = 67
NANS, POSITIVE, NEGATIVE = LIMBS, LIMBS + 1, LIMBS + 2
WIDTH = LIMBS + 3


@helper
def add_exact(sums, row, bits, sign):  # type: ignore[no-untyped-def]
    """Add (``sign`` 1) or take away (-1) the double with these ``bits``.

    Between two readings a row takes 2**30 additions before a limb could overflow.
    """
    exponent = (bits >> 52) & 0x7FF
    mantissa = bits & 0xFFFFFFFFFFFFF
    if exponent == 0x7FF:
        if mantissa:
            sums[row, NANS] += sign
        elif bits < 0:
            sums[row, NEGATIVE] += sign
        else:
            sums[row, POSITIVE] += sign
        return
    if exponent:
        mantissa |= 1 << 52
        place = exponent - 1
    else:
        place = 0
    if bits < 0:
        sign = -sign
    limb, shift = place >> 5, place & 31
    low = (mantissa & 0xFFFFFFFF) << shift
    high = (mantissa >> 32) << shift
    sums[row, limb] += sign * (low & 0xFFFFFFFF)
    sums[row, limb + 1] += sign * ((low >> 32) + (high & 0xFFFFFFFF))
    sums[row, limb + 2] += sign * (high >> 32)


@helper
def read_exact(sums, row):  # type: ignore[no-untyped-def]
    """The sum, rounded to the nearest double; carries that waited are carried out."""
    if sums[row, NANS] or (sums[row, POSITIVE] and sums[row, NEGATIVE]):
        return np.nan
    if sums[row, POSITIVE]:
        return np.inf
    if sums[row, NEGATIVE]:
        return -np.inf
    carry = 0
    for i in range(LIMBS - 1):
        total = sums[row, i] + carry
        sums[row, i] = total & 0xFFFFFFFF
        carry = total >> 32
    sums[row, LIMBS - 1] += carry
    negative = sums[row, LIMBS - 1] < 0
    digits, borrow = np.empty(LIMBS, np.int64), 1
    for i in range(LIMBS):
        digit = sums[row, i]
        if negative:  # two's complement, a limb at a time
            digit = ((~digit) & 0xFFFFFFFF) + borrow
            borrow = digit >> 32
            digit &= 0xFFFFFFFF
        digits[i] = digit
    value = _rounded(digits)
    return -value if negative else value


@helper
def _rounded(digits):  # type: ignore[no-untyped-def]
    """The double nearest to a magnitude in limbs of 32 bits, the first worth 2**-1074."""
    top = LIMBS - 1
    while top >= 0 and digits[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    width = 0
    while digits[top] >> width:
        width += 1
    drop = top * 32 + width - 53  # bits below the 53 that a double holds
    if drop <= 0:
        return math.ldexp(np.float64(digits[0] | (digits[1] << 32)), -1074)
    limb, shift = drop >> 5, drop & 31
    mantissa = (digits[limb] >> shift) | (digits[limb + 1] << (32 - shift))
    if limb + 2 < LIMBS:
        mantissa |= (digits[limb + 2] << (63 - shift)) << 1
    mantissa &= (1 << 53) - 1
    half, below = (drop - 1) >> 5, (drop - 1) & 31
    if (digits[half] >> below) & 1:
        rest = digits[half] & ((1 << below) - 1)
        for i in range(half):
            rest |= digits[i]
        if rest or mantissa & 1:
            mantissa += 1
    return math.ldexp(np.float64(mantissa), drop - 1074)  # infinite where it is out of range
