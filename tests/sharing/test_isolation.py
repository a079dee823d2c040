"""Histories and their isolation levels: the text's own, and the theorems by brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.sharing.transactions.history import (
    Action,
    History,
    Operation,
    TransactionError,
    parse_history,
)
from windrow.sharing.transactions.isolation import Isolation, classify

HISTORIES = {
    "Ha": ("r[0] w5[0] c5 w6[1] c6 r[1] r[2] r[3] r[4] c", "conflict-serialisable"),
    "Hb": ("r[0] w5[0] c5 r[1] w6[1] c6 r[2] r[3] r[4] c", "conflict-serialisable, WS"),
    "Hc": ("w5[0] c5 r[0] r[1] r[2] r[3] w6[1] c6 r[4] c", "conflict-serialisable, WS"),
    "Hd": ("w5[0] c5 r[0] w6[1] c6 r[1] r[2] r[3] r[4] c", "conflict-serialisable, WS, LWS, CPS"),
    "He": ("r[4] w5[0] c5 r[0] r[3] r[2] w6[1] c6 r[1] c", "conflict-serialisable, WS, LWS, CPS"),
    "Hf": ("r[0] w5[0] c5 r[1] r[2] r[3] w6[1] c6 r[4] c", "conflict-serialisable, WS"),
    "Hg": ("r[0] w5[0] w6[1] c6 r[1] r[2] r[3] r[4] cQ1 c5", "conflict-serialisable, CPS"),
    "Hh": ("r[0] r[1] r[2] r[3] w9[4] r[4] cQ1 c9", "conflict-serialisable, WS, LWS"),
}
"""7.3.1, 7.4.2 and 7.6, over five sub-windows. Hf read both sub-windows before they were replaced,
so it saw the state after T4."""


@pytest.mark.parametrize("name", HISTORIES)
def test_the_histories_of_the_text_are_classified_as_it_says(name: str) -> None:
    text, expected = HISTORIES[name]
    assert str(classify(parse_history(text, n=5))) == expected


@pytest.mark.parametrize(("name", "as_of"), [("Hb", 4), ("Hc", 5), ("Hd", 6), ("He", 6), ("Hh", 9)])
def test_a_window_serialisable_history_reads_the_state_that_the_text_names(
    name: str, as_of: int
) -> None:
    (query,) = parse_history(HISTORIES[name][0], n=5).executions
    assert query.versions == tuple(range(as_of - 4, as_of + 1))


def test_a_stale_answer_over_a_short_window_is_not_the_latest_although_nothing_was_overwritten():
    """The window of three read 2, 3, 4; T5 came meanwhile, so 3, 4, 5 is what it should have been.
    T5 wrote sub-window 0, which the query never reads: the graph of the text has no edge for it."""
    assert str(classify(parse_history("r[4] r[3] w5[0] c5 r[2] c", n=5))) == (
        "conflict-serialisable, WS"
    )
    assert classify(parse_history("r[4] r[3] w5[0] c5 r[0] c", n=5)).latest_window_serialisable


def test_two_queries_may_see_updates_in_orders_that_exclude_each_other() -> None:
    text = "rQ1[0] w2[0] c2 rQ2[0] rQ2[1] w3[1] c3 rQ1[1] cQ1 cQ2"
    assert str(classify(parse_history(text, n=2))) == "none"


def test_what_was_aborted_or_undone_or_has_not_ended_does_not_count() -> None:
    text = "r[0] w2[0] c2 a r[1] r[0] c rQ2[0]"
    assert parse_history(text, n=2).executions[0].versions == (1, 2)
    assert classify(parse_history(text, n=2)).latest_window_serialisable
    undone = "r[0] r[1] w2[0] c2 u[0] r[0] c"
    assert classify(parse_history(undone, n=2)).latest_window_serialisable


@pytest.mark.parametrize(
    "text",
    [
        "r[0] r[0] c",
        "r[7] c",
        "c",
        "u[0]",
        "w5[1] c5",
        "w5[0] c5 w7[2] c7",
        "w5[0]",
        "c5",
        "w5[0] a5",
        "r5[0]",
        "w[0]",
        "wQ1[0]",
        "r",
        "c[0]",
        "r[0@1] c",
        "r[0@5] c",
        "x[0]",
    ],
)
def test_a_history_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(TransactionError):
        parse_history(text, n=5)


# --- brute force: what was read, by replaying it -------------------------------------------------


def by_definition(history: History) -> tuple[bool, bool]:
    """Definitions 7.1 and 7.2: replay the array, and compare what was read with its states."""
    n = history.n
    array = {v % n: v for v in range(history.before - n + 1, history.before + 1)}
    oldest, newest = history.before - n + 1, history.before
    states = [{v % n: v for v in range(oldest, last + 1)} for last in range(oldest, newest + 1)]
    reads: dict[str, dict[int, int]] = {}
    window = latest = True
    for operation in history.operations:
        if operation.action is Action.WRITE:
            array[operation.sub_window] = operation.update
            states.append(dict(array))
        elif operation.action is Action.READ:
            found = array[operation.sub_window] if operation.version is None else operation.version
            reads.setdefault(operation.query, {})[operation.sub_window] = found
        elif operation.update is None:
            read = set(reads.pop(operation.query).values())
            seen = [set(sorted(state.values())[-len(read) :]) == read for state in states]
            window, latest = window and any(seen), latest and seen[-1]
    return window, latest


def interleavings(*parts: tuple) -> Iterator[tuple]:
    """All orders of all operations that keep the order within each part."""
    if not any(parts):
        yield ()
    for at, part in enumerate(parts):
        if part:
            rest = (*parts[:at], part[1:], *parts[at + 1 :])
            yield from ((part[0], *more) for more in interleavings(*rest))


def update(j: int, n: int) -> tuple[Operation, Operation]:
    return (
        Operation(Action.WRITE, update=j, sub_window=j % n),
        Operation(Action.COMMIT, update=j),
    )


def query(name: str, order: tuple[int, ...]) -> tuple[Operation, ...]:
    reads = (Operation(Action.READ, query=name, sub_window=i) for i in order)
    return (*reads, Operation(Action.COMMIT, query=name))


def small_histories(n: int, reads: int, updates: int, at_once: bool) -> Iterator[History]:
    """Every interleaving of a query over ``reads`` sub-windows, in every order, with updates that
    commit at once, or when they like."""
    together = [update(j, n) for j in range(n, n + updates)]
    for order in permutations(range(n), reads):
        if at_once:
            for merged in interleavings(query("Q1", order), tuple(together)):
                flat = [op if isinstance(op, tuple) else (op,) for op in merged]
                yield History(n, tuple(op for ops in flat for op in ops), newest=n - 1)
        else:
            writes = tuple(write for write, _ in together)
            commits = ((commit,) for _, commit in together)
            for merged in interleavings(query("Q1", order), writes, *commits):
                places = {op: place for place, op in enumerate(merged)}
                if all(places[w] < places[c] for w, c in together):
                    yield History(n, merged, newest=n - 1)


SHAPES = [(2, 2, 2), (3, 3, 2), (3, 2, 2), (4, 2, 2), (3, 1, 3), (2, 2, 3)]


@pytest.mark.parametrize(("n", "reads", "updates"), SHAPES)
@pytest.mark.parametrize("at_once", [True, False])
def test_the_criteria_of_the_theorems_are_the_definitions(n, reads, updates, at_once) -> None:
    if not at_once and n * updates > 6:
        updates = 2
    for history in small_histories(n, reads, updates, at_once):
        found = classify(history)
        levels = found.window_serialisable, found.latest_window_serialisable
        assert levels == by_definition(history), str(history)
        if at_once:
            assert found.commit_order_preserving == found.latest_window_serialisable, str(history)
        assert implications_hold(found), str(history)


def implications_hold(found: Isolation) -> bool:
    return (
        found.latest_window_serialisable <= found.window_serialisable <= found.conflict_serialisable
    )


@st.composite
def histories_of_two_queries(draw) -> History:
    n = draw(st.integers(1, 4))
    parts = [
        list(query(name, tuple(draw(st.permutations(range(n)))[: draw(st.integers(1, n))])))
        for name in ("Q1", "Q2")
    ]
    updates = [update(j, n) for j in range(n, n + draw(st.integers(0, 5)))]
    at_once = draw(st.booleans())
    if at_once:
        parts.append(updates)
    else:
        parts += [[write for write, _ in updates], []]
    merged: list[Operation] = []
    while any(parts):
        part = draw(st.sampled_from([part for part in parts if part]))
        step = part.pop(0)
        merged += step if isinstance(step, tuple) else (step,)
        if not at_once and step.action is Action.WRITE:
            parts[-1].append(Operation(Action.COMMIT, update=step.update))
    return History(n, tuple(merged), newest=n - 1)


@given(histories_of_two_queries())
def test_the_criteria_hold_for_several_queries_and_the_written_form_comes_back(history) -> None:
    found = classify(history)
    assert (found.window_serialisable, found.latest_window_serialisable) == by_definition(history)
    assert implications_hold(found)
    assert parse_history(str(history), history.n, history.newest) == history


def test_every_region_of_the_diagram_has_a_history_and_no_others_exist() -> None:
    """Figure 7.15: which of WS, LWS and CPS go together if updates may commit late."""
    found = {}
    for history in small_histories(3, 3, 2, at_once=False):
        level = classify(history)
        region = (
            level.window_serialisable,
            level.latest_window_serialisable,
            level.commit_order_preserving,
        )
        found.setdefault(region, str(history))
    assert found.keys() == {
        (ws, lws, cps) for ws, lws, cps in product([True, False], repeat=3) if lws <= ws
    }
