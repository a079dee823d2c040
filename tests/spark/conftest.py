"""What tests on Spark ask for, beside the session of ``tests/conftest.py``."""

from __future__ import annotations

import pytest


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go through reading tasks and a shuffle, as those of large micro-batches do."""
    from windrow.spark.run import micro_batches  # noqa: PLC0415 - starts Java

    monkeypatch.setattr(micro_batches.BYTES_AGAIN, "value", -1)
