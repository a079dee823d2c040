"""Which column of a file or of pushed data is meant by a name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from windrow.core.errors import InputError
from windrow.plan.catalog import StreamDeclaration


def columns_named(names: Sequence[str], wanted: str) -> list[str]:
    """The source's names that match one: the same, or else those that differ by case only."""
    exact = [name for name in names if name == wanted]
    return exact or [name for name in names if name.strip().lower() == wanted.lower()]


def resolve(names: Sequence[str], declaration: StreamDeclaration, where: str) -> list[str]:
    """The source's name of each declared column; InputError unless there is exactly one."""
    found = []
    for field in declaration.schema:
        matches = columns_named(names, field.name)
        if len(matches) != 1:
            near = difflib.get_close_matches(field.name, names, n=1)
            hint = f"did you mean {near[0]!r}? " if near and not matches else ""
            raise InputError(
                where=where,
                expected=f"one column {field.name!r} of stream {declaration.name}",
                found=f"{len(matches) or 'none'} among {', '.join(names) or 'no columns'}",
                remedy=f"{hint}rename the column, or change CREATE STREAM",
            )
        found.append(matches[0])
    return found


def resolve_names(names: Sequence[str], wanted: Sequence[str], where: str) -> list[str]:
    """The source's name of each wanted column, without a declaration to name in the error."""
    found = []
    for name in wanted:
        matches = columns_named(names, name)
        if len(matches) != 1:
            near = difflib.get_close_matches(name, names, n=1)
            raise InputError(
                where=where,
                expected=f"one column {name}",
                found=f"{len(matches) or 'none'} among {', '.join(names) or 'no columns'}",
                remedy=f"did you mean {near[0]}?" if near and not matches else "",
            )
        found.append(matches[0])
    return found
