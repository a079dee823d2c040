"""What contents of sketches have in common: one per group, merged into new ones, saved as bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from windrow.core.errors import StateError
from windrow.synopses.errors import UnsuitableSynopsisError
from windrow.synopses.estimates import Estimate
from windrow.synopses.grouped_table import starts_of
from windrow.synopses.interval_content import AggregateClass, Array, as_array
from windrow.synopses.interval_values import check_answer

Sketches = dict[Any, Any]
"""A sketch for each group."""


class SketchContent(ABC):
    """A sketch per group; subclasses say which, and how it is filled, merged and read."""

    name: ClassVar[str]
    function: ClassVar[str]
    kind = AggregateClass.HOLISTIC

    @property
    def answers(self) -> frozenset[str]:
        return frozenset({self.function})

    def empty(self) -> Sketches:
        return {}

    def summarise(self, groups: Array, values: Array) -> Sketches:
        groups, values = as_array(groups), self._check(as_array(values))
        order = np.argsort(groups, kind="stable")
        groups, values = groups[order], values[order]
        starts = starts_of(groups)
        parts = np.split(values, starts[1:])
        keys = groups[starts].tolist()
        return {key: self.make(part) for key, part in zip(keys, parts, strict=False)}

    def merge(self, parts: Sequence[Sketches]) -> Sketches:
        full = [part for part in parts if part]
        if len(full) < 2:
            return full[0] if full else {}
        groups = dict.fromkeys(group for part in full for group in part)
        return {g: self.unite([part[g] for part in full if g in part]) for g in sorted(groups)}

    def subtract(self, whole: Sketches, part: Sketches) -> Sketches:
        raise UnsuitableSynopsisError(
            where=self.name, expected="a subtractable content", found="sketches, which only merge",
            remedy="use an interval or a basic interval synopsis",
        )  # fmt: skip

    def answer(
        self, function: str, summary: Sketches, parameter: float | None = None
    ) -> pa.RecordBatch:
        """Columns ``group`` and ``value``, and the bounds: ``lower`` and ``upper``."""
        check_answer(self, function)
        found = [self.estimate(summary, group, parameter) for group in summary]
        columns = zip(*found, strict=True) if found else ((), (), ())
        named = zip(("value", "lower", "upper"), columns, strict=True)
        return pa.RecordBatch.from_pydict(
            {"group": pa.array(list(summary))}
            | {name: pa.array(column, pa.float64()) for name, column in named}
        )

    def size(self, summary: Sketches) -> int:
        return len(summary)

    def to_batch(self, summary: Sketches) -> pa.RecordBatch:
        sketches = [self.to_bytes(sketch) for sketch in summary.values()]
        columns = {"group": pa.array(list(summary)), "sketch": pa.array(sketches, pa.binary())}
        return pa.RecordBatch.from_pydict(columns)

    def from_batch(self, batch: pa.RecordBatch) -> Sketches:
        pairs = zip(batch["group"].to_pylist(), batch["sketch"].to_pylist(), strict=True)
        return {group: self.restore(content) for group, content in pairs}

    def restore(self, content: bytes) -> Any:
        """A sketch from what ``to_bytes`` wrote; bytes that are damaged are refused."""
        try:
            return self.from_bytes(content)
        except (RuntimeError, ValueError, IndexError) as error:
            raise StateError(
                where=self.name, expected="a sketch as DataSketches writes it", found=str(error),
                remedy="the saved state is damaged: go back to an earlier checkpoint",
            ) from error  # fmt: skip

    def _check(self, values: Array) -> Array:
        return values

    def estimate(self, summary: Sketches, group: Any, parameter: float | None = None) -> Estimate:
        """What the sketch of a group answers, and its bounds."""
        return self.read(summary[group], parameter)

    @abstractmethod
    def read(self, sketch: Any, parameter: float | None = None) -> Estimate: ...

    @abstractmethod
    def make(self, values: Array) -> Any: ...

    @abstractmethod
    def unite(self, sketches: Iterable[Any]) -> Any:
        """A new sketch of what all of them are of."""

    @abstractmethod
    def to_bytes(self, sketch: Any) -> bytes: ...

    @abstractmethod
    def from_bytes(self, content: bytes) -> Any: ...
