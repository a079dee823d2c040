"""EXPLAIN names what the operators keep, for every operator under every strategy.

Both speak the words of ``windrow.plan.physical.state_kinds``: the plan says what an operator will
keep of each input, and the operator says what it has. What it has is looked up in the operator
itself: its buffers, and whether tuples are in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from tests.operators.samples import QUERIES, between, plan_of, random_input
from windrow.core.patterns import UpdatePattern
from windrow.engine.build import operator_for
from windrow.engine.pipeline import Pipeline
from windrow.operators.base import Operator
from windrow.operators.snap import PendingChanges
from windrow.operators.state.buffer import StateBuffer
from windrow.operators.state.schedules import SCHEDULES
from windrow.plan.nodes import EdgeState, Node, StrictState, walk
from windrow.plan.physical.buffers import kept_of
from windrow.plan.physical.state_kinds import (
    HASH,
    BufferKind,
    Expiry,
    Kept,
    Structure,
    buffer_kind,
)
from windrow.plan.strategy import Strategy, apply_strategy

IN_A_LIST = {Structure.LAST_ROWS, Structure.LAST_ROWS_BY_KEY, Structure.SESSIONS}
"""Structures that are a buffer of what never expires, under a name of their own."""


def parts(owner: Any) -> Iterator[Any]:
    """Everything of ours that can be reached from an operator."""
    waiting, seen = [owner], set()
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, list | tuple):
            waiting += thing
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif type(thing).__module__.startswith("windrow.operators"):
            yield thing
            waiting += vars(thing).values() if hasattr(thing, "__dict__") else ()


def buffers(operator: Operator) -> list[StateBuffer]:
    return [part for part in parts(operator) if isinstance(part, StateBuffer)]


def plain(kind: BufferKind) -> BufferKind:
    return replace(kind, of="")


def planned(node: Node, strategy: Strategy) -> tuple[Kept, ...]:
    kept = tuple(kept_of(node, i, strategy) for i in range(len(node.inputs)))
    return kept if any(kept) else ()


def inner_nodes(name: str, strategy: Strategy) -> list[Node]:
    return [n for n in walk(apply_strategy(plan_of(name), strategy)) if n.inputs]


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("name", list(QUERIES))
def test_explain_and_the_operator_name_the_same_state(name: str, strategy: Strategy) -> None:
    for node in inner_nodes(name, strategy):
        operator = operator_for(node, strategy)
        has = operator.state if any(operator.state) else ()
        assert has == planned(node, strategy), type(node).__name__
        made = [buffer.kind for buffer in buffers(operator)]
        for kind in (k for kept in has for k in kept if isinstance(k, BufferKind)):
            assert plain(kind) in made
        pending = any(isinstance(part, PendingChanges) for part in parts(operator))
        assert pending == any(Structure.PENDING in kept for kept in has)


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize("name", list(QUERIES))
def test_no_tuple_is_kept_in_a_buffer_that_is_not_named(name: str, strategy: Strategy) -> None:
    pipeline = Pipeline(plan_of(name), changes=True, strategy=strategy)
    inputs = random_input(seed=7)
    middle = int(inputs["s"].ts[80])  # so that much is alive
    pipeline.process(between(inputs, -1, middle), middle)
    for operator in pipeline.operators:
        named = [k for kept in operator.state for k in kept]
        known = [plain(k) for k in named if isinstance(k, BufferKind)]
        if IN_A_LIST & set(named):
            known.append(BufferKind(Expiry.NEVER))
        used = [buffer.kind for buffer in buffers(operator) if len(buffer)]
        unnamed = [str(kind) for kind in used if kind not in known]
        assert not unnamed, f"{type(operator).__name__} keeps {unnamed}, named are {named}"


KINDS = [
    *(buffer_kind(pattern, scan) for pattern in UpdatePattern for scan in (False, True)),
    buffer_kind(UpdatePattern.STRICT, chosen=EdgeState(50, StrictState.SEARCHED)),
    HASH,
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_buffer_is_built_as_its_kind_says(kind: BufferKind) -> None:
    buffer = StateBuffer(pa.schema([("k", pa.int64())]), UpdatePattern.STRICT, kind)
    assert buffer.kind == kind
    assert type(buffer.schedule) is SCHEDULES[kind.expiry]
    assert (buffer.index is not None) == kind.by_tuple == ("hash on the tuple" in str(kind))
    assert set(SCHEDULES) == set(Expiry)
