"""ARRAYs and STRUCTs from Python values and Arrow columns, if all that is inside fits.

A value with one inside that does not fit does not fit itself. A field that is missing is NULL, and
one that nobody declared is left out, as columns of files are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Bools
from windrow.columns.functions.operands import bools
from windrow.columns.nested_arrays import list_array, list_lengths, struct_array
from windrow.columns.types import ARROW
from windrow.core.schema import Type

Fit = Callable[[Any, Type], pa.Array]
"""Fits a column, or Python values, to a type."""


def fit_nested(values: pa.Array | list[Any], kind: Type, fit: Fit) -> pa.Array:
    """The values as ``ARROW[kind]``, NULL for each that does not fit."""
    if isinstance(values, list):
        return _python_lists(values, kind, fit) if kind.element else _dicts(values, kind, fit)
    if pa.types.is_null(values.type):
        return pa.nulls(len(values), ARROW[kind])
    if kind.element is not None and _is_any_list(values.type):
        return _lists(values, kind, fit)
    if kind.fields and pa.types.is_struct(values.type):
        return _structs(values, kind, fit)
    return pa.nulls(len(values), ARROW[kind])


def _is_any_list(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        or types.is_list_view(kind) or types.is_large_list_view(kind)
    )  # fmt: skip


def _lost(before: pa.Array | list[Any], after: pa.Array) -> Bools:
    """Where a value went in and none came out."""
    if isinstance(before, list):
        absent = np.array([v is None for v in before], np.bool_)
    else:
        absent = bools(pc.is_null(before))
    return bools(pc.is_null(after)) & ~absent


def _from_items(
    items: pa.Array | list[Any], counts: list[int] | Any, valid: Bools, kind: Type, fit: Fit
) -> pa.Array:
    assert kind.element is not None
    fitted, lengths = fit(items, kind.element), np.asarray(counts, np.int64)
    owners = np.repeat(np.arange(len(lengths)), lengths)
    valid[owners[_lost(items, fitted)]] = False
    return list_array(lengths, fitted, valid, ARROW[kind])


def _lists(values: pa.Array, kind: Type, fit: Fit) -> pa.Array:
    valid = bools(pc.is_valid(values)).copy()
    return _from_items(values.flatten(), list_lengths(values), valid, kind, fit)


def _python_lists(values: list[Any], kind: Type, fit: Fit) -> pa.Array:
    lists = [list(v) if isinstance(v, list | tuple | np.ndarray) else None for v in values]
    items = [_plain(item) for one in lists if one is not None for item in one]
    valid = np.array([one is not None for one in lists], np.bool_)
    return _from_items(items, [len(one or ()) for one in lists], valid, kind, fit)


def _plain(item: Any) -> Any:
    """A number of numpy as Python has it."""
    return item.item() if isinstance(item, np.number | np.bool_) else item


def _dicts(values: list[Any], kind: Type, fit: Fit) -> pa.Array:
    known = [v if isinstance(v, dict) else None for v in values]
    valid = np.array([v is not None for v in known], np.bool_)
    fields = []
    for name, inner in kind.fields:
        column = [None if v is None else _named(v, name) for v in known]
        fields.append(fit(column, inner))
        valid &= ~_lost(column, fields[-1])
    return struct_array(fields, valid, ARROW[kind])


def _named(values: dict[Any, Any], name: str) -> Any:
    """The value of a name, or of one that differs by case only, as in a struct of Arrow."""
    if name in values:
        return values[name]
    return next((v for k, v in values.items() if str(k).lower() == name.lower()), None)


def _structs(values: pa.Array, kind: Type, fit: Fit) -> pa.Array:
    valid, columns = bools(pc.is_valid(values)).copy(), values.flatten()
    names = [values.type.field(i).name for i in range(values.type.num_fields)]
    fields = []
    for name, inner in kind.fields:
        same = [i for i, n in enumerate(names) if n == name]
        alike = same or [i for i, n in enumerate(names) if n.lower() == name.lower()]
        column = columns[alike[0]] if alike else pa.nulls(len(values))
        fields.append(fit(column, inner))
        valid &= ~_lost(column, fields[-1])
    return struct_array(fields, valid, ARROW[kind])
