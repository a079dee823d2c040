"""How a probe walks the partners of a key: it stops where they have ended, if they end in order."""

from __future__ import annotations

import numpy as np
import pytest

from windrow.operators import join_pairs
from windrow.operators.state.tuple_index import END, EXP, LINK, TS


def lives(*rows: tuple[int, int, int]) -> np.ndarray:
    """Tuples with a time, an end and the next older one."""
    found = np.empty((len(rows), 4), np.int64)
    for at, (ts, end, link) in enumerate(rows):
        found[at, TS], found[at, EXP], found[at, END], found[at, LINK] = ts, end, end, link
    return found


@pytest.mark.parametrize(("in_order", "expected"), [(True, [2]), (False, [2, 0])])
def test_nobody_is_looked_at_behind_a_partner_that_has_ended(in_order, expected):
    """Partner 0 lives although 1, which came later, has ended: in order that cannot be."""
    mine = lives((10, 20, -1))
    partners = lives((1, 99, -1), (2, 5, 0), (3, 13, 1))
    out = [np.empty(8, np.int64) for _ in range(5)]
    none = np.zeros(1, np.int64)
    count = join_pairs._probe(
        none, none, mine, 0, np.array([2]), partners, 0, 0, False, in_order, *out
    )
    assert out[1][:count].tolist() == expected
