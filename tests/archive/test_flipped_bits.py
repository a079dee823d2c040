"""A flipped bit of a run is an error that names the file, or changes no answer: in either format,
either kind of index, wherever the bit is, whether blocks have sums or files are summed up whole."""

from __future__ import annotations

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.archive.disks import UnsyncedDisk
from tests.archive.plain import bag
from windrow.archive.archive import Archive, open_archive
from windrow.archive.errors import DamagedError
from windrow.archive.format import block_sums as sums
from windrow.archive.format.block_sums import BLOCK, SummingSink, sums_of
from windrow.archive.format.kernels.xxh64 import xxh64
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
    disk = UnsyncedDisk(path)
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


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["blocks", "whole"])
@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", ["days", "lifetimes"])
def test_no_flipped_bit_of_a_run_gets_into_an_answer(kind, form, small, tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", small)
    key = {"days": "text", "lifetimes": "number"}[kind]
    check(made(tmp_path, kind, key, form), key, form, count=25 if small == 0 else 5)


@pytest.mark.parametrize("key", ["ratio", "huge", "price", "words"])
def test_nor_does_one_for_keys_of_other_types(key, tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", 0)
    check(made(tmp_path, "days", key, "arrow"), key, "arrow", count=10)


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("form", ["arrow", "parquet"])
@pytest.mark.parametrize("kind", ["days", "lifetimes"])
def test_nor_do_many_more(kind, form, key, tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", 0)
    check(made(tmp_path, kind, key, form), key, form, count=500)


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


def test_readers_of_one_archive_compare_a_block_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", 0)
    archive = made(tmp_path, "days", "text", "arrow")
    with archive.reader() as reader:
        reader.probe("key 0033")
    path = next((tmp_path / "runs").glob("*.arrow"))
    data = path.read_bytes()
    with path.open("r+b") as file:  # the file that is mapped, not another of its name
        file.write(bytes(byte ^ 255 for byte in data))
    with archive.reader() as reader:
        reader.probe("key 0033")  # known to have been sound
    with archive.reader() as reader, pytest.raises(DamagedError, match=path.name):
        reader.scan()


def test_runs_that_were_written_without_sums_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sums, "SMALL", 1 << 30)
    archive = made(tmp_path, "days", "text", "arrow")
    assert not list((tmp_path / "runs").glob("*.sums"))
    expected = outcomes(archive, "text")
    monkeypatch.setattr(sums, "SMALL", 0)
    assert outcomes(archive, "text") == expected
    archive.append(3, records(3), now=3)
    assert list((tmp_path / "runs").glob("*.sums"))
    assert archive.verify() == []


def test_the_sum_is_xxh64_whatever_the_length():
    known = {b"": 0xEF46DB3751D8E999, b"a": 0xD24EC4F1A98C6E5B, b"xxhash": 0x32DD38952C4BC720}
    for text, expected in known.items():
        data = np.frombuffer(text or b"\0", np.uint8)
        assert xxh64(data.ctypes.data, len(text)) == expected
    chance = np.random.default_rng(0)
    for length in (3, 4, 7, 8, 12, 31, 32, 33, 63, 64, 100, 4095, 4096):
        data = chance.integers(0, 256, length).astype(np.uint8)
        assert int(xxh64(data.ctypes.data, length)) == slow(data.tobytes())


def slow(data: bytes) -> int:
    """XXH64 as its specification has it."""
    mask = 2**64 - 1
    p1, p2, p3, p4, p5 = (
        11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579,
        2870177450012600261,
    )  # fmt: skip

    def rotated(x: int, bits: int) -> int:
        return (x << bits | x >> (64 - bits)) & mask

    def one(state: int, word: int) -> int:
        return rotated(state + word * p2 & mask, 31) * p1 & mask

    size, rest = len(data), data
    state = p5
    if size >= 32:
        lanes = [p1 + p2 & mask, p2, 0, -p1 & mask]
        while len(rest) >= 32:
            for i in range(4):
                lanes[i] = one(lanes[i], int.from_bytes(rest[8 * i : 8 * i + 8], "little"))
            rest = rest[32:]
        state = sum(map(rotated, lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            state = ((state ^ one(0, lane)) * p1 + p4) & mask
    state = state + size & mask
    while len(rest) >= 8:
        state = rotated(state ^ one(0, int.from_bytes(rest[:8], "little")), 27) * p1 + p4 & mask
        rest = rest[8:]
    if len(rest) >= 4:
        state = rotated(state ^ int.from_bytes(rest[:4], "little") * p1 & mask, 23) * p2 + p3 & mask
        rest = rest[4:]
    for byte in rest:
        state = rotated(state ^ byte * p5 & mask, 11) * p1 & mask
    for shift, times in ((33, p2), (29, p3)):
        state = (state ^ state >> shift) * times & mask
    return state ^ state >> 32


@pytest.mark.parametrize("lengths", [[1], [BLOCK], [5, BLOCK, 2 * BLOCK + 1], [BLOCK - 1, 1, 7, 0]])
def test_blocks_are_summed_up_however_they_are_written(lengths):
    parts = [bytes([i + 1]) * length for i, length in enumerate(lengths)]
    written = bytearray()
    sink = SummingSink(type("Sink", (), {"write": staticmethod(written.extend)}))
    for part in parts:
        sink.write(part)
    assert bytes(written) == b"".join(parts)
    assert sink.sums().tolist() == sums_of(b"".join(parts)).tolist()
