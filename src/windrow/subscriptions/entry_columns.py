"""Subscriptions given as a table or as Python values, in the columns that a matcher takes.

A row is an entry; rows with the same ``id`` are entries of one subscription. The condition on an
attribute ``x`` is a text in a column ``x`` (see ``windrow.subscriptions.conditions``), or the
columns ``x_min`` and ``x_max``, whose ends are included unless ``x_bounds`` says otherwise (``[]``,
``[)``, ``(]`` or ``()``). Columns ``since`` and ``until`` say from which instant an entry counts,
and from which it no longer does. Other columns are not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.types import parse
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.core.time import BEGINNING, FOREVER, Clock
from windrow.core.warnings import WindrowWarning, warn_caller
from windrow.subscriptions.conditions import (
    FORMS,
    Misfits,
    as_text,
    spans_of_bounds,
    spans_of_texts,
)
from windrow.subscriptions.predicates import (
    Kind,
    OneOf,
    Subscription,
    is_text,
    value_text,
    words_of,
)
from windrow.subscriptions.spans import Spans, no_spans

KINDS = "a table, a frame, a dict of columns, or a list of dicts or Subscriptions"
Places = Callable[[int], str]
"""How a row is called in messages, by its position."""


@dataclass(frozen=True)
class EntryColumns:
    """Entries in columns, ``spans`` by attribute. One counts for ``since <= ts < until``."""

    ids: pa.Array
    since: Int64s
    until: Int64s
    spans: tuple[Spans, ...]

    def __len__(self) -> int:
        return len(self.ids)


def entries_of(
    data: Any,
    attributes: Mapping[str, Kind],
    *,
    ids: pa.DataType,
    clock: Clock = Clock.INTEGER,
    where: str = "subscriptions",
    place: Places | None = None,
) -> EntryColumns:
    """The entries in ``data``; an InputError that names the first row that cannot be read."""
    columns = _columns(data, attributes, where)
    count = len(next(iter(columns.values()))) if columns else 0
    misfits = Misfits()
    named = _identifiers(columns, ids, where, misfits)
    spans = [_attribute(columns, name, kind, where, misfits) for name, kind in attributes.items()]
    free = ~np.logical_or.reduce([s.constrained for s in spans]) if spans else np.ones(count, bool)
    for at in np.flatnonzero(free):
        misfits.setdefault(
            int(at), f"expected a condition on {' or '.join(attributes)}, found none"
        )
    kind = Type.TIMESTAMP if clock is Clock.TIMESTAMP else Type.BIGINT
    since = _instants(columns, "since", kind, BEGINNING, count, misfits)
    until = _instants(columns, "until", kind, FOREVER, count, misfits)
    place = place or (lambda row: f"{where}, row {row + 1}")
    if misfits:
        first = min(misfits)
        others = f"; {len(misfits) - 1:,} more rows are wrong" if len(misfits) > 1 else ""
        raise InputError(
            misfits[first],
            where=place(first),
            remedy=f"correct the row: no subscription is loaded while one cannot be read{others}",
        )
    _warn_of_swapped(misfits.swapped, place)
    return EntryColumns(named, since, until, tuple(spans))


def _warn_of_swapped(swapped: Mapping[int, tuple[str, str]], place: Places) -> None:
    """Say that nothing is between two bounds of which the first is above the second."""
    if not swapped:
        return
    row = min(swapped)
    first, second = swapped[row]
    others = f", and so do {len(swapped) - 1:,} others" if len(swapped) > 1 else ""
    warn_caller(
        WindrowWarning(
            f"the lower bound {first} is above the upper bound {second}, so it matches "
            f"nothing{others}",
            where=place(row),
            remedy=f"did you mean [{second}, {first}]?",
        )
    )


def _columns(data: Any, attributes: Mapping[str, Kind], where: str) -> dict[str, pa.Array]:
    """Columns by lower-case name; Python values become the texts that files would have."""
    if isinstance(data, Subscription):
        data = [data]
    if not isinstance(data, pa.Table | pa.RecordBatch | Mapping | list | tuple):
        if not hasattr(data, "__arrow_c_stream__"):
            raise InputError(where=where, expected=KINDS, found=type(data).__name__)
        _refuse_repeated(getattr(data, "columns", ()), where)
        data = pa.table(data)
    if isinstance(data, pa.Table | pa.RecordBatch):
        names = _refuse_repeated(data.schema.names, where)
        return {name: _whole(data.column(i)) for i, name in enumerate(names)}
    if not isinstance(data, Mapping):
        data = _of_rows(data, attributes, where)
    _refuse_repeated(data, where)
    lengths = {len(values) for values in data.values()}
    if len(lengths) > 1:
        raise InputError(where=where, expected="columns of one length", found=str(sorted(lengths)))
    return {str(n).strip().lower(): _texts(values) for n, values in data.items()}


def _refuse_repeated(columns: Iterable[Any], where: str) -> list[str]:
    """The names of columns in lower case, all different."""
    names = [str(name).strip().lower() for name in columns]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(
            where=where, expected="columns of different names", found=f"{repeated[0]} twice",
            remedy="write a range in one cell, as [5, 9)",
        )  # fmt: skip
    return names


def _of_rows(
    data: Sequence[Any], attributes: Mapping[str, Kind], where: str
) -> dict[str, list[Any]]:
    """Rows as columns. A row may leave attributes out, but name nothing that is none."""
    rows: list[Mapping[str, Any]] = []
    for item in data:
        if isinstance(item, Subscription):
            rows += [{"id": item.id, **dict(e.conditions)} for e in item.entries]
        elif isinstance(item, Mapping):
            rows.append(item)
        else:
            raise InputError(where=where, expected=KINDS, found=f"a list with {item!r}")
    names = {str(name): name for row in rows for name in row}
    known = {n.lower() + end for n in attributes for end in ("", "_min", "_max", "_bounds")}
    for name in names:
        if name.lower() not in known | {"id", "since", "until"}:
            near = get_close_matches(name.lower(), sorted(known), 1)
            raise InputError(
                where=where,
                expected=f"conditions on {', '.join(attributes)}",
                found=f"one on {name}",
                remedy=f"did you mean {near[0]!r}?" if near else "",
            )
    columns = {text: [row.get(name) for row in rows] for text, name in names.items()}
    said = {name.lower().removesuffix("_min").removesuffix("_max") for name in columns}
    for name in attributes if rows else ():
        if name.lower() not in said:
            columns[name] = [None] * len(rows)
    return columns


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        chunks = column.chunks
        return pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]
    return column


def _texts(values: Any) -> pa.Array:
    """A column of Python values; Arrow and numpy ones stay as they are."""
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _whole(values)
    if isinstance(values, np.ndarray) and values.dtype != object:
        return pa.array(values)
    if all(v is None or type(v) is int for v in values) and any(v is not None for v in values):
        try:
            return pa.array(values, pa.int64())
        except OverflowError:
            pass
    return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _text(value: Any) -> str:
    if isinstance(value, list | tuple | set | frozenset):
        return str(OneOf(tuple(value)))
    return value_text(value)


def _identifiers(
    columns: Mapping[str, pa.Array], kind: pa.DataType, where: str, misfits: Misfits
) -> pa.Array:
    if "id" not in columns:
        if not columns:
            return pa.array([], kind)
        raise InputError(
            where=where, expected="a column id", found=", ".join(columns) or "no columns",
            remedy="name each subscription in a column id",
        )  # fmt: skip
    given = columns["id"]
    if given.type == kind:
        named = given
    elif pa.types.is_string(kind):
        named = as_text(given)
    else:
        named = parse(as_text(given), Type.BIGINT)
    for at in np.flatnonzero(named.is_null().to_numpy(zero_copy_only=False)):
        misfits.setdefault(int(at), "expected an id, found none")
    return named


def _attribute(
    columns: Mapping[str, pa.Array], name: str, kind: Kind, where: str, misfits: Misfits
) -> Spans:
    lower = name.lower()
    low, high = columns.get(f"{lower}_min"), columns.get(f"{lower}_max")
    text = columns.get(lower)
    if text is None and low is None and high is None:
        if not columns:
            return no_spans(words_of(kind), is_text(kind))
        near = get_close_matches(lower, list(columns), 1)
        raise InputError(
            where=where,
            expected=f"a column {name}, or {name}_min and {name}_max",
            found=", ".join(columns),
            remedy=f"did you mean {near[0]!r}?" if near else "leave cells empty for no condition",
        )
    if text is not None and (low is not None or high is not None):
        raise InputError(
            where=where,
            expected=f"either {name}, or {name}_min and {name}_max",
            found="both",
            remedy="write each condition once",
        )
    found = Misfits()
    if text is not None:
        spans, found = spans_of_texts(as_text(text), kind)
    elif is_text(kind):
        raise InputError(
            where=where,
            expected=f"texts to be equal to, in a column {name}",
            found=f"{name}_min or {name}_max",
            remedy="texts have no ranges here",
        )
    else:
        spans = spans_of_bounds(columns, lower, kind, found)
    for at, reason in found.items():
        plain = reason.removesuffix(FORMS)
        misfits.setdefault(at, f"{plain} in {name}{reason[len(plain) :]}")
    misfits.swapped.update(found.swapped)
    return spans


def _instants(
    columns: Mapping[str, pa.Array], name: str, kind: Type, default: int, count: int,
    misfits: Misfits,
) -> Int64s:  # fmt: skip
    given = columns.get(name)
    if given is None:
        return np.full(count, default, np.int64)
    texts = as_text(given)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    ticks = parse(texts, kind).cast(pa.int64())
    failed = pc.and_(pc.is_null(ticks), pc.is_valid(texts)).to_numpy(zero_copy_only=False)
    for at in np.flatnonzero(failed):
        said = texts[int(at)].as_py()
        misfits.setdefault(int(at), f"expected {kind.value}, found {said!r} in {name}")
    values: Int64s = pc.fill_null(ticks, default).to_numpy()
    return values
