"""What both formats of entries have in common: what is asked of them, and in which types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from windrow.archive.format.sheet import Sheet
from windrow.archive.runs.encoding import encode_columns
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

LONG = Threshold(16_384)
"""Rows in a piece from which on what comes after it is likely to be wanted too."""
REMEMBERED = Threshold(64, least=1)
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class Only:
    """Which entries of a run count: those of some days, those that expire at ``after`` or later.

    ``days`` None means all of the run's. ``after`` needs entries that have an expiry.
    """

    days: tuple[int, ...] | None = None
    after: int | None = None


ALL = Only()


@dataclass(frozen=True)
class Mapped:
    """Buckets of a run are slices of a ``batch``, whose blocks the ``sheet`` knows; its first row
    is row ``first`` of the run.

    Of a bucket those rows count whose stamps are within [low, high): ``stamps`` is where they are
    and how they are held (``search.py``), and the two bounds; None if all rows count.
    """

    first: int
    batch: pa.RecordBatch
    sheet: Sheet
    stamps: tuple[int, int, int, int] | None


class Entries(Protocol):
    """A file of entries. Rows are [start, stop); ``schema`` names and types what is wanted.

    ``bucket`` is for rows that all have one key and so are in the order of their stamps.
    """

    def rows(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        """Rows of any keys."""

    def bucket(self, start: int, stop: int, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        """Rows of one key."""

    def map_batches(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        """How kernels have any bucket, batch by batch, if they can have all in the same way."""

    def map_scan(self, schema: pa.Schema, only: Only) -> list[Mapped] | None:
        """How kernels have all rows, batch by batch, if they can; these columns are read ahead."""

    def piece(
        self, start: int, stop: int, schema: pa.Schema, only: Only
    ) -> tuple[int, int, int] | None:
        """Rows of one key as ``Copier`` takes them, of a plain schema; None if it cannot."""

    def take(self, rows: Int64s, schema: pa.Schema, only: Only) -> list[pa.RecordBatch]:
        """Rows that are given one by one, in ascending order, copied together."""

    def plain(self, start: int, stop: int) -> pa.Table:
        """Rows as they are stored, all of their columns."""


def remember(known: dict[K, V], key: K, value: V) -> V:
    """Keep a value to be found again; readers come and go, and each brings schemas."""
    if len(known) >= REMEMBERED.value:
        known.clear()
    known[key] = value
    return value


def positions(ranges: list[tuple[int, int]]) -> Int64s:
    """The rows of ranges, one after the other."""
    starts = np.array([start for start, _ in ranges], np.int64)
    counts = np.array([stop - start for start, stop in ranges], np.int64)
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(counts.sum())


def convert_batches(batches: list[pa.RecordBatch], schema: pa.Schema) -> list[pa.RecordBatch]:
    if all(b.num_rows and b.schema.equals(schema) for b in batches):
        return batches
    found = pa.Table.from_batches(batches) if batches else schema.empty_table()
    converted: list[pa.RecordBatch] = encode_columns(found, schema).to_batches()
    return [b for b in converted if b.num_rows]
