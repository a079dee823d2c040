"""Texts of stored columns are gathered in one pass as they are by steps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns import copied_texts
from windrow.columns.copied_texts import gather_bytes, gather_stretches
from windrow.core.errors import DataError

TEXTS = st.lists(st.text(max_size=40).map(str.encode), min_size=1, max_size=20)


@given(texts=TEXTS, data=st.data(), step=st.sampled_from([1, 2, -1]), base=st.integers(0, 9))
def test_stretches_are_those_that_their_bytes_say(texts, data, step, base):
    lengths = np.array([len(text) for text in texts])
    starts = np.cumsum(lengths) - lengths
    chosen = data.draw(st.lists(st.integers(0, len(texts) - 1), max_size=30))
    at = np.array(chosen, np.int64)[::step]
    valid = np.array([data.draw(st.booleans()) for _ in at], np.bool_)
    held = np.frombuffer(b"".join(texts), np.uint8)
    found = gather_stretches(held, (starts + 7, lengths), at + base, (base, 7), valid, pa.string())
    assert found == gather_bytes(held, starts[at], lengths[at], valid, pa.string())
    shown = found.to_pylist()
    assert shown == [texts[p].decode() if v else None for p, v in zip(at, valid, strict=True)]


def test_more_bytes_than_a_column_may_have_are_an_error(monkeypatch):
    monkeypatch.setattr(copied_texts, "MOST_BYTES", 5)
    one = np.array([0]), np.array([3])
    held = np.frombuffer(b"abc", np.uint8)
    gather_stretches(held, one, np.array([0]), (0, 0), None, pa.string())
    with pytest.raises(DataError, match="push fewer rows"):
        gather_stretches(held, one, np.array([0, 0]), (0, 0), None, pa.string())
