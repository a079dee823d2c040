"""What the conditions of a query say of keys and days.

They are joined by AND. Those on the first columns of the key become keys or a range of keys, those
on ``_day`` become days, and an expiry after an instant is a life at that instant, as if they had
been options; of the rest nothing is known here. Spark filters again itself, so more may be read
than they ask for: both ends of a range always are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    StringStartsWith,
)
from pyspark.sql.types import StructType

from windrow.archive.format.layout import DAY, EXPIRY, Layout
from windrow.archive.runs.run_directory import Directory
from windrow.archive.versions.pinned_reader import Range
from windrow.core.thresholds import Threshold
from windrow.spark.archive.options import Rows, rows_of
from windrow.spark.archive.spark_types import arrow_schema, spark_schema

SURROGATES = range(0xD800, 0xE000)
DIGITS = 28
"""Longer decimals are rounded on their way from Spark's planner to Python."""
OLDEST = 1900
"""The year from which on all calendars that Spark's planner passes through agree."""
MANY = Threshold(10_000)
"""Of more keys than these, only the range is looked up."""
NEVER = (1, 0)
"""From an instant to one before it."""


class UnclearError(ValueError):
    """A condition says nothing of the values that a column may have."""


class Limits:
    """The values that a column may have: those listed, if they are, and from one to another."""

    def __init__(self, kind: pa.DataType, theirs: pa.DataType) -> None:
        self._kind, self._theirs = kind, theirs
        self._listed: set[Any] | None = None
        self.least: Any = None
        self.greatest: Any = None

    def narrow(self, condition: Filter) -> None:
        """Take in a condition on the column; all but ``IS NOT NULL`` imply that one."""
        match condition:
            case EqualNullSafe(value=None):
                raise UnclearError
            case EqualTo(value=value) | EqualNullSafe(value=value):
                self._only([value])
            case In(value=values):
                self._only(values)
            case GreaterThan(value=value) | GreaterThanOrEqual(value=value):
                self._between(self._stored([value])[0], None)
            case LessThan(value=value) | LessThanOrEqual(value=value):
                self._between(None, self._stored([value])[0])
            case StringStartsWith(value=value):
                self._between(value, _behind(value))
            case IsNotNull():
                pass
            case _:
                raise UnclearError

    @property
    def listed_values(self) -> list[Any] | None:
        """The values, if they are listed."""
        if self._listed is None:
            return None
        return [
            value
            for value in self._listed
            if (self.least is None or self.least <= value)
            and (self.greatest is None or value <= self.greatest)
        ]

    def _only(self, values: Iterable[Any]) -> None:
        found = set(self._stored([value for value in values if value is not None]))
        self._listed = found if self._listed is None else self._listed & found

    def _between(self, least: Any, greatest: Any) -> None:
        if least is not None:
            self.least = least if self.least is None else max(self.least, least)
        if greatest is not None:
            self.greatest = greatest if self.greatest is None else min(self.greatest, greatest)

    def _stored(self, values: list[Any]) -> list[Any]:
        """Values of Spark's as the archive has them: exactly, or not at all."""
        try:
            found: list[Any] = pa.array(values, self._theirs).cast(self._kind).to_pylist()
        except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise UnclearError from error
        if any(value is None or value != value for value in found):  # noqa: PLR0124 (NaN)
            raise UnclearError
        if any(getattr(value, "year", OLDEST) < OLDEST for value in found):
            raise UnclearError
        return found


