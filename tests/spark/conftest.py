"""What tests on Spark ask for, beside the session of ``tests/conftest.py``."""

from __future__ import annotations

import pytest


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go through reading tasks and a shuffle, as those of large micro-batches do."""
    from windrow.spark.run import direct_plan  # noqa: PLC0415 - starts Java

    monkeypatch.setattr(direct_plan.PARQUET_BYTES, "value", -1)
    monkeypatch.setattr(direct_plan.TEXT_BYTES, "value", -1)
