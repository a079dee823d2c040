"""Equal tuples that come and go at one instant, found by comparing the few of an instant.

A table of all rows would do as well, and does for instants with more than ``CROWD`` events; but
most instants have two or three, and hashing their rows costs ten times what comparing them does.
The events of an instant are put into classes column by column: two are in one class if they were
so before and have the same value. What has no opposite in its class is left out of what follows,
so that the last columns, which are strings, are looked at for a few events only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.columns.arrays import Int64s, identity_keys, string_parts
from windrow.columns.kernels import bytes_in, flags_out, int64, ints, ints_out, kernel, signs, void
from windrow.core.thresholds import Threshold

CROWD = Threshold(32)
"""Events of one instant beyond which comparing each with each costs more than it saves."""


@kernel(ints_out, ints, signs, int64)
def _mixed_instants(times, sign, crowd):  # type: ignore[no-untyped-def]
    found = np.zeros(len(times), np.int64)
    start = 0
    while start < len(times):
        stop, plus, minus = start, False, False
        while stop < len(times) and times[stop] == times[start]:
            plus |= sign[stop] > 0
            minus |= sign[stop] < 0
            stop += 1
        if plus and minus:
            found[start:stop] = 1 if stop - start <= crowd else 2
        start = stop
    return found


def mixed_instants(times: Int64s, sign: npt.NDArray[np.int8]) -> Int64s:
    """Of each event: 0 if all of its instant come or all go; else 1, or 2 in a crowd."""
    found: Int64s = _mixed_instants(times, sign, CROWD.value)
    return found


@kernel(ints_out, ints, ints, ints)
def _by_number(times, classes, keys):  # type: ignore[no-untyped-def]
    """Classes of events that have the same key and were in the same class before."""
    found = np.arange(len(times))
    for i in range(len(times)):
        j = i - 1
        while j >= 0 and times[j] == times[i]:
            if classes[j] == classes[i] and keys[j] == keys[i]:
                found[i] = found[j]
                break
            j -= 1
    return found


@kernel(ints_out, ints, ints, ints, bytes_in)
def _by_text(times, classes, offsets, data):  # type: ignore[no-untyped-def]
    """As by number, comparing bytes."""
    found = np.arange(len(times))
    for i in range(len(times)):
        length = offsets[i + 1] - offsets[i]
        j = i - 1
        while j >= 0 and times[j] == times[i]:
            if classes[j] == classes[i] and offsets[j + 1] - offsets[j] == length:
                at = 0
                while at < length and data[offsets[i] + at] == data[offsets[j] + at]:
                    at += 1
                if at == length:
                    found[i] = found[j]
                    break
            j -= 1
    return found


@kernel(ints_out, ints, signs, ints)
def _with_opposite(times, sign, classes):  # type: ignore[no-untyped-def]
    """Indexes of events that have one of the opposite sign in their class."""
    found = np.empty(len(times), np.int64)
    count, start = 0, 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            stop += 1
        for i in range(start, stop):
            for j in range(start, stop):
                if classes[j] == classes[i] and sign[j] != sign[i]:
                    found[count] = i
                    count += 1
                    break
        start = stop
    return found[:count].copy()


@kernel(void, ints, signs, ints, ints, flags_out)
def _cancel(times, sign, classes, places, kept):  # type: ignore[no-untyped-def]
    """Let each event that comes take the first of its class that goes with it."""
    start = 0
    while start < len(times):
        stop = start
        while stop < len(times) and times[stop] == times[start]:
            stop += 1
        for i in range(start, stop):
            if sign[i] < 0:
                continue
            for j in range(start, stop):
                if sign[j] < 0 and classes[j] == classes[i] and kept[places[j]]:
                    kept[places[i]] = kept[places[j]] = False
                    break
        start = stop


class Cancellation:
    """Puts events of instants that are no crowds into classes, a column after the other."""

    def __init__(self, events: Int64s, times: Int64s, sign: npt.NDArray[np.int8]) -> None:
        self.events, self._times, self._sign = events, times[events], sign[events]
        self._classes = np.zeros(len(events), np.int64)

    def refine(self, column: pa.Array) -> None:
        """Compare by a column without NULL, given for ``events``; those without opposite go."""
        if pa.types.is_string(column.type):
            classes = _by_text(self._times, self._classes, *string_parts(column))
        else:
            classes = _by_number(self._times, self._classes, identity_keys(column))
        left = _with_opposite(self._times, self._sign, classes)
        self.events, self._times = self.events[left], self._times[left]
        self._sign, self._classes = self._sign[left], classes[left]

    def cancel(self, kept: npt.NDArray[np.bool_]) -> None:
        """Strike out what cancels, after all columns were compared."""
        _cancel(self._times, self._sign, self._classes, self.events, kept)