@dataclass(frozen=True)
class Where:
    """What conditions leave: keys or a range of them, and days; None is everything."""

    key: Any = None
    keyed: bool = False
    """Whether they leave no entry without a key: of a composite one each column must be there."""
    since: int | None = None
    until: int | None = None
    alive: int | None = None
    """An instant at which an entry must be alive, if entries have lifetimes."""
    used: tuple[Filter, ...] = ()
    """The conditions that said so."""

    @classmethod
    def of(cls, conditions: Sequence[Filter], layout: Layout, schema: StructType) -> Where:
        """By the columns as Spark knows them."""
        limits: dict[str, Limits] = {}
        clear: list[tuple[str, Filter]] = []
        columns = _comparable(layout, schema)
        for condition in conditions:
            name = _column(condition)
            if name not in columns:
                continue
            limit = limits.get(name) or Limits(*columns[name])
            try:
                limit.narrow(condition)
            except UnclearError:
                continue
            limits[name] = limit
            clear.append((name, condition))
        key, count = _leading([limits.get(name) for name in layout.key])
        since, until = _ends(limits.get(DAY))
        first, _ = _ends(limits.get(EXPIRY))
        about = {*layout.key[:count], DAY, EXPIRY}
        return cls(
            key,
            all(name in limits for name in layout.key),
            since,
            until,
            None if first is None else first - 1,
            tuple(condition for name, condition in clear if name in about),
        )

    def rows(self, directory: Directory, total: int) -> Rows:
        """The rows of a run that may satisfy the conditions."""
        found = rows_of(directory, self.key, total)
        if self.key is not None and not self.keyed and directory.end < total:
            found.append((directory.end, total))
        return found


def _comparable(layout: Layout, schema: StructType) -> dict[str, tuple[pa.DataType, pa.DataType]]:
    """The archive's type and Spark's of each column that it is indexed by and that Spark compares
    by all of its value: not if somebody gave a schema of other types.
    """
    stamps = [stamp.name for stamp in layout.stamps]
    names = stamps if layout.list_key else [*layout.key, *stamps]  # no list is looked up
    fields = [layout.reader_schema({}).field(name) for name in names]
    theirs = arrow_schema(schema)
    return {
        field.name: (_told_apart(field.type), theirs.field(field.name).type)
        for field in fields
        if field.name in theirs.names
        and schema[field.name].dataType == spark_schema([field])[0].dataType
        and not _is_cut(field.type)
    }


def _is_cut(kind: pa.DataType) -> bool:
    """Whether Spark, or its way to Python, has less of a value than the archive."""
    return bool(
        getattr(kind, "unit", "") == "ns"
        or pa.types.is_date64(kind)
        or (pa.types.is_decimal(kind) and kind.precision > DIGITS)
    )


def _told_apart(kind: pa.DataType) -> pa.DataType:
    """In UTC: elsewhere Python takes an hour that comes twice, in autumn, for one."""
    is_zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    return pa.timestamp(kind.unit, "UTC") if is_zoned else kind


def _column(condition: Filter) -> str:
    """The one that a condition is about; "" if it is a part of one, or if there are others."""
    path: tuple[str, ...] = getattr(condition, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _leading(limits: Sequence[Limits | None]) -> tuple[Any, int]:
    """Keys, or a range of them, by the limits of their columns; and how many these are about."""
    same: tuple[Any, ...] = ()
    for limit in limits:
        if limit is None:
            break
        listed = limit.listed_values
        if listed is not None and len(listed) == 1:
            same = (*same, *listed)
            continue
        if listed is not None and len(listed) <= MANY.value:
            keys = listed if len(limits) == 1 else [(*same, value) for value in listed]
            return keys, len(same) + 1
        least, greatest = _ends(limit)
        return (
            Range(
                (same if least is None else (*same, least)) or None,
                (same if greatest is None else (*same, greatest)) or None,
            ),
            len(same) + 1,
        )
    return [same] if same else None, len(same)


def _ends(limit: Limits | None) -> tuple[Any, Any]:
    if limit is None:
        return None, None
    listed = limit.listed_values
    if listed is None:
        return limit.least, limit.greatest
    return (min(listed), max(listed)) if listed else NEVER


def _behind(prefix: str) -> str | None:
    """A text that is greater than all that begin so; None if there is none."""
    while prefix:
        code = ord(prefix[-1]) + 1
        if code <= 0x10FFFF:
            return prefix[:-1] + chr(SURROGATES.stop if code in SURROGATES else code)
        prefix = prefix[:-1]
    return None
