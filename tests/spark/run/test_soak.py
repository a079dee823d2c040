"""A run that is left alone keeps its files; ``python -m tests.soak`` looks at 2,000 batches."""

from __future__ import annotations

import time

import pytest

from tests.soak import Soak

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_files_stay_as_many_over_sixty_micro_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.soak.KEPT", 10)
    found = Soak(tmp_path / "soak").run(60, time.monotonic() + 500)
    assert (found.problem, len(found.seconds)) == ("", 60)
    grown = [name for name in found.grown() if name.startswith("files")]
    assert grown == []
    assert {"jvm", "driver", "source", "Python workers"} <= set(found.looks[-1].memory)
