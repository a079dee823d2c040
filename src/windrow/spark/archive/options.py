"""What is asked of an archive: the options of the format ``windrow``, understood.

An option that is none is refused: Spark would pass over it, and the answer would have rows that
nobody asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from windrow.archive.errors import ArchiveError
from windrow.archive.lifetimes.index_contents import KIND as LIFETIMES
from windrow.archive.versions.manifest import Manifest
from windrow.archive.wave.wave import Wave
from windrow.core.paths import is_object_url, local_path, object_url

OPTIONS = ("path", "keys", "least", "greatest", "since", "until", "now", "columns", "version")
Moment = int | str | date
"""A day as a number or, on a calendar that has them, as a date; with lifetimes an instant."""
_VIEW = "in SQL, CREATE TEMPORARY VIEW name USING windrow OPTIONS (path '...', keys '...')"


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
