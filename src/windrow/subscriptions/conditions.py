"""Conditions of entries as spans of keys, a column at a time: given as texts, or as values.

    [100, 200)   (0.5, 1]   [5, )     from and to; an end left out is no bound
    > 5   >= 5   < 5   <= 5   = 7     one bound, or equality; a plain value is equality too
    in (1, 2, 5)   in ('a', 'b')      any of these
    *                                 any value but NULL and NaN (not of a text)

Texts are compared for equality only, and one may be put into single quotes. How the values of a
bound are read says ``windrow.subscriptions.bounds``.

Values are in the columns ``x_min``, ``x_max`` and ``x_bounds``. Those of the attribute's own type
are bounds as they stand. All others go by their text, which says exactly which number or moment
they are, so that a bound may be of another type than the attribute: a fraction on integers, a
floating point number on decimals.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools, Int64s
from windrow.subscriptions.bounds import read_bounds
from windrow.subscriptions.predicates import (
    EXACT_FLOATS,
    Kind,
    arrow_of,
    is_text,
    kind_text,
    value_text,
    words_of,
)
from windrow.subscriptions.spans import Spans, between, distinct_texts, in_order, ranges

SPAN = r"^\s*(?P<left>[\[(])(?P<low>[^,\[\]()]*),(?P<high>[^,\[\]()]*)(?P<right>[\])])\s*$"
COMPARED = r"^\s*(?P<operator><=|>=|<|>|==?)(?P<value>[^<>=].*)$"
LISTED = r"(?i)^\s*in\s*\((?P<values>.*)\)\s*$"
EQUAL_TEXT = r"^\s*=(?P<value>.*)$"
SIGNS = re.compile(r"[\s\[\](){}<>!;]")
"""What is in a condition of another form, and in no number."""
FORMS = "; conditions are written as 5, < 5, [1, 5] and in (1, 5)"


class Misfits(dict[int, str]):
    """What could not be read, by entry: where it stands, and why.

    ``swapped`` are the ends of ranges, also by entry, whose first is above the second: they match
    nothing, which is no error.
    """

    def __init__(self) -> None:
        super().__init__()
        self.swapped: dict[int, tuple[str, str]] = {}


BOUNDS = ("[]", "[)", "(]", "()")


def spans_of_texts(texts: pa.Array, kind: Kind) -> tuple[Spans, Misfits]:
    """The conditions that the texts say; NULL (and, for numbers, a blank) says nothing."""
    if is_text(kind):
        return _of_strings(texts)
    constrained = _flags(pc.greater(pc.utf8_length(pc.utf8_trim_whitespace(texts)), 0))
    misfits = Misfits()
    parts: list[tuple[Int64s, Int64s, Int64s]] = []
    rest = np.flatnonzero(constrained)
    for pattern, read in ((SPAN, _from_to), (COMPARED, _comparisons), (LISTED, _lists)):
        matches = pc.extract_regex(texts.take(pa.array(rest)), pattern)
        found = _flags(pc.is_valid(matches))
        if found.any():
            chosen = matches.filter(pa.array(found))
            parts.append(read(rest[found], chosen, kind, misfits))
        rest = rest[~found]
    if len(rest) or not parts:
        plain = pc.utf8_trim_whitespace(texts.take(pa.array(rest)))
        parts.append(_plain(rest, plain, kind, misfits))
    columns = [np.concatenate(c) for c in zip(*parts, strict=True)]
    return in_order(constrained, *columns), misfits


def _flags(values: pa.Array) -> Bools:
    flags: Bools = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
    return flags


def _from_to(
    entries: Int64s, found: pa.StructArray, kind: Kind, misfits: Misfits
) -> tuple[Int64s, Int64s, Int64s]:
    low, high = found.field("low"), found.field("high")
    low_open = _flags(pc.equal(found.field("left"), "("))
    high_open = _flags(pc.equal(found.field("right"), ")"))
    return ends(entries, low, high, low_open, high_open, kind, misfits, ordered=True)


def _comparisons(
    entries: Int64s, found: pa.StructArray, kind: Kind, misfits: Misfits
) -> tuple[Int64s, Int64s, Int64s]:
    operator, value = found.field("operator"), found.field("value")
    nothing = pa.scalar(None, pa.string())
    upper, lower = (_flags(pc.starts_with(operator, sign)) for sign in ("<", ">"))
    strict = _flags(pc.is_in(operator, pa.array(["<", ">"])))
    low = pc.if_else(pa.array(upper), nothing, value)
    high = pc.if_else(pa.array(lower), nothing, value)
    return ends(entries, low, high, strict & lower, strict & upper, kind, misfits)


def _lists(
    entries: Int64s, found: pa.StructArray, kind: Kind, misfits: Misfits
) -> tuple[Int64s, Int64s, Int64s]:
    owners, values = _members(entries, found)
    return _plain(owners, values, kind, misfits)


def _plain(
    entries: Int64s, values: pa.Array, kind: Kind, misfits: Misfits
) -> tuple[Int64s, Int64s, Int64s]:
    any_value = _flags(pc.equal(values, "*"))
    values = pc.if_else(pa.array(any_value), pa.scalar(None, pa.string()), values)
    closed = np.zeros(len(entries), np.bool_)
    return ends(entries, values, values, closed, closed, kind, misfits)


def ends(
    entries: Int64s,
    low: pa.Array,
    high: pa.Array,
    low_open: Bools,
    high_open: Bools,
    kind: Kind,
    misfits: Misfits,
    *,
    ordered: bool = False,
) -> tuple[Int64s, Int64s, Int64s]:
    """Spans from the texts of their ends, NULL or blank for none.

    ``ordered``: a first end above the second is noted, since no value is between.
    """
    low, high = _value_texts(low), _value_texts(high)
    lows, highs = (read_bounds(side, kind) for side in (low, high))
    for texts, bounds in ((low, lows), (high, highs)):
        for at in np.flatnonzero(bounds.failed):
            found = texts[int(at)].as_py()
            form = FORMS if SIGNS.search(found) else ""
            misfits.setdefault(
                int(entries[at]), f"expected {kind_text(kind)}, found {found!r}{form}"
            )
    if ordered and lows.at.ndim == 1:
        both = lows.given & highs.given & ~(lows.failed | highs.failed | lows.never | highs.never)
        for at in np.flatnonzero(both & (lows.at > highs.at)):
            misfits.swapped[int(entries[at])] = low[int(at)].as_py(), high[int(at)].as_py()
    return entries, *between(lows, highs, low_open, high_open, words_of(kind))


def _value_texts(texts: pa.Array) -> pa.Array:
    """Values without the white space and quotes around them; NULL for blank ones."""
    trimmed = pc.utf8_trim(pc.utf8_trim_whitespace(texts), "'")
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)


def _of_strings(texts: pa.Array) -> tuple[Spans, Misfits]:
    constrained = _flags(pc.is_valid(texts))
    misfits = Misfits()
    owners: list[Int64s] = []
    values: list[pa.Array] = []
    rest = np.flatnonzero(constrained)
    matches = pc.extract_regex(texts.take(pa.array(rest)), LISTED)
    found = _flags(pc.is_valid(matches))
    if found.any():
        listed, members = _members(rest[found], matches.filter(pa.array(found)))
        owners.append(listed)
        values.append(members)
    rest = rest[~found]
    plain = texts.take(pa.array(rest))
    for at in np.flatnonzero(_flags(pc.match_substring_regex(plain, r"^\s*[<>]"))):
        misfits[int(rest[at])] = (
            f"expected a text to be equal to, found {plain[int(at)].as_py()!r}; "
            "texts have no ranges here; put a text that begins like one into single quotes"
        )
    given = pc.extract_regex(plain, EQUAL_TEXT)
    stripped = pc.utf8_trim_whitespace(pc.struct_field(given, "value"))
    owners.append(rest)
    values.append(unquote(pc.coalesce(stripped, plain)))
    entry = np.concatenate(owners)
    order = np.argsort(entry, kind="stable")
    found_texts = pa.concat_arrays(values).take(pa.array(order))
    return distinct_texts(constrained, entry[order], found_texts), misfits


def unquote(texts: pa.Array) -> pa.Array:
    """Texts in single quotes without them; a quote inside is written twice."""
    inner = pc.struct_field(pc.extract_regex(texts, r"(?s)^\s*'(?P<inner>.*)'\s*$"), "inner")
    return pc.coalesce(pc.replace_substring(inner, "''", "'"), texts)


def _members(entries: Int64s, found: pa.StructArray) -> tuple[Int64s, pa.Array]:
    """The values in each list, and whose they are."""
    owners: list[int] = []
    values: list[str] = []
    for entry, inside in zip(entries, found.field("values").to_pylist(), strict=True):
        members = list(_split_list(inside))
        owners += [int(entry)] * len(members)
        values += members
    return np.array(owners, np.int64), pa.array(values, pa.string())


def _split_list(inside: str) -> Iterable[str]:
    """The values of a list, which may be in single quotes."""
    rows = csv.reader([inside], quotechar="'", skipinitialspace=True)
    return (value.strip() for row in rows for value in row)


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
        for at in np.flatnonzero(_flags(pc.fill_null(pc.greater(low, high), False))):
            misfits.swapped[int(at)] = str(low[int(at)]), str(high[int(at)])
        lo, hi = ranges(low, high, low_open, high_open)
    else:
        texts = as_text(low), as_text(high)
        _, lo, hi = ends(entries, *texts, low_open, high_open, kind, misfits, ordered=True)
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
