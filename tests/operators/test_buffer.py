"""State buffers against a plain list: what lives, what expires when, through moves and reloads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windrow.columns.delta import Delta
from windrow.core.errors import StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.thresholds import lowered_thresholds
from windrow.operators.state import buffer as module
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.saved_segments import MANY
from windrow.operators.state.tuple_index import BITS, EXP, TS
from windrow.plan.nodes import EdgeState, StrictState
from windrow.plan.physical.state_kinds import HASH, BufferKind, buffer_kind

SCHEMA = pa.schema([("v", pa.int64())])
steps = st.lists(
    st.tuples(
        st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=6),  # value, lifetime
        st.integers(0, 4),  # how many of the living are withdrawn
        st.integers(1, 3),  # ticks that pass
        st.booleans(),  # whether it is saved and loaded
    ),
    max_size=25,
)


EMPTY = Delta.empty(SCHEMA)


def batch(values: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, pa.int64())], schema=SCHEMA)


def delta(ts: int, rows: list[tuple[int, int]], sign: int) -> Delta:
    count = len(rows)
    return Delta(
        np.full(count, ts, np.int64),
        np.array([exp for _, exp in rows], np.int64),
        np.full(count, sign, np.int8),
        batch([value for value, _ in rows]),
    )


SEARCHED = buffer_kind(UpdatePattern.STRICT, chosen=EdgeState(3, StrictState.SEARCHED))
HASHED = buffer_kind(UpdatePattern.STRICT)
KINDS = [
    *(
        pytest.param(pattern, buffer_kind(pattern, scan), id=f"{pattern.name} {scan}")
        for pattern in (UpdatePattern.WEAKEST, UpdatePattern.WEAK, UpdatePattern.STRICT)
        for scan in (False, True)
    ),
    pytest.param(UpdatePattern.STRICT, SEARCHED, id="STRICT searched"),
]


@pytest.mark.parametrize(("pattern", "kind"), KINDS)
@given(steps=steps)
def test_a_buffer_holds_what_a_list_would(
    pattern: UpdatePattern,
    kind: BufferKind,
    steps: list[tuple[list[tuple[int, int]], int, int, bool]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.WORTH_MOVING, "value", 3)  # so that moves and new indexes happen often
        patch.setattr(MANY, "value", 3)
        check(pattern, kind, steps)


def check(
    pattern: UpdatePattern,
    kind: BufferKind,
    steps: list[tuple[list[tuple[int, int]], int, int, bool]],
) -> None:
    buffer, segments, now = StateBuffer(SCHEMA, pattern, kind), {}, 0
    held: list[tuple[int, int]] = []  # value, expiry
    for rows, withdrawn, ticks, reload in steps:
        now += ticks
        life = 9 if pattern is UpdatePattern.WEAKEST else None
        new = [(value, now + (life or lifetime)) for value, lifetime in rows]
        # What goes now came earlier and would have stayed.
        gone = [row for row in held if row[1] > now][:: max(1, withdrawn)][:withdrawn]
        buffer.insert(delta(now, new, 1))
        if pattern is UpdatePattern.STRICT:
            buffer.withdraw(delta(now, gone, -1))
            for row in gone:
                held.remove(row)
        positions, expiry = buffer.expire(now)
        expected = sorted(row for row in held + new if row[1] <= now)
        values = buffer.rows.take(positions).column(0).to_pylist()
        assert sorted(zip(values, expiry.tolist(), strict=True)) == expected
        assert expiry.tolist() == sorted(expiry.tolist())
        held = [row for row in held + new if row[1] > now]
        buffer.reclaim()
        living = buffer.living()
        exp = buffer.life.take(living)[:, module.EXP].tolist() if len(living) else []
        values = buffer.rows.take(living).column(0).to_pylist()
        assert sorted(zip(values, exp, strict=True)) == sorted(held)
        assert len(buffer) == len(held)
        saved = buffer.save()
        for name in saved.drop:
            del segments[name]
        segments.update(saved.put)
        if reload:
            buffer = StateBuffer(SCHEMA, pattern, kind)
            buffer.load(segments, saved.meta)


@pytest.mark.parametrize("pattern", [UpdatePattern.WEAKEST, UpdatePattern.STRICT])
def test_a_window_of_a_thousand_saves_is_in_few_segments_that_were_written_few_times(
    pattern: UpdatePattern,
) -> None:
    buffer, segments, written, most = StateBuffer(SCHEMA, pattern), {}, 0, 0
    for now in range(1, 3_001):
        buffer.insert(delta(now, [(now, now + 1_000)], 1))
        if pattern is UpdatePattern.STRICT and now > 2:
            buffer.withdraw(delta(now, [(now - 2, now + 998)], -1) if now % 3 else EMPTY)
        buffer.expire(now)
        buffer.reclaim()
        saved = buffer.save()
        for name in saved.drop:
            del segments[name]
        segments.update(saved.put)
        written += sum(content.num_rows for content in saved.put.values())
        most = max(most, len(segments))
    assert most <= 2 * (MANY.usual + 12)
    assert written <= 3_000 * 12
    again = StateBuffer(SCHEMA, pattern)
    again.load(segments, saved.meta)
    living = [b.rows.take(b.living()).column(0).to_pylist() for b in (buffer, again)]
    assert living[0] == living[1] != []


ODD = pa.schema([("x", pa.float64()), ("name", pa.string()), ("day", pa.timestamp("us"))])


def test_a_search_tells_nulls_and_nan_apart_and_takes_the_oldest_of_equal_tuples() -> None:
    values = [
        [float("nan"), 0.0, None, -0.0, None, float("nan")],
        ["a", "a", "a", None, None, "a"],
        [1, None, 1, 1, None, 1],
    ]
    arrays = [pa.array(v, kind) for v, kind in zip(values, ODD.types, strict=True)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=ODD)
    buffer = StateBuffer(ODD, UpdatePattern.STRICT, SEARCHED)
    buffer.insert(Delta.insertions(np.arange(6), rows, np.full(6, 100)))
    for wanted, position in ((5, 0), (3, 3), (2, 2), (4, 4), (1, 1), (0, 5)):
        negative = Delta(
            np.full(1, 10), np.full(1, 100), np.full(1, -1, np.int8), rows.slice(wanted, 1)
        )
        assert buffer.withdraw(negative).tolist() == [position]
    with pytest.raises(StateError, match="no live counterpart"):
        buffer.withdraw(negative)


def test_a_hash_alone_refuses_what_expires_by_itself() -> None:
    buffer = StateBuffer(SCHEMA, UpdatePattern.STRICT, HASH)
    with pytest.raises(StateError, match="a hash alone"):
        buffer.insert(delta(1, [(1, 9)], 1))


NAMED = pa.schema([("v", pa.int64()), ("name", pa.string()), ("odd", pa.bool_())])


@pytest.mark.parametrize("pattern", [UpdatePattern.WEAKEST, UpdatePattern.STRICT])
@settings(max_examples=30)
@given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=25), nulls=st.booleans())
def test_what_was_lent_stays_as_it_was_while_the_buffer_goes_on(
    pattern: UpdatePattern, sizes: list[int], nulls: bool
) -> None:
    """Arrays grow, move to the front and are compacted; withdrawn tuples end where they lie."""
    with lowered_thresholds():
        buffer, lent, number = StateBuffer(NAMED, pattern), [], 0
        before = pa.RecordBatch.from_pylist([], NAMED)
        for now, size in enumerate(sizes, 1):
            values = range(number, number + size)
            number += size
            names = [None if nulls and v % 3 == 0 else "x" * (v % 5) for v in values]
            odd = [bool(v % 2) for v in values]
            rows = pa.record_batch([pa.array(values, pa.int64()), names, odd], schema=NAMED)
            ts, exp = np.full(size, now), np.full(size, now + 4)
            buffer.insert(Delta.insertions(ts, rows, exp))
            if pattern is UpdatePattern.STRICT and before.num_rows:
                at, end = np.full(1, now), np.full(1, now + 3)
                buffer.withdraw(Delta(at, end, np.full(1, -1, np.int8), before.slice(0, 1)))
            before = rows
            buffer.lapse(now)
            living = buffer.living()
            lent.append((buffer.lend(now), buffer.rows.take(living), buffer.life.take(living)))
            buffer.reclaim()
        for taken, wanted, life in lent:
            found = taken.tuples()
            assert found.rows.to_pylist() == wanted.to_pylist()
            assert found.ts.tolist() == life[:, TS].tolist()
            assert found.exp.tolist() == life[:, EXP].tolist()


@given(steps=steps)
def test_tuples_that_share_their_bits_are_told_apart(
    steps: list[tuple[list[tuple[int, int]], int, int, bool]],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BITS, "value", 2)
        check(UpdatePattern.STRICT, HASHED, steps)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([1.5, None, np.nan, 0.0]), pa.array([1.5, None, np.nan, -0.0])),
        (pa.array(["a", None, "b" * 20, ""]), pa.array(["a", None, "b" * 20, ""])),
    ],
)
def test_equal_tuples_stand_in_one_queue_and_different_ones_make_the_index_exact(one, other):
    buffer = StateBuffer(pa.schema([("v", one.type)]), UpdatePattern.STRICT, HASHED)
    exp, at = np.full(len(one), 9, np.int64), np.zeros(len(one), np.int64)
    buffer.insert(Delta.insertions(at, pa.RecordBatch.from_arrays([one], ["v"]), exp))
    buffer.insert(Delta.insertions(at, pa.RecordBatch.from_arrays([other], ["v"]), exp))
    assert buffer.index is not None
    assert (len(buffer.index), buffer.index.exact) == (4, False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BITS, "value", 2)
        buffer._index_anew(exact=False)
    assert (len(buffer.index), buffer.index.exact) == (4, True)
