"""The operator of CREATE SUBSCRIPTIONS: a stream in, its matches out."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.columns.delta import Delta, batch_of
from windrow.operators.stateless import Stateless
from windrow.subscriptions.subscriptions import Subscriptions


class MatchSubscriptions(Stateless):
    """Each insertion once per subscription that it satisfies, under the subscription's id.

    The subscriptions are no state of the stream: they are read where they are declared, and what
    is added or dropped later takes effect at its own instant.
    """

    def __init__(
        self, subscriptions: Subscriptions, columns: Sequence[int], schema: pa.Schema
    ) -> None:
        self.subscriptions, self.columns, self.schema = subscriptions, tuple(columns), schema

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        found = self.match(delta)
        self.subscriptions.settle(now)
        return found

    def match(self, delta: Delta) -> Delta:
        """The matches of some tuples, whatever instants are closed."""
        if not len(delta):
            return Delta.empty(self.schema)
        columns = [delta.rows.column(i) for i in self.columns]
        rows, owners = self.subscriptions.hits(columns, delta.ts)
        matching = delta.take(rows)
        arrays = [self.subscriptions.names(owners), *matching.rows.columns]
        return Delta.insertions(matching.ts, batch_of(arrays, self.schema, len(rows)))
