"""What is known of some runs before a key is looked up in them: addresses, written down once.

A plan has a line for each batch of each run: where the run's directory is searched, which of its
rows the batch has, the sheet of the batch, and which stamps count. One kernel goes through the
lines and finds the buckets of a key in all runs. What it finds are ``StoredRows``: places, which
nothing has been copied from. A run whose buckets are not slices of batches (Parquet, or one that
was written in narrower types), or of very many, has one line without a sheet, and its entries are
asked.

For rows of Python values there is a second line for each batch and column: how the values are held
and where. The objects of a dictionary that is not large are made when they are first asked for, and
then given away again and again.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.format.kernel_use import Kernels
from windrow.archive.format.sheet import address_of
from windrow.archive.runs.arrow_entries import Copier, sheet
from windrow.archive.runs.entries import Mapped, Only
from windrow.archive.runs.run import Run
from windrow.archive.runs.search import BYTES, FORMS, GREATEST
from windrow.archive.runs.stored_rows import StoredRows
from windrow.columns.arrays import Int64s
from windrow.core.thresholds import Threshold

PLAN_COLUMNS = 16
FIRST, ROWS, SHEET, STAMPS, STAMP_FORM, LOW, HIGH, FENCES, FENCE_COUNT = range(7, PLAN_COLUMNS)
"""Of a line, after what ``Directory.addresses`` has: the rows of the run that are the batch's.
Without a sheet nothing is compared, without stamps all rows count, without fences the whole
directory is searched."""
HEAD_COLUMNS = 3
LINES_AT, LINES, LOOKS_LEFT = range(HEAD_COLUMNS)
"""Of the head of a plan: its lines, and the keys that are looked up before it gets fences."""
FENCES_PAY = -(2**62)
KEY_COUNT = 4
SPAN = 3
"""What is said of a bucket: its line, and its rows [start, stop) of the batch."""
OBJECT_COLUMNS = 8
VALUE_FORM, CODE_WIDTH, VALUES_AT, DICTIONARY, TEXTS_AT, OBJECTS, OWNER, FAR = range(OBJECT_COLUMNS)
"""Of a line for values: how they are held; the width of codes, 0 if there are none; where values,
offsets or codes are; where a dictionary's are; the bytes of strings; the addresses of objects, one
for each value of the dictionary, 0 where it has not been asked for; the list that owns them;
and whether the dictionary is so large that its values are likely to be far from the processor."""
BOOL, TEXT, BYTE_STRING, CONSTANT, LISTED = range(BYTES + 1, BYTES + 6)
"""Further ways to hold values: bits; strings; bytes; the key itself; in lists, not for kernels."""
FEW_VALUES = Threshold(2**16, least=0)
"""Values of a dictionary up to which their Python objects are kept once they were made."""

FAR_VALUES = Threshold(1_024, least=0)
"""Values of a dictionary from which on they are brought near together."""
MANY_LOOKS = Threshold(64, least=1)
"""Keys looked up with a plan before fences are set: they read some pages of every directory."""
MOST_FENCES = Threshold(2_048, least=1)
"""Fences of a run: 16 KiB, which stay near the processor."""
MOST_BATCHES = Threshold(32, least=3)
"""Batches of a run up to which each has a line, that is a search of its own."""

_kernels = Kernels("windrow.archive.runs.probe_kernels")
_fences = Kernels("windrow.archive.runs.fence_kernels")


class ProbePlan:
    """Runs, which of their entries count, and the columns that are wanted."""

    def __init__(
        self,
        sources: Sequence[tuple[Run, Only]],
        schema: pa.Schema,
        plain: pa.Schema,
        key: pa.Field,
    ) -> None:
        """``plain`` has the columns of ``schema`` in plain types, ``key`` is the column of keys."""
        self.schema, self.plain, self._key = schema, plain, key.name
        self._sources: list[tuple[Run, Only]] = []
        """Of each line."""
        self.mapped: list[Mapped | None] = []
        for run, only in sources:
            batches = run.entries.map_batches(schema, only)
            few = batches is not None and len(batches) <= MOST_BATCHES.value
            own: Sequence[Mapped | None] = batches if batches is not None and few else [None]
            self._sources += [(run, only)] * len(own)
            self.mapped += own
        directory = sources[0][0].directory
        self._convert = directory.convert_key
        self._text = directory.key_form == BYTES
        kind = key.type
        self._strings = pa.types.is_string(kind) or pa.types.is_large_string(kind)
        lines = [
            (*run.directory.addresses(), *_place_line(mapped))
            for (run, _), mapped in zip(self._sources, self.mapped, strict=True)
        ]
        self._table = np.array(lines, np.int64)
        head = (self._table.ctypes.data, len(lines), MANY_LOOKS.value)
        self._head = np.array(head, np.int64)
        self._at = int(self._head.ctypes.data)
        self._fences: list[Int64s] = []
        self._room = array("q", bytes(8 * (SPAN * len(lines) + 1)))
        self._complete = all(self.mapped)
        self._find = _kernels.find_stored
        self._objects: ObjectLines | None = None
        self._copier: tuple[Copier, list[Int64s | None]] | None = None

    @staticmethod
    def suits(sources: Sequence[tuple[Run, Only]]) -> bool:
        """Whether kernels find keys in all of the directories, in the same way."""
        forms = {run.directory.key_form for run, _ in sources}
        return len(forms) == 1 and forms != {-1}

    def find(self, key: Any) -> StoredRows:
        """The rows of a key; what they are read from has been compared with its sums."""
        spans, number = self._room[:], 0
        if self._text:
            if type(key) is str and self._strings:
                raw = key.encode("utf-8", "surrogatepass")
            else:
                raw = bytes(self._convert(key))
                key = raw.decode("utf-8", "surrogatepass") if self._strings else raw
            text = array("B", raw)
            at, length = text.buffer_info()
        else:
            number, at, length = self._convert(key), 0, 0
        out = spans.buffer_info()[0]
        count = self._find(self._at, at, length, number, out)
        while count < 0:
            if count == FENCES_PAY:
                self._set_fences()
            else:
                self._require(-1 - count, spans[0])
            count = self._find(self._at, at, length, number, out)
        return StoredRows(self, spans, count, key)

    def _set_fences(self) -> None:
        """Keep some keys of each directory at hand; a damaged one goes without."""
        known: dict[int, Int64s | None] = {}  # batches of a run have one directory
        for (run, _), line in zip(self._sources, self._table, strict=True):
            if id(run) not in known:
                fences = np.empty(1 + min(int(line[KEY_COUNT]), MOST_FENCES.value), np.int64)
                damaged = _fences.set_fences(int(line.ctypes.data), fences)
                known[id(run)] = None if damaged else fences
            own = known[id(run)]
            if own is not None:
                self._fences.append(own)
                line[FENCES], line[FENCE_COUNT] = own.ctypes.data, len(own) - 1

    def _require(self, place: int, bad: int) -> None:
        """Have a block there that a kernel found unsound, or say that it is damaged."""
        line, of_entries = divmod(place, 2)
        mapped = self.mapped[line]
        if not of_entries or mapped is None:
            raise self._sources[line][0].directory.damage_error(bad)
        mapped.sheet.require(bad)

    def batches(self, spans: Sequence[int]) -> list[pa.RecordBatch]:
        """The rows of spans as slices, or as the entries of a run give them."""
        found: list[pa.RecordBatch] = []
        for i in range(0, len(spans), SPAN):
            place, start, stop = spans[i : i + SPAN]
            mapped = self.mapped[place]
            if mapped is not None:
                found.append(mapped.batch.slice(start, stop - start))
            else:
                run, only = self._sources[place]
                found += run.entries.bucket(start, stop, self.schema, only)
        return found

    @property
    def complete(self) -> bool:
        """Whether all that can be found is a span of a batch."""
        return self._complete

    @property
    def objects(self) -> ObjectLines:
        if self._objects is None:
            self._objects = ObjectLines(self.mapped, self.plain, self._key if self._text else None)
        return self._objects

    def copy(self, spans: Sequence[int]) -> pa.RecordBatch | None:
        """The rows of spans in plain types, copied; None if they cannot be copied so."""
        if self._copier is None:
            known = [None if m is None else sheet(m.batch, self.plain) for m in self.mapped]
            self._copier = Copier(self.plain), known
        copier, lines = self._copier
        pieces = []
        for i in range(0, len(spans), SPAN):
            line = lines[spans[i]]
            if line is None:
                return None
            pieces.append((int(line.ctypes.data), spans[i + 1], spans[i + 2]))
        return copier.batch(pieces)


class ObjectLines:
    """How the values of each batch and column are held; no kernel reads those ``listed``.

    ``key`` is the column whose values are all the key that was looked up, if it is a string.
    """

    def __init__(self, mapped: Sequence[Mapped | None], schema: pa.Schema, key: str | None) -> None:
        self._held: list[Any] = []  # objects, by their addresses in the lines
        batches = [m.batch for m in mapped if m is not None]
        columns = [
            [(CONSTANT, *[0] * 7)] * len(batches)
            if field.name == key
            else [self._line(batch.column(field.name), field.type) for batch in batches]
            for field in schema
        ]
        self.listed = [i for i, c in enumerate(columns) if any(line is None for line in c)]
        none = (LISTED, *[0] * 7)
        lines = [
            [none if i in self.listed else c[run] for i, c in enumerate(columns)]
            for run in range(len(batches))
        ]
        self._table = np.array(lines, np.int64)
        self.at, self.columns = int(self._table.ctypes.data), len(columns)
        self._no_lists = np.zeros(len(columns), np.int64)
        self.no_lists_at = int(self._no_lists.ctypes.data)

    def _line(self, column: pa.Array, kind: pa.DataType) -> tuple[int, ...] | None:
        if column.null_count or column.offset:
            return None
        if not isinstance(column, pa.DictionaryArray):
            return _value_line(column) if column.type.equals(kind) else None
        values, codes = column.dictionary, column.indices
        line = _value_line(values) if values.type.equals(kind) else None
        if line is None or values.null_count or values.offset:
            return None
        objects = owner = 0
        if len(values) <= FEW_VALUES.value:
            made, known = [None] * len(values), np.zeros(len(values), np.int64)
            self._held += [made, known]
            objects, owner = int(known.ctypes.data), id(made)
        width, far = codes.type.bit_width // 8, int(len(values) > FAR_VALUES.value)
        at = address_of(codes.buffers()[1])
        return line[0], width, at, line[2], line[4], objects, owner, far


def _value_line(column: pa.Array) -> tuple[int, ...] | None:
    kind, buffers = column.type, column.buffers()
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        form = TEXT if pa.types.is_string(kind) else BYTE_STRING
        return form, 0, address_of(buffers[1]), 0, address_of(buffers[2]), 0, 0, 0
    if pa.types.is_boolean(kind):
        return BOOL, 0, address_of(buffers[1]), 0, 0, 0, 0, 0
    if pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind):
        return FORMS[np.dtype(kind.to_pandas_dtype())], 0, address_of(buffers[1]), 0, 0, 0, 0, 0
    return None


def _place_line(mapped: Mapped | None) -> tuple[int, ...]:
    if mapped is None:
        return 0, GREATEST, 0, 0, 0, 0, 0, 0, 0
    stamps = mapped.stamps or (0, 0, 0, 0)
    return mapped.first, mapped.batch.num_rows, mapped.sheet.at, *stamps, 0, 0
