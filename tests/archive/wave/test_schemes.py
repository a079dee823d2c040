"""The paper's tables, row by row (Shivakumar, Garcia-Molina 1997, Tables 1 to 7).

Tables 3, 6 and 7 are the paper's own rows. Of Tables 1, 2, 4 and 5 we have the captions and what
the text says of them: 1 and 2 follow the introduction, 4 and 5 the text of 3.3 and 3.4. In Table 7
the paper's column of temporaries has the names of each pair exchanged; its operations, followed
here, give what is used.
"""

from __future__ import annotations

import pytest

from windrow.archive.wave.operations import Add, Build, apply_all
from windrow.archive.wave.scheme_state import state_of
from windrow.archive.wave.schemes import Del, Rata, Reindex, ReindexPlus, ReindexPlusPlus, Wata

DEL = """
10 | I1 <- BuildIndex({1, 2, 3, 4, 5}); I2 <- BuildIndex({6, 7, 8, 9, 10}) | 1-5 | 6-10 |
11 | DeleteFromIndex({1}, I1); AddToIndex({11}, I1) | 2-5 11 | 6-10 |
12 | DeleteFromIndex({2}, I1); AddToIndex({12}, I1) | 3-5 11 12 | 6-10 |
13 | DeleteFromIndex({3}, I1); AddToIndex({13}, I1) | 4 5 11-13 | 6-10 |
14 | DeleteFromIndex({4}, I1); AddToIndex({14}, I1) | 5 11-14 | 6-10 |
15 | DeleteFromIndex({5}, I1); AddToIndex({15}, I1) | 11-15 | 6-10 |
16 | DeleteFromIndex({6}, I2); AddToIndex({16}, I2) | 11-15 | 7-10 16 |
"""

REINDEX = """
10 | I1 <- BuildIndex({1, 2, 3, 4, 5}); I2 <- BuildIndex({6, 7, 8, 9, 10}) | 1-5 | 6-10 |
11 | I1 <- BuildIndex({2, 3, 4, 5, 11}) | 2-5 11 | 6-10 |
12 | I1 <- BuildIndex({3, 4, 5, 11, 12}) | 3-5 11 12 | 6-10 |
13 | I1 <- BuildIndex({4, 5, 11, 12, 13}) | 4 5 11-13 | 6-10 |
14 | I1 <- BuildIndex({5, 11, 12, 13, 14}) | 5 11-14 | 6-10 |
15 | I1 <- BuildIndex({11, 12, 13, 14, 15}) | 11-15 | 6-10 |
16 | I2 <- BuildIndex({7, 8, 9, 10, 16}) | 11-15 | 7-10 16 |
"""

WATA = """
10 | I1 <- BuildIndex({1, 2, 3}); I2 <- BuildIndex({4, 5, 6}); I3 <- BuildIndex({7, 8, 9}); \
I4 <- BuildIndex({10}) | 1-3 | 4-6 | 7-9 | 10 |
11 | AddToIndex({11}, I4) | 1-3 | 4-6 | 7-9 | 10 11 |
12 | AddToIndex({12}, I4) | 1-3 | 4-6 | 7-9 | 10-12 |
13 | Drop I1; I1 <- {}; AddToIndex({13}, I1) | 13 | 4-6 | 7-9 | 10-12 |
14 | AddToIndex({14}, I1) | 13 14 | 4-6 | 7-9 | 10-12 |
"""

REINDEX_PLUS = """
10 | I1 <- BuildIndex({1, 2, 3, 4, 5}); I2 <- BuildIndex({6, 7, 8, 9, 10}); Temp <- {} \
| 1-5 | 6-10 | Temp=
11 | AddToIndex({11}, Temp); I1 <- Temp; AddToIndex({2, 3, 4, 5}, I1) | 2-5 11 | 6-10 | Temp=11
12 | AddToIndex({12}, Temp); I1 <- Temp; AddToIndex({3, 4, 5}, I1) | 3-5 11 12 | 6-10 | Temp=11 12
13 | AddToIndex({13}, Temp); I1 <- Temp; AddToIndex({4, 5}, I1) | 4 5 11-13 | 6-10 | Temp=11-13
14 | AddToIndex({14}, Temp); I1 <- Temp; AddToIndex({5}, I1) | 5 11-14 | 6-10 | Temp=11-14
15 | AddToIndex({15}, Temp); Rename Temp as I1; Temp <- {} | 11-15 | 6-10 | Temp=
16 | AddToIndex({16}, Temp); I2 <- Temp; AddToIndex({7, 8, 9, 10}, I2) | 11-15 | 7-10 16 | Temp=16
"""

