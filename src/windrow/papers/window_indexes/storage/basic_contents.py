"""What a full basic window holds, whatever it filled as, and how one fills.

While it fills, a basic window has the form that its storage method gives it (Golab et al. 2004,
2.2). When it is full nothing is inserted any more, so all that is left of it are its *pointers*,
to index nodes or, without domain storage, the values themselves, and a count for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from windrow.papers.window_indexes.step_counts import Steps

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class BasicContents:
    """A full basic window: pointers, and how many tuples each stands for.

    ``counts`` is ``EACH_ONCE`` for LIST. AGGR's and HASH's pointers are in order of value.
    """

    pointers: Int64s
    counts: Int64s

    def tuples(self) -> int:
        """How many tuples the basic window holds."""
        return int(self.counts.sum()) if len(self.counts) else len(self.pointers)


class Storage(Protocol):
    """A basic window that is filling.

    ``insert`` takes values in and answers with those that need a pointer to the index, which
    ``point`` then supplies; ``close`` hands the basic window over and begins a new one.

    >>> from windrow.windows import ListStorage, Storage, aggr_storage, hash_storage
    >>> storages: list[Storage] = [ListStorage(), aggr_storage(), hash_storage(buckets=5)]
    >>> [storage.name for storage in storages]
    ['LIST', 'AGGR', 'HASH']
    """

    name: str
    indexed_by: frozenset[str]
    """The indexes that can be kept over it (4.1-4.3)."""

    def insert(self, values: Int64s, steps: Steps) -> Int64s: ...

    def point(self, pointers: Int64s) -> None: ...

    def close(self) -> BasicContents: ...
