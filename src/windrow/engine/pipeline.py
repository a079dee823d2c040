"""A plan in operation: operators that advance together, an interval at a time, leaves first.

A sum of integers that does not fit into BIGINT is NULL for as long as it does not
(``aggregates.count_sum_avg``); whoever runs the operators asks here whether that happened.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from windrow.columns.delta import Delta, batch_of, concat
from windrow.columns.integer_overflow import Overflows, count_overflows
from windrow.columns.types import arrow_schema
from windrow.core.errors import StateError
from windrow.core.patterns import UpdatePattern
from windrow.core.time import BEGINNING
from windrow.engine.build import changes_of, operator_for
from windrow.engine.constant_tuples import constant_tuples
from windrow.engine.routing import Routing
from windrow.operators.aggregates.count_sum_avg import Sum
from windrow.operators.aggregates.distinct_values import OfDistinct
from windrow.operators.base import Operator, Saved, below
from windrow.operators.changelog import Changelog
from windrow.operators.count_windows import InOrder, LastRows
from windrow.operators.frequent_groups import FrequentGroups
from windrow.operators.group_by import GroupedAggregation
from windrow.operators.join_group_by import JoinLengthsAggregation
from windrow.operators.shared_group_by import SharedAggregation
from windrow.operators.shared_top import FirstOfMembers
from windrow.operators.sliding_group_by import SlidingAggregation
from windrow.operators.snap import Snap
from windrow.operators.state.held_tuples import HeldInput, HoldsTuples
from windrow.operators.sub_window_clocks import RowClock
from windrow.operators.unbounded_group_by import UnboundedAggregation
from windrow.plan.nodes import (
    ConstantRows,
    Node,
    RelationScan,
    SlidingGroupBy,
    StageInput,
    StreamScan,
    Window,
)
from windrow.plan.strategy import Strategy, apply_strategy
from windrow.sharing.schedule import Pace, PacedSchedule


class _Leaf:
    """Where the Deltas of a stream, a relation or another stage come in, with the plan's names."""

    def __init__(self, node: StreamScan | RelationScan | StageInput) -> None:
        self.name, self._schema = node.name, arrow_schema(node.schema)
        self._nothing = Delta.empty(self._schema)

    def take(self, inputs: Mapping[str, Delta]) -> Delta:
        delta = inputs.get(self.name)
        if delta is None or not len(delta):
            return self._nothing
        if delta.rows.schema.equals(self._schema, check_metadata=True):
            return delta
        return delta.with_rows(batch_of(delta.rows.columns, self._schema, len(delta)))


class _ConstantLeaf:
    """Where rows of VALUES come in: all of them at the first instant."""

    def __init__(self, node: ConstantRows) -> None:
        self._rows = constant_tuples(node)
        self._nothing = Delta.empty(self._rows.rows.schema)

    def take(self, *, first: bool) -> Delta:
        return self._rows if first else self._nothing


Step = tuple[_Leaf | _ConstantLeaf | Operator, int]
"""A leaf or an operator, and how many inputs it has."""


def _upwards(node: Node) -> Iterator[Node]:
    """The nodes of a plan from the leaves up, the inputs of each right before it."""
    for child in node.inputs:
        yield from _upwards(child)
    yield node


def _steps(plan: Node, strategy: Strategy) -> Iterator[Step]:
    """The nodes of a plan as steps, in that order."""
    for node in _upwards(plan):
        if isinstance(node, StreamScan | RelationScan | StageInput):
            yield _Leaf(node), 0
        elif isinstance(node, ConstantRows):
            yield _ConstantLeaf(node), 0
        else:
            yield operator_for(node, strategy), len(node.inputs)