REINDEX_PLUS_PLUS = """
10 | I1 <- BuildIndex({1, 2, 3, 4, 5}); I2 <- BuildIndex({6, 7, 8, 9, 10}); T0 <- {}; \
T1 <- BuildIndex({5}); T2 <- T1; AddToIndex({4}, T2); T3 <- T2; AddToIndex({3}, T3); \
T4 <- T3; AddToIndex({2}, T4) | 1-5 | 6-10 | T0=, T1=5, T2=4 5, T3=3-5, T4=2-5
11 | AddToIndex({11}, T4); Rename T4 as I1; AddToIndex({11}, T3); AddToIndex({11}, T2); \
AddToIndex({11}, T1); AddToIndex({11}, T0) | 2-5 11 | 6-10 | T0=11, T1=5 11, T2=4 5 11, T3=3-5 11
12 | AddToIndex({12}, T3); Rename T3 as I1; AddToIndex({12}, T2); AddToIndex({12}, T1); \
AddToIndex({12}, T0) | 3-5 11 12 | 6-10 | T0=11 12, T1=5 11 12, T2=4 5 11 12
13 | AddToIndex({13}, T2); Rename T2 as I1; AddToIndex({13}, T1); AddToIndex({13}, T0) \
| 4 5 11-13 | 6-10 | T0=11-13, T1=5 11-13
14 | AddToIndex({14}, T1); Rename T1 as I1; AddToIndex({14}, T0) | 5 11-14 | 6-10 | T0=11-14
15 | AddToIndex({15}, T0); Rename T0 as I1; T0 <- {}; T1 <- BuildIndex({10}); T2 <- T1; \
AddToIndex({9}, T2); T3 <- T2; AddToIndex({8}, T3); T4 <- T3; AddToIndex({7}, T4) \
| 11-15 | 6-10 | T0=, T1=10, T2=9 10, T3=8-10, T4=7-10
"""

RATA = """
10 | I1 <- BuildIndex({1, 2, 3}); I2 <- BuildIndex({4, 5, 6}); I3 <- BuildIndex({7, 8, 9}); \
I4 <- BuildIndex({10}); T11 <- BuildIndex({3}); T12 <- T11; AddToIndex({2}, T11) \
| 1-3 | 4-6 | 7-9 | 10 | T11=2 3, T12=3
11 | AddToIndex({11}, I4); Rename T11 as I1 | 2 3 | 4-6 | 7-9 | 10 11 | T12=3
12 | AddToIndex({12}, I4); Rename T12 as I1 | 3 | 4-6 | 7-9 | 10-12 |
13 | I1 <- BuildIndex({13}); T14 <- BuildIndex({6}); T15 <- T14; AddToIndex({5}, T14) \
| 13 | 4-6 | 7-9 | 10-12 | T14=5 6, T15=6
14 | AddToIndex({14}, I1); Rename T14 as I2 | 13 14 | 5 6 | 7-9 | 10-12 | T15=6
"""

TABLES = {
    "Table 1": (Del(), 2, DEL),
    "Table 2": (Reindex(), 2, REINDEX),
    "Table 3": (Wata(), 4, WATA),
    "Table 4": (ReindexPlus(), 2, REINDEX_PLUS),
    "Table 5": (ReindexPlusPlus(spread=False), 2, REINDEX_PLUS_PLUS),
    "Table 7": (Rata(spread=False), 4, RATA),
}


@pytest.mark.parametrize(("scheme", "n", "table"), TABLES.values(), ids=TABLES)
def test_the_paper_s_table(scheme, n, table):
    state = None
    for row in table.strip().splitlines():
        day, operations, *cells = (cell.strip() for cell in row.split("|"))
        state, step = scheme.start(10, n) if state is None else scheme.advance(state, int(day))
        assert [str(operation) for operation in step.operations] == operations.split("; ")
        assert [days for _, days in state.constituents] == [days_of(c) for c in cells[:n]]
        assert dict(state.temporaries) == temporaries_of(cells[n])
        assert state.day == int(day)


