"""What reading gives: typed rows, and the rows that were refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import Int64s
from windrow.columns.delta import take
from windrow.tables.file_part import Part

Texts = Callable[[Int64s], list[str]]
"""The original text of the rows at some positions, made only when somebody asks."""


@dataclass(frozen=True)
class Rejected:
    """A row that was refused. ``row`` counts from 1 in its file or in the pushed data.

    ``ts`` is the row's timestamp if that much of it was readable: time has come that far, also
    when the rest of the row is broken.
    """

    row: int
    reason: str
    text: str
    ts: int | None = None


def no_texts(positions: Int64s) -> list[str]:
    return ["" for _ in positions]


@dataclass(frozen=True)
class Choice:
    """Which rows are there, if nobody looks at the others, by their ``positions`` among all of
    them; and the timestamps, in ticks, of all: time moves with every row.
    """

    positions: Int64s
    ts: Int64s

    def split(self, at: int) -> tuple[int, Choice, Choice]:
        """Those among the first ``at`` rows, and how many they are; and the others."""
        cut = int(np.searchsorted(self.positions, at))
        first = Choice(self.positions[:cut], self.ts[:at])
        return cut, first, Choice(self.positions[cut:] - at, self.ts[at:])


@dataclass(frozen=True)
class Parsed:
    """Rows typed as declared, none without a timestamp, and those that were refused.

    ``numbers`` are the rows' numbers in the file, ascending; together with the numbers in
    ``rejected`` they tell in which order everything arrived. ``after`` is what of a text file
    comes after them. ``cut`` counts moments that were finer than microseconds. With a ``choice``
    only some of the rows are in ``rows``, and everything else speaks of all of them.
    """

    rows: pa.RecordBatch
    numbers: Int64s
    rejected: Sequence[Rejected] = ()
    texts: Texts = field(default=no_texts, compare=False, repr=False)
    after: Part | None = None
    cut: int = 0
    choice: Choice | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    @classmethod
    def clean(cls, rows: pa.RecordBatch) -> Parsed:
        """Rows that are known to be as declared."""
        return cls(rows, np.arange(1, rows.num_rows + 1, dtype=np.int64))

    def split(self, at: int) -> tuple[Parsed, Parsed]:
        """The first ``at`` rows with what was refused before the next one, and the others."""
        limit = int(self.numbers[at]) if at < len(self) else None
        first = [r for r in self.rejected if limit is None or r.row < limit]
        second = [r for r in self.rejected if limit is not None and r.row > limit]
        texts, cut = self.texts, at
        mine: Choice | None = None
        others: Choice | None = None
        if self.choice is not None:
            cut, mine, others = self.choice.split(at)
        head, tail = self.rows.slice(0, cut), self.rows.slice(cut)
        return (
            Parsed(head, self.numbers[:at], first, texts, None, self.cut, mine),
            Parsed(tail, self.numbers[at:], second, lambda p: texts(p + at), self.after, 0, others),
        )

    def without(self, positions: Int64s) -> Parsed:
        """All rows but those at ``positions``."""
        if not len(positions):
            return self
        kept = np.delete(np.arange(len(self), dtype=np.int64), positions)
        texts = self.texts
        return replace(
            self,
            rows=take(self.rows, kept),
            numbers=self.numbers[kept],
            texts=lambda p: texts(kept[p]),
        )


def plain_column(column: pa.Array) -> pa.Array:
    """The values themselves, if they are in a dictionary."""
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
