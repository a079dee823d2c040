"""Archives that a script declares, filled in this process: a day goes in when it is over.

That is when all its instants are closed, so that each is written once and whole; rows of a day that
has only begun wait in memory. What a plan gives is a function of its input alone, and an archive
knows how far it has come: a script that is run again from the beginning of its files passes over
the days that are there, and repeats and loses none.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from windrow.columns.delta import Delta, concat
from windrow.columns.types import arrow_schema
from windrow.core.time import Wall, no_wall_clock
from windrow.engine.pipeline import Pipeline
from windrow.engine.query import EmbeddedQuery
from windrow.engine.stores import last_day_over, store_of, strategy_for
from windrow.plan.catalog import ArchiveDeclaration
from windrow.plan.strategy import Strategy


class ArchivedQuery(EmbeddedQuery):
    """A plan whose results are archived; its changes are in the archive and nowhere else."""

    def __init__(
        self,
        declared: ArchiveDeclaration,
        strategy: Strategy = Strategy.UPA,
        wall: Wall = no_wall_clock,
    ) -> None:
        strategy = strategy_for(declared, strategy)
        super().__init__(declared.query, strategy)
        self.pipeline = Pipeline(declared.plan, strategy=strategy)
        self.archive, self.path = declared, Path(declared.path)
        self.store = store_of(declared)
        self._schema = arrow_schema(declared.plan.schema)
        self._wall = wall
        self._kept: list[Delta] = []

    @property
    def waiting(self) -> int:
        """Rows of days that are not over."""
        return sum(len(part) for part in self._kept)

    def advance(self, now: int) -> None:
        """Bring the archive to the last day that is over at ``now``."""
        if now <= self.pipeline.now:
            return
        self._kept.append(self._processed(now))
        over = last_day_over(now, self.archive, self._wall)
        if self.store.done is not None and over <= self.store.done:
            self._drop_done(self.store.done)
            return
        whole = concat(self._kept, self._schema)
        days = whole.ts // self.archive.day
        parts = {int(d): [whole.filter(days == d)] for d in np.unique(days) if d <= over}
        self._kept = [whole]  # until it is in
        self.rows_out += self.store.put(over, parts)
        self._kept = [whole.filter(days > over)]

    def _drop_done(self, done: int) -> None:
        """Rows of days that an earlier run has put in."""
        self._kept = [part.filter(part.ts // self.archive.day > done) for part in self._kept]

    def current(self) -> pa.Table:
        """Nothing: an archive is asked by probes and scans."""
        return pa.table({})

    answer = current

    def changes(self, *, drain: bool = False) -> pa.Table:
        """Nothing: they are in the archive and nowhere else."""
        return self.current()