TABLE_6 = """
10 | I1 <- BuildIndex({1, 2, 3, 4}); I2 <- BuildIndex({5, 6, 7}); I3 <- BuildIndex({8, 9, 10}); \
I4 <- {} | 1-4 | 5-7 | 8-10 | |
11 | AddToIndex({11}, I4) | 1-4 | 5-7 | 8-10 | 11 |
12 | AddToIndex({12}, I4) | 1-4 | 5-7 | 8-10 | 11 12 |
13 | AddToIndex({13}, I4) | 1-4 | 5-7 | 8-10 | 11-13 |
14 | I1 <- {}; AddToIndex({14}, I1) | 14 | 5-7 | 8-10 | 11-13 |
"""
FIRST = [
    Build("I1", (1, 2, 3, 4)),
    Build("I2", (5, 6, 7)),
    Build("I3", (8, 9, 10)),
    Build("I4", ()),
]
THEN = [[Add("I4", (day,))] for day in (11, 12, 13)] + [[Build("I1", ()), Add("I1", (14,))]]


def test_table_6_another_first_split_holds_more_days_than_that_of_table_3():
    held, lengths = {}, []
    rows = TABLE_6.strip().splitlines()
    for row, operations in zip(rows, [FIRST, *THEN], strict=True):
        _, printed, *cells = (cell.strip() for cell in row.split("|"))
        assert [str(operation) for operation in operations] == printed.split("; ")
        held = apply_all(held, operations)
        assert [held[f"I{k}"] for k in (1, 2, 3, 4)] == [days_of(cell) for cell in cells[:4]]
        lengths.append(sum(map(len, held.values())))
    assert lengths == [10, 11, 12, 13, 10]

    state, _ = Wata().start(10, 4)
    ours = []
    for day in range(11, 15):
        state, _ = Wata().advance(state, day)
        ours.append(len(state.days))
    assert ours == [11, 12, 10, 11]


def test_table_6_differs_from_wata_by_its_first_split_only():
    held = apply_all(apply_all({}, FIRST), THEN[0])
    state = state_of(10, 11, held)
    for day, operations in zip((12, 13, 14), THEN[1:], strict=True):
        held = apply_all(held, operations)
        state, _ = Wata().advance(state, day)
        assert state.indexes == held


@pytest.mark.parametrize(("window", "n"), [(w, n) for w in range(2, 10) for n in range(2, w + 1)])
def test_no_way_of_throwing_away_lazily_holds_fewer_days_than_wata_at_its_longest(window, n):
    """Every first split, consecutive or not, and every choice of where each new day goes."""
    bound = window - 1 + -(-(window - 1) // (n - 1))
    assert goes_on_for_ever(window, n, bound)
    assert not goes_on_for_ever(window, n, bound - 1)


def goes_on_for_ever(window, n, most):
    """Whether some lazy policy never holds more than ``most`` days.

    An index is thrown away as soon as all its days have expired. It is known by the age of its
    newest day and by its size; ages count from 0, the day that came last.
    """

    def following(state):
        kept = [(age + 1, size) for age, size in state if age + 1 < window]
        if sum(size for _, size in kept) < most:
            for i, (_, size) in enumerate(kept):
                yield tuple(sorted([*kept[:i], (0, size + 1), *kept[i + 1 :]]))
            if len(kept) < n:
                yield tuple(sorted([*kept, (0, 1)]))

    graph, left = {}, list(splits(window, n)) if window <= most else []
    while left:
        state = left.pop()
        if state not in graph:
            graph[state] = set(following(state))
            left += graph[state]
    while dead := {state for state, then in graph.items() if not then & graph.keys()}:
        for state in dead:
            del graph[state]
    return bool(graph)


def splits(window, n):
    """All ways to put the first days into n indexes or fewer, by newest age and size."""
    found = {()}
    for age in reversed(range(window)):
        found = {
            tuple(sorted([*state[:i], (age, size + 1), *state[i + 1 :]]))
            for state in found
            for i, (_, size) in enumerate(state)
        } | {tuple(sorted([*state, (age, 1)])) for state in found if len(state) < n}
    return found


def test_rata_prepares_a_day_at_a_time_on_the_days_that_the_text_names():
    state, _ = Rata().start(10, 4)
    early = {}
    for day in range(11, 15):
        state, step = Rata().advance(state, day)
        early[day] = [str(operation) for operation in step.before]
        assert step.after == ()
    assert early == {
        11: ["T14 <- BuildIndex({6})"],
        12: ["T15 <- T14", "AddToIndex({5}, T14)"],
        13: [],
        14: ["T17 <- BuildIndex({9})"],
    }


def temporaries_of(cell):
    named = (part.split("=") for part in cell.split(",") if part.strip())
    return {name.strip(): days_of(days) for name, days in named}


def days_of(cell):
    days = []
    for part in cell.split():
        first, _, last = part.partition("-")
        days += range(int(first), int(last or first) + 1)
    return tuple(days)
