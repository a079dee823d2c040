"""ARRAYs and STRUCTs: made of values, and what is inside of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from windrow.columns.functions import strings
from windrow.columns.functions.comparison import equal
from windrow.columns.functions.operands import (
    Kernel,
    Operand,
    as_array,
    bools,
    cast_operand,
    length_of,
)
from windrow.columns.nested_arrays import list_array, list_lengths
from windrow.columns.types import ARROW
from windrow.plan.expressions import Call, Literal


def make_array(args: Sequence[Operand], call: Call) -> Operand:
    """``ARRAY[x, y]``: the values of a row stand one behind the other."""
    kind, element = ARROW[call.type], call.type.element
    if not args or element is None:
        return pa.scalar([], kind)
    count = length_of(args)
    columns = [as_array(cast_operand(a, element), count) for a in args]
    places = np.arange(count * len(args)).reshape(len(args), count).T.reshape(-1)
    items = pa.concat_arrays(columns).take(pa.array(places))
    return list_array(np.full(count, len(args), np.int64), items, None, kind)


def make_struct(args: Sequence[Operand], call: Call) -> Operand:
    count = length_of(args)
    kinds = [inner for _, inner in call.type.fields]
    columns = [as_array(cast_operand(a, k), count) for a, k in zip(args, kinds, strict=True)]
    return pa.StructArray.from_arrays(columns, fields=list(ARROW[call.type]))


def field(args: Sequence[Operand], call: Call) -> Operand:
    """``s.name``; NULL if s is."""
    name, names = call.args[1], [known for known, _ in call.args[0].type.fields]
    assert isinstance(name, Literal)
    return pc.struct_field(args[0], [names.index(str(name.value))])


def element(args: Sequence[Operand], _: Call) -> Operand:
    """``a[i]``, from 1 or, if i is negative, from the end; NULL if there is none."""
    count = length_of(args)
    lists, index = as_array(args[0], count), as_array(args[1], count)
    lengths = list_lengths(lists)
    places = pc.fill_null(index, 0).to_numpy(zero_copy_only=False)
    place = np.where(places < 0, lengths + places, places - 1)
    there = (places != 0) & (place >= 0) & (place < lengths)
    starts = np.cumsum(lengths) - lengths
    return lists.flatten().take(pa.array(starts + place, pa.int64(), mask=~there))


def cardinality(args: Sequence[Operand], _: Call) -> Operand:
    return pc.cast(pc.list_value_length(args[0]), pa.int64())


def length(args: Sequence[Operand], call: Call) -> Operand:
    """Of a string its characters, of an ARRAY its values."""
    kernel = strings.KERNELS["length"] if call.args[0].type.element is None else cardinality
    return kernel(args, call)


def _found(args: Sequence[Operand]) -> tuple[pa.Array, pa.Array]:
    """Whether the value is in each ARRAY, and whether NULL is: false for what is NULL."""
    count = length_of(args)
    lists, wanted = as_array(args[0], count), as_array(args[1], count)
    items, owners = lists.flatten(), pc.list_parent_indices(lists)
    same = bools(equal(items, wanted.take(owners)))
    lists_of = owners.to_numpy(zero_copy_only=False)
    absent = bools(pc.is_null(items))
    inside, unknown = (np.zeros(count, np.bool_) for _ in range(2))
    inside[lists_of[same]] = True
    unknown[lists_of[absent]] = True
    return pa.array(inside), pa.array(unknown)


def array_contains(args: Sequence[Operand], _: Call) -> Operand:
    """Whether a value is in an ARRAY; NULL if either is."""
    count = length_of(args)
    known = pc.and_(*(pc.is_valid(as_array(a, count)) for a in args))
    return pc.if_else(known, _found(args)[0], pa.scalar(None, pa.bool_()))


def any_equal(args: Sequence[Operand], _: Call) -> Operand:
    """``x = ANY(a)``: as an OR of comparisons, so of an empty ARRAY it is false even for NULL."""
    count = length_of(args)
    lists, wanted = as_array(args[0], count), as_array(args[1], count)
    inside, unknown = _found(args)
    empty = pc.equal(pc.list_value_length(lists), 0)
    open_ = pc.or_(pc.is_null(wanted), unknown)
    open_ = pc.or_(pc.is_null(lists), pc.and_(open_, pc.invert(pc.fill_null(empty, False))))
    decided = pc.or_(inside, pc.invert(open_))
    return pc.if_else(decided, inside, pa.scalar(None, pa.bool_()))


KERNELS: dict[str, Kernel] = {
    "array": make_array,
    "struct": make_struct,
    "field": field,
    "element": element,
    "cardinality": cardinality,
    "length": length,
    "array_contains": array_contains,
    "any_equal": any_equal,
}
