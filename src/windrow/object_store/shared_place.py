"""Directories of this machine that stand for a place in an object store.

The driver of a run works on such a copy of its checkpoint
(``windrow.spark.checkpoint.working_copy``). What other processes read and write, state and results
and pushed rows, is in the store itself. Of any other directory that is the directory.
"""

from __future__ import annotations

from pathlib import Path

from windrow.object_store.object_path import ObjectPath, path_of

STORE = ".windrow.store"
"""In a working copy: the address of what it is a copy of."""
NOTES = "notes"
"""There, the folder of what is in the copy."""


def shared_place(root: Path) -> Path:
    """Where others find what is theirs, of a directory that may be a working copy."""
    if isinstance(root, ObjectPath):
        return root
    try:
        return path_of((root / STORE).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return root


def shared_directory(directory: Path) -> Path:
    """The same for a directory right below it."""
    return shared_place(directory.parent) / directory.name


def address_of(path: Path) -> str:
    """What to call a file or a directory that may be in a working copy: where it really is."""
    for root in () if isinstance(path, ObjectPath) else path.parents:
        place = shared_place(root)
        if place != root:
            return str(place / NOTES / path.relative_to(root))
    return str(shared_place(path))
