"""How far a file's time comes, without reading the file if its footer says enough."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.core.schema import Schema, Type
from windrow.core.time import BEGINNING, FOREVER
from windrow.plan.catalog import StreamDeclaration
from windrow.streams.horizon import UNLIMITED, Horizon, credible
from windrow.streams.monitor import timestamps
from windrow.tables.enforce import resolve
from windrow.tables.file_part import BY_FORMAT, WHOLE, Part, explain_unreadable
from windrow.tables.readers import format_of, read_file


@dataclasses.dataclass(frozen=True)
class Extent:
    """How far the time of a part of a file comes, and what of the file comes after the part."""

    top: int | None
    rest: Part | None


def greatest_timestamp(
    path: Path,
    declaration: StreamDeclaration,
    horizon: Horizon = UNLIMITED,
    top: int | None = None,
    advanced: int = BEGINNING,
) -> int | None:
    """How far the time of a whole file comes, as ``extent`` says it."""
    return extent(path, declaration, WHOLE, horizon, top, advanced).top


def extent(
    path: Path,
    declaration: StreamDeclaration,
    part: Part,
    horizon: Horizon = UNLIMITED,
    top: int | None = None,
    advanced: int = BEGINNING,
) -> Extent:
    """The greatest credible timestamp of all rows whose timestamp can be read; None without any.

    With ``top`` and what was ``advanced`` to before the file it is what an ``InputMonitor`` that is
    given the whole file has as ``top``, or less if that was more before: a row that is refused for
    another column counts too, one that is not even a row does not.
    """
    only = dataclasses.replace(
        declaration, schema=Schema((declaration.schema[declaration.timestamp],)), timestamp=0
    )
    if format_of(path, declaration) == "parquet":
        known = _from_footer(path, only)
        base = horizon.base(top, advanced)
        if known is not None and _all_credible(known, base, horizon):
            return Extent(known, None)
    found, rest = BEGINNING, None
    for parsed in read_file(path, only, part=part):
        rest = parsed.after
        ts = timestamps(parsed.rows, only)
        base = horizon.base(max(found, BEGINNING if top is None else top), advanced)
        counted, _ = credible(ts, base, horizon)
        found = int(ts[counted].max(initial=found))
    return Extent(None if found == BEGINNING else found, rest)


def _all_credible(greatest: int, base: int | None, horizon: Horizon) -> bool:
    return not horizon.is_bounded or (base is not None and greatest <= horizon.limit(base))


def _from_footer(path: Path, declaration: StreamDeclaration) -> int | None:
    """The maximum over the row groups' statistics, if every one has them in ticks."""
    with (
        explain_unreadable(path, "a readable parquet file", BY_FORMAT),
        pq.ParquetFile(path) as file,
    ):
        name = resolve(file.schema_arrow.names, declaration, str(path))[0]
        if not _in_ticks(file.schema_arrow.field(name).type, declaration):
            return None
        metadata, index = file.metadata, _leaf(file, name)
        groups = [metadata.row_group(g).column(index) for g in range(metadata.num_row_groups)]
        statistics = [g.statistics for g in groups]
    if not all(s is not None and s.has_min_max for s in statistics):
        return None
    tops = [_ticks(s.max) for s in statistics]
    bottoms = [_ticks(s.min) for s in statistics]
    readable = bool(tops) and min(bottoms) > BEGINNING and max(tops) < FOREVER
    return max(tops) if readable else None


def _leaf(file: pq.ParquetFile, name: str) -> int:
    """The place of a flat column among the leaves of the file's schema."""
    paths = [file.schema.column(i).path for i in range(len(file.schema))]
    return paths.index(name)


def _in_ticks(found: pa.DataType, declaration: StreamDeclaration) -> bool:
    """Whether statistics of this type are the ticks that reading the column would give."""
    if declaration.schema[0].type is Type.TIMESTAMP:
        return bool(pa.types.is_timestamp(found) and found.unit in ("ms", "us"))
    return bool(found in (pa.int32(), pa.int64()) and declaration.schema[0].type is Type.BIGINT)


def _ticks(value: Any) -> int:
    if isinstance(value, int):
        return value
    moment = pa.scalar(value).cast(pa.timestamp("us", "UTC" if value.tzinfo else None))
    ticks: int = moment.cast(pa.int64()).as_py()
    return ticks
