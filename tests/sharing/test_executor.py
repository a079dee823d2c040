"""Queries in threads: every answer is what recomputing gives over the state that it names."""

from __future__ import annotations

import random
import sys
from threading import Event, Thread

import numpy as np
import pytest

from tests.sharing.schedules import SCHEDULERS
from windrow.sharing.transactions.executor import Executor
from windrow.sharing.transactions.history import TransactionError
from windrow.sharing.transactions.isolation import classify
from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import ReadTransaction
from windrow.sharing.transactions.serial import Serial
from windrow.sharing.transactions.stored_windows import ExpirySlots, SubWindows
from windrow.sharing.transactions.time_to_update import TimeToUpdate, UndoExpired
from windrow.sharing.transactions.window_serial import WindowSerial


@pytest.fixture(autouse=True)
def _threads_change_often():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


KEYS = 50
WAIT = 60
"""Seconds after which a test that hangs fails."""


class Counts:
    """How often each key occurs. ``gate`` holds scans back until the test lets them go on."""

    def __init__(self, gate: Event | None = None, reached: Event | None = None) -> None:
        self.gate, self.reached = gate, reached

    def begin(self) -> np.ndarray:
        return np.zeros(KEYS, dtype=np.int64)

    def scan(self, contents) -> np.ndarray:
        if self.reached:
            self.reached.set()
        if self.gate:
            assert self.gate.wait(WAIT)
        pieces = contents if isinstance(contents, tuple) else (contents,)
        return sum((np.bincount(piece, minlength=KEYS) for piece in pieces), self.begin())

    def add(self, state, part) -> None:
        state += part

    def subtract(self, state, part) -> None:
        state -= part

    def answer(self, state) -> list[int]:
        return state.tolist()


def keys(rng: random.Random, size: int) -> np.ndarray:
    return np.array([rng.randrange(KEYS) for _ in range(size)], dtype=np.int64)


def recomputed(arrived: list[np.ndarray], as_of: int, length: int) -> list[int]:
    contents = np.concatenate(arrived[as_of - length + 1 : as_of + 1])
    return np.bincount(contents, minlength=KEYS).tolist()


