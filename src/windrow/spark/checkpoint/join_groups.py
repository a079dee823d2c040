"""Queries that share a join of windows of several lengths, in the seats that a checkpoint has.

A seat says how long the windows of its query are, so that the join of the longest ones goes on, and
numbers stay what they are, when the script no longer has some of the queries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from windrow.plan.catalog import QueryDeclaration
from windrow.plan.sharing.shared_joins import SharedJoin, family_and_length, join_for_lengths
from windrow.spark.checkpoint.group_refusals import refuse_changed

JOIN = "join"


def digest_of_join(query: QueryDeclaration) -> str:
    """How long its windows are, and what it asks otherwise."""
    family, length = family_and_length(query) or ("", 0)
    return f"{JOIN} {length} {hashlib.sha256(family.encode()).hexdigest()}"


def is_of_join(seats: Sequence[tuple[str, str]]) -> bool:
    return seats[0][1].startswith(f"{JOIN} ")


def seated_join(
    present: Sequence[QueryDeclaration], seats: Sequence[tuple[str, str]], directory: Path
) -> tuple[SharedJoin, Mapping[int, QueryDeclaration]]:
    """The group as it was, with those of its queries that are still there, by number."""
    numbers = {name: number for number, (name, _) in enumerate(seats)}
    members = {numbers[query.name]: query for query in present}
    for number, query in members.items():
        if seats[number][1] != digest_of_join(query):
            refuse_changed(query.name, directory)
    lengths = [int(digest.split()[1]) for _, digest in seats]
    there = tuple(length if n in members else 0 for n, length in enumerate(lengths))
    return join_for_lengths(present, max(lengths), there), members
