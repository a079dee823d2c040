"""Aggregates of the largest, the smallest and the nearly equal, against fractions.

What is in the window alone decides, so windows slide, and the state is saved and loaded between
any two instants.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.engine.pipeline import Pipeline
from windrow.plan.program import compile_script
from windrow.plan.strategy import Strategy

MOST, LEAST = 1.7976931348623157e308, 5e-324
SELECT = (
    "SELECT AVG(v) AS mean, VAR(v) AS var, STDDEV(v) AS root, MEDIAN(v) AS middle, "
    "QUANTILE(v, 0.3) AS lower, AVG(DISTINCT v) AS of_different FROM s {}"
)
WINDOWS = ("[RANGE 3]", "[RANGE 3 SLIDE 1]", "[ROWS 3]", "[UNBOUNDED]")

doubles = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([MOST, -MOST, LEAST, -LEAST, 1e160, 1e308, -1e308, 1.0, 1.0 + 2**-52, 0.1]),
)
integers = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([2**63 - 1, 2**63 - 2, -(2**63), 2**53 + 1, 0, 1, -1]),
)
columns = st.one_of(
    st.tuples(st.just("DOUBLE"), st.lists(doubles, min_size=1, max_size=7)),
    st.tuples(st.just("BIGINT"), st.lists(integers, min_size=1, max_size=7)),
)


def rounded(exact: Fraction) -> float:
    """Division of Python's integers rounds once, to nearest even."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def quantile(values: list[Fraction], share: float) -> float:
    ordered = sorted(values)
    place = share * (len(values) - 1)
    k = math.floor(place)
    low, high = ordered[k], ordered[min(k + 1, len(values) - 1)]
    return rounded(low + (high - low) * Fraction(place - k))


def variance(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((v - mean) ** 2 for v in values), Fraction(0)) / (len(values) - 1)


def is_root(found: float, square: Fraction) -> bool:
    """Whether no double but a neighbour is nearer to the root."""
    below, above = math.nextafter(found, 0), math.nextafter(found, math.inf)
    return Fraction(below) ** 2 <= square and (above == math.inf or square <= Fraction(above) ** 2)


def held(window: str, values: list[float], now: int) -> list[Fraction]:
    first = 0 if window == "[UNBOUNDED]" else max(0, now - 2)
    return [Fraction(v) for v in values[first : now + 1]]


class Carried:
    """A pipeline that is put away and taken up again after each instant, if it is ``saving``."""

    def __init__(self, kind: str, window: str, saving: bool, strategy: Strategy) -> None:
        script = f"CREATE STREAM s (ts BIGINT, v {kind}); {SELECT.format(window)};"
        self.plan, self.saving = compile_script(script, strategy=strategy).queries[-1].plan, saving
        self.strategy = strategy
        self.pipeline = Pipeline(self.plan, changes=True, strategy=strategy)
        self.segments: dict[str, pa.RecordBatch] = {}
        self.type = pa.float64() if kind == "DOUBLE" else pa.int64()

    def answer(self, value: float, now: int) -> dict[str, float]:
        ts = np.array([now])
        batch = pa.RecordBatch.from_arrays(
            [pa.array(ts), pa.array([value], self.type)], ["ts", "v"]
        )
        self.pipeline.process({"s": Delta.insertions(ts, batch)}, now)
        (row,) = self.pipeline.live_rows().to_pylist()
        if self.saving:
            saved = self.pipeline.save()
            self.segments = {n: s for n, s in self.segments.items() if n not in saved.drop}
            self.segments.update(saved.put)
            self.pipeline = Pipeline(self.plan, changes=True, strategy=self.strategy)
            self.pipeline.load(self.segments, saved.meta)
        return row


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("saving", [False, True], ids=["steady", "saved"])
@settings(max_examples=25, deadline=None)
@given(columns)
@example(("DOUBLE", [1e308, 1e308, -1e308]))
@example(("DOUBLE", [1e160, 1e160, 1e160]))
@example(("DOUBLE", [MOST, MOST, MOST, -MOST, LEAST, LEAST, 1.0]))
@example(("DOUBLE", [-1.0, 1.0 + 2**-52, 0.1, 0.1, 0.1]))
@example(("BIGINT", [2**63 - 1, 2**63 - 2, -(2**63), -(2**63)]))
def test_every_answer_is_the_true_value_rounded_once(
    window: str, saving: bool, column: tuple[str, list[float]]
) -> None:
    kind, values = column
    carried = Carried(kind, window, saving, Strategy.UPA)
    for now, value in enumerate(values):
        found, there = carried.answer(value, now), held(window, values, now)
        different = set(there)
        assert found["mean"] == rounded(sum(there, Fraction(0)) / len(there))
        assert found["of_different"] == rounded(sum(different, Fraction(0)) / len(different))
        assert found["middle"] == quantile(there, 0.5)
        assert found["lower"] == quantile(there, 0.3)
        if len(there) > 1:
            assert found["var"] == rounded(variance(there))
            assert is_root(found["root"], variance(there))
        else:
            assert found["var"] is None
            assert found["root"] is None


@pytest.mark.parametrize("strategy", [Strategy.NT, Strategy.DIRECT])
def test_withdrawn_tuples_leave_nothing_behind(strategy: Strategy) -> None:
    values = [MOST, -MOST, 1e160, LEAST, 3.0, 4.0, 5.0]
    carried = Carried("DOUBLE", "[RANGE 3]", True, strategy)
    last = [carried.answer(value, now) for now, value in enumerate(values)][-1]
    assert (last["mean"], last["var"], last["root"]) == (4.0, 1.0, 1.0)


def test_infinities_and_nan_are_answered_while_they_are_there() -> None:
    inf, nan = math.inf, math.nan
    carried = Carried("DOUBLE", "[RANGE 3]", True, Strategy.UPA)
    means = [carried.answer(v, t) for t, v in enumerate([1.0, inf, 2.0, -inf, nan, 3.0, 4.0, 5.0])]
    assert [m["mean"] for m in means[:3]] == [1.0, inf, inf]
    assert all(math.isnan(m["mean"]) for m in means[3:7])
    assert (means[7]["mean"], means[7]["var"], means[7]["middle"]) == (4.0, 1.0, 4.0)
    assert means[2]["middle"] == 2.0
    assert means[1]["lower"] == inf


@pytest.mark.parametrize("function", ["MIN", "MAX"])
@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0), (-0.0, -0.0)])
@pytest.mark.parametrize("window", ["[RANGE 4]", "[RANGE 4 SLIDE 2]", "[ROWS 2]", "[UNBOUNDED]"])
def test_no_extreme_is_a_negative_zero(
    function: str, zeros: tuple[float, float], window: str
) -> None:
    """Summaries of sub-windows cannot know which of two zeros came last, so nobody tells."""
    script = f"CREATE STREAM s (ts BIGINT, v DOUBLE); SELECT {function}(v) AS m FROM s {window}"
    (query,) = compile_script(script).queries
    for strategy in Strategy:
        pipeline = Pipeline(query.plan, changes=True, strategy=strategy)
        rows = pa.record_batch({"ts": [1, 2], "v": list(zeros)})
        pipeline.process({"s": Delta.insertions(np.array([1, 2]), rows)}, 2)
        (found,) = pipeline.live_rows().column(0).to_pylist()
        assert math.copysign(1.0, found) == 1.0
