"""Plan nodes to operators: the one place where a frozen description becomes a mutable operator."""

from __future__ import annotations

import pyarrow as pa

from windrow.columns.types import ARROW, arrow_schema
from windrow.core.errors import NotExecutableError
from windrow.core.patterns import UpdatePattern
from windrow.operators.aggregates.count import Count
from windrow.operators.aggregates.distinct import CountDistinct
from windrow.operators.aggregates.events import Accumulator
from windrow.operators.aggregates.extremes import Extreme
from windrow.operators.aggregates.quantiles import Quantile
from windrow.operators.aggregates.sums import Sum
from windrow.operators.aggregates.variance import Variance
from windrow.operators.base import Operator
from windrow.operators.canonical import InOrder
from windrow.operators.changelog import Changelog
from windrow.operators.difference import BagDifference
from windrow.operators.distinct import DistinctAuxiliary
from windrow.operators.group_by import GroupedAggregation
from windrow.operators.join import WindowJoin
from windrow.operators.negation import Unmatched
from windrow.operators.nrr_join import NonRetroactiveJoin
from windrow.operators.output_window import OutputWindow as OutputRows
from windrow.operators.partition_window import PartitionWindow
from windrow.operators.restore import RestoredInsertions, RestoredRelation
from windrow.operators.rows_window import RowsWindow as LastRows
from windrow.operators.rstream import RelationStream
from windrow.operators.snap import Snap
from windrow.operators.stateless import Append, Merge, Project, Select, TimeWindow
from windrow.operators.top_k import FirstK
from windrow.plan.expressions import Column, Expression
from windrow.plan.nodes import (
    Aggregate,
    AppendOnly,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    Negation,
    NegationForm,
    Node,
    OutputWindow,
    Projection,
    Selection,
    StreamKind,
    TopK,
    ToStream,
    Union,
    Window,
    arrives_in_order,
    is_nrr,
)
from windrow.plan.windows import NowWindow, RangeWindow, RowsWindow, WindowSpec

SIGNS = {StreamKind.ISTREAM: (1,), StreamKind.DSTREAM: (-1,)}


def operator_for(node: Node) -> Operator:  # noqa: PLR0911 - one line per kind of node
    """A fresh operator that does what the node says."""
    schema = arrow_schema(node.schema)
    match node:
        case Selection():
            return Select(node.predicate)
        case Projection():
            return Project([c.expression for c in node.columns], schema)
        case Union():
            return Merge(schema)
        case Window():
            return _window(node.spec, node.input, schema)
        case Join():
            return _join(node, schema)
        case Negation():
            return _negation(node, schema)
        case GroupBy():
            return _group_by(node, schema)
        case DuplicateElimination():
            return _distinct(node, schema)
        case Every():
            return Snap(schema, node.period)
        case AppendOnly():
            return Append()
        case TopK():
            return FirstK(schema, node.input.pattern, node.keys, node.count)
        case OutputWindow():
            return OutputRows(_window(node.spec, node.input, schema))
        case ToStream(kind=StreamKind.ISTREAM_RESTORE):
            return RestoredInsertions(schema, node.input.pattern, node.every)
        case ToStream(kind=StreamKind.RSTREAM_RESTORE):
            return RestoredRelation(schema, node.input.pattern, node.every)
        case ToStream(kind=StreamKind.RSTREAM):
            return RelationStream(schema, node.input.pattern, node.every)
        case ToStream(kind=kind) if kind in SIGNS:
            return Changelog(schema, node.input.pattern, SIGNS[kind])
        case _:
            raise NotExecutableError(type(node).__name__, span=node.span)


def changes_of(node: Node) -> Changelog:
    """What turns a query's result into the changes that are shown."""
    return Changelog(arrow_schema(node.schema), node.pattern, (1, -1))


def _window(spec: WindowSpec, source: Node, schema: pa.Schema) -> Operator:
    match spec:
        case RangeWindow(length=length, slide=None):
            return TimeWindow(length)
        case RangeWindow(length=length, slide=slide) if slide is not None:
            return Snap(schema, slide, length)
        case NowWindow():
            return TimeWindow(1)
        case RowsWindow(count=count, partition_by=keys):
            window = PartitionWindow(schema, keys, count) if keys else LastRows(schema, count)
            return window if arrives_in_order(source) else InOrder(window)
        case _:
            return Append()


def _join(node: Join, schema: pa.Schema) -> Operator:
    kinds = [ARROW[k.type] for k in node.left_keys]
    for number, side in enumerate((node.left, node.right)):
        if is_nrr(side):
            keys = (node.left_keys, node.right_keys)
            relation = arrow_schema(side.schema)
            return NonRetroactiveJoin(number, relation, keys, kinds, node.residual, schema)
    return WindowJoin(
        schemas=(arrow_schema(node.left.schema), arrow_schema(node.right.schema)),
        patterns=(node.left.pattern, node.right.pattern),
        keys=(node.left_keys, node.right_keys),
        kinds=kinds,
        residual=node.residual,
        schema=schema,
    )


def _negation(node: Negation, schema: pa.Schema) -> Operator:
    patterns = (node.left.pattern, node.right.pattern)
    if node.form is NegationForm.EXCEPT:
        return BagDifference(schema, patterns)
    kinds = [ARROW[k.type] for k in node.left_keys]
    keys = (node.left_keys, node.right_keys)
    return Unmatched(schema, patterns, keys, kinds, node.form is NegationForm.NOT_IN)


def _group_by(node: GroupBy, schema: pa.Schema) -> Operator:
    pattern = node.input.pattern
    arguments: list[Expression] = []
    aggregates: list[tuple[Accumulator, int] | None] = []
    for aggregate in node.aggregates:
        if aggregate.argument is None:
            aggregates.append(None)
            continue
        if aggregate.argument not in arguments:
            arguments.append(aggregate.argument)
        place = arguments.index(aggregate.argument)
        aggregates.append((_accumulator(aggregate, aggregate.argument, pattern), place))
    keys = [k.expression for k in node.keys]
    return GroupedAggregation(
        keys, arguments, aggregates, pattern, _stored([*keys, *arguments]), schema
    )


def _stored(expressions: list[Expression]) -> pa.Schema:
    return pa.schema([pa.field(str(i), ARROW[e.type]) for i, e in enumerate(expressions)])


def _accumulator(aggregate: Aggregate, argument: Expression, pattern: UpdatePattern) -> Accumulator:
    kind, departs = ARROW[argument.type], pattern is not UpdatePattern.MONOTONIC
    match aggregate.function, aggregate.distinct:
        case "COUNT", False:
            return Count()
        case "COUNT", True:
            return CountDistinct(kind)
        case "SUM" | "AVG", False:
            return Sum(kind, mean=aggregate.function == "AVG")
        case "MIN" | "MAX", _:
            return Extreme(kind, aggregate.function == "MAX", departs)
        case "MEDIAN", False:
            return Quantile(0.5)
        case "QUANTILE", False if aggregate.parameter is not None:
            return Quantile(aggregate.parameter)
        case "VAR" | "STDDEV", False:
            return Variance(root=aggregate.function == "STDDEV")
        case function, distinct:
            name = f"{function}(DISTINCT ...)" if distinct else function
            raise NotExecutableError(name, span=aggregate.span)


def _distinct(node: DuplicateElimination, schema: pa.Schema) -> Operator:
    pattern = node.input.pattern
    if pattern is not UpdatePattern.STRICT:
        return DistinctAuxiliary(schema)
    keys = [Column(i, f.name, f.type) for i, f in enumerate(node.schema)]
    return GroupedAggregation(keys, [], [], pattern, _stored(list(keys)), schema)
