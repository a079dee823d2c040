"""The benchmark of window indexes at a tiny size: all ways agree, everything is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks import window_indexes
from benchmarks.window_indexes_figures import PANELS, draw
from benchmarks.window_indexes_laps import Shape, lap, other

TINY = window_indexes.Sizes(2_000, (50, 200), (10, 20), (10, 20), (10, 20), repeats=2)
SHAPE = Shape(1_000, 10, 50)


@pytest.fixture(scope="module")
def results():
    return window_indexes.run(TINY)


def test_every_way_of_every_figure_is_measured_for_every_shape(results):
    measured = results["times"]
    assert all(row["total"] > 0 for row in measured)
    per_shape = {"histogram": 16, "ranges": 4, "intersection": 12, "rings": 5, "sort": 6}
    for query, ways in per_shape.items():
        shapes = 4 if query == "sort" else 8  # sorting is shown for the fewer values only
        assert sum(row["query"] == query for row in measured) == ways * shapes
    deleted = {r["way"]: r["deletion"] for r in measured if r["query"] == "rings"}
    assert all(ms > 0 for ms in deleted.values())
    assert results["ratio"] == min(results["over_best_index"].values()) > 0


@pytest.mark.parametrize("skewed", [False, True])
def test_the_figures_are_drawn(results, skewed, tmp_path):
    assert [panel.title[:5] for panel in PANELS] == [
        "7 (a)", "7 (b)", "8 (a)", "8 (b)", "9 (a)", "9 (b)",
    ]  # fmt: skip
    draw(results["times"], skewed, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 30_000


def test_the_last_line_is_about_few_even_values_in_many_basic_windows():
    sizes = window_indexes.Sizes()
    shape = window_indexes.deciding(sizes.shapes(sizes.histogram))
    assert shape == Shape(100_000, 500, 1_000)
    assert window_indexes.deciding(window_indexes.QUICK.shapes((500,))) == shape


@pytest.mark.parametrize("name", ["LIST T", "G of 10"])
def test_an_answer_that_differs_ends_the_run(name):
    values = SHAPE.stream(1)
    makers = window_indexes.ranges(SHAPE)
    laps = {way: lap(make(), values, asked=False) for way, make in makers.items()}
    window_indexes.compare(SHAPE, values, laps)
    wrong = tuple(part + 1 for part in laps[name].last)
    laps[name] = replace(laps[name], last=wrong, digest=laps[name].digest + 1)
    with pytest.raises(AssertionError, match=r"differ|instead of"):
        window_indexes.compare(SHAPE, values, laps)


@pytest.mark.parametrize("makers", [window_indexes.histograms, window_indexes.sorts])
def test_the_answers_of_all_turns_are_compared(makers):
    values = SHAPE.stream(1)
    changed = values.copy()
    # These tuples come after the window is full, and have left it again at the end.
    changed[SHAPE.tuples - 200] = (values[SHAPE.tuples - 200] + 1) % SHAPE.values
    for make in makers(SHAPE).values():
        found, differing = lap(make(), values), lap(make(), changed)
        assert found.digest != differing.digest
        assert all(np.array_equal(a, b) for a, b in zip(found.last, differing.last, strict=True))


def test_skewed_values_follow_the_power_law_and_streams_have_the_values_of_their_shape():
    shape = Shape(50_000, 50, 1_000, skewed=True)
    values = shape.stream(3)
    counts = np.sort(np.bincount(values, minlength=1_000))[::-1]
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.15)
    second = other(values, 1_000)
    assert (np.sort(np.bincount(second, minlength=1_000))[::-1] == counts).all()
    assert np.bincount(second).argmax() != np.bincount(values).argmax()
