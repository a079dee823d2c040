"""What a window clause says, in ticks of the stream's clock."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RangeWindow:
    """``[RANGE length]``: ts in (t - length, t]; with ``slide`` it moves at multiples of that."""

    length: int
    slide: int | None = None
    internal: bool = False

    def __str__(self) -> str:
        slide = f" SLIDE {self.slide}" if self.slide else ""
        return f"[RANGE {self.length}{slide}{' INTERNAL' if self.internal else ''}]"


@dataclass(frozen=True)
class NowWindow:
    """``[NOW]``: the tuples of this very instant."""

    internal: bool = False

    def __str__(self) -> str:
        return f"[NOW{' INTERNAL' if self.internal else ''}]"


@dataclass(frozen=True)
class UnboundedWindow:
    """``[UNBOUNDED]``, the default: everything that ever came."""

    internal: bool = False

    def __str__(self) -> str:
        return f"[UNBOUNDED{' INTERNAL' if self.internal else ''}]"


@dataclass(frozen=True)
class RowsWindow:
    """``[ROWS count]`` or, with ``partition_by`` (column indexes), the last ``count`` per key.

    With ``slide`` (never beside ``partition_by``) it moves when as many rows have come.
    """

    count: int
    partition_by: tuple[int, ...] = ()
    internal: bool = False
    slide: int | None = None

    def __str__(self) -> str:
        columns = ", ".join(f"#{i}" for i in self.partition_by)
        by = f"PARTITION BY {columns} " if columns else ""
        slide = f" SLIDE {self.slide}" if self.slide else ""
        return f"[{by}ROWS {self.count}{slide}{' INTERNAL' if self.internal else ''}]"


@dataclass(frozen=True)
class SessionWindow:
    """``[SESSION gap]``: the tuples since a silence of ``gap`` ticks, of all or of each key."""

    gap: int
    partition_by: tuple[int, ...] = ()
    internal: bool = False

    def __str__(self) -> str:
        columns = ", ".join(f"#{i}" for i in self.partition_by)
        by = f"PARTITION BY {columns} " if columns else ""
        return f"[{by}SESSION {self.gap}{' INTERNAL' if self.internal else ''}]"


WindowSpec = RangeWindow | NowWindow | UnboundedWindow | RowsWindow | SessionWindow
PARTITIONED = (RowsWindow, SessionWindow)
"""Windows whose tuples leave because of others, perhaps of those with the same key."""
