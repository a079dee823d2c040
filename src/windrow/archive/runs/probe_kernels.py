"""A key found in all runs of a plan in one call, and the rows that were found as Python tuples.

Both go by addresses alone: a call with integers costs a quarter of a call with arrays. Whoever
calls holds what the addresses are of.
"""

from __future__ import annotations

import numpy as np

from windrow.archive.format.block_kernels import array_at, pointer, prefetch, touch_rows
from windrow.archive.runs.fence_kernels import narrow
from windrow.archive.runs.probe_plan import (
    BOOL,
    BYTE_STRING,
    CODE_WIDTH,
    CONSTANT,
    DICTIONARY,
    FAR,
    FENCE_COUNT,
    FENCES,
    FENCES_PAY,
    FIRST,
    HEAD_COLUMNS,
    HIGH,
    LINES,
    LINES_AT,
    LOOKS_LEFT,
    LOW,
    OBJECT_COLUMNS,
    OBJECTS,
    OWNER,
    PLAN_COLUMNS,
    ROWS,
    SHEET,
    SPAN,
    STAMP_FORM,
    STAMPS,
    TEXT,
    TEXTS_AT,
    VALUE_FORM,
    VALUES_AT,
)
from windrow.archive.runs.search import BYTES, FLOAT32, FLOAT64, UINT64, WIDTHS
from windrow.archive.runs.search_kernels import (
    DATA,
    FORM,
    KEYS,
    STARTS,
    bucket_of,
    number_at,
    place_of,
)
from windrow.columns.kernels import boolean, inline, int64, kernel, void
from windrow.columns.object_calls import (
    clear_error,
    hold,
    item_of,
    new_ascii,
    new_bool,
    new_bytes,
    new_float,
    new_int,
    new_text,
    new_tuple,
    new_unsigned,
    object_kernel,
    put_in_list,
    put_in_tuple,
)


@kernel(int64, int64, int64, int64, int64, int64)
def _first_stamp(at, form, bound, start, stop):  # type: ignore[no-untyped-def]
    """The first row of [start, stop) whose stamp is not less."""
    while start < stop:
        middle = (start + stop) // 2
        if number_at(at, form, middle) < bound:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel(int64, int64, int64, int64, int64, int64)
def find_stored(head_at, text_at, length, number, out_at):  # type: ignore[no-untyped-def]
    """How many lines have the key, and for each of them its place and rows in ``out``; after them
    the number of all rows. Where a block is damaged, -1 minus twice the line for its directory and
    one less for its entries, and in ``out`` what ``touch`` says. ``FENCES_PAY`` where the keys
    looked up have become so many.

    The lines are gone through three times: what lies near the key in one is brought near while the
    others are searched. Of a bucket that is in two batches each has its part.
    """
    head = array_at(pointer(head_at), HEAD_COLUMNS, np.int64)
    plan_at, lines = head[LINES_AT], head[LINES]
    if head[LOOKS_LEFT]:
        head[LOOKS_LEFT] -= 1
        if not head[LOOKS_LEFT]:
            return FENCES_PAY
    text = array_at(pointer(text_at), length, np.uint8)
    out = array_at(pointer(out_at), SPAN * lines + 1, np.int64)
    count = rows = 0
    for each in range(lines):
        line_at = plan_at + 8 * PLAN_COLUMNS * each
        line = array_at(pointer(line_at), PLAN_COLUMNS, np.int64)
        low, high = narrow(line_at, line[FENCES], line[FENCE_COUNT], text, number)
        out[SPAN * each], out[SPAN * each + 1] = low, high
        if line[FENCES]:
            prefetch(line[KEYS] + low * 8)
            prefetch(line[STARTS] + low * 8)
    for each in range(lines):
        line = array_at(pointer(plan_at + 8 * PLAN_COLUMNS * each), PLAN_COLUMNS, np.int64)
        if line[FENCES] and line[FORM] == BYTES:
            place = out[SPAN * each]
            prefetch(line[DATA] + array_at(pointer(line[KEYS]), place + 1, np.int64)[place])
    for each in range(lines):
        line_at = plan_at + 8 * PLAN_COLUMNS * each
        line = array_at(pointer(line_at), PLAN_COLUMNS, np.int64)
        place = place_of(line_at, text, number, out[SPAN * each], out[SPAN * each + 1])
        start, stop = bucket_of(line_at, place)
        if stop < 0:
            out[0] = start
            return -1 - 2 * each
        start, stop = max(start - line[FIRST], 0), min(stop - line[FIRST], line[ROWS])
        if start >= stop:
            continue
        if line[SHEET]:
            bad = touch_rows(line[SHEET], start, stop)
            if bad:
                out[0] = bad
                return -2 - 2 * each
        if line[STAMPS]:
            at, form = line[STAMPS], line[STAMP_FORM]
            first = _first_stamp(at, form, line[LOW], start, stop)
            stop = _first_stamp(at, form, line[HIGH], first, stop)
            start = first
            if start == stop:
                continue
        out[count * SPAN], out[count * SPAN + 1], out[count * SPAN + 2] = each, start, stop
        rows += stop - start
        count += 1
    out[count * SPAN] = rows
    return count


@inline
def _code(codes, width, place):  # type: ignore[no-untyped-def]
    code = np.int64(codes[place * width])
    for i in range(1, width):
        code |= np.int64(codes[place * width + i]) << (8 * i)
    return code


