"""Plan nodes, windows and durations in words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from windrow.core.schema import Schema, Type
from windrow.core.time import MICROSECONDS, Clock
from windrow.plan.expressions import Column, Expression, Named, render
from windrow.plan.nodes import (
    Aggregate,
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    JoinLengths,
    LastingJoin,
    LookBack,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    NegativeTuples,
    Node,
    OutputWindow,
    Projection,
    RelationScan,
    Retimed,
    Routed,
    Selection,
    SharedGroupBy,
    SharedTop,
    SlidingGroupBy,
    StageInput,
    Stamped,
    StreamKind,
    StreamScan,
    Subscribe,
    TopK,
    ToStream,
    Union,
    Unnest,
    Window,
)
from windrow.plan.nodes.base import PerNode
from windrow.plan.nodes.joins import conditions_of
from windrow.plan.nodes.relational import ROW_NUMBER
from windrow.plan.nodes.window_specs import (
    PARTITIONED,
    NowWindow,
    RangeWindow,
    RowsWindow,
    SessionWindow,
    UnboundedWindow,
    WindowSpec,
)

Keys = tuple[Expression, ...]
WHOLE_TUPLE: Keys = (Column(-1, "*", Type.STRING),)
"""Stands for all columns together."""
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


CALENDAR_CYCLE = 146_097 * MICROSECONDS["DAY"]
"""Dates are the same after 400 years."""


def instant_text(tick: int, clock: Clock) -> str:
    """An instant as people write it.

    >>> instant_text(90, Clock.INTEGER), instant_text(90_000_000, Clock.TIMESTAMP)
    ('90', '1970-01-01 00:01:30.000000')
    >>> instant_text(260_972_355_605_000_000, Clock.TIMESTAMP)
    '10239-11-20 09:00:05.000000'
    """
    if clock is Clock.INTEGER:
        return str(tick)
    cycles, rest = divmod(tick, CALENDAR_CYCLE)  # a datetime ends with the year 9999
    moment = datetime.fromtimestamp(0, UTC) + timedelta(microseconds=rest)
    return f"{moment.year + 400 * cycles:04d}-{moment:%m-%d %H:%M:%S.%f}"


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
            slide = f" SLIDE {spec.slide}" if spec.slide else ""
            text = f"{by}ROWS {spec.count}{slide}"
        case SessionWindow():
            names = [schema[i].name if schema else f"#{i}" for i in spec.partition_by]
            by = f"PARTITION BY {', '.join(names)} " if names else ""
            text = f"{by}SESSION {duration(spec.gap, clock)}"
    return f"[{text}{' INTERNAL' if spec.internal else ''}]"


def node_text(node: Node, clock: Clock) -> str:
    """The node's name and what it does, on one line."""
    return TEXTS[node](node, clock)


def key_text(consumer: Node, position: int) -> str | None:
    """The key by which a node keeps its input number ``position``."""
    keys = KEYS[consumer](consumer, position)
    if keys is WHOLE_TUPLE:
        return "the whole tuple"
    schema = consumer.inputs[position].schema
    return ", ".join(render(k, schema) for k in keys) or None


def _leaf(node: StreamScan | RelationScan | StageInput, _clock: Clock) -> str:
    if isinstance(node, StageInput):
        return f"Stage {node.name}"
    kind = "Stream"
    if isinstance(node, RelationScan):
        kind = "Relation" if node.retroactive else "NRR"
    return f"{kind} {node.name}{_alias(node.columns, node.name)}"


SHOWN_ROWS = 3
"""So many rows of VALUES are written out."""


def _constant_rows(node: ConstantRows, _clock: Clock) -> str:
    shown = [
        f"({', '.join(render(v, node.schema) for v in row)})" for row in node.rows[:SHOWN_ROWS]
    ]
    more = len(node.rows) - len(shown)
    return f"Values {', '.join(shown)}{f' and {more} more' if more else ''}"


def _unnest(node: Unnest, _clock: Clock) -> str:
    names = ", ".join(map(str, node.columns))
    kept = ", and tuples without values" if node.outer else ""
    return f"Unnest {render(node.array, node.input.schema)} AS {names}{kept}"


def _look_back(node: LookBack, _clock: Clock) -> str:
    schema = node.input.schema
    looks = ", ".join(f"{schema[column].name} {distance} back" for column, distance in node.looks)
    each = ", ".join(schema[key].name for key in node.keys)
    return f"LookBack {looks}{f', for each {each}' if each else ''}"


