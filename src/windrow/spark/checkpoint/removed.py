"""Where files go that are moved out of a query's checkpoint: nothing of it is ever deleted."""

from __future__ import annotations

from pathlib import Path

REMOVED = "removed-"


def new_removed_directory(directory: Path) -> Path:
    """Make ``removed-<n>/`` in a query's directory, with the next number."""
    taken = [p.name.removeprefix(REMOVED) for p in directory.glob(f"{REMOVED}*")]
    number = max((int(n) for n in taken if n.isdigit()), default=0) + 1
    place = directory / f"{REMOVED}{number}"
    place.mkdir()
    return place