@kernel(void, int64, int64, int64, int64)
def _approach(line_at, start, stop, second):  # type: ignore[no-untyped-def]
    """Have the dictionary's values of some rows brought near, all at the same time: they lie apart,
    and to wait for one after the other takes longer than to make the objects. What is read by way
    of something else comes near in a ``second`` step.
    """
    line = array_at(pointer(line_at), OBJECT_COLUMNS, np.int64)
    form, width, values = line[VALUE_FORM], line[CODE_WIDTH], line[DICTIONARY]
    if not line[FAR]:
        return
    codes = array_at(pointer(line[VALUES_AT]), stop * width, np.uint8)
    if line[OBJECTS]:
        for row in range(start, stop):
            place = line[OBJECTS] + 8 * _code(codes, width, row)
            prefetch(array_at(pointer(place), 1, np.int64)[0] if second else place)
        return
    strings = form in (TEXT, BYTE_STRING)
    wide = 4 if strings else WIDTHS[form]
    if not second:
        for row in range(start, stop):
            prefetch(values + _code(codes, width, row) * wide)
    elif strings:
        for row in range(start, stop):
            code = _code(codes, width, row)
            prefetch(line[TEXTS_AT] + array_at(pointer(values), code + 1, np.int32)[code])


@inline
def _number_object(at, form, place):  # type: ignore[no-untyped-def]
    """A number as a new Python object."""
    if form == FLOAT64:
        return new_float(array_at(pointer(at), place + 1, np.float64)[place])
    if form == FLOAT32:
        return new_float(np.float64(array_at(pointer(at), place + 1, np.float32)[place]))
    if form == UINT64:
        return new_unsigned(array_at(pointer(at), place + 1, np.int64)[place])
    if form == BOOL:
        bits = array_at(pointer(at), (place >> 3) + 1, np.uint8)
        return new_bool(np.int64((bits[place >> 3] >> (place & 7)) & 1))
    return new_int(number_at(at, form, place))


@inline
def _text_object(offsets_at, data_at, form, place):  # type: ignore[no-untyped-def]
    """A string or bytes as a new Python object."""
    offsets = array_at(pointer(offsets_at), place + 2, np.int32)
    start = np.int64(offsets[place])
    length = np.int64(offsets[place + 1]) - start
    if form != TEXT:
        return new_bytes(data_at + start, length)
    data = array_at(pointer(data_at + start), length, np.uint8)
    high = np.uint8(0)
    for i in range(length):
        high |= data[i]
    if high < 128:
        return new_ascii(data_at + start, length)
    return new_text(data_at + start, length, 0)


@object_kernel(boolean, int64, int64, int64, int64, int64, int64)
def _fill(line_at, start, stop, given, column, tuples_at):  # type: ignore[no-untyped-def]
    """Put the values of a column in rows of a run into tuples; False where one cannot be made."""
    line = array_at(pointer(line_at), OBJECT_COLUMNS, np.int64)
    form, width, owner = line[VALUE_FORM], line[CODE_WIDTH], line[OWNER]
    values_at, texts_at = line[VALUES_AT], line[TEXTS_AT]
    at = line[DICTIONARY] if width else values_at
    tuples = array_at(pointer(tuples_at), stop - start, np.int64)
    codes = array_at(pointer(values_at), stop * width, np.uint8)
    for row in range(start, stop):
        place = _code(codes, width, row) if width else row
        value = np.int64(given) if form == CONSTANT else np.int64(0)
        if owner:
            value = array_at(pointer(line[OBJECTS]), place + 1, np.int64)[place]
        if value:
            hold(value)
        else:
            if form in (TEXT, BYTE_STRING):
                value = _text_object(at, texts_at, form, place)
            else:
                value = _number_object(at, form, place)
            if not value:
                return False
            if owner:
                hold(value)
                put_in_list(owner, place, value)
                array_at(pointer(line[OBJECTS]), place + 1, np.int64)[place] = value
        put_in_tuple(tuples[row - start], column, value)
    return True


@object_kernel(boolean, int64, int64, int64, int64)
def _fill_from(values, column, tuples_at, count):  # type: ignore[no-untyped-def]
    """Put the values of a list into tuples."""
    tuples = array_at(pointer(tuples_at), count, np.int64)
    for row in range(count):
        value = item_of(values, row)
        if not value:
            return False
        hold(value)
        put_in_tuple(tuples[row], column, value)
    return True


@object_kernel(boolean, int64, int64, int64, int64, int64, int64, int64)
def make_rows(lines_at, columns, spans_at, count, given, lists_at, out):  # type: ignore[no-untyped-def]
    """Fill the list ``out``, which has a place for each row of the spans, with tuples. A column
    that the kernel cannot read is taken from a list; ``given`` is the key. False where a value
    cannot be made: then the tuples are not complete, and nobody may look at them.
    """
    spans = array_at(pointer(spans_at), SPAN * count + 1, np.int64)
    rows = spans[SPAN * count]
    lists = array_at(pointer(lists_at), columns, np.int64)
    size = 8 * OBJECT_COLUMNS
    for second in range(2):
        for span in range(0, SPAN * count, SPAN):
            for column in range(columns):
                line_at = lines_at + size * (spans[span] * columns + column)
                _approach(line_at, spans[span + 1], spans[span + 2], second)
    tuples = np.empty(rows, np.int64)
    for row in range(rows):
        tuples[row] = new_tuple(columns)
        if not tuples[row]:
            clear_error()
            return False
        put_in_list(out, row, tuples[row])
    at = tuples.ctypes.data
    for column in range(columns):
        if lists[column]:
            if not _fill_from(lists[column], column, at, rows):
                clear_error()
                return False
            continue
        done = 0
        for span in range(0, SPAN * count, SPAN):
            start, stop = spans[span + 1], spans[span + 2]
            line_at = lines_at + size * (spans[span] * columns + column)
            if not _fill(line_at, start, stop, given, column, at + 8 * done):
                clear_error()
                return False
            done += stop - start
    return True
