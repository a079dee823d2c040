"""Columns of a DataFrame are compared exactly, in the types that Spark gives them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

import windrow.spark
from windrow.core.errors import InputError
from windrow.core.schema import Type
from windrow.subscriptions.predicates import OneOf, Range, Subscription
from windrow.subscriptions.subscriptions import Subscriptions

pytestmark = pytest.mark.spark

WIDE = pa.decimal128(38, 18)
PRICES = ["0.1", "10.000000000000000001", "20.2", "20.200000000000000001", "12345678901234567890.5"]


def rows() -> pa.Table:
    return pa.table(
        {
            "n": [1, 2, 3, 4, 5],
            "price": pa.array([Decimal(p) for p in PRICES], WIDE),
            "small": pa.array([Decimal("0.10") * i for i in range(5)], pa.decimal128(9, 2)),
            "at": pa.array([datetime(2024, 1, 1, 12, i, tzinfo=UTC) for i in range(5)]),
            "day": pa.array([date(2024, 1, 1 + i) for i in range(5)]),
        }
    )


def subscriptions() -> Subscriptions:
    found = Subscriptions(
        {"price": WIDE, "small": pa.decimal128(9, 2), "at": Type.TIMESTAMP, "day": Type.DATE}
    )
    found.add(
        [
            Subscription.of("tenth", {"price": 0.1}),
            Subscription.of("upto", {"price": Range(Decimal(10), Decimal("20.2"), low_open=True)}),
            Subscription.of("two", {"price": OneOf((Decimal(PRICES[3]), Decimal(PRICES[4])))}),
            Subscription.of("both", {"small": ">= 0.3", "at": "<= 2024-01-01T13:03:00+01:00"}),
            Subscription.of("day", {"day": "> 2024-01-04 00:00:01"}),
        ]
    )
    return found


@pytest.mark.parametrize(("partitions", "by"), [(None, None), (3, "price"), (2, "small")])
def test_decimals_and_times_of_a_dataframe_are_compared_exactly(spark, partitions, by):
    frame = spark.createDataFrame(rows())
    assert frame.schema["price"].dataType.simpleString() == "decimal(38,18)"
    found = windrow.spark.match(frame, subscriptions(), partitions=partitions, by=by).toArrow()
    assert sorted(zip(found["subscription"].to_pylist(), found["n"].to_pylist(), strict=True)) == [
        ("both", 4), ("day", 5), ("tenth", 1), ("two", 4), ("two", 5), ("upto", 2), ("upto", 3),
    ]  # fmt: skip
    assert found.schema.field("price").type == WIDE


def test_a_column_of_the_wrong_type_is_named_before_anything_runs(spark):
    wanted = Subscriptions({"price": Type.DOUBLE})
    wanted.add([{"id": "a", "price": "> 1"}])
    with pytest.raises(InputError, match=r"declare the attribute as decimal128\(38, 18\)"):
        windrow.spark.match(spark.createDataFrame(rows()), wanted)
