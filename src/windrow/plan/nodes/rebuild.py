"""Plans rebuilt: a node over other inputs, or one node of a plan replaced by an equivalent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import wraps
from itertools import count
from typing import Any, ParamSpec, TypeVar

from windrow.plan.nodes import (
    EdgeState,
    GroupBy,
    Join,
    LastingJoin,
    MatchFlag,
    MultiJoin,
    Negation,
    Node,
    SlidingGroupBy,
    Unary,
    Union,
)

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
LocalRule = Callable[[Node], Iterator[Node]]
"""Equivalents of a node, with the same columns; it looks at the top of the plan only."""


def map_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """The node with each of its inputs passed through ``change``; itself if these stay the same."""
    changed = tuple(change(child) for child in node.inputs)
    if all(new is old for new, old in zip(changed, node.inputs, strict=True)):
        return node
    match node:
        case Join() | LastingJoin() | MatchFlag() | Negation():
            left, right = changed
            return replace(node, left=left, right=right)
        case Union() | MultiJoin():
            return replace(node, branches=changed)
        case Unary():
            return replace(node, input=changed[0])
    return node


_results: ContextVar[dict[Any, Any] | None] = ContextVar("results", default=None)


@contextmanager
def remembered_rewriting() -> Iterator[None]:
    """Inside, what `remember` marks is done once for each part of a plan.

    Plans of one search differ in few places, so most of what a rule is asked it has answered.
    """
    token = _results.set({})
    try:
        yield
    finally:
        _results.reset(token)


def remember(rewrite: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The same function of parts of plans, which must be pure; see `remembered_rewriting`."""

    @wraps(rewrite)
    def look_up(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        results = _results.get()
        if results is None:
            return rewrite(*args, **kwargs)
        key = (rewrite, *args)
        if key not in results:
            results[key] = rewrite(*args, **kwargs)
        found: Result = results[key]
        return found

    return look_up


def itself_if_equal(node: Node, rewritten: Node) -> Node:
    """``node``, if it was rewritten to the same over the same inputs.

    So whoever has looked at a part of a plan sees that it is still there.
    """
    same = type(node) is type(rewritten) and all(
        _same(getattr(node, part.name), getattr(rewritten, part.name)) for part in fields(node)
    )
    return node if same else rewritten


def _same(old: object, new: object) -> bool:
    """Inputs are compared by identity, which costs the same for any plan."""
    if old is new:
        return True
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    return not isinstance(old, Node) and old == new


def with_inputs(node: Node, inputs: Sequence[Node]) -> Node:
    """The node over other inputs, given in its order of them."""
    following = iter(inputs)
    return map_inputs(node, lambda _: next(following))


def with_input(node: Node, position: int, child: Node) -> Node:
    """The node with one of its inputs replaced."""
    numbers = count()
    return map_inputs(node, lambda old: child if next(numbers) == position else old)


def rewrite_anywhere(
    plan: Node, local: LocalRule, above: tuple[type[Node], ...] = ()
) -> Iterator[Node]:
    """Every plan in which one node, not below one of ``above``, has one of its alternatives."""
    yield from local(plan)
    if isinstance(plan, above):
        return
    for position, child in enumerate(plan.inputs):
        for changed in rewrite_anywhere(child, local, above):
            yield with_input(plan, position, changed)


def without_spans(plan: Node) -> Node:
    """The same plan without positions in a script."""
    node = replace(map_inputs(plan, without_spans), span=None)
    if isinstance(node, GroupBy | SlidingGroupBy):
        return replace(node, aggregates=tuple(replace(a, span=None) for a in node.aggregates))
    return node


def keep_edges_as(plan: Node, state: EdgeState) -> Node:
    """The same plan with ``state`` chosen for all its edges."""
    return replace(map_inputs(plan, lambda child: keep_edges_as(child, state)), edge=state)
