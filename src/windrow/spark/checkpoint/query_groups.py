"""Which queries of a script run as one on Spark, given what earlier runs left behind.

A checkpoint holds the state of the queries that it was made with, so a query stays where it is: a
group goes on with the members that it had, and a query that had a directory of its own keeps it.
Those that are new share their selection among themselves. Members are known by their seats, the
numbers that their tuples have in the state; one that the script no longer has leaves its seat
empty, where no tuple is sent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from windrow.core.errors import StateError
from windrow.plan.catalog import QueryDeclaration
from windrow.plan.nodes.routed import Among, Asked
from windrow.plan.sharing.shared_selection import (
    SharedSelection,
    shared_selections,
    with_conditions,
)
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.checkpoint.query_directory import IDENTITY

SEATS = "members.json"
PREFIX = "shared-"

Seats = list[tuple[str, str]]
"""For each number, the name of the query and the digest of what it asks."""


@dataclass(frozen=True)
class Group:
    """Queries that run as one; ``declaration`` is that of their common plan."""

    selection: SharedSelection
    declaration: QueryDeclaration
    members: Mapping[int, QueryDeclaration]
    seats: Seats
    directory: Path

    def take_seats(self) -> None:
        """Write down who has which number, if that has not been done."""
        path = self.directory / SEATS
        if not path.exists():
            self.directory.mkdir(parents=True, exist_ok=True)
            publish(path, json.dumps(self.seats))


def groups_of(queries: Sequence[QueryDeclaration], directory: Path) -> list[Group]:
    """The groups among the queries of a script that runs with this checkpoint."""
    left = {query.name: query for query in queries}
    found = []
    for path in sorted(directory.glob(f"{PREFIX}*/{SEATS}")):
        seats = _read(path)
        present = [left.pop(name) for name, _ in seats if name in left]
        if present:
            found.append(_seated(_together(present, path), seats, path.parent))
    free = [q for q in left.values() if not (directory / q.name / IDENTITY).exists()]
    for selection in shared_selections(free):
        asked = selection.routed_node.asked
        seats = [(q.name, _digest(a)) for q, a in zip(selection.queries, asked, strict=True)]
        name = f"{PREFIX}{selection.queries[0].name}"
        found.append(_seated(selection, seats, directory / name))
    return found


def _together(present: Sequence[QueryDeclaration], path: Path) -> SharedSelection:
    selections = shared_selections(present, fewest=1)
    if len(selections) != 1 or len(selections[0].queries) < len(present):
        together = {q.name for q in selections[0].queries} if selections else set()
        _refuse(next((q.name for q in present if q.name not in together), present[0].name), path)
    return selections[0]


def _seated(selection: SharedSelection, seats: Seats, directory: Path) -> Group:
    """The group with each query in its seat."""
    numbers = {name: number for number, (name, _) in enumerate(seats)}
    asked: list[tuple[Asked, ...]] = [
        tuple(Among(()) for _ in selection.routed_node.attributes) for _ in seats
    ]
    members = {}
    for query, wanted in zip(selection.queries, selection.routed_node.asked, strict=True):
        number = numbers[query.name]
        if seats[number][1] != _digest(wanted):
            _refuse(query.name, directory)
        members[number], asked[number] = query, wanted
    plan = with_conditions(selection.plan, tuple(asked))
    declaration = QueryDeclaration(selection.title, plan, selection.queries[0].clock)
    return Group(selection, declaration, members, seats, directory)


def _digest(asked: tuple[Asked, ...]) -> str:
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _read(path: Path) -> Seats:
    return read_record(
        path,
        "the checkpoint",
        lambda seats: [(str(name), str(digest)) for name, digest in seats],
        remedy="restore it, or choose a new directory with --checkpoint",
    )


def _refuse(name: str, path: Path) -> NoReturn:
    raise StateError(
        f"the checkpoint of query {name} does not belong to this script",
        where=str(path),
        expected="the query and streams that it was made with",
        found="a query that has changed since",
        remedy="give the changed query another name, or choose a new directory with --checkpoint",
    )
