"""What is asked of an archive: the options of the format ``windrow``, understood, keys among them.

An option that is none is refused: Spark would pass over it, and the answer would have rows that
nobody asked for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from windrow.archive.errors import ArchiveError
from windrow.archive.format.layout import Layout
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.runs.run_directory import Directory
from windrow.archive.runs.search import key_scalar
from windrow.archive.versions.manifest import Manifest
from windrow.archive.versions.pinned_reader import Range
from windrow.archive.wave.wave import Wave
from windrow.columns.arrays import Int64s
from windrow.columns.decimal_casts import cast_to_decimals
from windrow.core.paths import is_object_url, local_path, object_url

OPTIONS = ("path", "keys", "least", "greatest", "since", "until", "now", "columns", "version")
Moment = int | str | date
"""A day as a number or, on a calendar that has them, as a date; with lifetimes an instant."""
_VIEW = "in SQL, CREATE TEMPORARY VIEW name USING windrow OPTIONS (path '...', keys '...')"
Rows = list[tuple[int, int]]
"""Ranges [start, stop) of rows, in ascending order, apart."""


@dataclass(frozen=True)
class Wish:
    """What is to be read, of the version that ``manifest`` was of."""

    now: int | None = None
    since: int | None = None
    until: int | None = None
    columns: tuple[str, ...] | None = None
    version: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str], manifest: Manifest) -> Wish:
        columns = options.get("columns")
        return cls(
            instant(options.get("now"), manifest, "now"),
            instant(options.get("since"), manifest, "since"),
            instant(options.get("until"), manifest, "until"),
            None if columns is None else tuple(name.strip() for name in columns.split(",")),
            manifest.version,
        )


def root_of(options: Mapping[str, str]) -> str:
    """Where the archive is, if all options are options."""
    if "provider" in options or "path" not in options:
        raise ArchiveError(
            where="format windrow",
            expected="load(path), of one archive",
            found="CREATE TABLE" if "provider" in options else options.get("paths", "no path"),
            remedy=f"{_VIEW}: Spark does not pass the options of a table to a source in Python",
        )
    unknown = [name for name in options if name.lower() not in OPTIONS]
    if unknown:
        raise ArchiveError(
            where="format windrow",
            expected=f"options among {', '.join(OPTIONS)}",
            found=", ".join(unknown),
        )
    path = str(options["path"]).removeprefix("file:")  # which Spark puts before paths of its own
    if is_object_url(path):
        return object_url(path)
    local_path(path, "format windrow")
    return path


def version_of(options: Mapping[str, str]) -> int | None:
    text = options.get("version")
    return None if text is None else _number(text, "version", "the number of a version")


def instant(value: Moment | None, manifest: Manifest, where: str) -> int | None:
    """A moment as a number."""
    if value is None or isinstance(value, int):
        return value
    text = value.isoformat() if isinstance(value, date) else value
    if manifest.kind == LIFETIMES:
        expected = "an instant, as a number" if where == "now" else "the number of a period"
        return _number(text, where, f"{expected}: this is an index of lifetimes")
    return Wave.of(manifest).settings.calendar.parse(text)


def chosen_columns(manifest: Manifest, names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The columns of an answer: those named, or all, the archive's stamps too."""
    there = manifest.layout.reader_schema({}).names
    names = tuple(there) if names is None else names
    unknown = [name for name in names if name not in there]
    if unknown or not names or len(set(names)) < len(names):
        raise ArchiveError(
            where="columns",
            expected=f"some of {', '.join(there)}, each once",
            found=", ".join(unknown or names) or "none",
        )
    return names


def _number(text: str, where: str, expected: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ArchiveError(where=f"option {where}", expected=expected, found=text) from error


def options_of(key: Any) -> dict[str, str]:
    """A key, several, or a range, as options of the format: JSON, and text for what JSON lacks."""
    if key is None:
        return {}
    if isinstance(key, Range):
        ends = {"least": key.least, "greatest": key.greatest}
        return {name: _text(end) for name, end in ends.items() if end is not None}
    if isinstance(key, pa.Array | pa.ChunkedArray):
        key = key.to_pylist()
    several = list(key) if isinstance(key, list | set | frozenset) else [key]
    return {"keys": _text(several)}


def key_of(options: Mapping[str, str], layout: Layout) -> Any:
    """What the options ask for; None is everything."""
    ends = {name: options[name] for name in ("least", "greatest") if name in options}
    if "keys" not in options:
        edges = {name: _key(_parsed(text), layout) for name, text in ends.items()}
        return Range(**edges) if edges else None
    keys = _parsed(options["keys"])
    if ends or not isinstance(keys, list):
        raise ArchiveError(
            where="option keys",
            expected="keys, or a range of keys" if ends else 'a JSON list, such as ["a", "b"]',
            found=f"both keys and {' and '.join(ends)}" if ends else options["keys"],
        )
    return [_key(one, layout) for one in keys]


def rows_of(directory: Directory, key: Any, total: int) -> Rows:
    """The rows of a run that a key, several or a range have; those without a key are in none."""
    if key is None:
        return [(0, total)]
    if isinstance(key, Range):
        found = [directory.find_range(key.least, key.greatest)]
    else:
        found = sorted({directory.find(one) for one in key}, key=lambda rows: (rows[0], -rows[1]))
    if directory.of_lists:
        return _ranges(directory.record_rows(found))
    apart: Rows = []
    for start, stop in found:  # a key's rows are inside those of its prefix
        if stop > start and (not apart or start >= apart[-1][1]):
            apart.append((start, stop))
    return apart


def _ranges(rows: Int64s) -> Rows:
    """Rows that are given one by one, in ascending order, as ranges."""
    cuts = np.flatnonzero(np.diff(rows) > 1) + 1
    return [(int(part[0]), int(part[-1]) + 1) for part in np.split(rows, cuts) if len(part)]


def in_both(these: Rows, those: Rows) -> Rows:
    """The rows that are in both."""
    found: Rows = []
    left, right = 0, 0
    while left < len(these) and right < len(those):
        start = max(these[left][0], those[right][0])
        stop = min(these[left][1], those[right][1])
        if start < stop:
            found.append((start, stop))
        if these[left][1] <= those[right][1]:
            left += 1
        else:
            right += 1
    return found


def _text(value: Any) -> str:
    return json.dumps(value, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    return str(value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # a bare word is itself


def _key(value: Any, layout: Layout) -> Any:
    values = value if isinstance(value, list) else [value]
    kinds = layout.key_types
    if not 1 <= len(values) <= len(kinds):
        raise ArchiveError(
            where="key",
            expected=f"values of {', '.join(layout.key)}, or of the first of them",
            found=_text(value),
        )
    found = tuple(_in_type(v, kind) for v, kind in zip(values, kinds, strict=False))
    return found if len(kinds) > 1 or len(values) > 1 else found[0]


def _in_type(value: Any, kind: pa.DataType) -> Any:
    try:
        if isinstance(value, str) and _is_bytes(kind):
            return bytes.fromhex(value)
        if isinstance(value, str) and pa.types.is_time(kind):
            return pa.scalar(time.fromisoformat(value), kind)
        if isinstance(value, int) and pa.types.is_duration(kind):
            return pa.scalar(timedelta(microseconds=value), kind)
        if isinstance(value, str) and not (
            pa.types.is_string(kind) or pa.types.is_large_string(kind)
        ):
            if pa.types.is_decimal(kind):
                return cast_to_decimals(pa.array([value]), kind)[0]
            return pa.scalar(value).cast(kind)
    except (pa.ArrowException, ValueError):
        pass  # told as any other key that is none
    return key_scalar(value, kind)


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
    )
