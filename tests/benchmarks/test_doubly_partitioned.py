"""The benchmark of lifetimes at a tiny size: answers are compared, figures drawn."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import doubly_partitioned, doubly_partitioned_laps
from benchmarks.doubly_partitioned import Sizes
from benchmarks.doubly_partitioned_figures import (
    compared,
    draw_bars,
    draw_measured,
    draw_model,
    model,
)
from benchmarks.doubly_partitioned_laps import PERIODS, RECORD, Plain, batches, of_laps
from benchmarks.doubly_partitioned_rivals import Ours, Unindexed, race_stores, rivals
from windrow.archive.lifetimes.partition_grid import Grid


def test_records_have_a_thousand_bytes_their_own_text_and_lifetimes_of_all_lengths():
    plain = Plain()
    (_, first, early), (now, second, late) = batches([500, 700], 1)
    assert (first.num_rows, second.num_rows, now) == (500, 700, 2_000)
    text = first.column("text").combine_chunks()
    key, number, expiry = 4, 8, 8
    assert {len(t) + key + number + expiry for t in text.to_pylist()} == {RECORD}
    assert len(set(text.to_pylist() + second.column("text").to_pylist())) == 1_200
    lives = [end.as_py() - now for end in late]
    assert 0 < min(lives) < 1_000 < 35_000 < max(lives) <= PERIODS * 1_000
    plain.add(first, early)
    plain.add(second, late)
    assert len(plain.live(now)) == 700 + sum(end.as_py() > now for end in early)
    assert 0 < len(plain.live(now, 3)) < 40


def test_the_model_has_both_sets_for_every_number_of_sub_indices_and_the_grids_of_figure_5():
    found = model((1, 16))
    for part in ("small", "large"):
        assert set(found[part]["1"]) == {"R-ins", "D-ins"}
        assert set(found[part]["16"]) == {
            "R-ins",
            "D-ins",
            "R-exp",
            "D-exp",
            "Rebuild",
            "Rebuild chr",
            "NoRebuild",
            "NoRebuild chr",
            "Rebuild rnd",
            "NoRebuild rnd",
        }
    assert found["small"]["1"]["R-ins"]["scan_s"] == pytest.approx(600, rel=0.01)
    assert found["large"]["16"]["Rebuild"]["space_mb"] == pytest.approx(5_000, rel=0.01)
    assert found["figure_5"]["4x4"] == found["small"]["16"]["Rebuild"]


def test_by_a_power_law_the_first_key_is_the_commonest_by_far():
    ((_, even, _),) = batches([5_000], 1)
    ((_, law, _),) = batches([5_000], 1, power_law=True)
    first, second, last = (
        sum(k == key for k in law.column("key").to_pylist()) for key in (0, 1, 99)
    )
    assert 0.15 < first / 5_000 < 0.25
    assert first / second == pytest.approx(2, rel=0.3)
    assert last < 30
    assert 20 < sum(k == 0 for k in even.column("key").to_pylist()) < 90


def test_error_bars_are_the_least_and_the_greatest_lap():
    found = of_laps("update_ms", [0.001, 0.001, 0.002, 0.004, 0.006, 0.006], np.mean)
    assert found == pytest.approx(
        {"update_ms": 10 / 3, "update_ms_least": 1.0, "update_ms_most": 6.0}
    )


def test_every_store_answers_as_the_plain_list_does_and_one_that_does_not_is_refused(monkeypatch):
    monkeypatch.setattr(doubly_partitioned_laps, "PERIODS", 4)
    grid = Grid(2, 2)
    makers = {
        "ours": partial(Ours, grid=grid),
        "no index": partial(Unindexed, grid=grid),
        **rivals(),
    }
    found = race_stores(makers, 40, 3, 1)
    assert set(found) == set(makers)
    assert all(min(of.values()) > 0 for of in found.values())
    monkeypatch.setattr(Unindexed, "_live", all_rows)
    with pytest.raises(AssertionError, match="no index answers differently"):
        race_stores({"no index": makers["no index"]}, 40, 3, 1)


def all_rows(store: Unindexed, number: int) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(store._path(number)))).read_all()


@pytest.mark.slow
def test_all_figures_come_out_and_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(doubly_partitioned_laps, "PERIODS", 16)
    sizes = Sizes(small=30, large=60, squares=(4, 16), large_squares=(16,), measured=3)
    results = doubly_partitioned.run(sizes)
    one_way, grids = {"R-ins", "D-ins"}, {"Rebuild", "NoRebuild"}
    by_expiry = {"R-exp", "D-exp"}
    dealt = {f"{name} {how}" for name in grids for how in ("chr", "rnd")}
    assert set(results["large"]) == {"16"}
    assert set(results["large"]["16"]) == one_way | by_expiry | grids
    assert set(results["small"]["16"]) == one_way | by_expiry | grids | dealt
    assert set(results["power_law"]["16"]) == one_way | grids
    assert min(results["ratio"], results["paper_ratio"]) > 0
    assert results["large"]["16"]["NoRebuild"]["touched"] == 7
    assert results["large"]["16"]["R-ins"]["touched"] == 16
    assert results["large"]["16"]["D-exp"]["touched"] == 16
    for draw in (draw_model, draw_measured, draw_bars):
        draw(results, tmp_path / "sheet.png")
        assert (tmp_path / "sheet.png").stat().st_size > 10_000
        (tmp_path / "sheet.png").unlink()


def test_a_pair_is_compared_as_the_model_and_the_measurement_have_it():
    foretold = model((16,))["large"]["16"]
    measured = {
        name: {"mean_update_ms": 2.0, "probe_ms": 1.0, "scan_ms": 1.0, "stored_mb": 1.0}
        for name in ("R-ins", "NoRebuild")
    }
    measured["R-ins"]["mean_update_ms"] = 7.0
    ((pair, found),) = compared(foretold, measured).items()
    assert pair == "R-ins over NoRebuild, update"
    assert found["measured"] == 3.5
    assert 2 < found["model"] < 3
