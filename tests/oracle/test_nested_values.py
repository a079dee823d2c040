"""ARRAYs, STRUCTs and UNNEST at random: under every strategy, however the input is cut.

``programs`` has all of them among everything else; here every stream has such columns.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle import data
from tests.oracle.blocks import Select, Source, Unnest
from tests.oracle.conditions import columns_of
from tests.oracle.cuts import cuts
from tests.oracle.definition import bags, expected
from tests.oracle.expressions import all_of
from tests.oracle.programs import Named, connections, named, selects, shaped, windows
from tests.oracle.queries import Program, Stream, View
from tests.oracle.running import run
from tests.oracle.stepwise import Stepwise
from windrow.plan.strategy import Strategy

pytestmark = pytest.mark.usefixtures("sizes")

COLUMNS = (
    ("k", "INT"), ("l", "ARRAY<BIGINT>"), ("m", "ARRAY<STRING>"), ("r", "STRUCT<u INT, v STRING>"),
)  # fmt: skip


@st.composite
def streams(draw: st.DrawFn, name: str) -> Stream:
    ts, arrivals = draw(st.integers(-2, 2)), []
    rows = st.lists(st.tuples(data.gaps, data.rows(COLUMNS)), min_size=4, max_size=14)
    for gap, values in draw(rows):
        arrivals.append((ts, values))
        ts += gap
    return Stream(name, COLUMNS, tuple(arrivals))


@st.composite
def unnested(draw: st.DrawFn, names: list[Named]) -> Select:
    """A block over one or two sources, and the values of an array of the last."""
    chosen = [draw(st.sampled_from(names)) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    froms = [
        Source(n.name, alias, draw(windows(n, 3 if len(chosen) > 1 else 1)))
        for n, alias in zip(chosen, "XY", strict=False)
    ]
    scopes = [columns_of(n.columns, s.alias) for n, s in zip(chosen, froms, strict=True)]
    arrays = [c for c in scopes[-1] if c.type.startswith("ARRAY")]
    block = Select((), tuple(froms), all_of(draw(connections(scopes))))
    columns = [c for scope in scopes for c in scope]
    if arrays:
        unnest = Unnest(draw(st.sampled_from(arrays)), outer=draw(st.booleans()))
        block = Select((), block.sources, block.where, unnest=unnest)
        columns += unnest.columns * 3
    return draw(shaped(block, columns))


@st.composite
def nested_programs(draw: st.DrawFn) -> Program:
    feeds = (draw(streams("S1")), draw(streams("S2")))
    names = [Named(s.name, s.columns, stream=True, monotonic=True) for s in feeds]
    if draw(st.integers(0, 2)):
        return Program(feeds, draw(unnested(names) if draw(st.booleans()) else selects(names, 2)))
    view = View("V1", draw(unnested(names)), stream=False)
    return Program(feeds, draw(selects([*names, *[named(view, names)] * 4], 2)), (view,))


def says_what_the_definition_says(
    draw: st.DataObject, program: Program, strategy: Strategy
) -> bool:
    should = expected(program)
    steps = draw.draw(cuts(program), label="steps")
    assert run(program, steps, strategy=strategy).history == should
    return bool(should)


def test_nested_values_say_what_the_definition_says() -> None:
    spoke: list[bool] = []

    @settings(max_examples=15)
    @given(draw=st.data(), program=nested_programs(), strategy=st.sampled_from(Strategy))
    def check(draw: st.DataObject, program: Program, strategy: Strategy) -> None:
        spoke.append(says_what_the_definition_says(draw, program, strategy))

    check()
    # A comparison of nothing with nothing shows little.
    assert sum(spoke) > 0.5 * len(spoke)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=500)
@given(draw=st.data(), program=nested_programs(), strategy=st.sampled_from(Strategy))
def test_many_more_nested_values_say_so(
    draw: st.DataObject, program: Program, strategy: Strategy
) -> None:
    says_what_the_definition_says(draw, program, strategy)
    assert Stepwise(program).bags() == bags(program)
