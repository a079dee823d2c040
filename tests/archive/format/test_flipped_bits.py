"""A flipped bit of a run is an error that names the file, or changes no answer: in either format,
either kind of index, wherever the bit is, whether blocks have sums or files are summed up whole."""

from __future__ import annotations

import numpy as np
import pytest

from tests.archive.support.flipped_bits import KEYS, check, made, outcomes, records
from windrow.archive.errors import DamagedError
from windrow.archive.format import blocks as sums
from windrow.archive.format.block_kernels import xxh64
from windrow.archive.format.blocks import BLOCK, SummingSink, sums_of


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
