"""Values of any Arrow type as values of the type that an archive has, if they mean the same.

Types that a script has are fitted as a stream's (``windrow.streams.fit``). The others are cast if
no value is changed by it; as there, a number is no text and no time, and a text is read as whatever
is wanted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.parse import readable
from windrow.columns.types import ARROW
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.streams.fit import as_text, fitted, is_number, is_text


def plain_type(kind: pa.DataType) -> Type | None:
    """The type of a script that is stored so, if there is one."""
    return next((t for t, a in ARROW.items() if a == kind and t is not Type.INTERVAL), None)


def typed(values: pa.Array, field: pa.Field, where: str) -> pa.Array:
    """A column in the type of the field: NULL for each value that does not fit."""
    kind, found = field.type, values.type
    if found == kind:
        return values
    if pa.types.is_dictionary(found):
        return typed(values.cast(found.value_type), field, where)
    if pa.types.is_null(found):
        return pa.nulls(len(values), kind)
    if (plain := plain_type(kind)) is not None:
        return fitted(values, plain)
    if not _comparable(found, kind):
        raise _other_type(field, found, where)
    if is_text(found) and not is_text(kind):
        texts = pc.utf8_trim_whitespace(as_text(values))
        values = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    try:
        return readable(values, lambda part: pc.cast(part, kind), kind)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _other_type(field, found, where) from error


def misfits(values: pa.Array, fit: pa.Array) -> Int64s:
    """Where a value went in and none came out; blank text is no value unless text is wanted."""
    if fit is values or fit.null_count == values.null_count:
        return np.empty(0, np.int64)
    failed = pc.and_(pc.is_null(fit), pc.is_valid(values))
    if is_text(values.type) and not is_text(fit.type):
        failed = pc.and_(failed, pc.not_equal(pc.utf8_trim_whitespace(as_text(values)), ""))
    return np.flatnonzero(pc.fill_null(failed, True).to_numpy(zero_copy_only=False))


def _comparable(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type can be of another one without a change of meaning."""
    if pa.types.is_nested(kind) or pa.types.is_nested(found):
        return bool(pa.types.is_nested(kind) and pa.types.is_nested(found))
    if is_text(found):
        return True
    if is_number(found):
        return is_number(kind)
    return bool(pa.types.is_temporal(found) and pa.types.is_temporal(kind))


def _other_type(field: pa.Field, found: pa.DataType, where: str) -> InputError:
    return InputError(
        where=where, expected=f"{field.type} in column {field.name}", found=str(found)
    )
