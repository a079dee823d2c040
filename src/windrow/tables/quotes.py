"""The kernels that follow quotes through CSV text; ``windrow.tables.chunks`` says by what rules.

Whoever writes quotes mostly writes them around whole fields, none inside. Then the text between an
odd quote and the next one is in quotes, and 64 bytes are looked through at a time: a bit for each
says whether it is. That it is so is seen from what stands before each quote that opens and behind
each that closes. Other text is gone through byte by byte.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.byte_kernels import BLOCK, equal_bytes, lowest_bit
from windrow.columns.kernels import boolean, bytes_in, inline, int64, ints_out, kernel, void

NOTHING, EVERYTHING = np.uint64(0), np.uint64(2**64 - 1)
NEWLINE, RETURN = 10, 13


@kernel(void, bytes_in, int64, int64, int64, ints_out)
def quoted_row_ends(text, state, quote, separator, found):  # type: ignore[no-untyped-def]
    """Fill ``found`` with the first end of a row, the last one, and the state after the text."""
    newlines, returns = (0, 0), (0, 0)
    for i in range(len(text)):
        c = text[i]
        if state == 2:  # in quotes
            if c == quote:
                state = 3
        elif c == quote and state in (0, 3):  # at the beginning of a field, or a doubled one
            state = 2
        elif c == NEWLINE:
            newlines = (newlines[0] or i + 1, i + 1)
            state = 0
        elif c == RETURN:
            if i + 1 < len(text):
                returns = (returns[0] or i + 1, i + 1)
            state = 0
        else:
            state = 0 if c == separator else 1
    found[0], found[1] = newlines if newlines[1] else returns
    found[2] = state


@inline
def outside_quotes(ends, quotes, length, inside, fresh, closed):  # type: ignore[no-untyped-def]
    """Which of the ``ends`` of fields in a block of so many bytes are in no quotes.

    ``inside`` (all bits or none), ``fresh`` and ``closed`` (the lowest bit or none) say of the byte
    before the block whether it is in quotes, ends a field, or closes quotes, and come back for the
    last one of the block. Besides, there are bits where a quote is not the first or last byte of a
    field.
    """
    within = quotes
    within ^= within << np.uint64(1)
    within ^= within << np.uint64(2)
    within ^= within << np.uint64(4)
    within ^= within << np.uint64(8)
    within ^= within << np.uint64(16)
    within ^= within << np.uint64(32)
    within ^= inside
    closing, ends = quotes & ~within, ends & ~within
    behind_end = (ends << np.uint64(1)) | fresh
    behind_closing = (closing << np.uint64(1)) | closed
    odd = (quotes & within & ~behind_end) | (behind_closing & ~ends)
    odd &= EVERYTHING >> np.uint64(BLOCK - length)
    last, one = np.uint64(length - 1), np.uint64(1)
    inside = NOTHING - ((within >> last) & one)
    return ends, odd, inside, (ends >> last) & one, (closing >> last) & one


@inline
def equal_bits(data, at, length, byte):  # type: ignore[no-untyped-def]
    """A bit for each of so many bytes, ``BLOCK`` at most, that are equal to one."""
    if length == BLOCK:
        return equal_bytes(data, at, byte)
    found = NOTHING
    for i in range(length):
        found |= np.uint64(data[at + i] == byte) << np.uint64(i)
    return found


@kernel(boolean, bytes_in, int64, int64, int64, ints_out)
def plain_row_ends(text, state, quote, separator, found):  # type: ignore[no-untyped-def]
    """The same for text in which quotes are around whole fields and rows end in ``\\n``; False of
    other text.
    """
    quote, separator = np.uint8(quote), np.uint8(separator)
    inside = EVERYTHING if state == 2 else NOTHING
    fresh, closed = np.uint64(state == 0), np.uint64(state == 3)
    first, last, at, stop = 0, 0, 0, len(text)
    newlines = NOTHING  # of the last block that has any, which begins at ``last``
    while at < stop:
        length = min(BLOCK, stop - at)
        breaks = equal_bits(text, at, length, np.uint8(NEWLINE))
        ends = breaks | equal_bits(text, at, length, separator)
        quotes = equal_bits(text, at, length, quote)
        odd = equal_bits(text, at, length, np.uint8(RETURN))
        ends, wrong, inside, fresh, closed = outside_quotes(
            ends, quotes, length, inside, fresh, closed
        )
        if odd | wrong:
            return False
        breaks &= ends
        if breaks:
            first = first or at + lowest_bit(breaks) + 1
            newlines, last = breaks, at
        at += length
    while newlines:
        newlines >>= np.uint64(1)
        last += 1
    found[0], found[1] = first, last
    found[2] = 2 if inside else 3 if closed else 0 if fresh else 1
    return True
