"""Whole queries: WITH, blocks, set operations, relation-to-stream forms, EVERY."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from math import gcd

from windrow.core.errors import BindError, Span
from windrow.core.schema import Type
from windrow.core.time import Clock
from windrow.cql.syntax_tree import (
    Definition,
    EveryOf,
    Query,
    Select,
    SetOperation,
    StreamOf,
    Values,
    With,
)
from windrow.plan.binder.from_clause import produce_every_time
from windrow.plan.binder.restrictions import refuse_frozen_results
from windrow.plan.binder.scope import Context, clock_of
from windrow.plan.binder.select import bind_select
from windrow.plan.binder.value_rows import bind_values, refuse_repetition, rename_values
from windrow.plan.binder.window_ticks import in_ticks, window_spec
from windrow.plan.describe import duration
from windrow.plan.expressions import Column, Named
from windrow.plan.functions import common
from windrow.plan.nodes import (
    AppendOnly,
    ConstantRows,
    DuplicateElimination,
    Every,
    GroupBy,
    Node,
    OutputWindow,
    Projection,
    StreamKind,
    ToStream,
    Union,
    Window,
    is_constant,
    walk,
)
from windrow.plan.nodes.joins import difference_of
from windrow.plan.nodes.rebuild import map_inputs
from windrow.plan.nodes.relational import cast_to, is_null_column, project
from windrow.plan.nodes.window_specs import RangeWindow

PERIODIC = ("RSTREAM", "ISTREAM-RESTORE", "RSTREAM-RESTORE")
"""Forms to which EVERY gives a rhythm of their own, instead of slowing down what they read."""
BOUNDARIES = (ToStream, AppendOnly, OutputWindow, Every)
"""Below these is another query, which keeps the rhythm that it was given."""


def bind_query(query: Query, context: Context) -> Node:
    """The logical plan of a query, as written: no rule has been applied to it."""
    match query:
        case Select():
            plan = bind_select(query, context)
        case SetOperation():
            plan = _set_operation(query, context)
        case StreamOf():
            plan = _stream_of(query, context, None)
        case EveryOf():
            plan = _every(query, context)
        case Values():
            return bind_values(query, context)
        case With():
            plan = bind_query(query.query, _define(query, context))
    clock_of(plan, query.span)
    return plan


def _define(query: With, context: Context) -> Context:
    """The context with what WITH names; each definition may read those before it."""
    names: set[str] = set()
    for definition in query.definitions:
        name = definition.name.text
        if name.lower() in names:
            raise BindError(
                f"WITH defines {name} twice", span=definition.name.span,
                remedy="give one of them another name",
            )  # fmt: skip
        names.add(name.lower())
        context = context.defining(name, _defined_plan(definition, context))
    return context


def _defined_plan(definition: Definition, context: Context) -> Node:
    plan, columns = bind_query(definition.query, context), definition.columns
    if not columns:
        return plan
    if len(columns) != len(plan.schema):
        raise BindError(
            f"{definition.name.text} lists the wrong number of columns",
            span=columns[0].span, expected=f"{len(plan.schema)}", found=f"{len(columns)}",
        )  # fmt: skip
    return rename_columns(plan, [c.text for c in columns], definition.name.span)


def rename_columns(plan: Node, names: Sequence[str], span: Span) -> Node:
    """The plan with its columns under other names, and under no table's."""
    if isinstance(plan, Projection):
        kept = zip(plan.columns, names, strict=True)
        return replace(plan, columns=tuple(Named(n, c.expression) for c, n in kept))
    if isinstance(plan, ConstantRows):
        return rename_values(plan, names)
    if isinstance(plan, ToStream):
        return replace(plan, input=rename_columns(plan.input, names, span))
    columns = [Column(i, f.name, f.type) for i, f in enumerate(plan.schema)]
    return project(plan, tuple(map(Named, names, columns)), span)


