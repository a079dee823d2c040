"""The error of a query that a window's index does not know enough to answer."""

from __future__ import annotations

from windrow.core.errors import WindrowError


class UnanswerableError(WindrowError):
    """The index or storage of a window lacks what a query needs."""

    def __init__(self, query: str, needed: str, found: str, instead: str) -> None:
        self.query = query
        super().__init__(where=query, expected=needed, found=found, remedy=f"use {instead}")
