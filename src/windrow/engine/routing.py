"""Which of many queries select a tuple: their predicates as subscriptions, their numbers as ids.

An attribute is compared as its keys, integers in the order of its values. In a comparison NaN
stands above every number, so it has the greatest key, which is in every range without an upper
end; as a value of an attribute of its own it would be in none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from windrow.columns.arrays import order_keys, validity
from windrow.columns.delta import Delta, batch_of
from windrow.columns.evaluate import evaluate
from windrow.columns.functions.operands import as_array, cast_operand
from windrow.columns.types import ARROW
from windrow.core.schema import Type
from windrow.core.time import BEGINNING, FOREVER
from windrow.operators.stateless import Stateless
from windrow.plan.nodes import Routed
from windrow.plan.nodes.routed import Among, Asked, Attribute
from windrow.subscriptions.entry_columns import EntryColumns
from windrow.subscriptions.spans import Spans, distinct_texts, in_order, ranges
from windrow.subscriptions.subscriptions import Subscriptions


class Routing(Stateless):
    """The operator of Routed. The queries are those of the plan: it has no state of its own."""

    def __init__(self, node: Routed, schema: pa.Schema) -> None:
        self._attributes, self._schema = node.attributes, schema
        kinds = {
            str(i): Type.STRING if a.type is Type.STRING else Type.BIGINT
            for i, a in enumerate(node.attributes)
        }
        self._predicates = Subscriptions(kinds, ids=pa.int64())
        self._predicates.add(_entries(node))

    def drop(self, number: int) -> None:
        """Select nothing more for a query."""
        self._predicates.drop(number)

    def process(self, inputs: Sequence[Delta], now: int) -> Delta:
        (delta,) = inputs
        return self.add_members(delta)

    def add_members(self, delta: Delta) -> Delta:
        """The tuples, each once per query that selects it, after its number."""
        if not len(delta):
            return Delta.empty(self._schema)
        columns = [_keys(attribute, delta.rows) for attribute in self._attributes]
        rows, owners = self._predicates.hits(columns)
        chosen = delta.take(rows)
        member = self._predicates.names(owners)
        return chosen.with_rows(batch_of([member, *chosen.rows.columns], self._schema, len(rows)))


def _keys(attribute: Attribute, rows: pa.RecordBatch) -> pa.Array:
    """The attribute's values as they are compared: texts, or keys."""
    value = evaluate(attribute.expression, rows)
    value = as_array(cast_operand(value, attribute.type), rows.num_rows)
    if attribute.type is Type.STRING:
        return value
    valid = validity(value)
    return pa.array(order_keys(value), mask=None if valid is None else ~valid)


def _entries(node: Routed) -> EntryColumns:
    count = len(node.asked)
    columns = zip(*node.asked, strict=True)
    spans = [_spans(a.type, asked) for a, asked in zip(node.attributes, columns, strict=True)]
    since, until = np.full(count, BEGINNING), np.full(count, FOREVER)
    return EntryColumns(pa.array(np.arange(count)), since, until, tuple(spans))


def _spans(kind: Type, asked: Sequence[Asked]) -> Spans:
    """What each query asks of one attribute; every one of them asks something."""
    entry, low, high, low_open, high_open = [], [], [], [], []
    for number, condition in enumerate(asked):
        if isinstance(condition, Among):
            for value in condition.values:
                entry.append(number)
                low.append(value)
                high.append(value)
            low_open += [False] * len(condition.values)
            high_open += [False] * len(condition.values)
        else:
            entry.append(number)
            low.append(condition.low)
            high.append(condition.high)
            low_open.append(condition.low_open)
            high_open.append(condition.high_open)
    constrained = np.ones(len(asked), np.bool_)
    owners = np.array(entry, np.int64)
    if kind is Type.STRING:
        return distinct_texts(constrained, owners, pa.array(low, pa.string()))
    lo, hi = ranges(
        pa.array(low, ARROW[kind]), pa.array(high, ARROW[kind]),
        np.array(low_open, np.bool_), np.array(high_open, np.bool_),
    )  # fmt: skip
    return in_order(constrained, owners, lo, hi)
