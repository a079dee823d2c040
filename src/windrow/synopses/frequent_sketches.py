"""TOP k by frequent items sketches; see ``sketches``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import datasketches as ds
import numpy as np
import pyarrow as pa

from windrow.synopses.errors import SynopsisError
from windrow.synopses.estimates import Estimate
from windrow.synopses.interval_content import Array
from windrow.synopses.interval_values import check_answer
from windrow.synopses.sketch_content import SketchContent, Sketches
from windrow.synopses.value_counters import check_k


class _Counted(NamedTuple):
    """A sketch of frequent items, and the kind of its items: integers, floats or texts."""

    kind: str
    sketch: Any


class FrequentSketches(SketchContent):
    """TOP k by the frequent items sketch, of at most 0.75 * 2**``lg_size`` values.

    >>> import numpy as np
    >>> from windrow.synopses import FrequentSketches
    >>> sketches = FrequentSketches()
    >>> found = sketches.summarise(np.zeros(3, np.int64), np.array(["a", "b", "a"]))
    >>> sketches.answer("TOP", found, 1).select(["value", "count", "upper"]).to_pydict()
    {'value': ['a'], 'count': [2], 'upper': [2]}
    """

    name, function = "frequent items sketches", "TOP"

    def __init__(self, lg_size: int = 10) -> None:
        self.lg_size = lg_size

    def make(self, values: Array) -> _Counted:
        different, counts = np.unique(values, return_counts=True)
        kind = different.dtype.kind
        sketch = _fresh(kind, self.lg_size)
        for value, count in zip(different.tolist(), counts.tolist(), strict=True):
            sketch.update(value, count)
        return _Counted(kind, sketch)

    def unite(self, sketches: Iterable[_Counted]) -> _Counted:
        parts = list(sketches)
        kinds = {part.kind for part in parts}
        if "U" in kinds and len(kinds) > 1:
            raise SynopsisError(
                where=self.name, expected="values of one type", found="texts and numbers",
                remedy="cast them, or keep a synopsis for each type",
            )  # fmt: skip
        kind = "f" if "f" in kinds else kinds.pop()
        union = _fresh(kind, self.lg_size)
        for part in parts:
            union.merge(part.sketch)
        return _Counted(kind, union)

    def read(self, sketch: _Counted, parameter: float | None = None) -> Estimate:
        """How often the most frequent value is there; ``answer`` has the others."""
        items = sketch.sketch
        for _, estimate, lower, upper in _ranked(items)[:1]:
            return Estimate(estimate, lower, upper)
        return Estimate(0, 0, items.epsilon * items.total_weight)

    def answer(
        self, function: str, summary: Sketches, parameter: float | None = None
    ) -> pa.RecordBatch:
        """For each group k values with their counts; of equal estimates the lesser first."""
        check_answer(self, function)
        k = check_k(parameter)
        rows = [(g, *row) for g, part in summary.items() for row in _ranked(part.sketch)[:k]]
        columns = zip(*rows, strict=True) if rows else ((),) * 5
        names = ("group", "value", "count", "lower", "upper")
        return pa.RecordBatch.from_pydict(
            {name: pa.array(column) for name, column in zip(names, columns, strict=True)}
        )

    def to_bytes(self, sketch: _Counted) -> bytes:
        serde = () if sketch.kind == "U" else (_SERDES[sketch.kind](),)
        return sketch.kind.encode() + bytes(sketch.sketch.serialize(*serde))

    def from_bytes(self, content: bytes) -> _Counted:
        kind = content[:1].decode("ascii", "replace")
        if kind == "U":
            return _Counted(kind, ds.frequent_strings_sketch.deserialize(content[1:]))
        if kind not in _SERDES:
            raise ValueError(f"a sketch of values of unknown kind {kind!r}")
        sketch = ds.frequent_items_sketch.deserialize(content[1:], _SERDES[kind]())
        return _Counted(kind, sketch)


_SERDES: dict[str, Any] = {"i": ds.PyLongsSerDe, "f": ds.PyDoublesSerDe}
"""How numbers are written, by numpy's kind."""


def _fresh(kind: str, lg_size: int) -> Any:
    maker = ds.frequent_strings_sketch if kind == "U" else ds.frequent_items_sketch
    return maker(lg_size)


def _ranked(sketch: Any) -> list[tuple[Any, int, int, int]]:
    """Values with their counts and bounds; whatever may be above the error of the sketch."""
    found = sketch.get_frequent_items(ds.frequent_items_error_type.NO_FALSE_NEGATIVES)
    return sorted(found, key=lambda row: (-row[1], row[0]))
