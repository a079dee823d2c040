"""The directory of a run: distinct keys in ascending order, and the row where each bucket starts.

It is an Arrow file of its own beside the entries, the same for both formats of entries, and is
searched where it is mapped. Columns: the key's, under their own names (strings with 64-bit
offsets, booleans as 0 and 1, 16-bit floats and short decimals as the next that Arrow sorts), and
``_start``. The row after the last bucket is in the schema's
metadata; rows from there on are entries without a key.

Where keys are lists there are no buckets: instead of ``_start`` each key has ``_rows``, the list of
the rows in which its records are.

A ``Finder`` looks a key up in the directories of several runs at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windrow.archive.errors import ArchiveError, DamagedError
from windrow.archive.format.blocks import REMEDY, Blocks, check_metadata
from windrow.archive.format.disk import Sink
from windrow.archive.format.kernel_use import Kernels, kernels_pay
from windrow.archive.format.layout import Layout
from windrow.archive.runs.search import BYTES, directory_type, searcher
from windrow.archive.runs.sorting import Listing
from windrow.columns.arrays import Int64s, numpy_view

START, ROWS, END = "_start", "_rows", b"windrow.end"
_NARROW = 2**31
_NO_TEXT = np.zeros(0, np.uint8)
_kernels = Kernels("windrow.archive.runs.search_kernels")


def write_directory(
    sink: Sink, layout: Layout, distinct: Sequence[pa.Array], starts: Int64s
) -> None:
    """``starts`` has an element more than there are keys: the row after the last bucket."""
    _write(sink, layout, distinct, START, pa.array(starts[:-1]), int(starts[-1]))


def write_listing(sink: Sink, layout: Layout, listing: Listing, records: int) -> None:
    """The same for a run of so many records that have lists for keys."""
    width = pa.int32() if records < _NARROW else pa.int64()
    rows = pa.LargeListArray.from_arrays(
        pa.array(listing.starts), pa.array(listing.rows).cast(width)
    )
    _write(sink, layout, listing.distinct, ROWS, rows, len(listing.rows))


def _write(
    sink: Sink, layout: Layout, distinct: Sequence[pa.Array], name: str, places: pa.Array, end: int
) -> None:
    kinds = [directory_type(kind) for kind in layout.key_types]
    columns = [d.cast(k) for d, k in zip(distinct, kinds, strict=True)]
    fields = [pa.field(n, k) for n, k in zip(layout.key, kinds, strict=True)]
    schema = pa.schema([*fields, pa.field(name, places.type)], metadata={END: str(end).encode()})
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch([*columns, places], schema=schema))


class Directory:
    """A directory that is open. ``find`` costs a binary search per column of the key."""

    def __init__(self, blocks: Blocks, layout: Layout) -> None:
        self._blocks = blocks
        try:
            check_metadata(blocks)
            batch = pa.ipc.open_file(blocks.buffer).get_batch(0)
            self.end = int(batch.schema.metadata[END])
            self.columns = [batch.column(name) for name in layout.key]
            self._rows: npt.NDArray[Any] | None = None
            if layout.list_key is None:
                self.starts: Int64s = numpy_view(batch.column(START))
            else:
                self.starts = numpy_view(batch.column(ROWS).offsets)[:-1]
                self._rows = numpy_view(batch.column(ROWS).values)
            pairs = zip(self.columns, layout.key_types, strict=True)
            self._searchers = [searcher(column, kind, blocks) for column, kind in pairs]
        except (pa.ArrowException, LookupError, OSError, TypeError, ValueError) as error:
            raise DamagedError(
                where=blocks.where,
                expected="the directory of a run",
                found=str(error),
                remedy=REMEDY,
            ) from error
        self._count = len(self.starts)
        self._key = layout.key

    @property
    def of_lists(self) -> bool:
        """Whether keys are the values of lists, and what is found are places in a listing."""
        return self._rows is not None

    @property
    def key_form(self) -> int:
        """How a kernel finds keys of one column; -1 if none does."""
        return self._searchers[0].key_form if len(self._searchers) == 1 else -1

    def addresses(self) -> tuple[int, ...]:
        """Of a key of one column: the file's guard; keys or offsets, bytes, and starts; how many
        keys there are; where the last bucket ends; and how keys are held.
        """
        keys = self._searchers[0].addresses
        return (
            self._blocks.guard,
            *keys,
            self.starts.ctypes.data,
            self._count,
            self.end,
            self.key_form,
        )

    def damage_error(self, bad: int) -> DamagedError:
        """What to raise for what a kernel says of a block."""
        return self._blocks.damage_error(bad)

    def check(self) -> None:
        """Compare all of the directory with its sums, before it is read otherwise than by methods
        that find something.
        """
        self._blocks.check_range(0, self._blocks.buffer.size)

    def ends(self, low: int, high: int) -> tuple[pa.Scalar, pa.Scalar]:
        """The values that the first and the last of the keys [low, high) begin with."""
        for place in (low, high - 1):
            self._searchers[0].check(place)
        return self.columns[0][low], self.columns[0][high - 1]

    def __len__(self) -> int:
        """How many distinct keys there are."""
        return self._count

    def find(self, key: Any) -> tuple[int, int]:
        """The rows [start, stop) of a key's bucket; of a composite key, its first columns do."""
        if len(self._searchers) == 1 and type(key) is not tuple:
            return self.bucket(self.convert_key(key))
        low, high = 0, self._count
        for search, value in zip(self._searchers, self._values(key), strict=False):
            low = search.find_left(value, low, high)
            high = search.find_right(value, low, high)
        return self.rows(low, high)

    def convert_key(self, key: Any) -> Any:
        """A key of one column as ``bucket`` wants it: converted once for all runs of an archive."""
        return self._searchers[0].convert_key(key)

    def bucket(self, sought: Any) -> tuple[int, int]:
        """The rows [start, stop) of a key of one column."""
        place = self._searchers[0].exact(sought, self._count)
        return (0, 0) if place < 0 else self.rows(place, place + 1)

    def find_range(self, least: Any, greatest: Any) -> tuple[int, int]:
        """The rows whose keys are between two keys, both included; None leaves a side open."""
        low = 0 if least is None else self._edge(least, after=False)
        high = self._count if greatest is None else self._edge(greatest, after=True)
        return self.rows(low, max(low, high))

    def counts(self) -> Int64s:
        """How many entries each key has."""
        return np.diff(self.starts, append=self.end)

    def listing(self) -> Listing:
        """All that a directory of lists has."""
        assert self._rows is not None, "keys are lists"
        rows = self._rows.astype(np.int64, copy=False)
        return Listing(self.columns, np.append(self.starts, self.end), rows)

    def record_rows(self, found: Sequence[Sequence[int]]) -> Int64s:
        """The rows of the records that were found under keys that are values of lists: each once,
        in ascending order. ``found`` has what ``find`` and its like return.
        """
        assert self._rows is not None, "keys are lists"
        parts = [self._rows[start:stop] for start, stop in found if start < stop]
        if not parts:
            return np.zeros(0, np.int64)
        for part in parts:
            self._blocks.check_array(part)
        return np.unique(np.concatenate(parts)).astype(np.int64, copy=False)

    def _edge(self, key: Any, *, after: bool) -> int:
        low, high = 0, self._count
        values = self._values(key)
        for search, value in zip(self._searchers, values, strict=False):
            low, high = search.find_left(value, low, high), search.find_right(value, low, high)
        return high if after else low

    def _values(self, key: Any) -> tuple[Any, ...]:
        values = key if isinstance(key, tuple) else (key,)
        if not 1 <= len(values) <= len(self._searchers):
            raise ArchiveError(
                where="probe",
                expected=f"a key of the columns {', '.join(self._key)}, or of the first of them",
                found=repr(key),
            )
        return values

    def rows(self, low: int, high: int) -> tuple[int, int]:
        """The rows [start, stop) of the keys at places [low, high)."""
        if low >= high:
            return 0, 0
        self._blocks.check_array(self.starts[low : low + 1])
        if high == self._count:
            return int(self.starts[low]), self.end
        self._blocks.check_array(self.starts[high : high + 1])
        return int(self.starts[low]), int(self.starts[high])


