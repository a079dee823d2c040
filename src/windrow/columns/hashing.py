"""Hashes of key values that are the same in every process, and the bucket that they choose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s, identity_keys, validity
from windrow.columns.byte_forms import byte_parts, is_bytes
from windrow.columns.byte_kernels import word_at
from windrow.columns.kernels import bytes_in, inline, int64, ints, ints_out, kernel, void

NULL_HASH = -7046029254386353131


@inline
def mix(value):  # type: ignore[no-untyped-def]
    """Spread the bits of an integer: a bijection, so distinct integers never collide."""
    x = np.uint64(value)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return np.int64(x ^ (x >> np.uint64(33)))


@kernel(int64, bytes_in, int64, int64)
def hash_bytes(data, start, stop):  # type: ignore[no-untyped-def]
    """Hash of a stretch of bytes, eight at a time."""
    h = np.uint64(stop - start) * np.uint64(0x9E3779B97F4A7C15)
    i = start
    while i + 8 <= stop:
        h = (h ^ word_at(data, i)) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
        i += 8
    word = np.uint64(0)
    shift = np.uint64(0)
    while i < stop:
        word |= np.uint64(data[i]) << shift
        shift += np.uint64(8)
        i += 1
    h = (h ^ word) * np.uint64(0xC4CEB9FE1A85EC53)
    return mix(np.int64(h))


@kernel(void, ints, ints_out)
def _add_ints(keys, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        hashes[i] = mix(hashes[i] * 31 + mix(keys[i]))


@kernel(void, ints, bytes_in, ints_out)
def _add_strings(offsets, data, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(hashes)):
        hashes[i] = mix(hashes[i] * 31 + hash_bytes(data, offsets[i], offsets[i + 1]))


def hash_rows(columns: Sequence[pa.Array], length: int) -> Int64s:
    """A 64-bit hash per row; equal values hash equally whatever the width of their type."""
    hashes = np.zeros(length, np.int64)
    for column in columns:
        before = hashes.copy() if column.null_count else hashes
        if is_bytes(column.type):
            _add_strings(*byte_parts(column), hashes)
        else:
            _add_ints(identity_keys(column), hashes)
        valid = validity(column)
        if valid is not None:
            hashes[~valid] = before[~valid] * 31 + NULL_HASH
    return hashes


def bucket_of(columns: Sequence[pa.Array], buckets: int) -> Int64s:
    """The bucket, from 0 to ``buckets - 1``, of each row by its key columns."""
    if not columns:
        raise ValueError("a bucket is chosen by at least one key column")
    hashes = hash_rows(columns, len(columns[0])).view(np.uint64)
    return ((hashes >> np.uint64(16)) % np.uint64(buckets)).astype(np.int64)
