"""What a manifest knows of runs without opening them: their files, format and encodings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from windrow.archive.errors import ArchiveError
from windrow.archive.format.disk import Written

Format = Literal["arrow", "parquet"]
FOLDER = "runs"
_NAME = re.compile(r"[0-9A-Za-z_-]+")
_CODES = {"int8": 2**7, "int16": 2**15, "int32": 2**31}
"""How many values the codes of a dictionary can tell apart, by their width."""


@dataclass(frozen=True)
class SumsRef:
    """The file of the sums of a run's blocks; ``top`` is the sum of its end (``blocks.py``)."""

    written: Written
    top: int


@dataclass(frozen=True)
class RunRef:
    """An immutable run: a file of entries and a file with their directory.

    ``days`` has a pair (day, number of entries) for each day with entries, in ascending order;
    ``expiries`` are the least and the greatest expiry, if entries have one. ``sums`` is None of a
    run that is small, or that was written before there were any.
    """

    name: str
    format: Format
    days: tuple[tuple[int, int], ...]
    expiries: tuple[int, int] | None
    entries: Written
    directory: Written
    sums: SumsRef | None = None

    def __hash__(self) -> int:
        """No archive has two runs of one name, and plans look runs up often."""
        return hash(self.name)

    @cached_property
    def rows(self) -> int:
        return sum(rows for _, rows in self.days)

    @cached_property
    def rows_of(self) -> Mapping[int, int]:
        """The number of entries of each day that has any."""
        return dict(self.days)

    @property
    def bytes(self) -> int:
        sums = 0 if self.sums is None else self.sums.written.size
        return self.entries.size + self.directory.size + sums

    @property
    def entries_file(self) -> str:
        return f"{FOLDER}/{self.name}.{self.format}"

    @property
    def directory_file(self) -> str:
        return f"{FOLDER}/{self.name}.directory"

    @property
    def sums_file(self) -> str:
        return f"{FOLDER}/{self.name}.sums"

    @property
    def files(self) -> tuple[tuple[str, Written], ...]:
        found = (self.entries_file, self.entries), (self.directory_file, self.directory)
        return found if self.sums is None else (*found, (self.sums_file, self.sums.written))

    def to_json(self) -> dict[str, Any]:
        sums = self.sums
        return {
            "name": self.name,
            "format": self.format,
            "days": [list(pair) for pair in self.days],
            "expiries": None if self.expiries is None else list(self.expiries),
            "entries": [self.entries.size, self.entries.checksum],
            "directory": [self.directory.size, self.directory.checksum],
            **({} if sums is None else {"sums": [*astuple(sums.written), sums.top]}),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> RunRef:
        """``ValueError`` if the names would lead out of the folder of runs."""
        name, form, low_high = value["name"], value["format"], value["expiries"]
        sums = value.get("sums")
        if not _NAME.fullmatch(name) or form not in get_args(Format):
            raise ValueError(f"{name!r}, of the format {form!r}, which is no run's name")
        return cls(
            name,
            form,
            tuple((int(day), int(rows)) for day, rows in value["days"]),
            None if low_high is None else (int(low_high[0]), int(low_high[1])),
            Written(*map(int, value["entries"])),
            Written(*map(int, value["directory"])),
            None if sums is None else SumsRef(Written(int(sums[0]), int(sums[1])), int(sums[2])),
        )


def check_format(name: str) -> Format:
    """The format of that name, or an error that says which there are."""
    for form in get_args(Format):
        if name == form:
            found: Format = form
            return found
    raise ArchiveError(where="format", expected=" or ".join(get_args(Format)), found=name)


def narrowest(distinct: int) -> str:
    """The least width whose codes can tell so many values apart."""
    return next(name for name, limit in _CODES.items() if distinct <= limit)


def widest(*widths: str) -> str:
    return max(widths, key=_CODES.__getitem__)


def join_encodings(*encodings: Mapping[str, str]) -> dict[str, str]:
    """What several writers have chosen, each from the same before, as one."""
    names = {name: None for chosen in encodings for name in chosen}
    return {n: widest(*(chosen[n] for chosen in encodings if n in chosen)) for n in names}
