"""The benchmark of frequent items at a tiny size: answers are compared, figures drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import frequent_items
from benchmarks.frequent_items import Trial, connections, expectations, main, run_trial


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, value in {"ROWS": 9_000, "WINDOW": 2_000, "STARTS": 2, "ROUNDS": 1}.items():
        monkeypatch.setattr(frequent_items, name, value)
    monkeypatch.setattr(frequent_items, "RESULTS", tmp_path)
    monkeypatch.setattr("benchmarks.report.RESULTS", tmp_path)
    return tmp_path


def test_it_ends_with_its_ratio_and_draws_the_figure(
    tiny: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main([])
    lines = capsys.readouterr().out.splitlines()
    assert float(lines[-1].removeprefix("ratio: ")) > 1
    assert "are identified" in lines[-3]
    assert sum(line.startswith(("  met", "  not met")) for line in lines) == 13
    assert {path.name for path in tiny.iterdir()} == {"frequent_items.json", "frequent_items.png"}


def test_a_trial_notices_an_answer_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = connections(9_000)
    assert run_trial(rows, 2_000, 100, 7).pairs > 7 * 20
    true = np.bincount(rows[100:2_100])
    monkeypatch.setattr(frequent_items.np, "bincount", lambda *_a, **_k: true // 2)
    with pytest.raises(AssertionError, match="reported"):
        run_trial(rows, 2_000, 100, 7)


def test_expectations_can_fail() -> None:
    flat = {(b, k): Trial(5.0, 3, 1, 60_000, 9.0) for b in (20, 100, 500) for k in range(1, 11)}
    met = expectations(flat, 100_000)
    assert not met["k >= 3: at least 80 % are identified, for each b"]
    assert not met["space is well below the window (by half)"]
    assert not met["b = 20, k >= 7: the error is below 2 %"]
