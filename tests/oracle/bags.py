"""Bags of tuples per instant, and what changes, ISTREAM, DSTREAM and RSTREAM make of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from tests.oracle.blocks import Output
from tests.oracle.windows import Row

Bag = Counter[Row]
History = dict[int, Bag]
"""The bag at each instant; an instant that is missing has an empty one."""


def canonical(value: Any) -> Any:
    """A value that equals what SQL calls equal: one NaN, one zero, 12 digits of a float."""
    if isinstance(value, list | tuple):
        return tuple(map(canonical, value))
    if isinstance(value, dict):
        return tuple(canonical(value[name]) for name in sorted(value))
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return "NaN"
    return 0.0 if value == 0 else float(f"{value:.12g}")


def row(values: Iterable[Any]) -> Row:
    """A tuple as the bags hold it."""
    return tuple(canonical(value) for value in values)


def emitted(history: Mapping[int, Bag], output: Output, every: int, instants: range) -> History:
    """The net change (or, of a stream, what it says) at each instant.

    ``every`` is the rhythm of RSTREAM and of restore semantics; the other forms follow from the
    bags themselves.
    """
    result: History = {}
    before: Bag = Counter()
    since: Bag = Counter()  # what was to be seen, or came, since the last multiple of ``every``
    for t in instants:
        now = history.get(t, Counter())
        match output:
            case Output.CHANGES:
                said = Counter(now)
                said.subtract(before)
                said = Counter({r: n for r, n in said.items() if n})
            case Output.ISTREAM:
                said = now - before
            case Output.DSTREAM:
                said = before - now
            case Output.RSTREAM:
                said = now if t % every == 0 else Counter()
            case Output.ISTREAM_RESTORE | Output.RSTREAM_RESTORE:
                whole = output is Output.RSTREAM_RESTORE and (t - 1) % every == 0
                since += now if whole else now - before
                said = Counter()
                if t % every == 0:
                    said, since = since, said
        if said:
            result[t] = said
        before = now
    return result
