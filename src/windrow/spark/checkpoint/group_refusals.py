"""Queries that cannot go on in the group in which a checkpoint has their state."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

from windrow.core.errors import StateError


def refuse_gone(name: str, path: Path) -> NoReturn:
    """A query that left its group cannot come back to it."""
    raise StateError(
        f"query {name} had left its group when others joined that",
        where=str(path),
        expected="a query that is still there, or a new one",
        found="one whose synopses are gone",
        remedy="give the query another name and another directory of results",
    )


def refuse_absent(name: str, path: Path) -> NoReturn:
    """A query was away while its group went on."""
    raise StateError(
        f"query {name} was not in the script while others of its group went on",
        where=str(path),
        expected="a query that has been there since it began, or a new one",
        found="one that has missed rows",
        remedy="give the query another name and another directory of results",
    )


def refuse_changed(name: str, path: Path) -> NoReturn:
    """A query is not the one whose state a group has."""
    raise StateError(
        f"the checkpoint of query {name} does not belong to this script",
        where=str(path),
        expected="the query and streams that it was made with",
        found="a query that has changed since",
        remedy="give the changed query another name, or choose a new directory with --checkpoint",
    )
