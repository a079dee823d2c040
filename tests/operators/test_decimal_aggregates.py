"""MEDIAN, QUANTILE, VAR and STDDEV of decimals are those of the numbers, whatever their digits."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import windrow
from windrow.core.schema import Type
from windrow.operators.aggregates import decimal_quantiles
from windrow.plan.decimal_types import quantile_type

MANY = Context(prec=200)
KINDS = [
    Type.decimal(*ps)
    for ps in ((1, 0), (9, 2), (18, 0), (18, 18), (19, 4), (30, 2), (38, 0), (38, 2), (38, 38))
]
FRACTIONS = ("0", "0.1", "0.25", "0.333", "0.5", "0.9", "0.123456789012345", "1")


def decimals(kind: Type) -> st.SearchStrategy[Decimal]:
    most = 10**kind.precision - 1
    whole = st.one_of(st.integers(-most, most), st.sampled_from([0, 1, -1, most, -most, most // 2]))
    return whole.map(lambda n: Decimal(n).scaleb(-kind.scale, MANY))


def quantile(values: list[Decimal], p: str, kind: Type) -> Decimal | None:
    """The slow twin: by the definition, in fractions."""
    if not values:
        return None
    ordered = sorted(map(Fraction, values))
    place = Fraction(p) * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    between = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
    result = quantile_type(kind)
    exact = MANY.divide(between.numerator, between.denominator)
    return exact.quantize(Decimal(1).scaleb(-result.scale), ROUND_HALF_UP, MANY)


def variance(values: list[Decimal]) -> float | None:
    if len(values) < 2:
        return None
    numbers = list(map(Fraction, values))
    mean = sum(numbers) / len(numbers)
    spread = sum((n - mean) ** 2 for n in numbers) / (len(numbers) - 1)
    return spread.numerator / spread.denominator


def answers(kind: Type, window: str, rows: list[Decimal | None], p: str) -> list[dict[str, Any]]:
    """What a window shows after each row, of which one comes every second."""
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s (ts BIGINT, x {kind.value});")
        [query] = db.execute(
            f"SELECT MEDIAN(x) AS m, QUANTILE(x, {p}) AS q, VAR(x) AS v, STDDEV(x) AS d, "
            f"MEDIAN(DISTINCT x) AS u, COUNT(*) AS n FROM s [{window}];"
        )
        found = []
        for instant, value in enumerate(rows, 1):
            db.push("s", [{"ts": instant, "x": value}])
            db.advance(to=instant)
            found += query.answer().to_pylist()
    return found


@pytest.mark.parametrize("window", ["RANGE 3", "ROWS 3", "RANGE 3 SLIDE 1", "UNBOUNDED"])
@given(data=st.data(), kind=st.sampled_from(KINDS), p=st.sampled_from(FRACTIONS))
def test_quantiles_and_variances_are_those_of_the_numbers(
    window: str, data: st.DataObject, kind: Type, p: str
) -> None:
    rows = data.draw(st.lists(st.one_of(st.none(), decimals(kind)), min_size=1, max_size=6))
    length = len(rows) if window == "UNBOUNDED" else 3
    for last, found in enumerate(answers(kind, window, rows, p), 1):
        live = [v for v in rows[max(0, last - length) : last] if v is not None]
        assert found["m"] == quantile(live, "0.5", kind)
        assert found["q"] == quantile(live, p, kind)
        assert found["u"] == quantile(sorted(set(live)), "0.5", kind)
        true = variance(live)
        assert found["v"] == true
        assert found["d"] == (None if true is None else pytest.approx(math.sqrt(true), rel=4e-16))


@given(batches=st.lists(st.lists(st.integers(-(10**37), 10**37), max_size=4), max_size=8))
@example([[1, 10**30], [-(10**30)], [5, 5], [1]])
def test_ranks_of_long_decimals_follow_what_comes_and_what_is_forgotten(
    batches: list[list[int]],
) -> None:
    with pytest.MonkeyPatch.context() as patch, windrow.connect() as db:
        patch.setattr(decimal_quantiles.WORTH_FORGETTING, "value", 0)
        db.execute("CREATE STREAM s (ts BIGINT, k INT, x DECIMAL(38, 0));")
        [query] = db.execute("SELECT k, MEDIAN(x) AS m FROM s [RANGE 2] GROUP BY k;")
        for instant, batch in enumerate(batches, 1):
            rows = [{"ts": instant, "k": v % 2, "x": Decimal(v)} for v in batch]
            if rows:
                db.push("s", rows)
            db.advance(to=instant)
            live = [v for b in batches[max(0, instant - 2) : instant] for v in b]
            groups = {v % 2: [Decimal(w) for w in live if w % 2 == v % 2] for v in live}
            kind = Type.decimal(38, 0)
            expected = {k: quantile(values, "0.5", kind) for k, values in groups.items()}
            assert {r["k"]: r["m"] for r in query.answer().to_pylist()} == expected


def test_quantiles_of_decimals_have_a_digit_more_and_never_lose_one_before_the_point() -> None:
    most, less = Decimal(10**38 - 1), Decimal(10**38 - 2)
    (_, found) = answers(Type.decimal(38, 0), "UNBOUNDED", [most, less], "0.5")
    assert (found["m"], found["n"]) == (most, 2)
    rows: list[Decimal | None] = [Decimal("1.10"), Decimal("1.15")]
    assert str(answers(Type.decimal(9, 2), "UNBOUNDED", rows, "0.5")[-1]["m"]) == "1.125000"


@given(data=st.data(), kind=st.sampled_from(KINDS), p=st.sampled_from(FRACTIONS))
def test_queries_that_share_counters_have_the_quantiles_of_the_numbers(
    data: st.DataObject, kind: Type, p: str
) -> None:
    """Also those that are put together from the counters of several predicates."""
    row = st.tuples(st.sampled_from("abc"), st.one_of(st.none(), decimals(kind)))
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    shown = f"SELECT MEDIAN(x) AS m, QUANTILE(x, {p}) AS q, COUNT(DISTINCT x) AS u"
    conditions = {"": "abc", "WHERE k = 'a'": "a", "WHERE k = 'b'": "b"}
    conditions |= {"WHERE k = 'a' OR k = 'b'": "ab"}
    with windrow.connect() as db:
        db.execute(f"CREATE STREAM s (ts BIGINT, k STRING, x {kind.value});")
        queries = db.execute("".join(
            f"CREATE QUERY q{i} AS {shown} FROM s [RANGE 3 SLIDE 1] {condition};"
            for i, condition in enumerate(conditions)
        ))  # fmt: skip
        assert len({id(query._run) for query in queries}) == 1
        for instant, (key, value) in enumerate(rows, 1):
            db.push("s", [{"ts": instant, "k": key, "x": value}])
            db.advance(to=instant)
            window = rows[max(0, instant - 3) : instant]
            for query, keys in zip(queries, conditions.values(), strict=True):
                live = [v for k, v in window if k in keys and v is not None]
                expected = {
                    "m": quantile(live, "0.5", kind),
                    "q": quantile(live, p, kind),
                    "u": len(set(live)),
                }
                shown_rows = [expected] if any(k in keys for k, _ in window) else []
                assert query.answer().to_pylist() == shown_rows
