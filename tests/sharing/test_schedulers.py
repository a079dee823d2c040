"""Schedulers as state machines: what they let a query see, and what that costs."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sharing.schedules import SCHEDULERS, Driver, PseudoCode, greatest_ttu_first, orders
from windrow.sharing.transactions.history import TransactionError, parse_history
from windrow.sharing.transactions.isolation import classify
from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import ReadTransaction
from windrow.sharing.transactions.serial import Serial
from windrow.sharing.transactions.time_to_update import TimeToUpdate, UndoExpired
from windrow.sharing.transactions.window_serial import WindowSerial

EVENTS = st.lists(
    st.sampled_from(["submit", "update", "start", "start", "end", "end"]), max_size=60
)


def drive(scheduler, events: list[str], data) -> Driver:
    driver = Driver(scheduler)
    for number, event in enumerate(events):
        if event == "submit":
            length = data.draw(st.integers(1, scheduler.n))
            driver.submit(f"Q{number}", length, priority=data.draw(st.integers(0, 2)))
        elif event == "update":
            driver.update()
        elif event == "start":
            driver.start_read()
        elif driver.flying:
            driver.end_read(data.draw(st.sampled_from(sorted(driver.flying))))
    return driver


@pytest.mark.parametrize("kind", SCHEDULERS)
@given(n=st.integers(1, 5), events=EVENTS, data=st.data())
def test_every_answer_is_the_window_after_the_update_that_it_names(kind, n, events, data) -> None:
    driver = drive(kind(n, newest=n - 1), events, data)
    for _, as_of, versions in driver.answers:
        assert sorted(versions) == list(range(as_of - len(versions) + 1, as_of + 1))
    found = classify(driver.history)
    assert found.window_serialisable
    assert found.latest_window_serialisable or kind is WindowSerial
    assert found.commit_order_preserving == found.latest_window_serialisable
    assert driver.aborts == 0 or kind in {LatestWindow, TimeToUpdate}
    assert driver.late_updates == 0 or kind is Serial
    assert driver.undone == 0 or kind is UndoExpired


@pytest.mark.parametrize("kind", SCHEDULERS)
@given(n=st.integers(1, 5), events=EVENTS, data=st.data())
def test_every_query_ends_when_updates_do(kind, n, events, data) -> None:
    driver = drive(kind(n, newest=n - 1), events, data)
    running = len(driver.folded)
    for name in list(driver.flying):
        driver.end_read(name)
    for _ in range(running * (2 * n + len(events))):
        driver.step()
    assert not driver.folded


def test_ttu_chooses_the_order_of_the_text_and_aborts_nothing() -> None:
    driver = Driver(TimeToUpdate(5, newest=4))
    driver.submit("Q1", 5)
    for event in "rurrrur":
        driver.update() if event == "u" else driver.step()
    expected = "r[4] w5[0] c5 r[0] r[3] r[2] w6[1] c6 r[1] c"
    assert driver.history == parse_history(expected, n=5, newest=4)
    assert driver.answers[0][1] == 6


def test_the_order_of_the_array_is_aborted_as_soon_as_the_text_says() -> None:
    driver = Driver(LatestWindow(5, newest=4))
    driver.submit("Q1", 5)
    driver.step()
    driver.update()
    assert str(driver.history) == "rQ1[0] w5[0] c5 aQ1"


@given(n=st.integers(1, 6), data=st.data(), events=st.text("ru", max_size=40))
def test_ttu_is_algorithm_8_line_by_line(n, data, events) -> None:
    length = data.draw(st.integers(1, n))
    expected = greatest_ttu_first(events, PseudoCode(n, length))
    driver = Driver(TimeToUpdate(n, newest=n - 1))
    driver.submit("Q1", length)
    reads = []
    for event in events:
        if event == "u":
            driver.update()
        elif read := driver.step():
            reads.append(read.version % n)
        assert driver.scheduler.time_to_update(driver.scheduler.newest % n) == n
    assert (reads, driver.aborts) == (expected.reads, expected.aborts)
    assert [driver.scheduler.time_to_update(i) for i in range(n)] == expected.ttu


SMALL = [(n, length) for n in (2, 3, 4) for length in range(1, n + 1)]


@pytest.mark.parametrize("conflict", ["once", "restarts", "undoes"])
@pytest.mark.parametrize(("n", "length"), SMALL)
def test_no_order_of_reads_has_fewer_conflicts_than_ttu(n: int, length: int, conflict: str) -> None:
    """Theorem 7.4: against every order of reads, for every small history; whether a query is tried
    once, begins again, or undoes what it has read (the end of 7.4.2)."""
    for size in range(length + 3):
        for events in product("ru", repeat=size):
            text = "".join(events)
            fewest = min(orders(text, PseudoCode(n, length, conflict)))
            assert greatest_ttu_first(text, PseudoCode(n, length, conflict)).aborts == fewest, text


def test_a_query_that_begins_again_may_be_luckier_with_a_worse_order() -> None:
    """Theorem 7.4 counts the aborts of attempts that begin together. An order that is aborted
    earlier begins again earlier, and here has ended before the updates that abort TTU again."""
    events = "ruruurruu"
    assert greatest_ttu_first(events, PseudoCode(3, 3)).aborts == 2
    assert min(orders(events, PseudoCode(3, 3))) == 1
    assert min(orders(events, PseudoCode(3, 3, "once"))) == 1


@given(n=st.integers(1, 5), data=st.data(), events=st.text("ru", max_size=40))
def test_nothing_is_undone_where_ttu_aborts_nothing(n, data, events) -> None:
    length = data.draw(st.integers(1, n))
    ttu, undo = Driver(TimeToUpdate(n, newest=n - 1)), Driver(UndoExpired(n, newest=n - 1))
    for driver in (ttu, undo):
        driver.submit("Q1", length)
        for event in events:
            driver.update() if event == "u" else driver.step()
    assert undo.undone == 0 or ttu.aborts > 0
    assert ttu.answers == undo.answers or ttu.aborts > 0


def test_an_important_query_suspends_a_running_one_which_then_goes_on() -> None:
    """Figure 7.1 (d): Q3 is suspended for an update and for Q1, and sees the update."""
    driver = Driver(TimeToUpdate(3, newest=2))
    driver.submit("Q3", 3)
    driver.step()
    driver.update()
    driver.submit("Q1", 2, priority=1)
    assert [driver.step().query for _ in range(4)] == ["Q1", "Q1", "Q3", "Q3"]
    assert [(name, as_of) for name, as_of, _ in driver.answers] == [("Q1", 3), ("Q3", 3)]


def test_serial_suspends_nobody_and_lets_updates_wait() -> None:
    driver = Driver(Serial(2, newest=1))
    driver.submit("long", 2)
    driver.step()
    driver.update()
    driver.submit("important", 1, priority=1)
    driver.step()
    driver.step()
    assert [(name, as_of) for name, as_of, _ in driver.answers] == [("long", 1), ("important", 2)]
    assert driver.late_updates == 1


def test_a_read_whose_sub_window_leaves_meanwhile_is_void_and_aborts_nothing() -> None:
    driver = Driver(TimeToUpdate(2, newest=1))
    driver.submit("Q1", 2)
    driver.step()
    read = driver.start_read()
    driver.update()
    driver.end_read("Q1")
    assert (read.version, driver.aborts, driver.answers) == (0, 0, [])
    assert driver.step().version == 2
    assert driver.answers == [("Q1", 2, [1, 2])]


def test_old_copies_are_kept_only_while_somebody_needs_them() -> None:
    for kind, during in ((WindowSerial, 0), (UndoExpired, 1), (TimeToUpdate, 2)):
        driver = Driver(kind(2, newest=1))
        driver.submit("Q1", 2)
        driver.step()
        driver.update()
        driver.update()
        assert driver.scheduler.oldest_needed() == during, kind.name
        while driver.step():
            pass
        assert driver.scheduler.oldest_needed() == 2


@pytest.mark.parametrize("kind", SCHEDULERS)
def test_queries_and_windows_that_cannot_be_are_refused(kind) -> None:
    with pytest.raises(TransactionError, match="all of them filled"):
        kind(3, newest=1)
    scheduler = kind(3, newest=2)
    with pytest.raises(TransactionError, match="1 to 3 sub-windows"):
        scheduler.submit(ReadTransaction("Q1", 4))
    scheduler.submit(ReadTransaction("Q1", 3))
    with pytest.raises(TransactionError, match="no running query"):
        scheduler.submit(ReadTransaction("Q1", 1))
