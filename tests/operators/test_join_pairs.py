"""How a probe walks the partners of a value: once for all tuples that have it, in few steps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from windrow.columns.delta import Delta
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Type
from windrow.operators import join_pairs
from windrow.operators.join import WindowJoin
from windrow.operators.state.tuple_index import END, EXP, LINK, TS
from windrow.plan.expressions import Column

INPUT = pa.schema([("k", pa.int64()), ("a", pa.int64())])
KEY = Column(0, "k", Type.BIGINT)


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
    none, codes = np.zeros(1, np.int64), np.zeros(3, np.int64)
    count, visits = join_pairs._probe(
        none, none, mine, 0, np.array([2]), codes, partners, 0, 0, 0, False, in_order, *out
    )
    assert out[1][:count].tolist() == expected
    assert visits == (2 if in_order else 3)


def tuples(ts: list[int], keys: list[int], length: int) -> Delta:
    times = np.array(ts, np.int64)
    columns = [pa.array(keys, pa.int64()), pa.array(range(len(keys)), pa.int64())]
    rows = pa.RecordBatch.from_arrays(columns, schema=INPUT)
    return Delta.insertions(times, rows, times + length)


def join(buckets: int) -> WindowJoin:
    schema = pa.schema([(name, pa.int64()) for name in "kalb"])
    return WindowJoin(
        (INPUT, INPUT), (UpdatePattern.WEAKEST,) * 2, ([KEY], [KEY]), [pa.int64()], None, schema,
        buckets=buckets,
    )  # fmt: skip


@pytest.mark.parametrize(("buckets", "visited"), [(0, 500), (7, 500), (1, 1_000)])
def test_equal_new_tuples_visit_their_partners_once(buckets, visited):
    """100 tuples of one value against 500 partners and as many others: 50,000 results, and as
    many steps as one tuple takes. Results that do not fit are found again, so at most twice."""
    operator, none = join(buckets), Delta.empty(INPUT)
    partners = tuples([0] * 1_000, [1, 2] * 500, 100)
    operator.process([partners, none], 5)
    before = operator.pairing.visits
    answer = operator.process([none, tuples([6] * 100, [1] * 100, 100)], 7)
    assert len(answer) == 50_000
    assert visited <= operator.pairing.visits - before <= 2 * visited


@pytest.mark.parametrize("buckets", [0, 1])
def test_tuples_of_one_value_meet_only_who_lives_with_them(buckets):
    """One list of partners serves all, though each has a time of its own."""
    operator, none = join(buckets), Delta.empty(INPUT)
    operator.process([tuples([0, 4, 8], [1, 1, 1], 10), none], 8)
    new = tuples([9, 11, 15, 30], [1, 1, 1, 1], 5)
    answer = operator.process([none, new], 30)
    lived = sorted(zip(answer.ts.tolist(), answer.exp.tolist(), strict=True))
    assert lived == [(9, 10), (9, 14), (9, 14), (11, 14), (11, 16), (15, 18)]
