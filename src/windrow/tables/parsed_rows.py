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
class Parsed:
    """Rows typed as declared, none without a timestamp, and those that were refused.

    ``numbers`` are the rows' numbers in the file, ascending; together with the numbers in
    ``rejected`` they tell in which order everything arrived. ``after`` is what of a text file
    comes after them. ``cut`` counts moments that were finer than microseconds.
    """

    rows: pa.RecordBatch
    numbers: Int64s
    rejected: Sequence[Rejected] = ()
    texts: Texts = field(default=no_texts, compare=False, repr=False)
    after: Part | None = None
    cut: int = 0

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
        texts = self.texts
        return (
            Parsed(self.rows.slice(0, at), self.numbers[:at], first, texts, cut=self.cut),
            Parsed(
                self.rows.slice(at), self.numbers[at:], second, lambda p: texts(p + at), self.after
            ),
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
