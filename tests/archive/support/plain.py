"""An archive as a list: what every answer is compared with."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from windrow.archive.archive import Archive
from windrow.archive.format.disk import Disk
from windrow.archive.runs.encoding import decode
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.reader import Reader
from windrow.archive.wave.schemes import SCHEMES
from windrow.archive.wave.wave import TECHNIQUES

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.int64())])
KEYS = ["", "a", "ab", "b", "c", None]
COMBINATIONS = [
    (scheme, technique, form)
    for scheme, technique, form in itertools.product(SCHEMES, TECHNIQUES, ("arrow", "parquet"))
]
Row = tuple[str | None, int, int]


class PlainList:
    """Rows (key, value, day) that were appended, and the day to which the window has moved."""

    def __init__(self, window: int) -> None:
        self.window, self.now, self.rows = window, None, []

    def copy(self) -> PlainList:
        other = PlainList(self.window)
        other.now, other.rows = self.now, list(self.rows)
        return other

    def append(self, day: int, rows: Iterable[tuple[str | None, int]]) -> None:
        self.rows += [(key, value, day) for key, value in rows]

    def seen(
        self, now: int | None = None, t1: int | None = None, t2: int | None = None
    ) -> list[Row]:
        now = self.now if now is None else now
        if now is None:
            return []
        low = max(now - self.window + 1, t1 if t1 is not None else now - self.window + 1)
        high = min(now, t2 if t2 is not None else now)
        return [row for row in self.rows if low <= row[2] <= high]


def table(rows: Iterable[tuple[str | None, int]]) -> pa.Table:
    rows = list(rows)
    return pa.table({"key": [k for k, _ in rows], "value": [v for _, v in rows]}, SCHEMA)


def bag(answer: pa.Table) -> list[Any]:
    return sorted((tuple(row.values()) for row in decode(answer).to_pylist()), key=repr)


def answers(reader: Reader, now: int | None) -> Iterator[tuple[str, list[Any]]]:
    """Every kind of question, and its answer."""
    columns = ["key", "value", "_day"]
    yield "scan", bag(reader.scan(columns=columns))
    for key in KEYS[:-1]:
        yield f"probe {key!r}", bag(reader.probe(key, columns=columns))
    yield "probe of two", bag(reader.probe(["a", "c", "zz"], columns=columns))
    yield "range", bag(reader.probe(Range("a", "b"), columns=columns))
    if now is not None:
        for t1, t2 in ((now - 1, now), (None, now - 2), (now - 2, None), (now + 1, now)):
            yield f"scan {t1}-{t2}", bag(reader.scan(t1, t2, columns=columns))
            yield f"probe {t1}-{t2}", bag(reader.probe("a", t1, t2, columns=columns))
            yield f"range {t1}-{t2}", bag(reader.probe(Range(None, "a"), t1, t2, columns=columns))


def expected(plain: PlainList, now: int | None = None) -> Iterator[tuple[str, list[Any]]]:
    now = plain.now if now is None else now
    whole = plain.seen(now)

    def chosen(rows: list[Row], *keys: str) -> list[Row]:
        return sorted((r for r in rows if r[0] in keys), key=repr)

    def between(rows: list[Row], least: str, greatest: str) -> list[Row]:
        keyed = (r for r in rows if r[0] is not None)
        return sorted((r for r in keyed if least <= r[0] <= greatest), key=repr)

    yield "scan", sorted(whole, key=repr)
    for key in KEYS[:-1]:
        yield f"probe {key!r}", chosen(whole, key)
    yield "probe of two", chosen(whole, "a", "c")
    yield "range", between(whole, "a", "b")
    if now is not None:
        for t1, t2 in ((now - 1, now), (None, now - 2), (now - 2, None), (now + 1, now)):
            timed = plain.seen(now, t1, t2)
            yield f"scan {t1}-{t2}", sorted(timed, key=repr)
            yield f"probe {t1}-{t2}", chosen(timed, "a")
            yield f"range {t1}-{t2}", between(timed, "", "a")


def assert_same(archive: Archive, plain: PlainList, now: int | None = None) -> None:
    with archive.reader(now) as reader:
        found = dict(answers(reader, plain.now if now is None else now))
    assert found == dict(expected(plain, now))


def files_of(disk: Disk) -> set[str]:
    return {name.rpartition(".")[0] for name in disk.names("runs")}


def named(archive: Archive) -> set[str]:
    """The runs that the newest version names."""
    with archive._versions.lease() as lease:
        return {run.name for run in lease.manifest.runs}
