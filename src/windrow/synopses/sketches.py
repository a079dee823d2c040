"""Sketches of sub-windows, from Apache DataSketches: bounded space, and an error bound.

    ==============  ==========================  ===========================================
    aggregate       sketch                      the bound beside the answer
    ==============  ==========================  ===========================================
    QUANTILE        KLL (``k`` = 200)           values at the ranks p - e and p + e, e about
                                                1.3 %; holds in 99 of 100 cases
    COUNT DISTINCT  CPC (``lg_k`` = 11)         two standard deviations: in 95 of 100 cases
    TOP             frequent items              guaranteed: a count lies between its bounds
                    (``lg_size`` = 10)
    ==============  ==========================  ===========================================

There is a sketch per group and interval. Merging makes a new one, so values stay immutable. As
long as a sketch of quantiles or frequent items has thrown nothing away, its bounds are equal and
the answer is exact. KLL throws coins that take no seed, so two runs may answer differently within
the bound.

They are saved as the bytes that DataSketches itself writes. Bytes that it does not recognise are an
error, never an answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

import datasketches as ds
import numpy as np
import pyarrow as pa

from windrow.core.errors import StateError
from windrow.synopses.errors import SynopsisError, UnsuitableSynopsisError
from windrow.synopses.estimates import Estimate
from windrow.synopses.grouped_table import starts_of
from windrow.synopses.interval_content import AggregateClass, Array, Content, as_array
from windrow.synopses.interval_values import check_answer, check_numbers
from windrow.synopses.value_counters import check_k, check_p

Sketches = dict[Any, Any]
"""A sketch for each group."""
DEVIATIONS = 2
"""Standard deviations between an estimate of COUNT DISTINCT and its bounds."""


def sketches_for(function: str) -> Content[Any]:
    """The sketches that answer an aggregate."""
    kinds: tuple[type[Any], ...] = (QuantileSketches, DistinctSketches, FrequentSketches)
    found: Content[Any] = next(kind() for kind in kinds if kind.function == function)
    return found


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


class QuantileSketches(SketchContent):
    """QUANTILE by KLL; a larger ``k`` has a smaller error, about 2.3 / k**0.9.

    >>> import numpy as np
    >>> from windrow.synopses import QuantileSketches
    >>> sketches = QuantileSketches()
    >>> found = sketches.summarise(np.zeros(100_000, np.int64), np.arange(100_000))
    >>> median = sketches.estimate(found, 0, 0.5)
    >>> 45_000 < median.lower <= median.estimate <= median.upper < 55_000
    True
    """

    name, function = "quantile sketches", "QUANTILE"

    def __init__(self, k: int = 200) -> None:
        self.k = k

    def _check(self, values: Array) -> Array:
        return check_numbers(self.function, values).astype(np.float64)

    def make(self, values: Array) -> Any:
        sketch = ds.kll_doubles_sketch(self.k)
        sketch.update(np.ascontiguousarray(values))
        return sketch

    def unite(self, sketches: Iterable[Any]) -> Any:
        union = ds.kll_doubles_sketch(self.k)
        for sketch in sketches:
            union.merge(sketch)
        return union

    def read(self, sketch: Any, parameter: float | None = None) -> Estimate:
        """The value at rank p, and those between which it lies."""
        p = check_p(parameter)
        error = sketch.normalized_rank_error(False) if sketch.is_estimation_mode() else 0.0
        ranks = [p, max(0.0, p - error), min(1.0, p + error)]
        return Estimate(*sketch.get_quantiles(ranks, True))

    def to_bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())

    def from_bytes(self, content: bytes) -> Any:
        return ds.kll_doubles_sketch.deserialize(content)


class DistinctSketches(SketchContent):
    """COUNT DISTINCT by CPC; the same values give the same estimate, in whatever order and cut.

    >>> import numpy as np
    >>> from windrow.synopses import DistinctSketches
    >>> sketches = DistinctSketches()
    >>> halves = [sketches.summarise(np.zeros(9_000, np.int64), np.arange(9_000) + start)
    ...           for start in (0, 6_000)]
    >>> found = sketches.estimate(sketches.merge(halves), 0)
    >>> found.lower < 15_000 < found.upper, found.upper - found.lower < 1_500
    (True, True)
    """

    name, function = "distinct count sketches", "COUNT DISTINCT"

    def __init__(self, lg_k: int = 11) -> None:
        self.lg_k = lg_k

    def make_empty(self) -> Any:
        """A sketch to be updated one value at a time, and to be read through ``unite`` only."""
        return ds.cpc_sketch(self.lg_k)

    def make(self, values: Array) -> Any:
        sketch = self.make_empty()
        for value in np.unique(values).tolist():
            sketch.update(value)
        # As a union of one: what is read depends on the values alone, not on their order.
        return self.unite([sketch])

    def unite(self, sketches: Iterable[Any]) -> Any:
        union = ds.cpc_union(self.lg_k)
        for sketch in sketches:
            union.update(sketch)
        return union.get_result()

    def read(self, sketch: Any, parameter: float | None = None) -> Estimate:
        """How many different values, and the bounds of two standard deviations."""
        return Estimate(
            sketch.get_estimate(),
            sketch.get_lower_bound(DEVIATIONS),
            sketch.get_upper_bound(DEVIATIONS),
        )

    def to_bytes(self, sketch: Any) -> bytes:
        return bytes(sketch.serialize())

    def from_bytes(self, content: bytes) -> Any:
        return ds.cpc_sketch.deserialize(content)


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
