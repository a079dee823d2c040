"""Stages of a plan: runs of operators that agree on where a tuple is to be.

A parallel runner spreads the tuples of a stage over buckets, and an operator sees one bucket only.
``cut_stages`` says how a plan becomes stages; here is what they are, and by which
expressions their tuples are spread over buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from windrow.core.schema import Schema, Type
from windrow.plan.expressions import Call, Column, Expression, replace_columns
from windrow.plan.functions import common
from windrow.plan.nodes import Node, SharedGroupBy, SlidingGroupBy, Subscribe
from windrow.plan.nodes.window_specs import RangeWindow, UnboundedWindow, WindowSpec
from windrow.plan.physical.sliding_state import schema_of_summaries

IN_THE_PLAN = ".VALUES"
"""The source of an edge whose tuples are rows of VALUES, which nobody sends; no name of a stream
begins with a dot."""


@dataclass(frozen=True)
class RangeKey:
    """A bucket for each range of a column's values; see ``windrow.plan.nodes.routed.Ranges``."""

    column: Column
    starts: tuple[int, ...]


Hashed = tuple[Expression, ...] | None
"""A bucket is chosen by a hash of these; None is the single bucket."""
Key = Hashed | RangeKey


@dataclass(frozen=True)
class Thinning:
    """Which of equal tuples a duplicate elimination needs: in each ``cell`` of time, up to a
    multiple of so many ticks, the ``first`` and the ``last``, or one of them.

    Over ``[RANGE w]`` a tuple between two equal ones that are less than w apart lives only while
    one of them does: cells are half as long as the window. With ``SLIDE s`` all tuples up to a
    multiple of s come together, and the last of them lives longest. Without a window the first
    lives for ever. A ``cell`` of None is all time.
    """

    cell: int | None
    first: bool
    last: bool

    @classmethod
    def for_window(cls, spec: WindowSpec | None) -> Thinning | None:
        """For the tuples of a window, or for those of a stream without one; None: all are needed.

        >>> Thinning.for_window(RangeWindow(10, slide=5))
        Thinning(cell=5, first=False, last=True)
        """
        match spec:
            case None | UnboundedWindow(internal=False):
                return cls(None, first=True, last=False)
            case RangeWindow(internal=False) if spec.slide is not None:
                return cls(spec.slide, first=False, last=True)
            case RangeWindow(internal=False) if spec.length > 1:
                return cls(spec.length // 2, first=True, last=True)
        return None


@dataclass(frozen=True)
class StageEdge:
    """An input of a stage, and the leaf of the stage's plan with the same ``name``.

    ``source`` is the name of a stream or relation, IN_THE_PLAN, or the number of the stage whose
    output this is. ``pre`` is evaluated by the sender; ``key`` is over its result. ``post`` is
    evaluated by the receiver, and is what the leaf stands for: a match needs no state but a part of
    an index. With ``summed`` the sender makes summaries of what ``pre`` gives, for that group-by to
    merge, and ``key`` is over them; with ``thinned`` it may leave out tuples.
    """

    name: str
    source: str | int
    pre: Node
    key: Key
    post: Subscribe | None = field(default=None, repr=False)
    summed: SlidingGroupBy | SharedGroupBy | None = field(default=None, repr=False)
    thinned: Thinning | None = field(default=None, repr=False)

    @property
    def schema(self) -> Schema:
        """The columns of what is sent."""
        return self.pre.schema if self.summed is None else schema_of_summaries(self.summed)


@dataclass(frozen=True)
class Stage:
    """Operators that share their buckets; every leaf of ``plan`` is the StageInput of an edge."""

    number: int
    plan: Node
    inputs: tuple[StageEdge, ...]


class Where(Enum):
    """A place that is not said by keys; see ``windrow.plan.physical.stages``."""

    FREE = "free"
    SINGLE = "single"
    HIDDEN = "hidden"


Keys = tuple[frozenset[Expression], ...]
"""Per key its equivalent expressions over the output: after a join, one of either side."""


def plain(expression: Expression) -> Expression:
    """The expression without the names of its columns, which do not tell columns apart."""
    return replace_columns(expression, lambda c: replace(c, name=""))


def computable(expression: Expression, known: frozenset[Expression]) -> bool:
    """Whether the expression's value follows from the values of the ``known`` ones."""
    if expression in known:
        return True
    if isinstance(expression, Call):
        return all(computable(a, known) for a in expression.args)
    return not isinstance(expression, Column)


def shown_by(placed: Where | Keys, columns: tuple[Expression, ...]) -> Where | Keys:
    """The same place, said in terms of an output that computes ``columns``."""
    if not isinstance(placed, tuple):
        return placed
    outputs: dict[Expression, list[Column]] = {}
    for i, expression in enumerate(columns):
        outputs.setdefault(plain(expression), []).append(Column(i, "", expression.type))
    shown = tuple(frozenset(e for old in same for e in _images(old, outputs)) for same in placed)
    return shown if all(shown) else Where.HIDDEN


def _images(
    expression: Expression, outputs: dict[Expression, list[Column]]
) -> Sequence[Expression]:
    """The expression over the output's columns: as one of them, or put together from several."""
    if expression in outputs:
        return outputs[expression]
    if isinstance(expression, Call):
        parts = [_images(a, outputs) for a in expression.args]
        return [replace(expression, args=tuple(p[0] for p in parts))] if all(parts) else []
    return [] if isinstance(expression, Column) else [expression]


def shared_keys(placed: Sequence[Where | Keys]) -> Keys | None:
    """The keys that all of the places have in common, if they are spread alike."""
    keys = [p for p in placed if isinstance(p, tuple)]
    if len(keys) < len(placed) or len({len(k) for k in keys}) > 1:
        return None
    shared = tuple(frozenset.intersection(*same) for same in zip(*keys, strict=True))
    return shared if all(shared) else None


def positions_of(placed: Where | Keys, keys: tuple[Expression, ...]) -> tuple[int, ...] | None:
    """Which of a join's keys the tuples are spread by, if they are spread by nothing else."""
    if not isinstance(placed, tuple):
        return None
    wanted = [plain(k) for k in keys]
    found = [next((i for i, k in enumerate(wanted) if k in same), None) for same in placed]
    return None if None in found else tuple(i for i in found if i is not None)


def comparable(same: Sequence[Expression]) -> tuple[Expression, ...]:
    """The keys of a join that are compared, such that equal values are stored alike."""
    kinds = {e.type for e in same}
    if any(kind.is_decimal or kind.is_nested for kind in kinds) and len(kinds) > 1:
        target = common(tuple(kinds))
        assert target is not None
        return tuple(e if e.type is target else Call("cast", (e,), target) for e in same)
    if {e.type.integral for e in same} == {True, False} and all(e.type.numeric for e in same):
        return tuple(Call("cast", (e,), Type.DOUBLE) if e.type.integral else e for e in same)
    return tuple(same)