def _set_operation(query: SetOperation, context: Context) -> Node:
    left, right = bind_query(query.left, context), bind_query(query.right, context)
    if len(left.schema) != len(right.schema):
        raise BindError(
            f"both sides of {query.operator} must have the same number of columns",
            span=query.right.span,
            expected=f"{len(left.schema)}, as on the left",
            found=f"{len(right.schema)}",
        )
    kinds = _common_types(left, right, query)
    left, right = cast_to(left, kinds), cast_to(right, kinds)
    if query.operator == "UNION":
        branches = (*_branches(left, query.distinct), *_branches(right, query.distinct))
        union = Union(branches, span=query.span)
        return DuplicateElimination(union, span=query.span) if query.distinct else union
    if query.distinct:
        left, right = _as_set(left), _as_set(right)
    surplus = difference_of(left, right, query.span)
    if query.operator == "EXCEPT":
        return surplus
    # Of l and r copies, l less what l has in excess of r is the lesser number.
    return difference_of(left, surplus, query.span)


def _branches(plan: Node, distinct: bool) -> tuple[Node, ...]:
    """A union of unions is one union, and if it is one of sets its parts need not be sets."""
    if distinct and isinstance(plan, DuplicateElimination) and isinstance(plan.input, Union):
        plan = plan.input
    return plan.branches if isinstance(plan, Union) else (plan,)


def _as_set(plan: Node) -> Node:
    already = isinstance(plan, DuplicateElimination)
    return plan if already else DuplicateElimination(plan, span=plan.span)


def _common_types(left: Node, right: Node, query: SetOperation) -> tuple[Type, ...]:
    kinds = []
    for position, (one, other) in enumerate(zip(left.schema, right.schema, strict=True)):
        sides = ((left, one.type), (right, other.type))
        typed = [kind for plan, kind in sides if not is_null_column(plan, position)]
        kind = common(typed or (one.type, other.type))
        if kind is None:
            raise BindError(
                f"column {position + 1} of {query.operator} has two types",
                span=query.right.span,
                expected=one.type.value,
                found=other.type.value,
                remedy="cast one of them",
            )
        kinds.append(kind)
    return tuple(kinds)


def _stream_of(query: StreamOf, context: Context, every: int | None) -> Node:
    inner = query.query
    if isinstance(inner, EveryOf) and query.kind in PERIODIC:
        plan = bind_query(inner.query, context)
        every = _period(inner, plan, context)
    else:
        plan = bind_query(inner, context)
    clock = clock_of(plan, query.span) or context.catalog.clock
    if query.kind == "WSTREAM":
        return _output_window(plan, query, clock)
    if query.window is not None:
        raise BindError(
            f"{query.kind} takes no window after it", span=query.window.span,
            remedy="only WSTREAM does",
        )  # fmt: skip
    if query.kind == "WSTREAM-RESTORE":
        raise BindError(
            "there is no WSTREAM-RESTORE: if one report brings more results than the output "
            "window holds, nothing says which of them to keep (Golab 2006, 3.4)",
            span=query.span, remedy="use ISTREAM-RESTORE",
        )  # fmt: skip
    kind = StreamKind(query.kind)
    if kind in (StreamKind.RSTREAM, StreamKind.RSTREAM_RESTORE):
        refuse_repetition(plan, kind, query.span)
    if kind in (StreamKind.ISTREAM_RESTORE, StreamKind.RSTREAM_RESTORE):
        return _restore(plan, kind, every, clock, query.span)
    if kind is StreamKind.RSTREAM:
        return ToStream(plan, kind, every or _rhythm(plan, clock, query.span), span=query.span)
    return ToStream(plan, kind, span=query.span)


def _output_window(plan: Node, query: StreamOf, clock: Clock) -> Node:
    if query.window is None:
        raise BindError(
            span=query.span, expected="a window after WSTREAM(...)", found="none",
            remedy="write for example WSTREAM(...)[ROWS 10]",
        )  # fmt: skip
    refuse_frozen_results(plan, "WSTREAM", "3.3.3", query.span)
    spec = window_spec(query.window, clock, plan.schema)
    return OutputWindow(produce_every_time(plan), spec, span=query.span)


