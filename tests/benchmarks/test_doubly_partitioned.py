"""The benchmark of lifetimes at a tiny size: answers are compared, figures drawn."""

from __future__ import annotations

import pytest

from benchmarks import doubly_partitioned
from benchmarks.doubly_partitioned import PERIODS, RECORD, Plain, Sizes, batches


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


@pytest.mark.slow
def test_all_figures_come_out_and_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(doubly_partitioned, "PERIODS", 16)
    results = doubly_partitioned.run(Sizes(small=30, large=60, squares=(4, 16), measured=1))
    assert set(results["large"]["16"]) == {
        "R-ins",
        "D-ins",
        "Rebuild",
        "Rebuild chr",
        "NoRebuild",
        "NoRebuild chr",
    }
    assert results["ratio"] > 0
    assert results["large"]["16"]["NoRebuild"]["touched"] == 7
    assert results["large"]["16"]["R-ins"]["touched"] == 16
    doubly_partitioned.draw(results, tmp_path / "lines.png")
    doubly_partitioned.draw_bars(results, tmp_path / "bars.png")
    assert (tmp_path / "lines.png").stat().st_size > 10_000
    assert (tmp_path / "bars.png").stat().st_size > 10_000