class Pipeline:
    """Operators for ``plan``; with ``changes`` the result's expiries come out as ``-`` rows too.
    Without ``answers`` nobody will ask for ``live_rows``.

    Inputs are keyed by the names of the plan's leaves. A leaf that occurs twice (a self-join)
    is given the same Delta in both places.
    """

    def __init__(
        self,
        plan: Node,
        *,
        changes: bool = False,
        strategy: Strategy = Strategy.UPA,
        answers: bool = True,
    ) -> None:
        plan = apply_strategy(plan, strategy)
        self.plan, self.schema = plan, arrow_schema(plan.schema)
        self.now = BEGINNING
        self._steps = list(_steps(plan, strategy))
        self._changes = self._changes_of(strategy, answers) if changes else None
        self._overflows = Overflows()

    def _changes_of(self, strategy: Strategy, answers: bool) -> Changelog:
        last, _ = self._steps[-1]
        below = None if isinstance(last, _Leaf | _ConstantLeaf) else last
        return changes_of(self.plan, strategy, answers=answers, below=below)

    def process(
        self, inputs: Mapping[str, Delta], now: int, filled: Mapping[int, Delta] | None = None
    ) -> Delta:
        """The changes of the interval from the last call's ``now`` to this one's, inclusive.

        ``filled`` are tuples that nodes give beside those that come of the inputs; nodes are
        numbered from the leaves up.
        """
        if now < self.now:
            raise StateError(
                "time goes forward only",
                where="pipeline",
                expected=f">= {self.now}",
                found=str(now),
            )
        with count_overflows(self._overflows):
            answer = self._run_steps(inputs, now, filled or {})
        if self._changes is not None:
            answer = self._changes.process([answer], now)
        self.now = now
        return answer.without_lazy_rows()

    def _run_steps(
        self, inputs: Mapping[str, Delta], now: int, filled: Mapping[int, Delta]
    ) -> Delta:
        """Each step once; what it gives waits until the step that takes it, which is soon."""
        waiting: list[Delta] = []
        for number, (step, count) in enumerate(self._steps):
            if isinstance(step, _Leaf):
                waiting.append(step.take(inputs))
            elif isinstance(step, _ConstantLeaf):
                waiting.append(step.take(first=self.now == BEGINNING < now))
            else:
                first = len(waiting) - count
                waiting[first:] = [step.process(waiting[first:], now)]
            if number in filled:
                waiting[-1] = concat([filled[number], waiting[-1]], waiting[-1].rows.schema)
        (answer,) = waiting
        return answer

    def go_on_from(self, other: Pipeline) -> None:
        """Be where another one is that answers fewer queries over the same synopses."""
        self.now = other.now
        for mine, theirs in zip(self.operators, other.operators, strict=True):
            match mine, theirs:
                case SharedAggregation(), SharedAggregation():
                    mine.adopt(theirs)
                case FirstOfMembers(), FirstOfMembers():
                    mine.adopt(theirs)

    def drop_members(self, numbers: Collection[int]) -> None:
        """Go on without some of the queries that share a selection or a join."""
        for operator in self.operators:
            if isinstance(operator, Routing | JoinLengthsAggregation):
                for number in numbers:
                    operator.drop(number)

    @property
    def schedule(self) -> PacedSchedule | None:
        """When its queries are executed, if not whenever they are due."""
        return next((groups.schedule for groups in self._shared_groups()), None)

    def set_pace(self, pace: Pace) -> None:
        """How fast executions of the next interval will be."""
        for groups in self._shared_groups():
            groups.pace = pace

    def _shared_groups(self) -> Iterator[SharedAggregation]:
        return (step for step, _ in self._steps if isinstance(step, SharedAggregation))

    def live_rows(self) -> pa.RecordBatch:
        """The relation at ``now``, for a pipeline that shows ``changes`` of a relation."""
        if self._changes is None or self.plan.pattern is UpdatePattern.MONOTONIC:
            raise StateError("only the changes of a relation are kept", found="a stream")
        *_, before, last = (None, *(step for step, _ in self._steps))
        if isinstance(last, SharedAggregation):
            return last.live_rows()
        if isinstance(last, FirstOfMembers) and isinstance(before, SharedAggregation):
            return last.live_rows(before.live_rows())
        return self._changes.live_rows()

    @property
    def operators(self) -> list[Operator]:
        """All of them, from the leaves up."""
        leaves = (_Leaf, _ConstantLeaf)
        operators = [step for step, _ in self._steps if not isinstance(step, leaves)]
        return operators if self._changes is None else [*operators, self._changes]

    def held_inputs(self) -> dict[str, tuple[Node, HeldInput]]:
        """What operators hold of which nodes, by the names under which they save it."""
        above = [(node, node.inputs) for node in _upwards(self.plan) if node.inputs]
        if self._changes is not None:
            above.append((self.plan, (self.plan,)))
        return {
            f"{number}.{name}": (node if held.is_window else inputs[held.number], held)
            for number, (operator, (node, inputs)) in enumerate(
                zip(self.operators, above, strict=True)
            )
            if isinstance(operator, HoldsTuples)
            for name, held in operator.held_inputs().items()
        }

    def count_rows_from(self, numbers: Mapping[int, int]) -> None:
        """Let windows of rows begin with rows of some numbers, by those of the nodes that give
        them; none has come yet."""
        for node, first in numbers.items():
            above, _ = self._steps[node + 1]
            match above.window if isinstance(above, InOrder) else above:
                case LastRows() as window:
                    window.start_at(first)
                case SlidingAggregation(clock=RowClock() as clock):
                    clock.start_at(first)
                case FrequentGroups(clock=RowClock() as clock):
                    clock.start_at(first)

    def leaves_of(self, name: str) -> list[int]:
        """The numbers of the nodes where what is of a name comes in."""
        steps = enumerate(self._steps)
        return [n for n, (step, _) in steps if isinstance(step, _Leaf) and step.name == name]

    def sliding_windows(self) -> dict[str, tuple[Window, Snap]]:
        """The operators in which tuples wait for their window of time to slide, by the names that
        they are saved by."""
        above = [node for node in _upwards(self.plan) if node.inputs]
        pairs = enumerate(zip(above, self.operators, strict=False))
        return {
            str(number): (node, operator)
            for number, (node, operator) in pairs
            if isinstance(node, Window) and isinstance(operator, Snap)
        }

    def sliding_groups(self) -> dict[str, tuple[SlidingGroupBy, SlidingAggregation]]:
        """The operators that keep summaries of sub-windows, by the names that they are saved by."""
        above = [node for node in _upwards(self.plan) if node.inputs]
        found = (o.window if isinstance(o, InOrder) else o for o in self.operators)
        pairs = enumerate(zip(above, found, strict=False))
        return {
            str(number): (node, operator)
            for number, (node, operator) in pairs
            if isinstance(node, SlidingGroupBy) and isinstance(operator, SlidingAggregation)
        }

    def size(self) -> int:
        """How many tuples all operators hold together."""
        return sum(operator.size() for operator in self.operators)

    def take_overflows(self) -> int:
        """How many sums and other results did not fit since the last call, and so were NULL."""
        return take_overflows(self.operators) + self._overflows.take()

    def save(self) -> Saved:
        """What changed since the last save; see ``windrow.operators.base``."""
        saved = Saved()
        for number, operator in enumerate(self.operators):
            saved.add(str(number), operator.save())
        saved.meta["now"] = self.now
        return saved

    def load(self, segments: Mapping[str, pa.RecordBatch], meta: Mapping[str, Any]) -> None:
        """Bring a fresh pipeline of the same plan to where the saved one was."""
        self.now = int(meta["now"])
        for number, operator in enumerate(self.operators):
            operator.load(below(str(number), segments), meta[str(number)])
        self.take_overflows()  # of what was answered before the save


def take_overflows(operators: Iterable[Operator]) -> int:
    """How many answers were NULL for that reason since this was last asked."""
    count = 0
    for sums in _sums(operators):
        count, sums.overflows = count + sums.overflows, 0
    return count


def _sums(operators: Iterable[Operator]) -> Iterator[Sum]:
    for outer in operators:
        operator = outer.window if isinstance(outer, InOrder) else outer
        if isinstance(operator, SlidingAggregation | SharedAggregation):
            yield from operator.sums()
        if isinstance(operator, UnboundedAggregation):
            yield from (total for total in operator.totals() if isinstance(total, Sum))
        if isinstance(operator, GroupedAggregation):
            for accumulator, _ in operator.aggregates:
                plain = accumulator.plain if isinstance(accumulator, OfDistinct) else accumulator
                if isinstance(plain, Sum):
                    yield plain