def _rhythm(plan: Node, clock: Clock, span: Span) -> int:
    """How often RSTREAM speaks if nobody said: at every tick, or at every slide."""
    if clock is Clock.INTEGER:
        return 1
    slides = [
        n.spec.slide
        for n in walk(plan)
        if isinstance(n, Window) and isinstance(n.spec, RangeWindow) and n.spec.slide
    ]
    if not slides:
        raise BindError(
            "RSTREAM on a TIMESTAMP clock would emit its rows every microsecond", span=span,
            expected="SLIDE or EVERY", found="none",
            remedy="write SLIDE in a window, or EVERY 1 SECOND after the query",
        )  # fmt: skip
    return reduce(gcd, slides)


def _every(query: EveryOf, context: Context) -> Node:
    inner = query.query
    if isinstance(inner, StreamOf) and inner.kind in PERIODIC:
        probe = replace(inner, kind="ISTREAM")
        return _stream_of(inner, context, _period(query, bind_query(probe, context), context))
    if isinstance(inner, StreamOf) and inner.kind != "WSTREAM":
        return _stream_of(replace(inner, query=replace(query, query=inner.query)), context, None)
    plan = bind_query(inner, context)
    if is_constant(plan):  # which is the same at every instant
        return plan
    return Every(plan, _period(query, plan, context), span=query.period.span)


def _period(query: EveryOf, plan: Node, context: Context) -> int:
    clock = clock_of(plan, query.span) or context.catalog.clock
    return in_ticks(query.period, clock, "EVERY")


def _restore(plan: Node, kind: StreamKind, every: int | None, clock: Clock, span: Span) -> Node:
    """``plan`` reported with restore semantics; ``every`` is the period of EVERY, if it stands.

    SLIDE says when to report here, not when the windows move: between two reports the query is
    evaluated as if there were no SLIDE, so that results which come and go in between are not lost
    (Golab 2006, 3.3.4).
    """
    body = plan.input if isinstance(plan, AppendOnly) else plan
    slides = set(_slides(body)) | ({every} if every is not None else set())
    if not slides:
        raise BindError(
            f"{kind.value} restores what periodic evaluation would miss (Golab 2006, 3.3.4), and "
            "nothing here is periodic",
            span=span, expected="SLIDE or EVERY", found="none",
            remedy="write SLIDE in the windows, or EVERY and a period after the query",
        )  # fmt: skip
    if len(slides) > 1:
        found = " and ".join(duration(s, clock) for s in sorted(slides))
        raise BindError(
            f"{kind.value} reports at one period (Golab 2006, 3.4)", span=span,
            expected="the same SLIDE in all windows of the query", found=found,
            remedy="make them equal",
        )  # fmt: skip
    continual = _without_slides(body)
    if not all(node.exact for node in walk(continual) if isinstance(node, GroupBy)):
        raise BindError(
            f"{kind.value} lets windows move continually, which have no sub-windows then",
            span=span, expected="exact aggregates", found="APPROXIMATE or FREQUENT",
            remedy="use RSTREAM or ISTREAM, which speak at every SLIDE",
        )  # fmt: skip
    if isinstance(plan, AppendOnly):
        continual = replace(plan, input=continual)
    return ToStream(continual, kind, slides.pop(), span=span)


def _slides(plan: Node) -> Iterator[int]:
    match plan:
        case Window(spec=RangeWindow(slide=int(slide))):
            yield slide
        case Window():
            return
    if not isinstance(plan, (Window, *BOUNDARIES)):
        for child in plan.inputs:
            yield from _slides(child)


def _without_slides(plan: Node) -> Node:
    match plan:
        case Window(spec=RangeWindow() as spec):
            return replace(plan, spec=replace(spec, slide=None))
        case Window():
            return plan
    return plan if isinstance(plan, BOUNDARIES) else map_inputs(plan, _without_slides)
