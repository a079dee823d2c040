"""Which files a source has, in the order in which they are read.

A directory that may not be listed is an error: were it taken for empty, a query would answer as if
its rows had never been written. What vanishes while it is listed is not there.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from windrow.core.errors import InputError
from windrow.core.paths import local_path
from windrow.plan.nodes import FileSource

WILD = "*?["
Name: TypeAlias = tuple[str, ...]
"""The parts of a path below the directory that is listed."""


@dataclass(frozen=True)
class Found:
    """A file, how long it is, and when anything about it was last changed, in nanoseconds.

    That is not the time that the file shows, which whoever copies a file can set.
    """

    path: Path
    size: int
    changed: int
    name: Name = ()


class KnownFiles(Protocol):
    """What somebody knows who lists the same files again and again."""

    def is_at_rest(self, name: Name) -> bool:
        """Whether nothing need be asked of a file this time."""

    def is_same(self, name: Name, size: int, changed: int) -> bool:
        """Whether a file is as it was."""


def find_files(source: FileSource) -> list[Path]:
    """A file; a directory with all below it; or a pattern: its files by relative path.

    Names that start with a dot or an underscore, and those that end in ``.tmp``, are somebody's
    unfinished or private business and are skipped.
    """
    return [found.path for found in list_files(source)]


def list_files(source: FileSource, known: KnownFiles | None = None) -> list[Found]:
    """As ``find_files``, with what the file system knows of each; without those that are ``known``
    to be as they are."""
    root = local_path(source.path, "the path of files")
    with _Access(root):
        if root.is_file():
            stat = root.stat()
            return [Found(root, stat.st_size, stat.st_ctime_ns)]
        if root.is_dir():
            return _in_order(_below(root, ()), known)
        if any(c in source.path for c in WILD):
            base, pattern = _split_pattern(root)
            if base.is_dir():
                return _in_order(_matches(base, (), pattern), known)
            root = base
        there = root.exists()
    raise InputError(
        where=source.path,
        expected="a file, a directory or a pattern that names some",
        found="a pipe or a device" if there else "nothing there",
        remedy="write its rows to a file first" if there else _suggestion(root),
    )


def base_of(source: FileSource) -> Path:
    """The file, or the directory that has all that ``list_files`` gives, or would."""
    root = local_path(source.path, "the path of files")
    wild = any(c in source.path for c in WILD) and not root.exists()
    return _split_pattern(root)[0] if wild else root


def _in_order(
    entries: Iterator[tuple[Name, os.DirEntry[str]]], known: KnownFiles | None
) -> list[Found]:
    files = []
    for name, entry in entries:
        if known is not None and known.is_at_rest(name):
            continue
        try:
            if not entry.is_file():
                continue
            stat = entry.stat()
        except FileNotFoundError:
            continue
        except OSError:
            with _Access(Path(entry.path).parent):
                raise
        size, changed = stat.st_size, stat.st_ctime_ns
        if known is None or not known.is_same(name, size, changed):
            files.append((name, size, changed, entry.path))
    files.sort()
    return [Found(Path(path), size, changed, name) for name, size, changed, path in files]


def _below(directory: Path, name: Name) -> Iterator[tuple[Name, os.DirEntry[str]]]:
    """All files below a directory; links to directories are not followed."""
    for entry in _list_entries(directory, name):
        if entry.is_dir(follow_symlinks=False):
            yield from _below(directory / entry.name, (*name, entry.name))
        elif _is_wanted(entry.name):
            yield (*name, entry.name), entry


def _matches(directory: Path, name: Name, pattern: Name) -> Iterator[tuple[Name, os.DirEntry[str]]]:
    """The files whose names below the directory match the parts of a pattern."""
    part, rest = pattern[0], pattern[1:]
    if part == "**":
        yield from _matches(directory, name, rest or ("*",))
    for entry in _list_entries(directory, name):
        if part == "**":
            if entry.is_dir(follow_symlinks=False):
                yield from _matches(directory / entry.name, (*name, entry.name), pattern)
        elif fnmatch.fnmatchcase(entry.name, part):
            if rest and entry.is_dir():
                yield from _matches(directory / entry.name, (*name, entry.name), rest)
            elif not rest and _is_wanted(entry.name):
                yield (*name, entry.name), entry


def _list_entries(directory: Path, name: Name) -> list[os.DirEntry[str]]:
    """What is in a directory and not private."""
    with _Access(directory):
        try:
            with os.scandir(directory) as entries:
                return [e for e in entries if not e.name.startswith((".", "_"))]
        except FileNotFoundError:
            if not name:
                raise
            return []  # it was there a moment ago


class _Access:
    """Turns what the file system refuses into an error that says what to do."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            raise InputError(
                where=str(self._path),
                expected="a directory that may be listed and entered",
                found=error.strerror or str(error),
                remedy="give this account read permission (chmod, chown); directories whose "
                "names start with a dot or an underscore are skipped",
            ) from error


def _is_wanted(name: str) -> bool:
    return not name.startswith((".", "_")) and not name.endswith(".tmp")


def _split_pattern(path: Path) -> tuple[Path, Name]:
    """The directory before the first part with a wild card, and the parts from there on."""
    parts = path.parts
    first = next(i for i, part in enumerate(parts) if any(c in part for c in WILD))
    return Path(*parts[:first]), parts[first:]


def _suggestion(missing: Path) -> str:
    parent = missing.parent
    if not parent.is_dir():
        return f"the directory {parent} does not exist either; check the path"
    names = sorted(p.name for p in parent.iterdir() if _is_wanted(p.name))
    near = difflib.get_close_matches(missing.name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(str(parent / n) for n in near)}?"
    return "check the path; it is relative to the directory in which the command runs"
