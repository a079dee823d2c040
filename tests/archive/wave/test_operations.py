from __future__ import annotations

import json

import pytest

from windrow.archive.errors import SchemeError
from windrow.archive.wave.operations import Add, Build, Copy, Delete, Drop, Rename, apply_all
from windrow.archive.wave.scheme_state import State, clusters, state_of
from windrow.archive.wave.schemes import Del

HELD = {"I1": (1, 2), "Temp": (3,)}


@pytest.mark.parametrize(
    ("operation", "left"),
    [
        (Build("I1", (4, 5)), {"I1": (4, 5), "Temp": (3,)}),
        (Build("I2", (4,)), {"I1": (1, 2), "Temp": (3,), "I2": (4,)}),
        (Build("Temp", ()), {"I1": (1, 2), "Temp": ()}),
        (Add("Temp", (1, 4)), {"I1": (1, 2), "Temp": (1, 3, 4)}),
        (Delete("I1", (1,)), {"I1": (2,), "Temp": (3,)}),
        (Copy("Temp", "I1"), {"I1": (3,), "Temp": (3,)}),
        (Rename("Temp", "I1"), {"I1": (3,)}),
        (Drop("I1"), {"Temp": (3,)}),
    ],
)
def test_an_operation_leaves_these_time_sets(operation, left):
    assert apply_all(HELD, [operation]) == left


@pytest.mark.parametrize(
    "operation",
    [
        Add("I1", (2, 4)),
        Add("I9", (4,)),
        Add("I1", ()),
        Build("I1", (5, 4)),
        Delete("I1", (3,)),
        Copy("T7", "I1"),
        Rename("T7", "I1"),
        Drop("T7"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation):
    with pytest.raises(SchemeError, match="expected"):
        apply_all(HELD, [operation])


def test_operations_read_as_the_paper_writes_them():
    assert str(Build("I1", (1, 2))) == "I1 <- BuildIndex({1, 2})"
    assert str(Add("I4", (11,))) == "AddToIndex({11}, I4)"
    assert str(Rename("T11", "I1")) == "Rename T11 as I1"


def test_a_state_survives_json_in_order():
    state = state_of(3, 12, {"I10": (12,), "I2": (10, 11), "T9": (10,), "T11": (11,)})
    assert [name for name, _ in state.constituents] == ["I2", "I10"]
    assert [name for name, _ in state.temporaries] == ["T9", "T11"]
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state


@pytest.mark.parametrize(("days", "parts"), [(10, 3), (7, 7), (5, 1), (9, 4)])
def test_clusters_are_consecutive_and_differ_by_one_day_at_most(days, parts):
    cut = clusters(range(4, 4 + days), parts)
    assert [day for part in cut for day in part] == list(range(4, 4 + days))
    sizes = [len(part) for part in cut]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


def test_a_day_out_of_turn_is_refused_with_what_to_do():
    state, _ = Del().start(4, 2)
    with pytest.raises(SchemeError, match=r"expected day 5.*found 7.*one day at a time"):
        Del().advance(state, 7)
