"""Queries in threads over a window that moves: a transaction manager (Golab 2006, Figure 7.3).

Workers read, one sub-window at a time, without a lock: kernels and array libraries give up the GIL,
so that several scans and the writer run at once. Every decision is the scheduler's, under one lock
that is held for a few dictionary operations.

Invariants
    1. Contents are immutable, so no scan sees half an update.
    2. A read counts only if the scheduler says so when it has been carried out.
    3. An answer is what its query gives over the state after the update that it names.

A query is read for by one worker at a time; several queries are read for at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from types import TracebackType
from typing import Any, Protocol, Self

from windrow.sharing.transactions.history import Action, History, Operation, TransactionError
from windrow.sharing.transactions.scheduler import (
    Outcome,
    Read,
    ReadTransaction,
    Scheduler,
    Verdict,
)
from windrow.sharing.transactions.stored_windows import StoredWindow
from windrow.sharing.transactions.time_to_update import TimeToUpdate


class Computation(Protocol):
    """What a query computes: a part for each sub-window, and an answer from the parts.

    ``scan`` runs without a lock, beside scans of other queries, and changes nothing. The state
    belongs to one attempt. Of a calendar of slots, contents are a tuple of pieces.
    """

    def begin(self) -> Any:
        """The state of an attempt that has read nothing."""

    def scan(self, contents: Any) -> Any: ...

    def add(self, state: Any, part: Any) -> None: ...

    def answer(self, state: Any) -> Any: ...


class Subtractable(Computation, Protocol):
    """A computation that can take a part out again."""

    def subtract(self, state: Any, part: Any) -> None: ...


@dataclass(frozen=True)
class Answer:
    """What a query gives over its window after update ``as_of``, and what it took."""

    query: str
    as_of: int
    value: Any
    attempts: int
    reads: int


@dataclass
class _Task:
    query: ReadTransaction
    computation: Computation
    future: Future[Answer]
    states: dict[int, Any] = field(default_factory=dict)
    attempts: int = 1
    reads: int = 0
    handed: list[tuple[int, Any]] = field(default_factory=list)


class Executor:
    """Runs queries in ``workers`` threads, while ``install`` moves the window.

    The scheduler is a class of this room, or whatever makes one of n and the number of the last
    update. Updates that it lets wait are kept in memory. With ``record`` every operation is kept
    too, for ``history``, without limit.

    >>> from windrow.sharing.transactions.stored_windows import SubWindows
    >>> class Total:
    ...     def begin(self): return [0]
    ...     def scan(self, contents): return sum(contents)
    ...     def add(self, state, part): state[0] += part
    ...     def answer(self, state): return state[0]
    >>> with Executor(SubWindows([(1, 2), (3,)])) as executor:
    ...     executor.install((10,))
    ...     executor.submit(ReadTransaction("total", length=2), Total()).result(timeout=60)
    Answer(query='total', as_of=2, value=13, attempts=1, reads=2)
    """

    def __init__(
        self,
        window: StoredWindow,
        scheduler: Callable[[int, int], Scheduler] = TimeToUpdate,
        workers: int = 1,
        record: bool = False,
    ) -> None:
        self._scheduler, self._window = scheduler(window.n, window.newest), window
        self._changed = Condition()
        self._tasks: dict[str, _Task] = {}
        self._busy: set[str] = set()
        self._waiting: deque[Any] = deque()
        self._closing = False
        self._before = window.newest
        self._operations: list[Operation] | None = [] if record else None
        self._threads = [Thread(target=self._work, daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def newest(self) -> int:
        """The number of the last update that was carried out."""
        return self._scheduler.newest

    @property
    def history(self) -> History:
        """What was read and written so far."""
        if self._operations is None:
            raise TransactionError(
                where="executor", expected="record=True", found="a run that records nothing"
            )
        with self._changed:
            return History(self._scheduler.n, tuple(self._operations), newest=self._before)

    def submit(self, query: ReadTransaction, computation: Computation) -> Future[Answer]:
        """Begin a query; the future gets its answer, or what its computation raised."""
        if self._scheduler.undoes and not hasattr(computation, "subtract"):
            raise TransactionError(
                where=f"query {query.name}",
                expected="a computation that can subtract what has expired",
                found=type(computation).__name__,
                remedy="use TimeToUpdate, which begins again instead",
            )
        task = _Task(query, computation, Future())
        task.future.set_running_or_notify_cancel()
        with self._changed:
            if self._closing:
                raise TransactionError(where="executor", expected="an open one", found="closed")
            self._scheduler.submit(query)
            self._tasks[query.name] = task
            self._changed.notify()
        return task.future

    def install(self, contents: Any) -> None:
        """Carry out the next update: at once, or as soon as the scheduler lets it."""
        with self._changed:
            self._waiting.append(contents)
            self._install_waiting()

    def close(self) -> None:
        """Stop when every read that is under way has ended; queries without an answer fail."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        for task in self._tasks.values():
            task.future.set_exception(
                TransactionError(
                    where=f"query {task.query.name}",
                    expected="time to answer",
                    found="an executor that was closed",
                )
            )
        self._tasks.clear()

    def _install_waiting(self) -> None:
        while self._waiting and self._scheduler.may_update():
            update = self._scheduler.update()
            inserted = self._window.install(self._waiting.popleft())
            self._note(Action.WRITE, update=update.number)
            self._note(Action.COMMIT, update=update.number)
            for name in update.aborted:
                task = self._tasks[name]
                task.attempts += 1
                task.handed.clear()
                self._note(Action.ABORT, query=name)
            if inserted:
                for name, version in self._scheduler.readers_to_tell():
                    if version in inserted:
                        self._tasks[name].handed.append((version, inserted[version]))
            self._window.drop_before(self._scheduler.oldest_needed())

    def _work(self) -> None:
        while step := self._next_step():
            read, task, contents = step
            try:
                part = task.computation.scan(contents)
                self._finish(read, task, part)
            except Exception as error:
                self._fail(task, error)
            finally:
                self._release(read.query)

    def _next_step(self) -> tuple[Read, _Task, Any] | None:
        with self._changed:
            while not self._closing:
                read = self._scheduler.next_read(self._busy)
                if read is not None:
                    self._busy.add(read.query)
                    contents = self._window.read(read.version, read.as_of)
                    return read, self._tasks[read.query], contents
                self._changed.wait()
        return None

    def _finish(self, read: Read, task: _Task, part: Any) -> None:
        with self._changed:
            outcome = self._acknowledge(read, task)
        if outcome.verdict is Verdict.VOID:
            return
        computation: Any = task.computation
        if read.attempt not in task.states:
            task.states = {read.attempt: computation.begin()}
        state = task.states[read.attempt]
        (computation.subtract if read.undo else computation.add)(state, part)
        if outcome.verdict is Verdict.COMMITS:
            for _, piece in task.handed:
                computation.add(state, computation.scan((piece,)))
            value = computation.answer(state)
            task.future.set_result(
                Answer(read.query, outcome.as_of, value, task.attempts, task.reads)
            )

    def _acknowledge(self, read: Read, task: _Task) -> Outcome:
        outcome = self._scheduler.acknowledge(read)
        task.reads += 1
        if outcome.verdict is Verdict.VOID:
            task.handed = [entry for entry in task.handed if entry[0] != read.version]
        else:
            pinned = read.as_of is not None and not read.undo
            self._note(
                Action.UNDO if read.undo else Action.READ,
                query=read.query,
                sub_window=read.version % self._scheduler.n,
                version=read.version if pinned else None,
            )
        if outcome.verdict is Verdict.COMMITS:
            self._note(Action.COMMIT, query=read.query)
            del self._tasks[read.query]
            self._install_waiting()
        self._window.drop_before(self._scheduler.oldest_needed())
        return outcome

    def _fail(self, task: _Task, error: Exception) -> None:
        with self._changed:
            if self._tasks.pop(task.query.name, None) is not None:
                self._scheduler.withdraw(task.query.name)
                self._note(Action.ABORT, query=task.query.name)
                self._install_waiting()
        task.future.set_exception(error)

    def _release(self, name: str) -> None:
        with self._changed:
            self._busy.discard(name)
            self._changed.notify_all()

    def _note(
        self,
        action: Action,
        query: str = "",
        update: int | None = None,
        sub_window: int | None = None,
        version: int | None = None,
    ) -> None:
        if self._operations is None:
            return
        if action is Action.WRITE and update is not None:
            sub_window = update % self._scheduler.n
        self._operations.append(Operation(action, query, update, sub_window, version))
