"""The benchmark of lifetimes at a tiny size: answers are compared, figures drawn."""

from __future__ import annotations

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
from benchmarks.doubly_partitioned_laps import PERIODS, RECORD, Plain, batches


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
        }
    assert found["small"]["1"]["R-ins"]["scan_s"] == pytest.approx(600, rel=0.01)
    assert found["large"]["16"]["Rebuild"]["space_mb"] == pytest.approx(5_000, rel=0.01)
    assert found["figure_5"]["4x4"] == found["small"]["16"]["Rebuild"]


@pytest.mark.slow
def test_all_figures_come_out_and_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(doubly_partitioned_laps, "PERIODS", 16)
    results = doubly_partitioned.run(Sizes(small=30, large=60, squares=(4, 16), measured=1))
    rivals, ours = {"R-ins", "D-ins"}, {"Rebuild", "NoRebuild"}
    by_expiry, chronological = {"R-exp", "D-exp"}, {"Rebuild chr", "NoRebuild chr"}
    assert set(results["large"]["4"]) == rivals | ours
    assert set(results["large"]["16"]) == rivals | by_expiry | ours
    assert set(results["small"]["16"]) == rivals | by_expiry | ours | chronological
    assert results["ratio"] > 0
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
