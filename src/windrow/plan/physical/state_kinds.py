"""What operators keep their state in: the one vocabulary of EXPLAIN and of the operators.

``buffer_kind`` decides by update pattern (Golab 2006, 3.5.2) how stored tuples expire and whether
they are found by value; ``windrow.operators.state`` builds what it says, and EXPLAIN prints it. An
operator lists what it keeps of each input in its ``state``, in these words.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.core.patterns import UpdatePattern
from windrow.plan.nodes.base import PARTITIONS, EdgeState, StrictState


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

    ``by_tuple``: it is hashed too, for negative tuples to find their counterparts. ``searched``:
    they look for them in the partition of their expiry. What is hashed and never expires by itself
    is a hash alone.

    >>> str(BufferKind(Expiry.IN_ORDER, of="keys")), str(HASH)
    ('FIFO of keys', 'hash on the tuple')
    >>> str(BufferKind(Expiry.CALENDAR, by_tuple=True, partitions=50))
    'hash on the tuple, calendar queue by expiry (50 partitions)'
    """

    expiry: Expiry
    by_tuple: bool = False
    of: str = ""
    partitions: int = 0
    searched: bool = False

    def __str__(self) -> str:
        hashed = ["hash on the tuple"] if self.by_tuple else []
        alone = self.by_tuple and self.expiry is Expiry.NEVER
        found = [] if alone else [str(self.calendar or self.expiry)]
        by_search = ["searched for negative tuples"] if self.searched else []
        return ", ".join([*hashed, *found, *by_search]) + (f" of {self.of}" if self.of else "")

    @property
    def calendar(self) -> CalendarKind | None:
        """Its calendar queue, if it has one."""
        return CalendarKind(self.partitions) if self.expiry is Expiry.CALENDAR else None


@dataclass(frozen=True)
class CalendarKind:
    """A calendar queue; the number of its partitions is chosen for what it will hold."""

    partitions: int

    def __str__(self) -> str:
        return f"{Expiry.CALENDAR} ({self.partitions:,} partitions)"


DEFAULT_CALENDAR = CalendarKind(PARTITIONS)
HASH = BufferKind(Expiry.NEVER, by_tuple=True)
"""For STRICT tuples whose ends are all announced: nothing looks for what has expired."""


class Structure(Enum):
    """State that is no buffer of tuples."""

    GROUPS = "array by group"
    VALUES = "different values by group"
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


State = BufferKind | BucketKind | CalendarKind | Structure | SubWindowKind
Kept = tuple[State, ...]
"""What is kept of one input; empty if nothing is."""


def buffer_kind(
    pattern: UpdatePattern, scan: bool = False, chosen: EdgeState | None = None
) -> BufferKind:
    """The buffer that tuples with this update pattern need, as it was ``chosen`` for their edge.

    ``scan`` is the DIRECT strategy: what does not expire in the order in which it came is looked
    for in all that there is. Only STRICT tuples are withdrawn.
    """
    chosen = chosen or EdgeState()
    strict = pattern is UpdatePattern.STRICT
    match pattern:
        case UpdatePattern.MONOTONIC:
            return BufferKind(Expiry.NEVER)
        case UpdatePattern.WEAKEST:
            return BufferKind(Expiry.IN_ORDER)
        case _ if scan:
            return BufferKind(Expiry.SCAN, by_tuple=strict)
        case _:
            searched = strict and chosen.strict is StrictState.SEARCHED
            return BufferKind(
                Expiry.CALENDAR,
                by_tuple=strict and not searched,
                partitions=chosen.partitions,
                searched=searched,
            )
