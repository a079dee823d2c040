"""Something that is wrong with an archive, told in the order of every error of ours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LISTED = 8
"""Days, periods or names that are listed one by one."""


@dataclass(frozen=True)
class Problem:
    """Something that is not as it should be, and where."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def problem(where: str, *, expected: str, found: str) -> Problem:
    return Problem(where, f"expected {expected}; found {found}")


def list_text(values: Iterable[object]) -> str:
    """Values in a sentence, the first few of them if they are many.

    >>> list_text([1, 2]), list_text([]), list_text(range(20))
    ('1, 2', 'none', '0, 1, 2, 3, 4, 5, 6, 7 and 12 more')
    """
    texts = [str(value) for value in values]
    more = f" and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return ", ".join(texts[:LISTED]) + more or "none"
