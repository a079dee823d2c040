"""Texts are copied as they are, as many as Arrow's offsets can tell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns import copied_texts
from windrow.columns.copied_texts import gather_bytes
from windrow.core.errors import DataError


def test_more_bytes_than_offsets_can_tell_are_an_error_that_says_what_to_do(monkeypatch):
    data = np.frombuffer(b"abcdef", np.uint8)
    starts, lengths = np.array([3, 0]), np.array([3, 2])
    assert gather_bytes(data, starts, lengths, None, pa.string()).to_pylist() == ["def", "ab"]
    monkeypatch.setattr(copied_texts, "MOST_BYTES", 4)
    with pytest.raises(DataError, match=r"at most 4 bytes .* found 5; push fewer rows at a time"):
        gather_bytes(data, starts, lengths, None, pa.string())
