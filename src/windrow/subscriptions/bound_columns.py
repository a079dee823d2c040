"""Conditions given as values: the columns ``x_min``, ``x_max`` and ``x_bounds``.

Values of the attribute's own type are bounds as they stand. All others go by their text, which
says exactly which number or moment they are, so that a bound may be of another type than the
attribute: a fraction on integers, a floating point number on decimals.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools
from windrow.subscriptions.kinds import Kind, arrow_of
from windrow.subscriptions.predicates import EXACT_FLOATS, value_text
from windrow.subscriptions.spans import Spans, in_order, ranges
from windrow.subscriptions.text import Misfits, ends

BOUNDS = ("[]", "[)", "(]", "()")


def spans_of_bounds(
    columns: Mapping[str, pa.Array], name: str, kind: Kind, misfits: Misfits
) -> Spans:
    """Conditions from ``x_min``, ``x_max`` and ``x_bounds``."""
    target = _plain_bounds(kind)
    low, high = columns.get(f"{name}_min"), columns.get(f"{name}_max")
    length = len(columns["id"])
    absent = pa.nulls(length, target)
    low, high = (absent if side is None else side for side in (low, high))
    low_open, high_open = _open_ends(columns.get(f"{name}_bounds"), length, misfits)
    entries = np.arange(length, dtype=np.int64)
    if low.type == high.type == target != pa.string():
        lo, hi = ranges(low, high, low_open, high_open)
    else:
        texts = as_text(low), as_text(high)
        _, lo, hi = ends(entries, *texts, low_open, high_open, kind, misfits)
        low, high = (pc.if_else(pc.equal(t, ""), pa.scalar(None, pa.string()), t) for t in texts)
    constrained: Bools = pc.or_(pc.is_valid(low), pc.is_valid(high)).to_numpy(zero_copy_only=False)
    return in_order(constrained, entries[constrained], lo[constrained], hi[constrained])


def _plain_bounds(kind: Kind) -> pa.DataType:
    """The type of columns whose values are bounds as they stand; of others it is their text."""
    found, kinds = arrow_of(kind), pa.types
    if kinds.is_timestamp(found) or kinds.is_date(found) or kinds.is_boolean(found):
        return found
    if kinds.is_integer(found) and not kinds.is_uint64(found):
        return pa.int64()
    return pa.float64() if kinds.is_floating(found) else pa.string()


def _open_ends(given: pa.Array | None, length: int, misfits: Misfits) -> tuple[Bools, Bools]:
    if given is None:
        return np.zeros(length, np.bool_), np.zeros(length, np.bool_)
    said = pc.fill_null(pc.utf8_trim_whitespace(as_text(given)), "[]")
    said = pc.if_else(pc.equal(said, ""), "[]", said)
    known = pc.is_in(said, pa.array(BOUNDS)).to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(~known):
        expected = f"one of {' '.join(BOUNDS)}"
        misfits.setdefault(int(at), f"expected {expected}, found {said[int(at)].as_py()!r}")
    low_open: Bools = pc.starts_with(said, "(").to_numpy(zero_copy_only=False)
    high_open: Bools = pc.ends_with(said, ")").to_numpy(zero_copy_only=False)
    return low_open, high_open


def as_text(column: pa.Array) -> pa.Array:
    """A column's values as they are written; see ``predicates.value_text`` for floating point."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_string(column.type):
        return column
    if not pa.types.is_floating(column.type):
        return pc.cast(column, pa.string())
    values = column.cast(pa.float64())
    texts = pc.cast(values, pa.string())
    large = pc.fill_null(pc.greater_equal(pc.abs(values), EXACT_FLOATS), False)
    if not pc.any(large).as_py():
        return texts
    return pc.replace_with_mask(
        texts,
        large,
        pa.array([value_text(v) for v in values.filter(large).to_pylist()], pa.string()),
    )
