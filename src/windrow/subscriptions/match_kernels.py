"""The second phase of matching: candidates checked, and each pair told once.

An index gives pairs of a row and an entry. What is left to do touches each pair once: the other
conditions of an entry that has several, the instants at which it counts, and that a subscription
with several entries is told once per row.
"""

from __future__ import annotations

from typing import Any

from windrow.columns.kernels import (
    flags,
    flags_out,
    grid,
    inline,
    int64,
    ints,
    ints_out,
    kernel,
    void,
)


@kernel(void, ints, ints, ints, flags, ints, ints, ints, ints, flags_out)
def within(
    rows: Any, entries: Any, keys: Any, valid: Any, first: Any, count: Any, lo: Any, hi: Any,
    kept: Any,
) -> None:  # fmt: skip
    """Clear ``kept`` where the row's key is in none of the entry's spans on this attribute.

    The spans of entry ``e`` are ``first[e] .. first[e] + count[e] - 1``, in order and apart, so
    the last one that begins at or before the key is the only candidate; a negative ``count`` is
    no condition.
    """
    for i in range(len(rows)):
        n = count[entries[i]]
        if n < 0 or not kept[i]:
            continue
        row = rows[i]
        if not valid[row]:
            kept[i] = False
            continue
        key, low = keys[row], first[entries[i]]
        below, above = low, low + n
        while below < above:
            middle = (below + above) >> 1
            if lo[middle] <= key:
                below = middle + 1
            else:
                above = middle
        at = below - 1
        kept[i] = at >= low and key <= hi[at]


@inline
def _order(key: int, words: Any, row: int, other: int, others: Any, at: int) -> Any:
    """Negative, zero or positive as a value is before, at or after an end; words break ties."""
    order = (key > other) - (key < other)
    column = 0
    while order == 0 and column < words.shape[1]:
        a, b = words[row, column], others[at, column]
        order = (a > b) - (a < b)
        column += 1
    return order


@kernel(void, ints, ints, ints, grid, flags, ints, ints, ints, ints, grid, grid, flags_out)
def within_words(
    rows: Any, entries: Any, keys: Any, words: Any, valid: Any, first: Any, count: Any,
    lo: Any, hi: Any, low_words: Any, high_words: Any, kept: Any,
) -> None:  # fmt: skip
    """As ``within``, where values with one key are told apart by their words."""
    for i in range(len(rows)):
        n = count[entries[i]]
        if n < 0 or not kept[i]:
            continue
        row = rows[i]
        if not valid[row]:
            kept[i] = False
            continue
        key, low = keys[row], first[entries[i]]
        below, above = low, low + n
        while below < above:
            middle = (below + above) >> 1
            if _order(key, words, row, lo[middle], low_words, middle) >= 0:
                below = middle + 1
            else:
                above = middle
        at = below - 1
        kept[i] = at >= low and _order(key, words, row, hi[at], high_words, at) <= 0


@kernel(void, ints, ints, ints, ints, ints, flags_out)
def alive(rows: Any, entries: Any, ts: Any, since: Any, until: Any, kept: Any) -> None:
    """Clear ``kept`` where the entry does not count at the row's instant."""
    for i in range(len(rows)):
        t, e = ts[rows[i]], entries[i]
        if t < since[e] or t >= until[e]:
            kept[i] = False


@kernel(int64, ints, ints, ints_out, ints_out, ints_out)
def once(rows: Any, owners: Any, seen: Any, out_rows: Any, out_owners: Any) -> int:
    """The pairs without repetitions; ``rows`` is in order, ``seen`` is -1 for every owner."""
    count = 0
    for i in range(len(rows)):
        row, owner = rows[i], owners[i]
        if seen[owner] != row:
            seen[owner] = row
            out_rows[count] = row
            out_owners[count] = owner
            count += 1
    return count


@kernel(void, ints, ints, ints_out, ints_out)
def chain(owners: Any, entries: Any, head: Any, link: Any) -> None:
    """Put entries before the others of their owners."""
    for i in range(len(owners)):
        link[entries[i]] = head[owners[i]]
        head[owners[i]] = entries[i]


@kernel(int64, ints, ints_out, ints, ints_out)
def unchain(owners: Any, head: Any, link: Any, out: Any) -> int:
    """All entries of the owners, which have none afterwards."""
    count = 0
    for i in range(len(owners)):
        entry = head[owners[i]]
        while entry >= 0:
            out[count] = entry
            count += 1
            entry = link[entry]
        head[owners[i]] = -1
    return count
