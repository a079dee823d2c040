"""Plan nodes, windows and durations in words."""

from __future__ import annotations

from windrow.core.schema import Schema
from windrow.core.time import MICROSECONDS, Clock
from windrow.plan.expressions import Column, Expression, Named, render
from windrow.plan.nodes import (
    Aggregate,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    LastingJoin,
    MultiJoin,
    Negation,
    NegationForm,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Selection,
    StageInput,
    StreamKind,
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Window,
)
from windrow.plan.nodes.join_conditions import conditions_of
from windrow.plan.nodes.window_specs import (
    NowWindow,
    RangeWindow,
    RowsWindow,
    UnboundedWindow,
    WindowSpec,
)

UNITS = ("DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")


def duration(ticks: int, clock: Clock) -> str:
    """A number of ticks in the largest unit that divides it.

    >>> duration(90, Clock.INTEGER), duration(60_000_000, Clock.TIMESTAMP)
    ('90 SECONDS', '1 MINUTE')
    """
    microseconds = ticks * (1_000_000 // clock.ticks_per_second)
    unit = next(u for u in UNITS if microseconds % MICROSECONDS[u] == 0)
    count = microseconds // MICROSECONDS[unit]
    return f"{count} {unit}{'' if count == 1 else 'S'}"


def window(spec: WindowSpec, clock: Clock, schema: Schema | None = None) -> str:
    """The window as CQL writes it."""
    match spec:
        case RangeWindow():
            slide = f" SLIDE {duration(spec.slide, clock)}" if spec.slide else ""
            text = f"RANGE {duration(spec.length, clock)}{slide}"
        case NowWindow():
            text = "NOW"
        case UnboundedWindow():
            text = "UNBOUNDED"
        case RowsWindow():
            names = [schema[i].name if schema else f"#{i}" for i in spec.partition_by]
            by = f"PARTITION BY {', '.join(names)} " if names else ""
            text = f"{by}ROWS {spec.count}"
    return f"[{text}{' INTERNAL' if spec.internal else ''}]"


def node_text(node: Node, clock: Clock) -> str:
    """The node's name and what it does, on one line."""
    match node:
        case StreamScan() | RelationScan() | StageInput():
            return _leaf(node)
        case Subscribe():
            columns = ", ".join(str(node.input.schema[i]) for i in node.columns)
            return f"Subscriptions on {columns} from '{node.source.path}'"
        case Window():
            return f"Window {window(node.spec, clock, node.schema)}"
        case Selection():
            return f"Selection {render(node.predicate, node.input.schema)}"
        case Projection():
            return (
                f"Projection {', '.join(_column_text(c, node.input.schema) for c in node.columns)}"
            )
        case Union():
            return f"Union of {len(node.branches)}"
        case Join() | LastingJoin():
            return _join(node)
        case MultiJoin():
            return _multi_join(node)
        case GroupBy():
            return _group_by(node)
        case Negation():
            return _negation(node)
        case TopK():
            return _top(node)
        case Every():
            return f"Every {duration(node.period, clock)}"
        case ToStream():
            unrhythmic = node.kind in (StreamKind.ISTREAM, StreamKind.DSTREAM)
            rhythm = "" if unrhythmic else f" every {duration(node.every, clock)}"
            return f"ToStream {node.kind.value}{rhythm}"
        case OutputWindow():
            return f"OutputWindow {window(node.spec, clock, node.schema)}"
    return type(node).__name__


def key_text(consumer: Node, position: int) -> str | None:
    """The key by which a node keeps its input number ``position``."""
    source = consumer.inputs[position]
    keys: tuple[Expression, ...]
    match consumer:
        case Join() | LastingJoin() | Negation():
            keys = consumer.right_keys if position else consumer.left_keys
        case MultiJoin():
            keys = consumer.keys[position]
        case GroupBy():
            keys = tuple(k.expression for k in consumer.keys)
        case Window(spec=RowsWindow(partition_by=columns)):
            keys = tuple(Column(i, source.schema[i].name, source.schema[i].type) for i in columns)
        case DuplicateElimination():
            return "the whole tuple"
        case _:
            return None
    return ", ".join(render(k, source.schema) for k in keys) or None


def _leaf(node: StreamScan | RelationScan | StageInput) -> str:
    if isinstance(node, StageInput):
        return f"Stage {node.name}"
    kind = "Stream"
    if isinstance(node, RelationScan):
        kind = "Relation" if node.retroactive else "NRR"
    return f"{kind} {node.name}{_alias(node.columns, node.name)}"


def _top(node: TopK) -> str:
    keys = [
        render(k.expression, node.input.schema) + (" DESC" if k.descending else "")
        for k in node.keys
    ]
    return f"TopK {node.count} by {', '.join(keys)}"


def _alias(schema: Schema, name: str) -> str:
    qualifier = schema[0].qualifier if len(schema) else None
    return f" AS {qualifier}" if qualifier and qualifier != name else ""


def _column_text(column: Named, schema: Schema) -> str:
    text = render(column.expression, schema)
    if isinstance(column.expression, Column):
        plain = schema[column.expression.index].name
        return text if plain == column.name else f"{text} AS {column.name}"
    return f"{text} AS {column.name}"


def _join(node: Join | LastingJoin) -> str:
    name, conditions = type(node).__name__, conditions_of(node)
    if not conditions:
        return f"{name} of all pairs"
    text = " AND ".join(render(c, node.schema) for c in conditions)
    return f"{name} {text}"


def _multi_join(node: MultiJoin) -> str:
    """Keys in the order of the inputs, and then the order in which these are probed."""
    equalities = []
    for number in range(len(node.keys[0])):
        same = zip(node.branches, node.keys, strict=True)
        equalities.append(" = ".join(render(keys[number], b.schema) for b, keys in same))
    if node.residual is not None:
        equalities.append(render(node.residual, node.schema))
    order = ", ".join(str(branch + 1) for branch in node.order)
    return f"MultiJoin {' AND '.join(equalities)}, in the order {order}"


def _negation(node: Negation) -> str:
    if node.form is NegationForm.EXCEPT:
        return "Negation EXCEPT"
    row = node.left.schema + node.right.schema
    join = Join(node.left, node.right, node.left_keys, node.right_keys, node.residual)
    text = " AND ".join(render(c, row) for c in conditions_of(join))
    return f"Negation {node.form.value} {text}".rstrip()


def _group_by(node: GroupBy) -> str:
    schema = node.input.schema
    aggregates = ", ".join(_aggregate(a, schema) for a in node.aggregates)
    keys = ", ".join(render(k.expression, schema) for k in node.keys)
    return f"GroupBy {keys}{': ' if keys and aggregates else ''}{aggregates}"


def _aggregate(aggregate: Aggregate, schema: Schema) -> str:
    inner = "*" if aggregate.argument is None else render(aggregate.argument, schema)
    if aggregate.distinct:
        inner = f"DISTINCT {inner}"
    if aggregate.parameter is not None:
        inner += f", {aggregate.parameter}"
    return f"{aggregate.function}({inner}) AS {aggregate.name}"