def run_threads(executor: Executor, arriving: list, queries: list, rng: random.Random) -> list:
    """A writer and two submitters beside the workers; the answers."""
    answers = []

    def write() -> None:
        for contents in arriving:
            executor.install(contents)

    def ask(share: list) -> None:
        for query in share:
            answer = executor.submit(query, Counts()).result(WAIT)
            answers.append((query, answer))

    threads = [Thread(target=write), *(Thread(target=ask, args=(queries[i::2],)) for i in (0, 1))]
    rng.shuffle(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not any(thread.is_alive() for thread in threads)
    return answers


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", SCHEDULERS)
def test_threads_see_no_torn_window(kind, seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(2, 6)
    arrived = [keys(rng, rng.randrange(400)) for _ in range(n + 80)]
    queries = [
        ReadTransaction(f"Q{number}", rng.randint(1, n), rng.randint(0, 1)) for number in range(30)
    ]
    with Executor(SubWindows(arrived[:n]), kind, workers=3, record=True) as executor:
        answers = run_threads(executor, arrived[n:], queries, rng)
        history = executor.history
    assert len(answers) == len(queries)
    for query, answer in answers:
        assert answer.value == recomputed(arrived, answer.as_of, query.length)
    read = {e.query: (e.versions[-1], e.length) for e in history.executions}
    assert read == {answer.query: (answer.as_of, query.length) for query, answer in answers}
    found = classify(history)
    assert found.window_serialisable
    assert found.latest_window_serialisable or kind is WindowSerial


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", SCHEDULERS)
def test_threads_see_every_tuple_of_a_result_into_which_updates_insert_everywhere(
    kind, seed: int
) -> None:
    """7.4.3: what comes into slots that a query has read is handed to it."""
    rng = random.Random(seed)
    n = rng.randint(2, 5)
    arrived = [[keys(rng, rng.randrange(60)) for _ in range(n)] for _ in range(n + 80)]
    queries = [ReadTransaction(f"Q{number}", rng.randint(1, n)) for number in range(30)]
    window = ExpirySlots(arrived[:n])
    with Executor(window, kind, workers=3, record=True) as executor:
        answers = run_threads(executor, arrived[n:], queries, rng)
        history = executor.history
    for query, answer in answers:
        live = [
            piece
            for number, pieces in enumerate(arrived[: answer.as_of + 1])
            for slot, piece in enumerate(pieces, start=number - n + 1)
            if answer.as_of - query.length < slot <= answer.as_of and slot >= 0
        ]
        assert answer.value == np.bincount(np.concatenate(live), minlength=KEYS).tolist()
    assert classify(history).window_serialisable
    assert len(window) <= n or kind is WindowSerial


@pytest.mark.parametrize(
    ("kind", "as_of", "attempts", "reads"),
    [
        (Serial, 1, 1, 2),
        (WindowSerial, 1, 1, 2),
        (LatestWindow, 3, 1, 3),
        (TimeToUpdate, 3, 1, 3),
        (UndoExpired, 3, 1, 3),
    ],
)
def test_a_window_that_moves_on_while_a_thread_scans(kind, as_of, attempts, reads) -> None:
    """The worker is inside its first scan when two updates come: what it was reading is void where
    the latest window is wanted, and whoever reads the window as of its start goes on."""
    gate, reached = Event(), Event()
    arrived = [np.array([number]) for number in range(4)]
    with Executor(SubWindows(arrived[:2]), kind, record=True) as executor:
        future = executor.submit(ReadTransaction("Q1", 2), Counts(gate, reached))
        assert reached.wait(WAIT)
        executor.install(arrived[2])
        executor.install(arrived[3])
        assert executor.newest == (1 if kind is Serial else 3)
        gate.set()
        answer = future.result(WAIT)
        assert executor.newest == 3
    assert (answer.as_of, answer.attempts, answer.reads) == (as_of, attempts, reads)
    assert answer.value == recomputed(arrived, as_of, 2)


@pytest.mark.parametrize("kind", [LatestWindow, TimeToUpdate, UndoExpired])
def test_what_was_handed_for_a_read_that_is_void_is_forgotten(kind) -> None:
    """The first update inserts into the slot that is being read, the second expires it."""
    gate, reached = Event(), Event()
    pieces = [[np.array([10 * number + slot]) for slot in range(2)] for number in range(4)]
    with Executor(ExpirySlots(pieces[:2]), kind) as executor:
        future = executor.submit(ReadTransaction("Q1", 1), Counts(gate, reached))
        assert reached.wait(WAIT)
        executor.install(pieces[2])
        executor.install(pieces[3])
        gate.set()
        answer = future.result(WAIT)
    assert (answer.as_of, np.flatnonzero(answer.value).tolist()) == (3, [31])


class Halting(Counts):
    """Waits in its second scan only."""

    def __init__(self) -> None:
        super().__init__()
        self.scans, self.halt, self.halted = 0, Event(), Event()

    def scan(self, contents):
        self.scans += 1
        if self.scans == 2:
            self.halted.set()
            assert self.halt.wait(WAIT)
        return super().scan(contents)


@pytest.mark.parametrize(
    ("kind", "attempts", "history"),
    [
        (LatestWindow, 2, "r[0] w3[0] c3 a w4[1] c4 r[0] r[1] r[2] c"),
        (TimeToUpdate, 1, "r[2] w3[0] c3 w4[1] c4 r[1] r[0] c"),
        (UndoExpired, 1, "r[2] w3[0] c3 w4[1] c4 r[1] r[0] c"),
    ],
)
def test_what_two_updates_during_the_second_scan_cost(kind, attempts, history) -> None:
    computation = Halting()
    arrived = [np.array([number]) for number in range(5)]
    with Executor(SubWindows(arrived[:3]), kind, record=True) as executor:
        future = executor.submit(ReadTransaction("Q1", 3), computation)
        assert computation.halted.wait(WAIT)
        executor.install(arrived[3])
        executor.install(arrived[4])
        computation.halt.set()
        answer = future.result(WAIT)
        assert str(executor.history).replace("Q1", "") == history
    assert (answer.attempts, answer.as_of) == (attempts, 4)
    assert answer.value == recomputed(arrived, 4, 3)


def test_three_updates_between_reads_are_undone_or_begun_again() -> None:
    for kind, attempts, undone in ((TimeToUpdate, 2, 0), (UndoExpired, 1, 1)):
        computation = Halting()
        arrived = [np.array([number]) for number in range(6)]
        with Executor(SubWindows(arrived[:3]), kind, record=True) as executor:
            future = executor.submit(ReadTransaction("Q1", 3), computation)
            assert computation.halted.wait(WAIT)
            for contents in arrived[3:]:
                executor.install(contents)
            computation.halt.set()
            answer = future.result(WAIT)
            assert str(executor.history).count("u") == undone
        assert (answer.attempts, answer.value) == (attempts, recomputed(arrived, 5, 3))


def test_what_is_undone_is_what_was_seen_not_what_came_since() -> None:
    """A query over two of three slots has read slot 2. The second update takes it out of the
    window, and puts something into it that the query has never seen."""
    computation = Halting()
    pieces = [[np.array([5 * number + slot]) for slot in range(3)] for number in range(5)]
    with Executor(ExpirySlots(pieces[:3]), UndoExpired, record=True) as executor:
        future = executor.submit(ReadTransaction("Q1", 2), computation)
        assert computation.halted.wait(WAIT)
        executor.install(pieces[3])
        executor.install(pieces[4])
        computation.halt.set()
        answer = future.result(WAIT)
        assert "uQ1[2]" in str(executor.history)
    assert answer.as_of == 4
    assert {key: n for key, n in enumerate(answer.value) if n} == {17: 1, 21: 1, 22: 1}


def test_a_one_time_query_overtakes_a_long_one() -> None:
    computation = Halting()
    with Executor(SubWindows([np.array([0])] * 3), TimeToUpdate, record=True) as executor:
        long = executor.submit(ReadTransaction("long", 3), computation)
        assert computation.halted.wait(WAIT)
        important = executor.submit(ReadTransaction("now", 3, priority=1), Counts())
        computation.halt.set()
        assert important.result(WAIT).value[0] == long.result(WAIT).value[0] == 3
        text = str(executor.history)
    assert text.index("cnow") < text.index("clong")
    assert text.startswith("rlong[2] rlong[1] rnow[2]")


def test_a_query_that_fails_costs_the_others_nothing() -> None:
    class Failing(Counts):
        def scan(self, contents):
            raise ZeroDivisionError("in the query")

    for kind in SCHEDULERS:
        with Executor(SubWindows([np.array([0])] * 2), kind, workers=2) as executor:
            bad = executor.submit(ReadTransaction("bad", 2), Failing())
            with pytest.raises(ZeroDivisionError, match="in the query"):
                bad.result(WAIT)
            executor.install(np.array([0, 0]))
            good = executor.submit(ReadTransaction("good", 2), Counts()).result(WAIT)
            assert (good.as_of, good.value[0]) == (2, 3)


def test_what_cannot_be_done_is_refused() -> None:
    class NoSubtraction:
        begin = scan = add = answer = None

    window = SubWindows([np.array([0])] * 2)
    with Executor(window, UndoExpired) as executor:
        with pytest.raises(TransactionError, match="subtract"):
            executor.submit(ReadTransaction("Q1", 2), NoSubtraction())
        with pytest.raises(TransactionError, match="record=True"):
            executor.history  # noqa: B018
    with pytest.raises(TransactionError, match="closed"):
        executor.submit(ReadTransaction("Q1", 2), Counts())


def test_closing_ends_what_is_running() -> None:
    gate, reached = Event(), Event()
    executor = Executor(SubWindows([np.array([0])] * 2), TimeToUpdate)
    future = executor.submit(ReadTransaction("Q1", 2), Counts(gate, reached))
    assert reached.wait(WAIT)
    closing = Thread(target=executor.close)
    closing.start()
    gate.set()
    closing.join(WAIT)
    assert future.done()
    if future.exception():
        assert "closed" in str(future.exception())


def test_a_computation_that_cannot_begin_fails_alone() -> None:
    class NoBeginning(Counts):
        def begin(self):
            raise MemoryError("no room")

    with Executor(SubWindows([np.array([0])] * 2), TimeToUpdate) as executor:
        bad = executor.submit(ReadTransaction("bad", 1), NoBeginning())
        good = executor.submit(ReadTransaction("good", 2), Counts())
        assert good.result(WAIT).value[0] == 2
        with pytest.raises(MemoryError, match="no room"):
            bad.result(WAIT)
