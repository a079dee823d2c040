"""SPLIT_PART: a part of each text between separators, found in its bytes.

A separator is a text itself, so that in UTF-8 it stands nowhere but where it is meant.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import string_parts, validity
from windrow.columns.byte_kernels import same_bytes
from windrow.columns.kernels import bytes_in, inline, int64, ints, ints_out, kernel, void
from windrow.columns.stored_columns import gather_bytes


@inline
def _next_separator(data, at, stop, separator):  # type: ignore[no-untyped-def]
    """Where the next separator begins; ``stop`` if there is none."""
    size = len(separator)
    while at + size <= stop:
        if data[at] == separator[0] and same_bytes(data, at, separator, 0, size):
            return at
        at += 1
    return stop


@kernel(void, ints, bytes_in, bytes_in, int64, ints_out, ints_out)
def _find(offsets, data, separator, place, starts, lengths):  # type: ignore[no-untyped-def]
    """The bytes of the part of that place, from 1, or from the end if it is negative."""
    size = len(separator)
    for i in range(len(starts)):
        at, stop = offsets[i], offsets[i + 1]
        starts[i], lengths[i] = at, 0
        number = place
        if place < 0:
            number += 2
            end = _next_separator(data, at, stop, separator)
            while end < stop:
                number += 1
                end = _next_separator(data, end + size, stop, separator)
        if number < 1:
            continue
        end = _next_separator(data, at, stop, separator)
        while number > 1 and end < stop:
            number -= 1
            at = end + size
            end = _next_separator(data, at, stop, separator)
        if number == 1:
            starts[i], lengths[i] = at, end - at


def parts_of_text(texts: pa.Array, separator: str, place: int) -> pa.Array:
    """The part of each text; empty if there are not so many.

    >>> parts_of_text(pa.array(["a/b/c", "a", None, ""]), "/", -2).to_pylist()
    ['b', '', None, '']
    """
    offsets, data = string_parts(texts)
    starts, lengths = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    _find(offsets, data, np.frombuffer(separator.encode(), np.uint8), place, starts, lengths)
    return gather_bytes(data, starts, lengths, validity(texts), texts.type)
