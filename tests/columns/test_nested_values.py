"""ARRAYs and STRUCTs: their bytes are in the order of the values, and stores give them back."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.columns.byte_forms import byte_parts
from windrow.columns.hashing import hash_rows
from windrow.columns.interner import Interner
from windrow.columns.stored_columns import RowStore
from windrow.columns.types import ARROW
from windrow.columns.value_order import sorted_positions
from windrow.core.schema import Type

pytestmark = pytest.mark.usefixtures("sizes")

PLAIN: dict[str, st.SearchStrategy[Any]] = {
    "BIGINT": st.sampled_from([-(2**63), -1, 0, 1, 2**63 - 1]),
    "INT": st.sampled_from([-1, 0, 7]),
    "DOUBLE": st.sampled_from([-1.5, 0.0, 2.5, float("inf"), float("-inf")]),
    "FLOAT": st.sampled_from([-1.5, 0.0, 2.5]),
    "STRING": st.sampled_from(["", "a", "a\0", "a\0\xff", "a\x01", "b", "é"]),
    "BOOLEAN": st.booleans(),
    "DECIMAL(9, 2)": st.sampled_from([Decimal("-1.25"), Decimal("0.00"), Decimal("99.75")]),
    "DECIMAL(25, 3)": st.sampled_from([Decimal("-1.250"), Decimal("12345678901234567890.125")]),
}


@st.composite
def types(draw: st.DrawFn, depth: int = 2) -> Type:
    kind = draw(st.sampled_from(["plain", "array", "struct"])) if depth else "plain"
    if kind == "plain":
        return Type(draw(st.sampled_from(list(PLAIN))))
    if kind == "array":
        return Type.array(draw(types(depth - 1)))
    fields = draw(st.lists(types(depth - 1), min_size=1, max_size=3))
    return Type.struct((f"f{place}", field) for place, field in enumerate(fields))


def values(kind: Type) -> st.SearchStrategy[Any]:
    if kind.element is not None:
        return st.none() | st.lists(values(kind.element), max_size=3)
    if kind.fields:
        return st.none() | st.fixed_dictionaries({n: values(k) for n, k in kind.fields})
    return st.none() | PLAIN[kind.value]


def key(value: Any) -> Any:
    """A Python value that sorts as the value does: NULL last, a beginning before the whole."""
    if value is None:
        return (1,)
    if isinstance(value, list):
        return (0, [key(v) for v in value])
    if isinstance(value, dict):
        return (0, [key(value[name]) for name in sorted(value)])
    return (0, value.encode() if isinstance(value, str) else value)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Type, list[Any]]:
    kind = draw(types().filter(lambda t: t.is_nested))
    return kind, draw(st.lists(values(kind), min_size=1, max_size=12))


@settings(max_examples=150)
@given(column=columns(), cut=st.integers(0, 4))
def test_bytes_are_in_the_order_of_the_values(column: tuple[Type, list[Any]], cut: int) -> None:
    kind, listed = column
    array = pa.array(listed, ARROW[kind])[cut:]
    kept = listed[cut:]
    offsets, data = byte_parts(array)
    raw = data.tobytes()
    found = [raw[offsets[i] : offsets[i + 1]] for i in range(len(kept))]
    there = [i for i, value in enumerate(kept) if value is not None]
    for i in there:
        for j in there:
            assert (found[i] < found[j]) == (key(kept[i]) < key(kept[j]))
    order = sorted_positions([(array, False)])
    assert [kept[i] for i in order] == sorted(kept, key=key)
    hashes = hash_rows([array], len(kept))
    assert (hashes == hash_rows([pa.array(kept, ARROW[kind])], len(kept))).all()


@settings(max_examples=150)
@given(column=columns(), dropped=st.integers(0, 12), cut=st.integers(0, 12))
def test_stores_and_interners_give_values_back(
    column: tuple[Type, list[Any]], dropped: int, cut: int
) -> None:
    kind, listed = column
    schema = pa.schema([("v", ARROW[kind])])
    store, interner = RowStore(schema), Interner([ARROW[kind], ARROW[kind]])
    codes: list[int] = []
    for part in (listed[:cut], listed[cut:]):
        array = pa.array(part, ARROW[kind])
        store.append(pa.RecordBatch.from_arrays([array], schema=schema))
        codes += interner.codes([array, array], len(part)).tolist()
    distinct = {repr(key(v)) for v in listed}
    assert len(set(codes)) == len(distinct)
    assert interner.rows(np.array(codes, np.int64))[1].to_pylist() == listed
    lent = store.lend()
    dropped = min(dropped, len(listed))
    store.drop_before(dropped)
    positions = np.arange(dropped, len(listed), dtype=np.int64)[::-1].copy()
    assert store.take(positions).column(0).to_pylist() == listed[dropped:][::-1]
    assert store.lend()().column(0).to_pylist() == listed[dropped:]
    assert lent().column(0).to_pylist() == listed


@pytest.mark.parametrize(
    "text", ["ARRAY<BIGINT>", 'STRUCT<a INT, "b, c" ARRAY<DECIMAL(9, 2)>, d STRUCT<"x""y" DATE>>']
)
def test_a_nested_type_is_known_by_its_text(text: str) -> None:
    assert Type(text).value == text
    assert Type(text) is Type(text)


@pytest.mark.parametrize(
    "text", ["ARRAY<>", "ARRAY<X>", "STRUCT<>", "STRUCT<a INT, A INT>", "ARRAY"]
)
def test_what_is_no_nested_type_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"type|field"):
        Type(text)
