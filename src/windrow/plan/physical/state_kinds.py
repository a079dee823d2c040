"""What operators keep their state in: the one vocabulary of EXPLAIN and of the operators.

``buffer_kind`` decides by update pattern (Golab 2006, 3.5.2) how stored tuples expire and whether
they are found by value; ``windrow.operators.state`` builds what it says, and EXPLAIN prints it. An
operator lists what it keeps of each input in its ``state``, in these words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.core.patterns import UpdatePattern


class Expiry(Enum):
    """How a buffer finds what has expired."""

    NEVER = "list"
    IN_ORDER = "FIFO"
    CALENDAR = "calendar queue by expiry"
    SCAN = "list scanned for expired tuples"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class BufferKind:
    """A buffer of live tuples, or ``of`` something else.

    ``by_tuple``: it is hashed too, for negative tuples to find their counterparts.

    >>> str(BufferKind(Expiry.CALENDAR, by_tuple=True)), str(BufferKind(Expiry.IN_ORDER, of="keys"))
    ('hash on the tuple, calendar queue by expiry', 'FIFO of keys')
    """

    expiry: Expiry
    by_tuple: bool = False
    of: str = ""

    def __str__(self) -> str:
        hashed = "hash on the tuple, " if self.by_tuple else ""
        return f"{hashed}{self.expiry}{f' of {self.of}' if self.of else ''}"


class Structure(Enum):
    """State that is no buffer of tuples."""

    GROUPS = "array by group"
    MATCHES = "count of matches by tuple"
    KEY_COUNTS = "counts by key"
    OUTPUT = "output by value"
    AUXILIARY = "output and auxiliary output by value"
    LAST_ROWS = "list of the last rows"
    LAST_ROWS_BY_KEY = "list of the last rows, queues by key"
    SESSIONS = "list of the tuples of open sessions, queues by key"
    PENDING = "tuples since the last report"
    WAITING = "tuples whose time has not come"
    PAST = "tuples that left it and are in a result"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class BucketKind:
    """The hash table of a join with a chosen number of ``buckets``; one is nested loops.

    >>> str(BucketKind(16)), str(BucketKind(1))
    ('hash table of 16 buckets', 'list for nested loops')
    """

    buckets: int

    def __str__(self) -> str:
        if self.buckets == 1:
            return "list for nested loops"
        return f"hash table of {self.buckets:,} buckets"


@dataclass(frozen=True)
class SubWindowKind:
    """``count`` sub-windows of a window that slides, each ``of`` something by group.

    In bounded space there is a ``bound``: of how wrong an answer is, or of how much is kept.

    >>> str(SubWindowKind(10, "summaries by group"))
    '10 sub-windows of summaries by group'
    """

    count: int
    of: str
    bound: str = ""

    def __str__(self) -> str:
        bound = f" ({self.bound})" if self.bound else ""
        return f"{self.count:,} sub-window{'' if self.count == 1 else 's'} of {self.of}{bound}"


State = BufferKind | BucketKind | Structure | Expiry | SubWindowKind
Kept = tuple[State, ...]
"""What is kept of one input; empty if nothing is."""


def buffer_kind(pattern: UpdatePattern, scan: bool = False) -> BufferKind:
    """The buffer that tuples with this update pattern need.

    ``scan`` is the DIRECT strategy: what does not expire in the order in which it came is looked
    for in all that there is. Only STRICT tuples are withdrawn.
    """
    match pattern:
        case UpdatePattern.MONOTONIC:
            return BufferKind(Expiry.NEVER)
        case UpdatePattern.WEAKEST:
            return BufferKind(Expiry.IN_ORDER)
        case _:
            expiry = Expiry.SCAN if scan else Expiry.CALENDAR
            return BufferKind(expiry, by_tuple=pattern is UpdatePattern.STRICT)
