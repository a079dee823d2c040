"""Queries that share their selection as one streaming query with one chain of stages.

The plan is the widened one (``windrow.plan.shared_selection``): the senders ask the index whose
tuple it is while they pack, every stage works on tuples with a query's number in front, and the
sink gives each query what is its own (``windrow.spark.shared_sink``). A micro-batch costs what it
costs for one query, but for the directories that it publishes in.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from windrow.columns.delta import empty_batch
from windrow.engine.commits import Commit
from windrow.engine.members import ByMember
from windrow.engine.results import read_changes
from windrow.engine.sinks import prepare
from windrow.plan.catalog import Catalog, Destination
from windrow.plan.routed import MEMBER
from windrow.plan.strategy import Strategy
from windrow.spark.groups import Group
from windrow.spark.query import FILES, SparkQuery
from windrow.spark.shared_sink import SharedSinkSpec
from windrow.spark.sinks import SinkSpec


class SharedSparkQuery(SparkQuery):
    """The queries of a group; ``own`` are the destinations of those that write files."""

    def __init__(
        self,
        session: SparkSession,
        group: Group,
        catalog: Catalog,
        strategy: Strategy = Strategy.UPA,
    ) -> None:
        group.take_seats()
        super().__init__(session, group.declaration, catalog, group.directory, strategy)
        self.group = group
        self.own: dict[int, Destination] = {
            number: query.into
            for number, query in group.members.items()
            if query.into is not None and query.into.format in FILES
        }
        self._split: tuple[list[int], ByMember] | None = None

    @property
    def _sink(self) -> SinkSpec:
        own = {n: (str(Path(d.path).absolute()), d.format) for n, d in self.own.items()}
        kept = frozenset(self.group.members) - frozenset(own)
        return SharedSinkSpec(str(self.results), self.format, self.home.run, own, kept)

    def prepare(self) -> None:
        """Remove what an earlier run with another checkpoint published, for each query."""
        super().prepare()
        for destination in self.own.values():
            prepare(Path(destination.path).absolute(), self.home.run)

    def kept(self, chosen: Sequence[Commit]) -> ByMember:
        """The changes of queries without files of their own, read once for all of them."""
        batches = [commit.batch for commit in chosen]
        if self._split is None or self._split[0] != batches:
            table = read_changes(self.results, self.format, self.schema, chosen)
            (rows,) = table.combine_chunks().to_batches() or [empty_batch(self.schema)]
            member = rows.column(MEMBER).to_numpy()
            self._split = (batches, ByMember(member, rows.drop_columns([MEMBER])))
        return self._split[1]

    def counts(self, chosen: Sequence[Commit]) -> npt.NDArray[np.int64]:
        """How many changes each query that is kept here has had."""
        total = np.zeros(len(self.group.seats), np.int64)
        for commit in chosen:
            for name in commit.files:
                found = pq.read_table(self.results / name, columns=[MEMBER])
                total += np.bincount(found.column(0).to_numpy(), minlength=len(total))
        return total
