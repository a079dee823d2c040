"""Driving schedulers without threads, step by step, and the literal pseudo-code beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from windrow.sharing.transactions.history import Action, History, Operation
from windrow.sharing.transactions.latest_window import LatestWindow
from windrow.sharing.transactions.scheduler import Read, ReadTransaction, Scheduler, Verdict
from windrow.sharing.transactions.serial import Serial
from windrow.sharing.transactions.time_to_update import TimeToUpdate, UndoExpired
from windrow.sharing.transactions.window_serial import WindowSerial

SCHEDULERS = (Serial, WindowSerial, LatestWindow, TimeToUpdate, UndoExpired)


class Driver:
    """One thread's worth of a scheduler: reads begin and end when the test says so.

    What each query has folded in is a list of versions, so that an answer is what was read.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.before = scheduler.newest
        self.flying: dict[str, Read] = {}
        self.folded: dict[str, list[int]] = {}
        self.operations: list[Operation] = []
        self.answers: list[tuple[str, int, list[int]]] = []
        self.aborts = self.undone = self.late_updates = 0
        self.pending = 0

    @property
    def history(self) -> History:
        return History(self.scheduler.n, tuple(self.operations), newest=self.before)

    def submit(self, name: str, length: int, priority: int = 0) -> None:
        self.scheduler.submit(ReadTransaction(name, length, priority))
        self.folded[name] = []

    def update(self) -> None:
        self.pending += 1
        self._install()

    def _install(self) -> None:
        while self.pending and self.scheduler.may_update():
            self.pending -= 1
            number, aborted = self.scheduler.update()
            at = number % self.scheduler.n
            self.operations.append(Operation(Action.WRITE, update=number, sub_window=at))
            self.operations.append(Operation(Action.COMMIT, update=number))
            for name in aborted:
                self.aborts += 1
                self.folded[name] = []
                self.operations.append(Operation(Action.ABORT, query=name))
        self.late_updates += self.pending

    def start_read(self) -> Read | None:
        read = self.scheduler.next_read(self.flying)
        if read is not None:
            assert read.version >= self.scheduler.oldest_needed()
            self.flying[read.query] = read
        return read

    def end_read(self, name: str) -> None:
        read = self.flying.pop(name)
        verdict, as_of = self.scheduler.acknowledge(read)
        if verdict is Verdict.VOID:
            return
        if read.undo:
            self.undone += 1
            self.folded[name].remove(read.version)
        else:
            self.folded[name].append(read.version)
        self.operations.append(
            Operation(
                Action.UNDO if read.undo else Action.READ,
                query=name,
                sub_window=read.version % self.scheduler.n,
                version=read.version if read.as_of is not None and not read.undo else None,
            )
        )
        if verdict is Verdict.COMMITS:
            self.operations.append(Operation(Action.COMMIT, query=name))
            self.answers.append((name, as_of, self.folded.pop(name)))
            self._install()

    def step(self) -> Read | None:
        """One whole read."""
        read = self.start_read()
        if read is not None:
            self.end_read(read.query)
        return read


class PseudoCode:
    """Algorithms 7 and 8 line by line, with arrays, for one query that may read in any order.

    A conflict aborts it: it begins again, or ends if it is tried ``once``; or, if it ``undoes``,
    it only has to read one sub-window more. ``aborts`` counts conflicts.
    """

    def __init__(self, n: int, length: int, conflict: str = "restarts") -> None:
        self.n, self.length, self.conflict = n, length, conflict
        self.bits = [False] * n
        self.ttu = list(range(1, n + 1))
        self.j = n - 1
        self.reads: list[int] = []
        self.aborts = 0
        self.ended = False

    def update(self) -> None:
        self.j += 1
        self.ttu = [ttu - 1 for ttu in self.ttu]
        self.ttu[self.j % self.n] = self.n
        expired = (self.j + self.n - self.length) % self.n
        if not self.ended and self.bits[expired]:
            self.aborts += 1
            if self.conflict == "undoes":
                self.bits[expired] = False
            else:
                self.bits = [False] * self.n
                self.ended = self.conflict == "once"

    def unread(self) -> list[int]:
        """The sub-windows of its window that it has not read, the greatest time to update first."""
        youngest = sorted(range(self.n), key=lambda i: -self.ttu[i])[: self.length]
        return [i for i in youngest if not self.bits[i]]

    def read(self, sub_window: int) -> None:
        self.reads.append(sub_window)
        self.bits[sub_window] = True
        self.ended = not self.unread()


def orders(events: str, query: PseudoCode) -> Iterator[int]:
    """The aborts of every order of reads, for one sequence of reads (r) and updates (u)."""
    if not events:
        yield query.aborts
        return
    first, rest = events[0], events[1:]
    if first == "u" or query.ended:
        copy = copied(query)
        if first == "u":
            copy.update()
        yield from orders(rest, copy)
        return
    for sub_window in query.unread():
        copy = copied(query)
        copy.read(sub_window)
        yield from orders(rest, copy)


def copied(query: PseudoCode) -> PseudoCode:
    copy = PseudoCode(query.n, query.length, query.conflict)
    copy.bits, copy.ttu, copy.reads = query.bits[:], query.ttu[:], query.reads[:]
    copy.j, copy.aborts, copy.ended = query.j, query.aborts, query.ended
    return copy


def greatest_ttu_first(events: Iterable[str], query: PseudoCode) -> PseudoCode:
    """Algorithm 8 on a sequence of reads and updates."""
    for event in events:
        if event == "u":
            query.update()
        elif not query.ended:
            query.read(query.unread()[0])
    return query
