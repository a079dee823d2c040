"""What a stored window is to those who read and move it, by the update pattern of its input.

WEAKEST input, a stream or a selection of one, is a circular array (``sub_windows``). WEAK input,
the result of a join, comes with any expiry, so it is a calendar by expiry (``expiry_slots``).
STRICT input is refused: a tuple may be withdrawn from any sub-window at any time, so no order of
reads is safe, and nothing says which sub-window changes next (Golab 2006, 7.2.1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from windrow.core.patterns import UpdatePattern
from windrow.sharing.transactions.errors import TransactionError
from windrow.sharing.transactions.expiry_slots import ExpirySlots
from windrow.sharing.transactions.sub_windows import SubWindows


class StoredWindow(Protocol):
    """The contents of a window's sub-windows, each by the number of the update that began it.

    Contents are immutable: who has read them may keep them.
    """

    n: int
    newest: int

    def install(self, contents: Any) -> Mapping[int, Any]:
        """Carry out the next update. Gives what it added to sub-windows that were there before."""

    def read(self, version: int, as_of: int | None = None) -> Any: ...

    def drop_before(self, version: int) -> None:
        """Forget what no query needs any more."""


def stored_window(pattern: UpdatePattern, contents: Sequence[Any]) -> StoredWindow:
    """A window over input of this pattern, filled by one update for each of ``contents``.

    >>> stored_window(UpdatePattern.WEAKEST, ["a", "b", "c"]).read(2)
    'c'
    """
    if pattern is UpdatePattern.WEAKEST:
        return SubWindows(contents)
    if pattern is UpdatePattern.WEAK:
        return ExpirySlots(contents)
    reasons = {
        UpdatePattern.STRICT: "a negative tuple may change any sub-window at any time, "
        "also one that a query has read",
        UpdatePattern.MONOTONIC: "nothing ever expires, so there are no sub-windows to replace",
    }
    raise TransactionError(
        f"input is {pattern.name}: {reasons[pattern]}",
        where="window",
        expected="WEAKEST or WEAK input (Golab 2006, 7.2.1)",
        remedy="read the answer of the query instead of the contents of its window",
    )
