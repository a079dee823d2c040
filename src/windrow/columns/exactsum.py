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

Whole numbers of any size are rows of limbs, the least first: what is added to a limb stays in it
until ``carry_out``. A *magnitude* is a row without carries and without a sign. ``base`` says what
the number is worth: its first bit stands for 2**-base. Additions, products and divisions leave no
error; a division says whether anything was left over (``sticky``), and the double nearest to the
number is found by rounding once.

Cost: 67 + 3 integers per sum; an addition touches three of them, a reading all.
"""

from __future__ import annotations

import math

import numpy as np

from windrow.columns.kernels import helper

MASK = 0xFFFFFFFF
KEPT = 7
"""Limbs of a quotient that are worked out; what lies below can only decide whether it is exact."""
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
def add_word(limbs, place, word, sign):  # type: ignore[no-untyped-def]
    """Add (``sign`` 1) or take away (-1) an unsigned word of 64 bits, its first at ``place``."""
    limb, shift = place >> 5, place & 31
    low = np.int64(word & np.uint64(MASK)) << shift
    high = np.int64(word >> np.uint64(32)) << shift
    limbs[limb] += sign * (low & MASK)
    limbs[limb + 1] += sign * ((low >> 32) + (high & MASK))
    limbs[limb + 2] += sign * (high >> 32)


@helper
def add_product(limbs, place, one, other, sign):  # type: ignore[no-untyped-def]
    """Add or take away the product of two unsigned 64-bit words."""
    half, mask = np.uint64(32), np.uint64(MASK)
    add_word(limbs, place, (one & mask) * (other & mask), sign)
    if one >> half:
        add_word(limbs, place + 32, (one >> half) * (other & mask), sign)
    if other >> half:
        add_word(limbs, place + 32, (one & mask) * (other >> half), sign)
        if one >> half:
            add_word(limbs, place + 64, (one >> half) * (other >> half), sign)


@helper
def carry_out(limbs, count):  # type: ignore[no-untyped-def]
    """Carry what waited; afterwards only the last of the ``count`` limbs has a sign."""
    carry = 0
    for i in range(count - 1):
        total = limbs[i] + carry
        limbs[i] = total & MASK
        carry = total >> 32
    limbs[count - 1] += carry


@helper
def magnitude_of(limbs, count, low, out):  # type: ignore[no-untyped-def]
    """The size of a number that was carried out, from ``out[low]`` on; whether it is negative.

    Limbs of ``out`` below ``low`` become zero: room for the fraction of a quotient.
    """
    negative = limbs[count - 1] < 0
    out[:low] = 0
    borrow = 1
    for i in range(count):
        digit = limbs[i]
        if negative:  # two's complement, a limb at a time
            digit = ((~digit) & MASK) + borrow
            borrow = digit >> 32
            digit &= MASK
        out[low + i] = digit
    return negative


@helper
def top_of(magnitude, count):  # type: ignore[no-untyped-def]
    """The greatest limb that is not zero; -1 if all are."""
    top = count - 1
    while top >= 0 and magnitude[top] == 0:
        top -= 1
    return top


@helper
def divide(magnitude, count, divisor):  # type: ignore[no-untyped-def]
    """The quotient in place, cut off; whether something was left over. ``divisor`` is below 2**48.

    Only the upper ``KEPT`` limbs are worked out, which is more than a double and the leading
    zeros of two divisions need; what is below them counts as left over.
    """
    top = top_of(magnitude, count)
    stop = max(0, top - KEPT)
    rest, by = np.uint64(0), np.uint64(divisor)
    wide = divisor > MASK
    for i in range(top, stop - 1, -1):
        digit = np.uint64(magnitude[i])
        if wide:  # sixteen bits at a time, so that the rest fits
            rest = (rest << np.uint64(16)) | (digit >> np.uint64(16))
            upper = rest // by
            rest = ((rest - upper * by) << np.uint64(16)) | (digit & np.uint64(0xFFFF))
            lower = rest // by
            rest = rest - lower * by
            magnitude[i] = np.int64((upper << np.uint64(16)) | lower)
        else:
            rest = (rest << np.uint64(32)) | digit
            quotient = rest // by
            rest = rest - quotient * by
            magnitude[i] = np.int64(quotient)
    left = rest != np.uint64(0)
    for i in range(stop):
        left = left or magnitude[i] != 0
        magnitude[i] = 0
    return left


@helper
def nearest(magnitude, count, base, sticky, least):  # type: ignore[no-untyped-def]
    """The double nearest to a magnitude, as a mantissa below 2**53 and an exponent of two.

    No bit below 2**``least`` is kept: -1074 for what must be a double itself. ``sticky`` says
    that the true number is a little larger than the magnitude.
    """
    top = top_of(magnitude, count)
    width = 0
    while top >= 0 and magnitude[top] >> width:
        width += 1
    drop = max(top * 32 + width - 53, base + least)  # bits below those that are kept
    if drop <= 0:  # at most 53 bits
        low = magnitude[0] if top >= 0 else 0
        return (low | (magnitude[1] << 32)) if top > 0 else low, -base
    limb, shift = drop >> 5, drop & 31
    if limb > top + 1:
        return 0, -base
    mantissa = 0
    for i in range(3):
        if limb + i < count:
            digit, place = magnitude[limb + i], 32 * i - shift
            if place < 0:
                mantissa |= digit >> -place
            elif place < 53:
                mantissa |= digit << place
    mantissa &= (1 << 53) - 1
    half, below = (drop - 1) >> 5, (drop - 1) & 31
    if half < count and (magnitude[half] >> below) & 1:
        rest = magnitude[half] & ((1 << below) - 1)
        for i in range(half):
            rest |= magnitude[i]
        if rest or sticky or mantissa & 1:
            mantissa += 1
    return mantissa, drop - base


@helper
def as_double(magnitude, count, base, sticky, negative):  # type: ignore[no-untyped-def]
    """The double nearest to a number; infinite where it is out of range."""
    mantissa, exponent = nearest(magnitude, count, base, sticky, -1074)
    value = math.ldexp(np.float64(mantissa), exponent)
    return -value if negative else value


@helper
def root_as_double(magnitude, count, base, sticky):  # type: ignore[no-untyped-def]
    """The square root, to within one unit in the last place; also of what no double can hold."""
    mantissa, exponent = nearest(magnitude, count, base, sticky, -(1 << 20))
    value = np.float64(mantissa)
    if exponent & 1:
        value, exponent = value * 2.0, exponent - 1
    return math.ldexp(math.sqrt(value), exponent >> 1)


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
