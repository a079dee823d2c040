"""Names and paths of a statement, judged before anything is bound.

Streams, queries and archives have directories of their names (in the quarantine, in a checkpoint,
where nothing else was said), so one rule holds for every declared name: it is one part of a path.
"""

from __future__ import annotations

from windrow.core.errors import BindError
from windrow.core.paths import LONGEST, REMEDY, SUPPORTED, flaw_of_name, has_scheme
from windrow.cql.syntax_tree import (
    CreateArchive,
    CreateQuery,
    CreateSubscriptions,
    Explain,
    FileClause,
    Name,
    Statement,
)

OURS = "inbox"
"""What a connection on Spark calls the directory of pushed rows, beside those of queries."""
SHARED = "shared-"
"""How the directories of queries that run together begin."""


def check_statement(statement: Statement) -> None:
    """BindError at a name that cannot be a directory, or a path that is of no file system."""
    if isinstance(statement, Explain):
        return
    if statement.name is not None:
        _check_name(statement.name)
        if isinstance(statement, CreateQuery | CreateArchive | CreateSubscriptions):
            _refuse_reserved(statement.name)
    for clause in (getattr(statement, part, None) for part in ("source", "into")):
        if isinstance(clause, FileClause) and has_scheme(clause.path):
            raise BindError(
                span=clause.span, expected=SUPPORTED, found=f"'{clause.path}'", remedy=REMEDY
            )


def _check_name(name: Name) -> None:
    flaw = flaw_of_name(name.text)
    if flaw:
        raise BindError(
            "this name cannot be that of a directory", span=name.span,
            expected=f"at most {LONGEST} bytes without slashes, and no dot at the beginning",
            found=flaw, remedy="choose another name",
        )  # fmt: skip


def _refuse_reserved(name: Name) -> None:
    """Two things of one directory would destroy each other's files."""
    text = name.text.lower()
    if text == OURS or text.startswith(SHARED):
        raise BindError(
            f"{name.text} is the name of a directory that checkpoints have for themselves",
            span=name.span, remedy="choose another name",
        )  # fmt: skip
