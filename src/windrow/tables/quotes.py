"""The kernel that follows quotes through CSV text; ``windrow.tables.chunks`` says by what rules."""

from __future__ import annotations

from windrow.columns.kernels import bytes_in, int64, ints_out, kernel, void


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
        elif c == 10:
            newlines = (newlines[0] or i + 1, i + 1)
            state = 0
        elif c == 13:
            if i + 1 < len(text):
                returns = (returns[0] or i + 1, i + 1)
            state = 0
        else:
            state = 0 if c == separator else 1
    found[0], found[1] = newlines if newlines[1] else returns
    found[2] = state
