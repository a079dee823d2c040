"""Bytes many at a time, beside the slow twins that take them one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from windrow.columns.byte_kernels import (
    BLOCK,
    bit_count,
    copy_bytes,
    equal_bytes,
    high_bytes,
    lowest_bit,
    same_bytes,
    word_at,
)
from windrow.columns.kernels import boolean, bytes_in, bytes_out, int64, ints_out, kernel, void


@kernel(void, bytes_out, int64, bytes_in, int64, int64)
def copy(out, target, data, start, count):
    copy_bytes(out, target, data, start, count)


@kernel(boolean, bytes_in, int64, bytes_in, int64, int64)
def same(a, i, b, j, count):
    return same_bytes(a, i, b, j, count)


@kernel(int64, bytes_in, int64)
def word(data, at):
    return np.int64(word_at(data, at))


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8)


@given(before=st.binary(max_size=9), text=st.binary(max_size=40), after=st.binary(max_size=9))
def test_bytes_are_copied_and_those_around_them_stay(before, text, after):
    out = np.full(len(before) + len(text) + len(after), 7, np.uint8)
    copy(out, len(after), array(before + text + after), len(before), len(text))
    assert out.tobytes() == b"\x07" * len(after) + text + b"\x07" * len(before)


@given(
    text=st.binary(max_size=40), before=st.binary(max_size=9), other=st.binary(max_size=9),
    after=st.binary(max_size=3), change=st.none() | st.integers(0, 39),
)  # fmt: skip
def test_bytes_are_the_same_exactly_if_none_differs(text, before, other, after, change):
    twin = bytearray(text)
    if change is not None and change < len(twin):
        twin[change] ^= 1
    a, b = array(before + text + after), array(other + bytes(twin))
    assert same(a, len(before), b, len(other), len(text)) == (bytes(twin) == text)


@given(data=st.binary(min_size=8, max_size=24), at=st.integers(0, 16))
def test_a_word_is_eight_bytes_the_first_of_them_lowest(data, at):
    at = min(at, len(data) - 8)
    expected = int.from_bytes(data[at : at + 8], "little", signed=True)
    assert word(array(data), at) == expected


@kernel(void, bytes_in, int64, int64, ints_out)
def bits(data, at, byte, found):
    equal, high = equal_bytes(data, at, np.uint8(byte)), high_bytes(data, at)
    found[0], found[1] = lowest_bit(equal), bit_count(equal)
    found[2], found[3] = lowest_bit(high), bit_count(high)


@given(
    data=st.lists(st.sampled_from([0, 7, 44, 127, 128, 255]), min_size=BLOCK, max_size=2 * BLOCK),
    at=st.integers(0, BLOCK), byte=st.sampled_from([0, 44, 128, 255, 9]),
)  # fmt: skip
def test_of_a_block_it_is_known_where_a_byte_first_stands_and_how_often(data, at, byte):
    at = min(at, len(data) - BLOCK)
    block, found = data[at : at + BLOCK], np.empty(4, np.int64)
    bits(array(bytes(data)), at, byte, found)
    equal = [n for n, b in enumerate(block) if b == byte]
    high = [n for n, b in enumerate(block) if b > 127]
    assert found.tolist() == [min(equal, default=64), len(equal), min(high, default=64), len(high)]
