"""Windows and time: WITHIN, bounds of windows, sessions, the first of each group, LAG, at random.

``programs`` has all of them among everything else; here each program has one, read by the query
or through a view, under every strategy, and in buckets as on Spark.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle import data
from tests.oracle.blocks import Item, Select, Source
from tests.oracle.conditions import columns_of
from tests.oracle.definition import bags, expected
from tests.oracle.expressions import Expr, all_of, column
from tests.oracle.programs import (
    SLIDING,
    Named,
    awaiting,
    connections,
    counted,
    looking_back,
    named,
    never_withdraws,
    selects,
    shaped,
    topped,
)
from tests.oracle.queries import TIME, Program, View
from tests.oracle.running import run
from tests.oracle.stepwise import Stepwise
from windrow.plan.strategy import Strategy

pytestmark = pytest.mark.usefixtures("sizes")


@st.composite
def over_windows(draw: st.DrawFn, names: list[Named]) -> Select:
    """A block over one window that slides, or one of sessions."""
    chosen = draw(st.sampled_from([n for n in names if n.stream]))
    columns = columns_of(chosen.columns, "X")
    window = draw(st.one_of(SLIDING, counted(chosen.columns)[2]))
    block = Select((), (Source(chosen.name, "X", window),), all_of(draw(connections([columns]))))
    return draw(shaped(block, columns))


@st.composite
def first_of_groups(draw: st.DrawFn, names: list[Named]) -> Select:
    """Any block, of whose rows the first of each group are kept."""
    block = draw(selects(names, 2))
    if block.internal or block.looks_back:
        return block
    if block.top is None:
        block = draw(topped(replace(block, distinct=False)))
    assert block.top is not None
    groups = block.top.groups or (block.columns[0][0],)
    return replace(block, top=replace(block.top, groups=groups))


def retimed(base: Named, delay: int) -> View:
    """A stream whose tuples come later than they came, each by another time."""
    later = f"X.{{}} + {delay} + ABS(COALESCE(X.k, 3))"
    when = Expr(later.format(TIME), f"CAST({later.format('ts')} AS BIGINT)", "BIGINT")
    columns = [column(name, type_, "X") for name, type_ in base.columns]
    shown = tuple(Item(c.cql.split(".")[1], c) for c in columns)
    body = Select((*shown, Item("own", when)), (Source(base.name, "X"),))
    return View("V1", body, stream=True, timed_by="own")


@st.composite
def programs_of_time(draw: st.DrawFn) -> Program:
    """One of the constructs as the query, or in a view that the query reads."""
    streams = tuple(draw(data.streams(name)) for name in ("S1", "S2"))
    names = [Named(s.name, s.columns, stream=True, monotonic=True) for s in streams]
    if draw(st.integers(0, 4)) == 0:
        view = retimed(draw(st.sampled_from(names)), draw(st.integers(0, 4)))
        return Program(streams, draw(selects([*names, *[named(view, names)] * 4], 2)), (view,))
    kinds = (awaiting, over_windows, first_of_groups, looking_back)
    block = draw(draw(st.sampled_from(kinds))(names))
    if draw(st.integers(0, 2)):
        return Program(streams, block)
    stays = never_withdraws(block, names) and bool(block.negations or block.looks_back)
    view = View("V1", block, stream=stays)
    return Program(streams, draw(selects([*names, *[named(view, names)] * 4], 2)), (view,))


def says_what_the_definition_says(program: Program, strategy: Strategy) -> bool:
    should = expected(program)
    assert run(program, strategy=strategy).history == should
    return bool(should)


def test_constructs_of_time_say_what_the_definition_says() -> None:
    spoke: list[bool] = []

    @settings(max_examples=10)
    @given(program=programs_of_time(), strategy=st.sampled_from(Strategy))
    def check(program: Program, strategy: Strategy) -> None:
        spoke.append(says_what_the_definition_says(program, strategy))

    check()
    # A comparison of nothing with nothing shows little.
    assert sum(spoke) > 0.4 * len(spoke)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=400)
@given(program=programs_of_time(), strategy=st.sampled_from(Strategy))
def test_many_more_constructs_of_time_say_so(program: Program, strategy: Strategy) -> None:
    says_what_the_definition_says(program, strategy)
    assert Stepwise(program).bags() == bags(program)
