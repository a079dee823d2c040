"""Values of any Arrow type as values of another one, if they mean the same.

Types that a script has are fitted as a stream's (``windrow.tables.fit``). The others are cast if
no value is changed by it, but for the digits that a narrower float has not; as there, a number is
no text and no time, and a text is read as whatever is wanted.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.arrays import Int64s
from windrow.columns.text_forms import read_texts
from windrow.columns.types import ARROW, readable
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.tables.fit import as_text, fit, is_number, is_text


def script_type(kind: pa.DataType) -> Type | None:
    """The type of a script that is stored so, if there is one."""
    return next((t for t, a in ARROW.items() if a == kind and t is not Type.INTERVAL), None)


def fit_column(values: pa.Array, field: pa.Field, where: str) -> pa.Array:
    """A column in the type of the field: NULL for each value that does not fit."""
    kind, found = field.type, values.type
    if found == kind:
        return values
    if pa.types.is_dictionary(found):
        return fit_column(values.cast(found.value_type), field, where)
    if pa.types.is_null(found):
        return pa.nulls(len(values), kind)
    if is_list_view(found):
        return fit_column(lists_of_views(values), field, where)
    if (plain := script_type(kind)) is not None:
        return fit(values, plain)
    if not _comparable(found, kind):
        raise _other_type(field, found, where)
    if is_text(found) and not is_text(kind):
        texts = pc.utf8_trim_whitespace(as_text(values))
        values = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
    try:
        column = readable(values, lambda part: _cast(part, kind), kind)
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise _other_type(field, found, where) from error
    if _rounds(found, kind):
        return pc.if_else(_same(column, values), column, pa.scalar(None, kind))
    return column


def misfits(values: pa.Array, fit: pa.Array) -> Int64s:
    """Where a value went in and none came out; blank text is no value unless text is wanted."""
    if fit is values or fit.null_count == values.null_count:
        return np.empty(0, np.int64)
    failed = pc.and_(pc.is_null(fit), pc.is_valid(values))
    if is_text(values.type) and not is_text(fit.type):
        written = pc.not_equal(pc.utf8_trim_whitespace(as_text(values)), "")
        failed = pc.and_(failed, pc.fill_null(written, True))  # what is no text is not blank
    return np.flatnonzero(failed.to_numpy(zero_copy_only=False))


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if is_text(values.type):
        return read_texts(values, kind)
    if pa.types.is_nested(kind):  # Arrow also casts what the lists of other rows hold
        values = values.take(pa.array(np.arange(len(values))))
    return pc.cast(values, kind)


def _comparable(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type can be of another one without a change of meaning."""
    if pa.types.is_nested(kind) or pa.types.is_nested(found):
        here, there = _leaves(found), _leaves(kind)
        pairs = [(here[place], there[place]) for place in here.keys() & there.keys()]
        return bool(pairs) and not any(_rounds(*p) or not _comparable(*p) for p in pairs)
    if found == kind or is_text(found) or pa.types.is_null(found):
        return True
    if is_number(found):
        return is_number(kind)
    if pa.types.is_time(kind):  # a moment would lose its date
        return bool(pa.types.is_time(found))
    return bool(pa.types.is_temporal(found) and pa.types.is_temporal(kind))


def _rounds(found: pa.DataType, kind: pa.DataType) -> bool:
    """Whether Arrow's cast takes the nearest value, where it is to refuse."""
    return bool(
        (pa.types.is_floating(found) and pa.types.is_decimal(kind))
        or (pa.types.is_timestamp(found) and pa.types.is_date(kind))
    )


def _same(fit: pa.Array, values: pa.Array) -> pa.Array:
    """Where such a cast has changed nothing, for a float but the bits beyond its own digits."""
    if not pa.types.is_floating(values.type):
        return pc.equal(pc.cast(fit, values.type), values)
    before, after = pc.cast(values, pa.float64()), pc.cast(fit, pa.float64())
    precision = float(np.finfo(values.type.to_pandas_dtype()).eps)
    return pc.less_equal(pc.abs(pc.subtract(after, before)), pc.multiply(pc.abs(before), precision))


def _leaves(
    kind: pa.DataType, place: tuple[int | str, ...] = ()
) -> dict[tuple[int | str, ...], pa.DataType]:
    """The plain types in lists and the like, by where they are."""
    if not pa.types.is_nested(kind):
        return {place: kind}
    fields = [kind.field(n) for n in range(kind.num_fields)]
    named = pa.types.is_struct(kind)
    return {
        where: leaf
        for n, field in enumerate(fields)
        for where, leaf in _leaves(field.type, (*place, field.name if named else n)).items()
    }


def _other_type(field: pa.Field, found: pa.DataType, where: str) -> InputError:
    return InputError(
        where=where, expected=f"{field.type} in column {field.name}", found=str(found)
    )


def is_list_view(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))


def lists_of_views(views: pa.Array) -> pa.Array:
    """Views of lists as lists. (Arrow's own cast makes offsets that point anywhere.)"""
    large = pa.types.is_large_list_view(views.type)
    lengths = pc.fill_null(pc.list_value_length(views), 0).to_numpy()
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    made = pa.LargeListArray if large else pa.ListArray
    width = pa.int64() if large else pa.int32()
    kind = (pa.large_list if large else pa.list_)(views.type.value_field)
    absent = pc.is_null(views)
    return made.from_arrays(
        pa.array(offsets, width), pc.list_flatten(views), type=kind, mask=absent
    )
