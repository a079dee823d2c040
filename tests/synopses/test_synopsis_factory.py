"""What the rules of sharing promise a query, the synopsis that is made for it answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.synopses.recomputation import check_answer, random_rows
from windrow.sharing.rules.periodic_query import Aggregate, Contents, Function, Kept, PeriodicQuery
from windrow.sharing.rules.ss1_window_lengths import serves_window
from windrow.sharing.rules.ss3_joins import serves_join
from windrow.sharing.rules.synopsis_shape import SynopsisKind, SynopsisShape
from windrow.synopses import JoinBuffer, JoinSynopsis, RowBuffer, Synopsis
from windrow.synopses.synopsis_factory import CONTENTS, KINDS, make_buffer, make_synopsis

S, B = 5, 6
ALGEBRAIC = {Function.AVG, Function.VAR, Function.STDDEV}
SHAPES = [
    SynopsisShape(kind, "s", Contents(kept, "v"), S, B)
    for kind, kept in product(SynopsisKind, Kept)
    if not kind.is_running or Contents(kept).is_subtractable
]


def test_every_description_can_be_made() -> None:
    assert set(KINDS) == set(SynopsisKind)
    assert set(CONTENTS) == set(Kept)
    for shape in SHAPES:
        made = make_synopsis(shape)
        assert isinstance(made, JoinSynopsis if shape.kind.is_over_join else Synopsis)
        assert isinstance(make_buffer(shape), JoinBuffer) == shape.kind.is_over_join


@pytest.mark.parametrize("function", list(Function))
@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("kind", [k for k in SynopsisKind if not k.is_over_join])
def test_an_aggregate_can_be_read_from_what_the_rules_say_it_needs(
    function: Function, approximate: bool, kind: SynopsisKind
) -> None:
    parameter = {Function.QUANTILE: 0.5, Function.TOP: 2}.get(function)
    wanted = Aggregate(function, "v", parameter, approximate)
    query = PeriodicQuery("q", "s", (wanted,), (S * B,), S)
    rows = random_rows("ints", seed=6, updates=9)
    for needed in query.needs:
        if kind.is_running and not needed.is_subtractable:
            continue
        shape = SynopsisShape(kind, "s", needed, S, B)
        assert serves_window(shape, query)
        synopsis, buffer = make_synopsis(shape), make_buffer(shape)
        assert isinstance(synopsis, Synopsis)
        numbers, groups, values = (np.array(column) for column in zip(*rows, strict=True))
        synopsis.follow(buffer.feed(values, groups, ts=numbers * S))
        synopsis.follow(buffer.advance(9 * S))
        asked = needed.kept.name if function in ALGEBRAIC else function.value
        for n in range(1, B + 1):
            mine = [row for row in rows if row[0] > 9 - n]
            check_answer(synopsis.f, asked, parameter, synopsis.probe(n), mine)


@pytest.mark.parametrize("kind", [k for k in SynopsisKind if k.is_over_join])
@pytest.mark.parametrize("g", range(4))
def test_every_join_that_ss3_allows_is_answered(kind: SynopsisKind, g: int) -> None:
    count = Aggregate(Function.COUNT)
    shape = SynopsisShape(kind, "j", Contents(Kept.COUNT), S, B, g)
    synopsis, buffer = make_synopsis(shape), make_buffer(shape)
    assert isinstance(synopsis, JoinSynopsis)
    results = [(i, j) for j in range(1, 10) for i in range(max(1, j - B + 1), j + 1)]
    results += [(j, i) for i, j in results if i != j]
    results.sort(key=max)
    first, second = (S * np.array(column) for column in zip(*results, strict=True))
    synopsis.follow(buffer.feed(np.zeros(len(results)), first=first, second=second))
    synopsis.follow(buffer.advance(9 * S))
    served = 0
    for n1, n2 in product(range(1, B + 1), repeat=2):
        query = PeriodicQuery("q", "j", (count,), (n1 * S, n2 * S), S)
        if serves_join(shape, query):
            found = synopsis.answer("COUNT", n1, n2)["value"].to_pylist()
            assert found == [sum(i > 9 - n1 and j > 9 - n2 for i, j in results)]
            served += 1
    assert served == B + g * (g + 1)


def test_a_buffer_of_rows_counts_rows() -> None:
    shape = SynopsisShape(SynopsisKind.BASIC, "s", Contents(Kept.MAX, "v"), S, B)
    assert isinstance(make_buffer(shape, by_rows=True), RowBuffer)
