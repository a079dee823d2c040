"""Archives of records of many types, asked in every way, with one bit after another flipped."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.archive.support.plain import bag
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import DamagedError
from windrow.archive.format import blocks as sums
from windrow.archive.format.disk import Disk
from windrow.archive.lifetimes.lifetime_index import LifetimeIndex
from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.versions.pinned_reader import Range

ROWS = 1_400
KEYS = {
    "text": pa.string(),
    "number": pa.int32(),
    "ratio": pa.float64(),
    "huge": pa.uint64(),
    "price": pa.decimal128(12, 2),
    "words": pa.list_(pa.string()),
}
SCHEMA = pa.schema(
    {
        **KEYS,
        "site": pa.string(),
        "note": pa.large_string(),
        "seen": pa.bool_(),
        "pair": pa.list_(pa.int16(), 2),
        "inner": pa.struct({"a": pa.int64(), "b": pa.list_(pa.string())}),
        "tags": pa.map_(pa.string(), pa.int64()),
    }
)


def records(day: int) -> pa.Table:
    rnd = random.Random(day)
    rows = [
        {
            "text": None if i % 50 == 7 else f"key {i % 97:04}",
            "number": i % 97 - 40,
            "ratio": float("nan") if i % 97 == 5 else (i % 97) / 3 - 9,
            "huge": 2**63 - 20 + i % 97,
            "price": Decimal(i % 97 - 40) / 4,
            "words": [f"w{i % 97}", f"w{i % 11}"],
            "site": f"site {i % 5}",
            "note": None if i % 9 == 0 else f"note {rnd.randrange(10**9)}",
            "seen": i % 3 == 0,
            "pair": None if i % 8 == 0 else [i % 100, day],
            "inner": {"a": i, "b": [f"b{i % 7}"] * (i % 3)},
            "tags": [("x", i)] * (i % 2),
        }
        for i in range(ROWS)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


QUESTIONS: dict[str, tuple[Any, Any, Range]] = {
    "text": ("key 0033", "key 0033x", Range("key 0090", "key 0093")),
    "number": (-7, 999, Range(-3, 2)),
    "ratio": (-8.0, 0.1, Range(20.0, None)),
    "huge": (2**63 + 3, 5, Range(2**63 - 1, 2**63 + 2)),
    "price": (Decimal("1.25"), Decimal("1.26"), Range(Decimal(9), None)),
    "words": ("w33", "nobody", Range("w9", "w92")),
}


def made(path: Path, kind: str, key: str, form: str) -> Archive | LifetimeIndex:
    disk = Disk(path)
    if kind == "days":
        archive = Archive.create(
            disk, SCHEMA, key, window=2, scheme="DEL", n=1, technique="packed shadow", format=form
        )
        archive.append(1, records(1), now=1)
        archive.append(2, records(2), now=2)
    else:
        archive = LifetimeIndex.create(
            disk, SCHEMA, key, longest=8, interval=2, grid=Grid(1, 1), format=form
        )
        archive.insert(2, records(1), pa.array([3 + i % 7 for i in range(ROWS)]))
    archive.vacuum()
    return archive


def answers(archive: Archive | LifetimeIndex, key: str) -> Iterator[list[Any]]:
    """What every way of asking gives, each time with an archive that has just been opened."""
    there, absent, several = QUESTIONS[key]
    timed = {"now": 5} if isinstance(archive, LifetimeIndex) else {}
    first = None if isinstance(archive, LifetimeIndex) else 2
    plain = ["text", "number", "site", "huge"]
    asked = [
        lambda r: r.probe(there),
        lambda r: r.probe(there, columns=plain, plain=True),
        lambda r: r.probe(absent),
        lambda r: r.probe(several, columns=["note", "inner", "pair"]),
        lambda r: r.probe([there, absent]),
        lambda r: r.probe(there, first, columns=["tags", "seen"]),
        lambda r: r.scan(columns=["note", "site", "_day"]),
    ]
    for ask in asked:
        with open_archive(archive.disk).reader(**timed) as reader:
            yield bag(ask(reader))


def outcomes(archive: Archive | LifetimeIndex, key: str) -> list[list[Any] | str]:
    found: list[list[Any] | str] = []
    asking = answers(archive, key)
    while True:
        try:
            found.append(next(asking))
        except StopIteration:
            return found
        except DamagedError as error:
            found.append(error.where)
            return found


def flips(path: Path, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """Places all over a file, more of them at both ends, and a bit of each."""
    size, rnd = path.stat().st_size, random.Random(seed)
    ends = [*range(0, size, max(1, size // 8)), *range(max(0, size - 60), size, 3), size - 1]
    for place in sorted({*ends, *(rnd.randrange(size) for _ in range(count))}):
        yield place, rnd.randrange(8)


def check(archive: Archive | LifetimeIndex, key: str, form: str, *, count: int) -> None:
    expected = outcomes(archive, key)
    assert all(expected[i] for i in (0, 1, 3, 4, 5, 6))
    assert expected[2] == []
    suffixes = {form, "directory"} | ({"sums"} if sums.SMALL == 0 else set())
    paths = sorted((archive.disk.root / "runs").iterdir())
    assert {path.suffix[1:] for path in paths} == suffixes
    for path in paths:
        whole, told = path.read_bytes(), 0
        for place, bit in flips(path, count, seed=len(whole)):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            path.write_bytes(flipped)
            found = outcomes(archive, key)
            if found != expected:
                assert found[:-1] == expected[: len(found) - 1], (path.name, place, bit)
                assert found[-1] == str(path), (path.name, place, bit)
                told += 1
        path.write_bytes(whole)
        assert told > 3
    assert outcomes(archive, key) == expected
    assert archive.verify() == []
