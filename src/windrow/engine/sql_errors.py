"""What DuckDB refuses in one-time SQL, said as everywhere else: what was found, and what to do."""

from __future__ import annotations

import re
from typing import NamedTuple

import duckdb


class SqlProblem(NamedTuple):
    """What was found; ``near`` are names that may have been meant, ``of_table`` says that a table
    is missing."""

    found: str
    near: tuple[str, ...] = ()
    of_table: bool = False

    @property
    def suggestion(self) -> str:
        """What may have been meant, if anything."""
        return f"did you mean {' or '.join(self.near)}?" if self.near else ""


MISSING = (
    (r'Referenced column "(?P<name>[^"]*)" not found in FROM clause!', "no column {name}"),
    (r'Values list "(?P<table>[^"]*)" does not have a column named "(?P<name>[^"]*)"',
     "no column {name} in {table}"),
    (r'Referenced table "(?P<name>[^"]*)" not found!', "no table {name} in FROM"),
    (r"Table with name (?P<name>.*) does not exist!", "no table {name}"),
    (r"\w+ Function with name (?P<name>.*) does not exist!", "no function {name}"),
)  # fmt: skip
"""What DuckDB says of names that it does not know, and what we say."""
INTERNAL = ("pg_", "duckdb_", "sqlite_")
"""How names of its own begin, which it proposes too."""


def problem_of(error: duckdb.Error) -> SqlProblem:
    """What DuckDB says, without its part that says so, all functions of a name, and its own tables.

    >>> problem_of(duckdb.Error('Catalog Error: Table with name x does not exist!'))
    SqlProblem(found='no table x', near=(), of_table=True)
    >>> problem_of(duckdb.Error('Parser Error: syntax error at or near "SELEC"')).found
    'syntax error at or near "SELEC"'
    """
    text = re.sub(r"^\w[\w ]* Error: ", "", str(error))
    text = re.sub(r"\n\tCandidate functions:(\n\t[^\n]*)*", "", text)
    said, *hints = re.split(r"\n(?=Candidate |Did you mean )", text)
    names = re.findall(r'"([^"]*)"', "".join(hints))
    near = tuple(name for name in names if not name.startswith(INTERNAL))
    for pattern, words in MISSING:
        if match := re.match(pattern, said):
            found = words.format(**match.groupdict())
            return SqlProblem(found, near, of_table=found.startswith("no table"))
    return SqlProblem("".join([said, *(f"\n{hint}" for hint in hints if near)]).strip())
