"""A declaration enforced on what files and pushed data have: columns by name, values by type.

A row with a value that does not fit is refused with a reason that names the column, the type
and the value; the other rows go on. Clean columns cost one conversion and one comparison of
NULL counts.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.types import arrow_schema
from windrow.core.errors import InputError
from windrow.core.schema import Field, Type
from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.catalog import NO_TIMESTAMP, StreamDeclaration
from windrow.tables.fit import Values, count_cut, fit, is_no_time, is_text, value_at
from windrow.tables.parsed_rows import Parsed, Rejected, Texts

LONGEST = 80
"""Characters of a value that a reason shows; the whole row stands beside it anyway."""


def columns_named(names: Sequence[str], wanted: str) -> list[str]:
    """The source's names that match one: the same, or else those that differ by case only."""
    exact = [name for name in names if name == wanted]
    return exact or [name for name in names if name.strip().lower() == wanted.lower()]


def resolve(
    names: Sequence[str], declaration: StreamDeclaration, where: str, hint: str = ""
) -> list[str]:
    """The source's name of each declared column; InputError unless there is exactly one.

    ``hint`` is what to do about names that are none at all.
    """
    found = []
    for field in declaration.schema:
        matches = columns_named(names, field.name)
        if len(matches) != 1:
            near = difflib.get_close_matches(field.name, names, n=1)
            meant = f"did you mean {near[0]!r}? " if near and not matches else ""
            raise InputError(
                where=where,
                expected=f"one column {field.name!r} of stream {declaration.name}",
                found=f"{len(matches) or 'none'} among {', '.join(names) or 'no columns'}",
                remedy=hint or f"{meant}rename the column, or change CREATE STREAM",
            )
        found.append(matches[0])
    return found


def csv_hint(names: Sequence[str], declaration: StreamDeclaration) -> str:
    """What to write if a header is separated by something else, or is none."""
    declared = [field.name.lower() for field in declaration.schema]
    for separator, written in ((";", ";"), ("\t", "\\t"), ("|", "|")):
        parts = [part.strip().lower() for name in names for part in name.split(separator)]
        if len(parts) > len(names) and set(declared) <= set(parts):
            return f"write FORMAT csv (SEPARATOR '{written}')"
    if len(names) == len(declared) and not set(declared) & {name.lower() for name in names}:
        return "if the files have no header, write FORMAT csv (HEADER false)"
    return ""


def resolve_names(names: Sequence[str], wanted: Sequence[str], where: str) -> list[str]:
    """The source's name of each wanted column, without a declaration to name in the error."""
    found = []
    for name in wanted:
        matches = columns_named(names, name)
        if len(matches) != 1:
            near = difflib.get_close_matches(name, names, n=1)
            raise InputError(
                where=where,
                expected=f"one column {name}",
                found=f"{len(matches) or 'none'} among {', '.join(names) or 'no columns'}",
                remedy=f"did you mean {near[0]}?" if near and not matches else "",
            )
        found.append(matches[0])
    return found


def enforce(
    columns: Sequence[Values], numbers: Int64s, declaration: StreamDeclaration, texts: Texts
) -> Parsed:
    """Columns in the declared order, of whatever types, as rows of the declared types."""
    schema = arrow_schema(declaration.schema)
    reasons: dict[int, str] = {}
    typed: list[pa.Array] = []
    cut = 0
    for field, values in zip(declaration.schema, columns, strict=True):
        column = fit(values, field.type)
        typed.append(column)
        cut += count_cut(values, field.type)
        for position in _failures(values, column, field.type):
            reasons.setdefault(int(position), _misfit(field, value_at(values, int(position))))
    if declaration.timestamp == NO_TIMESTAMP:
        ticks = pa.nulls(len(numbers), pa.int64())
    else:
        ticks = typed[declaration.timestamp].cast(pa.int64())
        for position, reason in _timeless(ticks, declaration.schema[declaration.timestamp]):
            reasons.setdefault(position, reason)
    rows = pa.RecordBatch.from_arrays(typed, schema=schema)
    parsed = Parsed(rows, numbers, (), texts, cut=cut)
    if not reasons:
        return parsed
    bad = np.array(sorted(reasons), np.int64)
    refused = [
        Rejected(int(numbers[p]), reasons[int(p)], text, _readable_ts(ticks[int(p)]))
        for p, text in zip(bad, texts(bad), strict=True)
    ]
    kept = parsed.without(bad)
    return Parsed(kept.rows, kept.numbers, refused, kept.texts, cut=cut)


def all_ticks(values: pa.Array, field: Field) -> Int64s | None:
    """The ticks of a column of timestamps of the declared type, if each row has a usable one."""
    ticks = values.cast(pa.int64())
    return None if _timeless(ticks, field) else ticks.to_numpy()


def _failures(values: Values, fit: pa.Array, kind: Type) -> Int64s:
    """Where a value went in and none came out."""
    if isinstance(values, list):
        missing = np.flatnonzero(fit.is_null().to_numpy(zero_copy_only=False))
        return np.array([p for p in missing if not _is_nothing(values[p], kind)], np.int64)
    if fit is values or fit.null_count == values.null_count:
        return np.empty(0, np.int64)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    failed = pc.and_(pc.is_null(fit), pc.is_valid(values))
    if kind is not Type.STRING and is_text(values.type):  # blank text is no value there
        failed = pc.and_(failed, pc.greater(pc.binary_length(values), 0))
    return np.flatnonzero(failed.to_numpy(zero_copy_only=False))


def _is_nothing(value: Any, kind: Type) -> bool:
    """Whether it is no value: None, NaT, or a blank text where no text is declared."""
    blank = kind is not Type.STRING and isinstance(value, str) and not value
    return value is None or blank or is_no_time(value)


def _timeless(ticks: pa.Array, field: Field) -> list[tuple[int, str]]:
    """Rows without a timestamp, or with one that leaves no room before or after it."""
    found: list[tuple[int, str]] = []
    if not ticks.null_count:
        values = ticks.to_numpy()
        if not len(values) or (values.min() > BEGINNING and values.max() < FOREVER):
            return found
    else:
        missing = np.flatnonzero(ticks.is_null().to_numpy(zero_copy_only=False))
        reason = f"column {field.name}: expected {field.type.value}, found nothing"
        found += [(int(p), f"{reason}; every row needs its timestamp") for p in missing]
    outside = pc.or_(pc.less_equal(ticks, BEGINNING), pc.greater_equal(ticks, FOREVER))
    if pc.any(outside).as_py():
        places = np.flatnonzero(outside.fill_null(False).to_numpy(zero_copy_only=False))
        reason = f"column {field.name}: expected a timestamp between {BEGINNING} and {FOREVER}"
        found += [(int(p), f"{reason}, found {ticks[int(p)].as_py()}") for p in places]
    return found


def _readable_ts(tick: pa.Scalar) -> int | None:
    value: int | None = tick.as_py()
    return value if value is not None and BEGINNING < value < FOREVER else None


def _misfit(field: Field, value: Any) -> str:
    expected = f"column {field.name}: expected {field.type.value}"
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return f"{expected} in UTF-8, found bytes {_short(repr(value)[1:])}"
    shown = repr(value) if isinstance(value, str) else as_json(value)
    return f"{expected}, found {_short(shown)}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def as_json(value: object) -> str:
    """A value or a row as JSON; what JSON does not know is written as its text."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