class Finder:
    """The buckets of a key of one column in the directories of some runs.

    All but decimals are searched for in one call of a kernel; it goes by addresses, so what is
    found depends on the directories being held, as they are here. It compares what it looks at with
    its sum, if that has not been done.
    """

    def __init__(self, directories: Sequence[Directory]) -> None:
        self._directories = directories
        self._table = None
        held = {d.key_form for d in directories}
        if len(held) == 1 and held != {-1}:
            self._bytes = held == {BYTES}
            self._table = np.array([d.addresses() for d in directories], np.int64)
        self._find: Callable[..., int] | None = None  # the kernel, once it pays

    def buckets(self, key: Any) -> Sequence[Sequence[int]]:
        """The rows [start, stop) of the key, a pair for each run; empty where it has none."""
        if not self._directories:
            return []
        sought = self._directories[0].convert_key(key)
        if self._find is None and self._table is not None and kernels_pay(len(self._table)):
            self._find = _kernels.find_buckets
        if self._find is None or self._table is None:
            return [directory.bucket(sought) for directory in self._directories]
        pairs = np.empty((len(self._table), 2), np.int64)
        number, text = (0, sought) if self._bytes else (sought, _NO_TEXT)
        if bad := self._find(self._table, text, number, pairs):
            raise self._directories[bad - 1].damage_error(int(pairs[bad - 1, 0]))
        listed: list[list[int]] = pairs.tolist()
        return listed
