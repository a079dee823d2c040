"""A run that is left alone keeps its files; ``python -m tests.soak`` looks at 2,000 batches."""

from __future__ import annotations

import time

import pytest

from tests.soak import Soak

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(600)
def test_files_stay_as_many_over_150_micro_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.soak.KEPT", 10)
    # Results are compacted after 64 micro-batches, so the first third has nearly as many files.
    found = Soak(tmp_path / "soak").run(150, time.monotonic() + 500)
    assert (found.problem, len(found.seconds)) == ("", 150)
    grown = [name for name in found.grown() if name.startswith("files")]
    assert grown == []
    assert {"jvm", "driver", "source", "Python workers"} <= set(found.looks[-1].memory)