def _top(node: TopK, _clock: Clock) -> str:
    keys = [
        render(k.expression, node.input.schema) + (" DESC" if k.descending else "")
        for k in node.keys
    ]
    each = ", ".join(render(group, node.input.schema) for group in node.groups)
    places = "" if node.function == ROW_NUMBER else f" places of {node.function}"
    ordered = f"{node.count}{places} by {', '.join(keys)}"
    return f"TopK {ordered}{f', for each {each}' if each else ''}"


def _alias(schema: Schema, name: str) -> str:
    qualifier = schema[0].qualifier if len(schema) else None
    return f" AS {qualifier}" if qualifier and qualifier != name else ""


def _column_text(column: Named, schema: Schema) -> str:
    text = render(column.expression, schema)
    if isinstance(column.expression, Column):
        plain = schema[column.expression.index].name
        return text if plain == column.name else f"{text} AS {column.name}"
    return f"{text} AS {column.name}"


def _join(node: Join | LastingJoin, _clock: Clock) -> str:
    name, conditions = type(node).__name__, conditions_of(node)
    if not conditions:
        return f"{name} of all pairs"
    text = " AND ".join(render(c, node.schema) for c in conditions)
    return f"{name} {text}{_method(node.buckets) if isinstance(node, Join) else ''}"


def _method(buckets: int) -> str:
    """How partners are found, if a hint says it; else each value has a chain of its own."""
    if buckets < 2:
        return ", by nested loops" if buckets else ""
    return f", by hash tables of {buckets:,} buckets"


def _multi_join(node: MultiJoin, _clock: Clock) -> str:
    """Keys in the order of the inputs, and then the order in which these are probed."""
    equalities = []
    for number in range(len(node.keys[0])):
        same = zip(node.branches, node.keys, strict=True)
        equalities.append(" = ".join(render(keys[number], b.schema) for b, keys in same))
    if node.residual is not None:
        equalities.append(render(node.residual, node.schema))
    order = ", ".join(str(branch + 1) for branch in node.order)
    text = " AND ".join(equalities)
    return f"MultiJoin {text}, in the order {order}{_method(node.buckets)}"


def _negation(node: Negation, _clock: Clock) -> str:
    if node.form is NegationForm.EXCEPT:
        return "Negation EXCEPT"
    return f"Negation {node.form.value} {_matching(node)}".rstrip()


def _match_flag(node: MatchFlag, _clock: Clock) -> str:
    return f"MatchFlag {node.name}: {_matching(node)}"


def _matching(node: Negation | MatchFlag) -> str:
    row = node.left.schema + node.right.schema
    join = Join(node.left, node.right, node.left_keys, node.right_keys, node.residual)
    return " AND ".join(render(c, row) for c in conditions_of(join))


def _group_by(node: GroupBy | SlidingGroupBy, _clock: Clock) -> str:
    schema = node.input.schema
    aggregates = ", ".join(_aggregate(a, schema) for a in node.aggregates)
    keys = ", ".join(render(k.expression, schema) for k in node.keys)
    lists = f"FREQUENT {node.lists.size} " if node.lists is not None else ""
    return f"GroupBy {lists}{keys}{': ' if keys and aggregates else ''}{aggregates}"


def _sliding_group_by(node: SlidingGroupBy, clock: Clock) -> str:
    where = f" where {render(node.where, node.input.schema)}" if node.where is not None else ""
    return f"Sliding{_group_by(node, clock)}, over {window(node.spec, clock)}{where}"


def _shared_top(node: SharedTop, _clock: Clock) -> str:
    return f"SharedTop: {sum(top is not None for top in node.tops):,} queries"


def _join_lengths(node: JoinLengths, clock: Clock) -> str:
    schema = node.input.schema
    keys = ", ".join(render(k.expression, schema) for k in node.keys)
    aggregates = ", ".join(_aggregate(a, schema) for a in node.aggregates)
    lengths = ", ".join(duration(length, clock) for length in sorted(set(node.lengths) - {0}))
    return f"JoinLengths {keys}{': ' if keys else ''}{aggregates}, for windows of {lengths}"


def _shared_group_by(node: SharedGroupBy, _clock: Clock) -> str:
    keys = ", ".join(render(k.expression, node.input.schema) for k in node.keys)
    members = sum(member is not None for member in node.members)
    return f"SharedGroupBy {keys}{': ' if keys else ''}{members:,} queries"


