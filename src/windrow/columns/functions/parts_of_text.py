"""SPLIT_PART: a part of each text between separators, found in its bytes.

A separator is a text itself, so that in UTF-8 it stands nowhere but where it is meant.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import string_parts, validity
from windrow.columns.byte_kernels import BLOCK, equal_bytes, lowest_bit, same_bytes
from windrow.columns.copied_texts import gather_bytes
from windrow.columns.kernels import bytes_in, int64, ints, ints_out, kernel, void


@kernel(void, ints, bytes_in, bytes_in, int64, ints_out, ints_out, ints_out)
def _find(offsets, data, separator, place, found, starts, lengths):  # type: ignore[no-untyped-def]
    """The bytes of the part of that place, from 1, or from the end if it is negative.

    ``found`` has room for the separators of the longest text.
    """
    size, first = len(separator), separator[0]
    for i in range(len(starts)):
        at, stop, count = offsets[i], offsets[i + 1], 0
        while at + size <= stop and count != place:
            if at + BLOCK <= len(data):
                at += lowest_bit(equal_bytes(data, at, first))
            else:
                at += data[at] != first
            if at + size > stop or data[at] != first:
                continue
            if size == 1 or same_bytes(data, at, separator, 0, size):
                found[count] = at
                count += 1
                at += size
            else:
                at += 1
        part = place - 1 if place > 0 else count + 1 + place
        starts[i], lengths[i] = offsets[i], 0
        if 0 <= part <= count:
            starts[i] = found[part - 1] + size if part else offsets[i]
            lengths[i] = (found[part] if part < count else stop) - starts[i]


def parts_of_text(texts: pa.Array, separator: str, place: int) -> pa.Array:
    """The part of each text; empty if there are not so many.

    >>> parts_of_text(pa.array(["a/b/c", "a", None, ""]), "/", -2).to_pylist()
    ['b', '', None, '']
    """
    offsets, data = string_parts(texts)
    starts, lengths = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    found = np.empty(int(np.diff(offsets).max(initial=0)), np.int64)
    looked_for = np.frombuffer(separator.encode(), np.uint8)
    _find(offsets, data, looked_for, place, found, starts, lengths)
    return gather_bytes(data, starts, lengths, validity(texts), texts.type)
