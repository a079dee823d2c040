"""Every type that a key may have, with values of it, and the order in which a run has them."""

from __future__ import annotations

import datetime
import decimal
import math
from typing import Any

import hypothesis.strategies as st
import pyarrow as pa

_MOMENTS = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))


def _decimals(most: int, places: int) -> st.SearchStrategy[decimal.Decimal]:
    last_places = st.integers(-most * 10**places, most * 10**places)
    few = st.integers(-3, 3)
    return st.one_of(few, last_places).map(lambda n: decimal.Decimal((n < 0, digits(n), -places)))


def digits(number: int) -> tuple[int, ...]:
    return tuple(map(int, str(abs(number))))


KINDS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int8(): st.integers(-128, 127),
    pa.int64(): st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)),
    pa.uint64(): st.one_of(st.integers(0, 3), st.integers(0, 2**64 - 1)),
    pa.float64(): st.one_of(st.sampled_from([0.0, -0.0, math.nan, math.inf, 1.5]), st.floats()),
    pa.float32(): st.floats(width=32),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(st.characters(codec="utf-8"), max_size=3),
    pa.large_string(): st.sampled_from(["", "a", "ab", "é", "\U0001f600"]),
    pa.binary(): st.binary(max_size=2),
    pa.timestamp("us"): _MOMENTS,
    pa.timestamp("s", "UTC"): _MOMENTS.map(lambda t: t.replace(microsecond=0, tzinfo=datetime.UTC)),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.time64("us"): st.times(),
    pa.duration("us"): st.timedeltas(
        datetime.timedelta(days=-10_000), datetime.timedelta(days=10_000)
    ),
    pa.decimal128(38, 3): _decimals(10**30, 3),
    pa.decimal32(9, 2): _decimals(10**6, 2),
    pa.decimal64(18, 2): _decimals(10**15, 2),
    pa.decimal256(76, 3): _decimals(10**70, 3),
    pa.float16(): st.floats(width=16),
    pa.binary(2): st.binary(min_size=2, max_size=2),
}


def order_of(value: Any) -> Any:
    """Sorts as a run does: NaN above every number, strings by their bytes."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value