def _aggregate(aggregate: Aggregate, schema: Schema) -> str:
    inner = "*" if aggregate.argument is None else render(aggregate.argument, schema)
    if aggregate.distinct:
        inner = f"DISTINCT {inner}"
    if aggregate.parameter is not None:
        inner += f", {aggregate.parameter}"
    reading = "" if aggregate.exact else f"{aggregate.reading.value} of "
    return f"{reading}{aggregate.function}({inner}) AS {aggregate.name}"


def _projection(node: Projection, _clock: Clock) -> str:
    return f"Projection {', '.join(_column_text(c, node.input.schema) for c in node.columns)}"


def _subscribe(node: Subscribe, _clock: Clock) -> str:
    columns = ", ".join(str(node.input.schema[i]) for i in node.columns)
    return f"Subscriptions on {columns} from '{node.source.path}'"


def _to_stream(node: ToStream, clock: Clock) -> str:
    unrhythmic = node.kind in (StreamKind.ISTREAM, StreamKind.DSTREAM)
    rhythm = "" if unrhythmic else f" every {duration(node.every, clock)}"
    return f"ToStream {node.kind.value}{rhythm}"


def _name(node: Node, _clock: Clock) -> str:
    return type(node).__name__


TEXTS: PerNode[Callable[[Any, Clock], str]] = PerNode(
    "a node in words",
    {
        StreamScan: _leaf,
        RelationScan: _leaf,
        ConstantRows: _constant_rows,
        StageInput: _leaf,
        Subscribe: _subscribe,
        Routed: _name,
        Window: lambda node, clock: f"Window {window(node.spec, clock, node.schema)}",
        Selection: lambda n, _: f"Selection {render(n.predicate, n.input.schema)}",
        Projection: _projection,
        Union: lambda node, _: f"Union of {len(node.branches)}",
        Unnest: _unnest,
        Join: _join,
        LastingJoin: _join,
        MultiJoin: _multi_join,
        GroupBy: _group_by,
        JoinLengths: _join_lengths,
        SharedGroupBy: _shared_group_by,
        SharedTop: _shared_top,
        SlidingGroupBy: _sliding_group_by,
        Negation: _negation,
        MatchFlag: _match_flag,
        TopK: _top,
        Every: lambda node, clock: f"Every {duration(node.period, clock)}",
        ToStream: _to_stream,
        OutputWindow: lambda node, clock: f"OutputWindow {window(node.spec, clock, node.schema)}",
        DuplicateElimination: _name,
        AppendOnly: _name,
        NegativeTuples: _name,
        Stamped: _name,
        LookBack: _look_back,
        Retimed: lambda node, _: f"Retimed by {node.schema[node.time].name}",
    },
)


def _no_key(_node: Node, _position: int) -> Keys:
    return ()


def _sides(node: Join | LastingJoin | MatchFlag | Negation, position: int) -> Keys:
    return node.right_keys if position else node.left_keys


def _group_keys(
    node: GroupBy | JoinLengths | SharedGroupBy | SlidingGroupBy, _position: int
) -> Keys:
    return tuple(k.expression for k in node.keys)


def _looked_by(node: LookBack, _position: int) -> Keys:
    schema = node.input.schema
    return tuple(Column(i, schema[i].name, schema[i].type) for i in node.keys)


def _partition(node: Window, _position: int) -> Keys:
    if not isinstance(node.spec, PARTITIONED):
        return ()
    schema = node.input.schema
    return tuple(Column(i, schema[i].name, schema[i].type) for i in node.spec.partition_by)


KEYS: PerNode[Callable[[Any, int], Keys]] = PerNode(
    "the key by which an input is kept",
    {
        Join: _sides,
        LastingJoin: _sides,
        Negation: _sides,
        MatchFlag: _sides,
        MultiJoin: lambda node, position: node.keys[position],
        GroupBy: _group_keys,
        JoinLengths: _group_keys,
        SharedGroupBy: _group_keys,
        SharedTop: lambda node, _: (node.member,),
        SlidingGroupBy: _group_keys,
        Window: _partition,
        LookBack: _looked_by,
        DuplicateElimination: lambda _, __: WHOLE_TUPLE,
        TopK: lambda node, _: node.groups,
        **dict.fromkeys(
            (
                AppendOnly,
                Every,
                NegativeTuples,
                OutputWindow,
                Projection,
                Retimed,
                Routed,
                Selection,
                Stamped,
                Subscribe,
                ToStream,
                Union,
                Unnest,
            ),
            _no_key,
        ),
    },
    absent=dict.fromkeys((StreamScan, RelationScan, ConstantRows, StageInput), "it has no input"),
)
