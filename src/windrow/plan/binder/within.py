"""``NOT EXISTS (...) WITHIN 10 MINUTES AFTER``: a condition on what comes after a tuple, or before.

A tuple of a stream that came at ts is judged at ts + d, when all that counts has come: the tuples
of the sub-query with times in [ts, ts + d]. If the condition is true it is reported then, once, so
the block is a stream of its own. The operators are those of the language:

    ISTREAM(... WHERE NOT EXISTS (... [RANGE d + 1]))    over    DSTREAM(stream [RANGE d]) [NOW]

for a window of length d lets its tuples go at ts + d, and one of d + 1 ticks holds at that instant
the times from ts on. BEFORE needs no DSTREAM: [ts - d, ts] is past when the tuple comes. Each tuple
carries the instant at which it came, so that an equal one of another instant is another one: the
differences of bags that DSTREAM and ISTREAM report would hide it.

State: the tuples of the last d, of either side. Patterns: MONOTONIC above, STRICT within.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import expressions as exp

from windrow.core.errors import BindError, Span
from windrow.core.patterns import UpdatePattern
from windrow.core.schema import Field, Schema, Type
from windrow.cql.dialect import WITHIN
from windrow.cql.syntax_tree import Duration
from windrow.plan.binder.scope import Context, Scope, clock_of
from windrow.plan.binder.window_ticks import in_ticks
from windrow.plan.nodes import Node, Stamped, StreamKind, ToStream, Window
from windrow.plan.nodes.relational import columns_of_row, project
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow

NESTED = (exp.Select, exp.SetOperation, exp.Subquery)


@dataclass(frozen=True)
class Within:
    """How long after a tuple, or before it, its condition looks."""

    duration: Duration
    after: bool


def within_of(condition: exp.Expr) -> Within | None:
    """What stands behind this very sub-query."""
    found = condition.meta.get(WITHIN)
    return Within(*found) if found else None


def common_within(parts: Sequence[exp.Expr]) -> Within | None:
    """The one WITHIN of all conditions of a block: a tuple is judged at one instant."""
    found = [within for part in parts for within in _all_within(part)]
    for other in found[1:]:
        if other != found[0]:
            raise BindError(
                "a tuple is judged at one instant, so all conditions with WITHIN look equally far",
                span=other.duration.span, expected="the same duration and direction",
                found="another one", remedy="give one of the two a sub-query in FROM of its own",
            )  # fmt: skip
    return found[0] if found else None


def _all_within(part: exp.Expr) -> Iterator[Within]:
    for node in part.walk(prune=lambda n: isinstance(n, NESTED)):
        within = within_of(node)
        if within is not None:
            yield within


def await_end(plan: Node, scope: Scope, within: Within, context: Context) -> tuple[Node, Scope]:
    """The tuples of a block at the instant at which they are judged, and when each came.

    The scope has the same columns and, without a name, that instant.
    """
    span = within.duration.span
    _require_stream(plan, "FROM", span)
    ticks = _ticks(plan, within, context)
    plan = Stamped(plan, span=span)
    if within.after:
        plan = ToStream(Window(plan, RangeWindow(ticks), span=span), StreamKind.DSTREAM, span=span)
    schema = scope.schema + Schema((Field("", Type.BIGINT),))
    return Window(plan, NowWindow(), span=span), replace(scope, schema=schema)


def report(plan: Node, within: Within) -> Node:
    """The tuples that are left, as a stream, without the instant at which they came."""
    stream = ToStream(plan, StreamKind.ISTREAM, span=within.duration.span)
    return project(stream, columns_of_row(plan.schema)[:-1], within.duration.span)


def bound_by(right: Node, within: Within | None, context: Context) -> Node:
    """The plan of a sub-query, less what is too old to count."""
    if within is None:
        return right
    _require_stream(right, "the sub-query", within.duration.span)
    return Window(right, RangeWindow(_ticks(right, within, context) + 1), span=within.duration.span)


def _ticks(plan: Node, within: Within, context: Context) -> int:
    clock = clock_of(plan, within.duration.span) or context.catalog.clock
    return in_ticks(within.duration, clock, "WITHIN")


def _require_stream(plan: Node, where: str, span: Span) -> None:
    if plan.pattern is not UpdatePattern.MONOTONIC:
        raise BindError(
            f"WITHIN says how long tuples count, and asks when they came; {where} has no such time",
            span=span, expected=f"a stream without a window in {where}",
            found=f"tuples that are withdrawn ({plan.pattern.name})",
            remedy="remove the window, or make it a stream with ISTREAM(...)",
        )  # fmt: skip
