"""Whole numbers of any size in limbs of 32 bits, and the double nearest to one of them.

A number is a row of 64-bit integers, the least limb first, so that carries can wait: what is
added to a limb stays in it until ``carry_out``. A *magnitude* is a row without carries and
without a sign. ``base`` says what the number is worth: its first bit stands for 2**-base.

Rounding happens once, to nearest even, whatever was done before: additions, products and
divisions leave no error, a division says whether anything was left over (``sticky``).
"""

from __future__ import annotations

import math

import numpy as np

from windrow.columns.kernels import helper

LIMB = 0xFFFFFFFF
KEPT = 7
"""Limbs of a quotient that are worked out; what lies below can only decide whether it is exact."""


@helper
def add_word(limbs, place, word, sign):  # type: ignore[no-untyped-def]
    """Add (``sign`` 1) or take away (-1) an unsigned word of 64 bits, its first at ``place``."""
    limb, shift = place >> 5, place & 31
    low = np.int64(word & np.uint64(LIMB)) << shift
    high = np.int64(word >> np.uint64(32)) << shift
    limbs[limb] += sign * (low & LIMB)
    limbs[limb + 1] += sign * ((low >> 32) + (high & LIMB))
    limbs[limb + 2] += sign * (high >> 32)


@helper
def add_product(limbs, place, one, other, sign):  # type: ignore[no-untyped-def]
    """Add or take away the product of two unsigned 64-bit words."""
    half, mask = np.uint64(32), np.uint64(LIMB)
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
        limbs[i] = total & LIMB
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
            digit = ((~digit) & LIMB) + borrow
            borrow = digit >> 32
            digit &= LIMB
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
    wide = divisor > LIMB
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
