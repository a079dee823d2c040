"""The benchmarks of interval indexes run at tiny sizes: answers are compared, figures are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import cei_paper, subscriptions
from benchmarks.cei_figures import draw
from benchmarks.subscriptions_rivals import MAKERS, Rival, installed
from windrow.subscriptions.indexes import GriddedIntervals

pytestmark = pytest.mark.slow


def test_the_figures_of_the_paper_are_measured_and_drawn(tmp_path, capsys):
    sizes = cei_paper.Sizes(2_000, 2, 1, (8, 16), (10, 20), (1_000, 2_000), 5_000)
    results = cei_paper.run(sizes)
    for number in range(15, 20):
        for found in results[f"figure_{number}"]:
            assert all(ns > 0 for ns in found["nanoseconds"].values())
    assert results["ratio"] > 1
    pieces = results["figure_14"][0]["pieces"]
    assert pieces["LCI"] < pieces["CEI"] < pieces["UI"]
    draw(results, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 10_000
    assert "Figure 19" in capsys.readouterr().out


def test_the_formula_of_the_paper_counts_headers_and_ids():
    setting = cei_paper.Setting(64, 3, 8, 16)
    assert cei_paper.paper_bytes("UI", setting, 10) == 4 * 64 + 80
    assert cei_paper.paper_bytes("LCI", setting, 10) == 4 * 64 * 5 + 80
    assert cei_paper.paper_bytes("CEI", setting, 10) == 4 * (128 - 4) + 80
    assert cei_paper.paper_bytes("IS-list", setting, 10) is None


@pytest.mark.parametrize("name", MAKERS)
def test_every_package_gives_the_pairs_that_we_give(name):
    pytest.importorskip(name)
    lo, hi = subscriptions.intervals(3_000, 1)
    points = np.random.default_rng(2).integers(0, subscriptions.RANGE, 2_000)
    rival = MAKERS[name](lo, hi)
    index = GriddedIntervals()
    index.insert(np.arange(len(lo)), lo, hi)
    found = rival.pairs(rival.find(points))
    assert subscriptions.fingerprint(found) == subscriptions.fingerprint(index.search(points))
    assert len(found[0]) > 100


def test_pairs_that_differ_are_told_apart():
    one = Rival("one", lambda p: (np.arange(len(p)), p), lambda found: found)
    other = Rival("other", lambda p: (np.arange(len(p)), p + (p == 7)), lambda found: found)
    with pytest.raises(AssertionError, match="differ"):
        subscriptions.searches([one, other], np.arange(5_000), 1)
    same = Rival("same", lambda p: (np.arange(len(p))[::-1], p[::-1]), lambda found: found)
    assert subscriptions.searches([one, same], np.arange(5_000), 1).keys() == {"one", "same"}


def test_subscriptions_are_compared_and_drawn(tmp_path):
    if not installed()[0]:
        pytest.skip("none of the packages is installed")
    results = subscriptions.run(subscriptions.Sizes((2_000,), 20_000, 1, 20))
    assert results["ratio"] > 0
    assert results["best_rival"] in MAKERS
    assert results["changes_per_second"]["CEI"][2_000].keys() >= {"insert 1", "remove 100"}
    subscriptions.draw(results, tmp_path / "figures.png")
    assert (tmp_path / "figures.png").stat().st_size > 5_000
