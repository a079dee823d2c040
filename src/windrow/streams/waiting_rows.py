"""Rows of one input that have come before their time, and wait until time passes them.

They wait in the pieces in which they came, each under a name: a piece only ever shrinks, so whoever
saves them writes those that are new or shorter, and nothing again because others come or go.
Releasing costs O(rows released + pieces that wait), and next to nothing if none is due.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from windrow.columns.delta import Delta, concat


class WaitingRows:
    """See the module. Every piece is in order of time."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema, self._nothing = schema, Delta.empty(schema)
        self._pieces: dict[str, Delta] = {}
        self._added = 0

    def __deepcopy__(self, _known: object) -> WaitingRows:
        """The rows of a piece never change, so that a copy shares them."""
        made = WaitingRows(self._schema)
        made._pieces, made._added = dict(self._pieces), self._added
        return made

    @property
    def pieces(self) -> Mapping[str, Delta]:
        """Those that wait, by name, in the order in which they came."""
        return self._pieces

    @property
    def rows(self) -> Delta:
        """All that wait, in order of time."""
        return concat(list(self._pieces.values()), self._schema)

    def add(self, rows: Delta, name: str | None = None) -> None:
        """Let rows wait, which are in order of time; a name must be new."""
        if len(rows):
            self._added += 1
            self._pieces[name or str(self._added)] = rows

    def release(self, now: int) -> Delta:
        """The rows with ``ts <= now``, in order of time, then of arrival; they wait no longer."""
        if all(piece.ts[0] > now for piece in self._pieces.values()):
            return self._nothing
        cut = {name: piece.split(now) for name, piece in self._pieces.items()}
        self._pieces = {name: rest for name, (_, rest) in cut.items() if len(rest)}
        return concat([due for due, _ in cut.values()], self._schema)
