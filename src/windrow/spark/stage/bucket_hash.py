"""Bucket numbers that Spark spreads evenly over the partitions of a shuffle.

Spark places a row by ``pmod(hash(bucket), partitions)``. Its hash of an integer is Murmur3 (x86,
32 bits, seed 42), done here in Python because asking Spark costs a job, seconds on a cold machine.
"""

from __future__ import annotations

SEED = 42
WORD = 0xFFFFFFFF


def spark_hash(value: int) -> int:
    """What Spark's ``hash`` gives for an INT.

    >>> spark_hash(0), spark_hash(1)
    (933211791, -559580957)
    """
    k = (value & WORD) * 0xCC9E2D51 & WORD
    k = _rotated(k, 15) * 0x1B873593 & WORD
    h = (_rotated(SEED ^ k, 13) * 5 + 0xE6546B64) & WORD
    h ^= 4  # the number of bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & WORD
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def spread_buckets(partitions: int, per_partition: int = 1) -> tuple[int, ...]:
    """The smallest numbers of which each partition gets ``per_partition``.

    >>> [spark_hash(b) % 2 for b in spread_buckets(2, per_partition=3)].count(0)
    3
    """
    found: dict[int, list[int]] = {p: [] for p in range(partitions)}
    number, missing = 0, partitions * per_partition
    while missing:
        chosen = found[spark_hash(number) % partitions]
        if len(chosen) < per_partition:
            chosen.append(number)
            missing -= 1
        number += 1
    return tuple(sorted(b for chosen in found.values() for b in chosen))


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & WORD
