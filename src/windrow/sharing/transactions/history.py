"""Histories: what queries read and updates wrote, in the order in which it happened.

A window is a circular array of ``n`` sub-windows. The update T_j replaces sub-window j mod n, so
what a sub-window holds is known by the number of the update that wrote it: its *version*. After T_m
the window is the versions m-n+1 to m (Golab 2006, 7.2.3).

The written form is that of the text::

    rQ1[0] w5[0] c5 rQ1[1] cQ1     query Q1 reads sub-window 0, T5 replaces it and commits, ...
    r[0] c                         the same of a query without a name, if there is only one
    aQ1                            Q1 is aborted; what follows of Q1 is a new attempt
    rQ1[0@5]                       reads the copy that T5 wrote, although there may be a newer one
    uQ1[0]                         undoes what it has read of sub-window 0, which it may read again

Limits: updates come in the order of their numbers, without a gap, and none is aborted; a query
reads a sub-window once in an attempt. A history that breaks this is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from windrow.core.errors import WindrowError


class TransactionError(WindrowError):
    """A history, a window or a query that the transactions of a sliding window cannot have."""


class Action(Enum):
    """What an operation does; the value is its letter in the written form."""

    READ = "r"
    WRITE = "w"
    COMMIT = "c"
    ABORT = "a"
    UNDO = "u"


@dataclass(frozen=True)
class Operation:
    """One step of one transaction: of update ``update``, or else of the query ``query``.

    ``version`` is which copy a query reads, if it is not the one that is in the window.
    """

    action: Action
    query: str = ""
    update: int | None = None
    sub_window: int | None = None
    version: int | None = None

    def __str__(self) -> str:
        whose = self.query if self.update is None else str(self.update)
        copy = "" if self.version is None else f"@{self.version}"
        where = "" if self.sub_window is None else f"[{self.sub_window}{copy}]"
        return f"{self.action.value}{whose}{where}"


@dataclass(frozen=True)
class Execution:
    """An attempt of a query that committed: when it ran, and which versions it read.

    ``first`` and ``commit`` are places in the history, ``newest`` is the last update that was
    written before the commit.
    """

    query: str
    first: int
    commit: int
    versions: tuple[int, ...]
    newest: int

    @property
    def length(self) -> int:
        """The number of sub-windows in its window: n_k."""
        return len(self.versions)


@dataclass(frozen=True)
class History:
    """Operations over a window of ``n`` sub-windows, in order. Wrong ones are refused when made.

    ``newest`` is the update that was the last before the history begins; without it, the one
    before the first update that is in it.

    >>> history = parse_history("rQ1[4] w5[0] c5 rQ1[0] cQ1", n=5)
    >>> history.executions
    (Execution(query='Q1', first=0, commit=4, versions=(4, 5), newest=5),)
    >>> str(history)
    'rQ1[4] w5[0] c5 rQ1[0] cQ1'
    """

    n: int
    operations: tuple[Operation, ...]
    newest: int | None = None

    def __post_init__(self) -> None:
        _refuse_wrong_updates(self)
        _ = self.executions

    def __str__(self) -> str:
        return " ".join(map(str, self.operations))

    @cached_property
    def writes(self) -> dict[int, int]:
        """For each update of the history, where it wrote."""
        return {
            operation.update: place
            for place, operation in enumerate(self.operations)
            if operation.action is Action.WRITE and operation.update is not None
        }

    @cached_property
    def commits(self) -> dict[int, int]:
        """For each update of the history, where it committed."""
        return {
            operation.update: place
            for place, operation in enumerate(self.operations)
            if operation.action is Action.COMMIT and operation.update is not None
        }

    @property
    def before(self) -> int:
        """The last update before the history."""
        if self.newest is not None:
            return self.newest
        return min(self.writes, default=self.n) - 1

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        """The attempts that committed, in the order of their commits.

        What was aborted or has not ended is left out, and so is what was undone.
        """
        return tuple(_replay(self))


def _replay(history: History) -> Iterator[Execution]:
    newest = history.before
    first: dict[str, int] = {}
    reading: dict[str, dict[int, int]] = {}
    for place, operation in enumerate(history.operations):
        query, at = operation.query, operation.sub_window
        if operation.update is not None:
            if operation.action is Action.WRITE:
                newest = operation.update
            continue
        versions = reading.setdefault(query, {})
        first.setdefault(query, place)
        match operation.action:
            case Action.READ:
                assert at is not None
                if not 0 <= at < history.n or at in versions:
                    raise _wrong(operation, f"each of sub-windows 0 to {history.n - 1} read once")
                versions[at] = _version_read(history, operation, newest)
            case Action.UNDO:
                if at not in versions:
                    raise _wrong(operation, "a sub-window that the query has read")
                del versions[at]
            case _:
                if operation.action is Action.COMMIT:
                    if not versions:
                        raise _wrong(operation, "a read before the commit")
                    read = tuple(sorted(versions.values()))
                    yield Execution(query, first[query], place, read, newest)
                del reading[query], first[query]


def _version_read(history: History, operation: Operation, newest: int) -> int:
    at = operation.sub_window
    assert at is not None
    current = newest - (newest - at) % history.n
    version = current if operation.version is None else operation.version
    if version % history.n != at or version > current or version < 0:
        raise _wrong(operation, f"a copy of sub-window {at} that was written before")
    return version


def _refuse_wrong_updates(history: History) -> None:
    due = history.before + 1
    for operation in history.operations:
        if operation.update is None:
            continue
        if operation.action is Action.WRITE:
            if operation.update != due or operation.sub_window != due % history.n:
                raise _wrong(operation, f"w{due}[{due % history.n}]")
            due += 1
        elif operation.action is not Action.COMMIT or not operation.update < due:
            raise _wrong(operation, "the write before the commit; updates are never aborted")
    open_ones = sorted(history.writes.keys() - history.commits.keys())
    if open_ones:
        raise TransactionError(
            where="history", expected=f"a commit c{open_ones[0]}", found="none", remedy="add it"
        )


def _wrong(operation: Operation, expected: str) -> TransactionError:
    return TransactionError(where="history", expected=expected, found=str(operation))


_OPERATION = re.compile(
    r"(?P<action>[rwcau])(?P<whose>\d+|[A-Za-z]\w*)?(?:\[(?P<at>\d+)(?:@(?P<version>\d+))?\])?"
)


def parse_history(text: str, n: int, newest: int | None = None) -> History:
    """Read the written form. A query whose name is left out is Q1.

    >>> parse_history("r[0] w5[0] c5 c", n=5).executions[0].versions
    (0,)
    """
    return History(n, tuple(_parsed_operations(text)), newest)


def _parsed_operations(text: str) -> Iterable[Operation]:
    for word in text.split():
        found = _OPERATION.fullmatch(word)
        if found is None:
            raise TransactionError(
                where="history", expected="an operation such as rQ1[0], w5[0], c5", found=word
            )
        action = Action(found["action"])
        whose = found["whose"] or "Q1"
        at = None if found["at"] is None else int(found["at"])
        version = None if found["version"] is None else int(found["version"])
        of_update = whose.isdigit()
        needs_place = action in {Action.READ, Action.WRITE, Action.UNDO}
        if needs_place != (at is not None) or (action is Action.WRITE) > of_update:
            raise TransactionError(
                where="history", expected="an operation such as rQ1[0], w5[0], c5", found=word
            )
        if of_update and action in {Action.READ, Action.UNDO}:
            raise TransactionError(
                where="history", expected="a query that reads, as in rQ1[0]", found=word
            )
        if of_update:
            yield Operation(action, update=int(whose), sub_window=at)
        else:
            yield Operation(action, query=whose, sub_window=at, version=version)
