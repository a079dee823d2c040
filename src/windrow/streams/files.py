"""Which files a source has, in the order in which they are read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from windrow.core.errors import InputError
from windrow.plan.catalog import FileSource

WILD = "*?["


def find_files(source: FileSource) -> list[Path]:
    """A file; a directory with all below it; or a pattern: its files by relative path.

    Names that start with a dot or an underscore, and those that end in ``.tmp``, are somebody's
    unfinished or private business and are passed over.
    """
    root = Path(source.path)
    if root.is_file():
        return [root]
    if root.is_dir():
        return _in_order(root, root.rglob("*"))
    if any(c in source.path for c in WILD):
        base, pattern = _split_pattern(root)
        if base.is_dir():
            return _in_order(base, base.glob(pattern))
        root = base
    there = root.exists()
    raise InputError(
        where=source.path,
        expected="a file, a directory or a pattern that names some",
        found="a pipe or a device" if there else "nothing there",
        remedy="write its rows to a file first" if there else _suggestion(root),
    )


def _in_order(base: Path, found: Iterable[Path]) -> list[Path]:
    files = {p.relative_to(base): p for p in found if p.is_file()}
    return [files[name] for name in sorted(files, key=lambda n: n.parts) if _wanted(name)]


def _wanted(name: Path) -> bool:
    return not any(p.startswith((".", "_")) for p in name.parts) and name.suffix != ".tmp"


def _split_pattern(path: Path) -> tuple[Path, str]:
    """The directory before the first part with a wild card, and the parts from there on."""
    parts = path.parts
    first = next(i for i, part in enumerate(parts) if any(c in part for c in WILD))
    return Path(*parts[:first]), str(Path(*parts[first:]))


def _suggestion(missing: Path) -> str:
    parent = missing.parent
    if not parent.is_dir():
        return f"the directory {parent} does not exist either; check the path"
    names = sorted(p.name for p in parent.iterdir() if _wanted(Path(p.name)))
    near = difflib.get_close_matches(missing.name, names, n=3, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(str(parent / n) for n in near)}?"
    return "check the path; it is taken from the directory in which the command runs"
