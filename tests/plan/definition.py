"""What a plan means at an instant, computed from scratch and slowly.

Rows are tuples of integers or NULLs; the first column of each stream is its time. A relation holds
its rows at all times. Only what the tests of the rules need is here. Tuples of one instant come
as the stream brings them or, if they do not come straight from a stream, in the order of their
values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from math import prod

from windrow.plan.expressions import Call, Column, Expression, Literal
from windrow.plan.nodes import (
    DuplicateElimination,
    Every,
    GroupBy,
    Join,
    MatchFlag,
    MultiJoin,
    Negation,
    NegationForm,
    Node,
    Projection,
    RelationScan,
    Selection,
    StreamKind,
    StreamScan,
    ToStream,
    Union,
    Window,
)
from windrow.plan.nodes.window_specs import NowWindow, RangeWindow, RowsWindow

Row = tuple[int | None, ...]
Streams = dict[str, list[Row]]
OPERATIONS = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}  # fmt: skip


def value(expression: Expression, row: Row) -> int | None:
    match expression:
        case Column():
            return row[expression.index]
        case Literal():
            assert expression.value is None or isinstance(expression.value, int)
            return expression.value
        case Call("cast", (inner,)):
            return value(inner, row)
        case Call("and" | "or" as function, (one, other)):
            parts = [value(one, row), value(other, row)]
            decisive = function == "or"
            if any(p is not None and bool(p) is decisive for p in parts):
                return decisive
            return None if None in parts else not decisive
        case Call("not", (inner,)):
            found = value(inner, row)
            return None if found is None else not found
        case Call(function, (one, other)):
            left, right = value(one, row), value(other, row)
            return None if left is None or right is None else OPERATIONS[function](left, right)
    raise AssertionError(expression)


def timed(plan: Node, streams: Streams, now: int) -> list[tuple[int, Row]]:
    """The tuples of a monotonic plan with their instants, up to ``now``, in order."""
    match plan:
        case StreamScan():
            return [(r[0], r) for r in streams[plan.name] if r[0] is not None and r[0] <= now]
        case Selection():
            below = timed(plan.input, streams, now)
            return [(ts, row) for ts, row in below if value(plan.predicate, row)]
        case Projection():
            columns = [c.expression for c in plan.columns]
            below = timed(plan.input, streams, now)
            return [(ts, tuple(value(c, row) for c in columns)) for ts, row in below]
    seen: Counter[Row] = Counter()
    found = []
    for instant in range(now + 1):
        held = answer(plan, streams, instant)
        found += [(instant, row) for row in ordered((held - seen).elements())]
        seen = held
    return found


def ordered(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: [(v is None, v or 0) for v in row])


def answer(plan: Node, streams: Streams, now: int) -> Counter[Row]:
    """The bag of tuples that the plan holds at the instant ``now``."""
    match plan:
        case StreamScan():
            return Counter(r for r in streams[plan.name] if r[0] is not None and r[0] <= now)
        case RelationScan():
            return Counter(streams[plan.name])
        case Window(spec=RangeWindow(length=length, slide=slide)):
            now = now // slide * slide if slide else now
            return Counter(r for ts, r in timed(plan.input, streams, now) if ts > now - length)
        case Window(spec=NowWindow()):
            return Counter(r for ts, r in timed(plan.input, streams, now) if ts == now)
        case Window(spec=RowsWindow(count=count, slide=int(slide))):
            came = [row for _, row in timed(plan.input, streams, now)]
            return Counter(came[: len(came) // slide * slide][-count:])
        case Window(spec=RowsWindow(count=count, partition_by=keys)):
            last: dict[Row, list[Row]] = {}
            for _, row in timed(plan.input, streams, now):
                kept = last.setdefault(tuple(row[i] for i in keys), [])
                kept.append(row)
                del kept[:-count]
            return Counter(row for kept in last.values() for row in kept)
        case Selection():
            held = answer(plan.input, streams, now)
            return Counter({r: n for r, n in held.items() if value(plan.predicate, r)})
        case Projection():
            projected: Counter[Row] = Counter()
            for row, count in answer(plan.input, streams, now).items():
                projected[tuple(value(c.expression, row) for c in plan.columns)] += count
            return projected
        case Union():
            return sum((answer(b, streams, now) for b in plan.branches), Counter())
        case DuplicateElimination():
            return Counter(set(answer(plan.input, streams, now)))
        case Every():
            return answer(plan.input, streams, now // plan.period * plan.period)
        case ToStream():
            return _stream(plan, streams, now)
        case Join():
            return _joined(plan, streams, now)
        case MultiJoin():
            return _joined_at_once(plan, streams, now)
        case Negation():
            return _negated(plan, streams, now)
        case MatchFlag():
            lefts, rights = (answer(side, streams, now) for side in plan.inputs)
            flags = {row: any(_matches(plan, row, r) for r in rights) for row in lefts}
            return Counter({(*row, flags[row]): n for row, n in lefts.items()})
        case GroupBy():
            return _grouped(plan, streams, now)
    raise AssertionError(plan)


def _stream(plan: ToStream, streams: Streams, now: int) -> Counter[Row]:
    spoken: Counter[Row] = Counter()
    before: Counter[Row] = Counter()
    for instant in range(now + 1):
        held = answer(plan.input, streams, instant)
        if plan.kind is StreamKind.RSTREAM:
            spoken += held if instant % plan.every == 0 else Counter()
        else:
            spoken += held - before if plan.kind is StreamKind.ISTREAM else before - held
        before = held
    return spoken


def _matches(plan: Join | MatchFlag | Negation, left: Row, right: Row) -> bool:
    for one, other in zip(plan.left_keys, plan.right_keys, strict=True):
        key = value(one, left)
        if key is None or key != value(other, right):
            return False
    return plan.residual is None or bool(value(plan.residual, left + right))


def _joined(plan: Join, streams: Streams, now: int) -> Counter[Row]:
    held: Counter[Row] = Counter()
    lefts, rights = (answer(side, streams, now) for side in plan.inputs)
    for (left, n), (right, m) in product(lefts.items(), rights.items()):
        if _matches(plan, left, right):
            held[left + right] += n * m
    return held


def _joined_at_once(plan: MultiJoin, streams: Streams, now: int) -> Counter[Row]:
    held: Counter[Row] = Counter()
    bags = [answer(branch, streams, now) for branch in plan.branches]
    for chosen in product(*(bag.items() for bag in bags)):
        keys = {
            tuple(value(key, row) for key in keys)
            for (row, _), keys in zip(chosen, plan.keys, strict=True)
        }
        joined = tuple(v for row, _ in chosen for v in row)
        if len(keys) > 1 or None in next(iter(keys)):
            continue
        if plan.residual is None or value(plan.residual, joined):
            held[joined] += prod(count for _, count in chosen)
    return held


def _negated(plan: Negation, streams: Streams, now: int) -> Counter[Row]:
    lefts, rights = (answer(side, streams, now) for side in plan.inputs)
    if plan.form is NegationForm.EXCEPT:
        return lefts - rights
    if plan.form is NegationForm.NOT_IN and rights:  # a comparison with NULL is never true
        if any(value(key, right) is None for right in rights for key in plan.right_keys):
            return Counter()
        lefts = Counter(
            {r: n for r, n in lefts.items() if all(value(k, r) is not None for k in plan.left_keys)}
        )
    return Counter(
        {row: n for row, n in lefts.items() if not any(_matches(plan, row, r) for r in rights)}
    )


def _grouped(plan: GroupBy, streams: Streams, now: int) -> Counter[Row]:
    groups: dict[Row, list[Row]] = {}
    for row in answer(plan.input, streams, now).elements():
        groups.setdefault(tuple(value(k.expression, row) for k in plan.keys), []).append(row)
    held: Counter[Row] = Counter()
    for key, rows in groups.items():
        results: list[int | None] = []
        for aggregate in plan.aggregates:
            values = [1 if aggregate.argument is None else value(aggregate.argument, r)
                      for r in rows]  # fmt: skip
            known = [v for v in values if v is not None]
            match aggregate.function:
                case "COUNT":
                    results.append(len(set(known)) if aggregate.distinct else len(known))
                case "SUM":
                    results.append(sum(known) if known else None)
                case "MAX":
                    results.append(max(known) if known else None)
                case "MIN":
                    results.append(min(known) if known else None)
        held[key + tuple(results)] += 1
    return held
