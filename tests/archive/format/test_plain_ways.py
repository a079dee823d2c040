"""What kernels do is done without them too: the same places, sums, pages, answers and errors."""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from tests.archive.support.flipped_bits import KEYS, QUESTIONS, check, made
from tests.archive.support.plain import bag
from windrow.archive.archive import open_archive
from windrow.archive.format import blocks, kernel_use
from windrow.archive.format.block_kernels import xxh64
from windrow.archive.format.blocks import Blocks, plain_xxh64
from windrow.archive.runs.search import directory_type, searcher


class Way:
    """Which way is taken, whatever pays."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch = monkeypatch

    def take(self, *, compiled: bool) -> None:
        self._patch.setattr(kernel_use.Use, "compiled", compiled)
        for name, module in list(sys.modules.items()):
            if name.startswith("windrow.archive.") and hasattr(module, "kernels_pay"):
                self._patch.setattr(module, "kernels_pay", lambda _: compiled)


@pytest.fixture
def way(monkeypatch):
    return Way(monkeypatch)


@settings(max_examples=200)
@given(st.binary(max_size=150))
def test_a_sum_is_the_kernels(data):
    padded = np.frombuffer(data or b"\0", np.uint8)
    assert plain_xxh64(data) == int(xxh64(padded.ctypes.data, len(data)))


def test_a_sum_of_a_page_is_the_kernels():
    data = np.random.default_rng(1).integers(0, 256, 4096).astype(np.uint8)
    assert plain_xxh64(data.tobytes()) == int(xxh64(data.ctypes.data, len(data)))


COLUMNS = {
    "int8": (pa.int8(), [-128, -3, 0, 5, 127], [-3, 4, 127]),
    "uint64": (pa.uint64(), [0, 2**63 - 1, 2**63, 2**64 - 1], [1, 2**63, 2**64 - 1]),
    "float32": (pa.float32(), [-np.inf, -1.5, 0.0, 2.5, np.inf, np.nan], [-0.0, 2.0, np.nan]),
    "float64": (pa.float64(), [-1e300, -1e-300, 0.0, 1e300, np.nan], [-0.0, -1e-300, 7.0]),
    "bool": (pa.bool_(), [False, True], [False, True]),
    "date": (pa.date32(), [-3, 5, 20_000], [-3, 6, 20_000]),
    "text": (pa.string(), ["", "a", "ab", "b\x00", "é", "日"], ["", "aa", "b", "日本"]),
    "bytes": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff"], [b"\x00", b"\x80", b"\xff\xff"]),
    "decimal": (pa.decimal128(9, 2), [Decimal(-2), Decimal("1.50")], [Decimal(-2), Decimal(0)]),
}


def in_a_file(column: pa.Array) -> tuple[pa.Array, pa.Buffer]:
    """A column as a directory has it: all of its buffers lie in one file."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"k": column})
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    file = sink.getvalue()
    return pa.ipc.open_file(file).get_batch(0).column(0), file


@pytest.mark.parametrize("name", COLUMNS)
def test_places_are_those_that_kernels_find(name, way):
    kind, stored, sought = COLUMNS[name]
    column = pa.array(stored, pa.int32() if name == "date" else kind).cast(kind)
    values = pa.array(sought, pa.int32() if name == "date" else kind).cast(kind)
    column, file = in_a_file(column.cast(directory_type(kind)))
    found = []
    for compiled in (True, False):
        way.take(compiled=compiled)
        search = searcher(column, kind, Blocks(file, "nowhere"))
        found.append([
            (
                search.find_left(value, low, high),
                search.find_right(value, low, high),
                search.exact(search.convert_key(value), high),
            )
            for value in [*values, *column.cast(kind)]
            for low in range(len(column))
            for high in range(low, len(column) + 1)
        ])  # fmt: skip
    assert found[0] == found[1]


def touched(archive) -> list[list[bool]]:
    return [
        [block._flags.tolist() for block in run._blocks] for run in archive._opened.runs.values()
    ]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("kind", ["days", "lifetimes"])
def test_answers_are_the_kernels_and_so_are_the_pages_that_were_compared(
    kind, key, way, tmp_path, monkeypatch
):
    monkeypatch.setattr(blocks, "SMALL", 0)
    archive = made(tmp_path, kind, key, "arrow")
    there, absent, several = QUESTIONS[key]
    pages = []
    for wanted in (there, absent, several, [there, absent]):
        for columns in (["site", "note"], ["tags", "pair", "inner", "seen"], None):
            answers, pages = [], []
            for compiled in (True, False):
                way.take(compiled=compiled)
                opened = open_archive(archive.disk)
                with opened.reader() as reader:
                    answers.append(bag(reader.probe(wanted, columns=columns)))
                pages.append(touched(opened))
            assert repr(answers[0]) == repr(answers[1])  # NaN is NaN
            assert all(
                not before or after
                for run, again in zip(*pages, strict=True)
                for file, same in zip(run, again, strict=True)
                for before, after in zip(file, same, strict=True)
            ), "a page that the kernel compares was not"
    assert pages


@pytest.mark.parametrize("key", ["text", "number", "words"])
def test_no_flipped_bit_gets_into_an_answer_without_kernels_either(key, way, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "SMALL", 0)
    archive = made(tmp_path, "days", key, "arrow")
    way.take(compiled=False)
    check(archive, key, "arrow", count=3)


def test_kernels_are_loaded_when_they_pay(monkeypatch):
    monkeypatch.setattr(kernel_use.Use, "steps", 0)
    monkeypatch.setattr(kernel_use.Use, "compiled", False)
    monkeypatch.setattr(kernel_use.PLAIN, "value", 10)
    monkeypatch.setattr(
        kernel_use, "sys", type("Sys", (), {"modules": {}})
    )  # as if nobody had loaded numba
    assert [kernel_use.kernels_pay(5) for _ in range(4)] == [False, False, True, True]


def test_what_has_numba_already_uses_it(monkeypatch):
    monkeypatch.setattr(kernel_use.Use, "steps", 0)
    monkeypatch.setattr(kernel_use.Use, "compiled", False)
    assert "numba" in sys.modules
    assert kernel_use.kernels_pay(1)


def test_kernels_are_in_modules_of_their_own():
    """So that nothing but them imports numba."""
    root = Path(kernel_use.__file__).parents[1]
    importing = [
        path
        for path in root.rglob("*.py")
        if "columns.kernels import" in path.read_text() or "import numba" in path.read_text()
    ]
    assert importing
    assert all(path.stem.endswith("_kernels") for path in importing)
