"""Queries that share their selection as one streaming query with one chain of stages.

The plan is the widened one (``windrow.plan.sharing``): the senders ask the index whose
tuple it is while they pack, every stage works on tuples with a query's number in front, and the
sink gives each query what is its own (``windrow.spark.shared_sink``). A micro-batch costs what it
costs for one query, but for the directories that it publishes in.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import SparkSession

from windrow.columns.delta import empty_batch
from windrow.engine.identity import Identity, identity_of
from windrow.engine.members import ByMember
from windrow.engine.ownership import prepare
from windrow.engine.published import published
from windrow.engine.sinks import COMPACT_AT
from windrow.plan.catalog import Catalog, Destination
from windrow.plan.nodes.routed import MEMBER
from windrow.plan.strategy import Strategy
from windrow.spark.groups import Group
from windrow.spark.lost import refuse_lost_member
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
        self._split: tuple[tuple[int, int], ByMember] | None = None

    @property
    def _sink(self) -> SinkSpec:
        own = {n: (str(Path(d.path).absolute()), d.format) for n, d in self.own.items()}
        kept = frozenset(self.group.members) - frozenset(own)
        return SharedSinkSpec(
            str(self.results), self.format, self.home.run, COMPACT_AT.value, own=own, kept=kept
        )

    def prepare(self, *, overwrite: bool = False) -> None:
        """As for one query, for each; all of them are looked at before anything is removed."""
        for number in self.own:
            refuse_lost_member(self.home, self.place(number))
        super().prepare(overwrite=overwrite)
        for number in self.own:
            prepare(self.place(number), self.member(number), overwrite=overwrite)

    def place(self, number: int) -> Path:
        """Where the results of a query with files of its own are."""
        return Path(self.own[number].path).absolute()

    def member(self, number: int) -> Identity:
        """What the results of a query with files of its own are."""
        query, into = self.group.members[number], self.own[number]
        return identity_of(query, self.home.run, into.format)

    def kept(self, after: int = -1, upto: int | None = None) -> ByMember:
        """The changes of queries without files of their own, read once for all of them."""
        state = published(self.results)
        asked = (after, state.last if upto is None else upto)
        if self._split is None or self._split[0] != asked:
            tables = [self.schema.empty_table(), *self.reading.tables(*asked, state=state)]
            (rows,) = pa.concat_tables(tables).combine_chunks().to_batches() or [
                empty_batch(self.schema)
            ]
            member = rows.column(MEMBER).to_numpy()
            self._split = (asked, ByMember(member, rows.drop_columns([MEMBER])))
        return self._split[1]

    def kept_answers(self) -> ByMember:
        """The rows of their answers; of streams, the last changes of each."""
        rows = self.answer().rows.combine_chunks()
        (batch,) = rows.to_batches() or [empty_batch(rows.schema)]
        return ByMember(batch.column(MEMBER).to_numpy(), batch.drop_columns([MEMBER]))

    def counts(self, after: int) -> npt.NDArray[np.int64]:
        """How many changes each query that is kept here has had since micro-batch ``after``."""
        total = np.zeros(len(self.group.seats), np.int64)
        for table in self.reading.tables(after):
            total += np.bincount(table[MEMBER].to_numpy(), minlength=len(total))
        return total
