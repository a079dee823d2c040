"""Tables by key are sorted and reduced, whatever the range of their keys."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from windrow.synopses.grouped_table import merge_tables, reduce_rows, subtract_table

RANGES = [(0, 10), (-5, 2**16 - 6), (-5, 2**16), (-(2**40), 2**31), (-(2**62), 2**63 - 1)]


@pytest.mark.parametrize(("start", "length"), RANGES)
@pytest.mark.parametrize("width", [None, 1, 2, 3])
def test_rows_of_each_key_become_one_in_the_order_of_keys(
    start: int, length: int, width: int | None
) -> None:
    rng = np.random.default_rng(1)
    steps = rng.integers(0, 7, 500)
    keys = np.array([start + int(step) * (length - 1) // 6 for step in steps])
    inner = rng.integers(-2, 2, 500) * 10**6
    measure = None if width is None else rng.integers(0, 9, (500, width))
    one = np.ones(500, np.int64)
    table = reduce_rows([keys, inner], one, measure, np.add)
    pairs = list(zip(keys.tolist(), inner.tolist(), strict=True))
    assert list(zip(*(k.tolist() for k in table.keys), strict=True)) == sorted(set(pairs))
    assert table.rows.tolist() == [n for _, n in sorted(Counter(pairs).items())]
    if measure is not None and table.measure is not None:
        for pair, found in zip(sorted(set(pairs)), table.measure.tolist(), strict=True):
            mine = [row for p, row in zip(pairs, measure.tolist(), strict=True) if p == pair]
            assert found == np.sum(mine, axis=0).tolist()


def test_a_part_that_is_taken_away_leaves_no_row_behind() -> None:
    one = np.ones(3, np.int64)
    whole = reduce_rows([np.array([4, 9, 4])], one, np.array([1, 2, 3]), np.add)
    part = reduce_rows([np.array([9])], one[:1], np.array([2]), np.add)
    left = subtract_table(merge_tables([whole, part], np.add), merge_tables([part, part], np.add))
    assert [left.keys[0].tolist(), left.rows.tolist()] == [[4], [2]]
    assert left.measure is not None
    assert left.measure.tolist() == [4]
