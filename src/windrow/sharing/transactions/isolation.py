"""Which isolation level a history has (Golab 2006, 7.3 and 7.6).

The serialisation graph has an edge from each transaction to those that conflict with it later. Two
updates conflict if they write the same sub-window. A query that read version v comes after every
update that wrote this sub-window up to v, and before every one after v.

The text's criteria speak of windows of n sub-windows. From the window of a query over the n_k
youngest, version v is gone when T_(v+n_k) comes, long before anybody overwrites it. Algorithm 7
aborts by that rule, but the graph of the text has no edge for it, and would call a stale answer
the latest one. So a query that read v also comes before T_(v+n_k), which for n_k = n changes
nothing.

Cost: the number of reads times the number of updates to a sub-window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from windrow.sharing.transactions.history import Execution, History

Node = int | tuple[str, int]
"""An update by its number, or a query by its name and the place of its commit."""


@dataclass(frozen=True)
class Isolation:
    """What is true of a history.

    ``latest_window_serialisable`` implies ``window_serialisable``, and that
    ``conflict_serialisable``; ``commit_order_preserving`` is the same as the latest if updates
    commit at once (Theorem 7.5), and else neither implies the other.
    """

    conflict_serialisable: bool
    window_serialisable: bool
    latest_window_serialisable: bool
    commit_order_preserving: bool

    def __str__(self) -> str:
        names = {
            "conflict-serialisable": self.conflict_serialisable,
            "WS": self.window_serialisable,
            "LWS": self.latest_window_serialisable,
            "CPS": self.commit_order_preserving,
        }
        return ", ".join(name for name, holds in names.items() if holds) or "none"


def classify(history: History) -> Isolation:
    """By the criteria of Theorems 7.1 and 7.2 on the graph, and by the order of commits.

    >>> from windrow.sharing.transactions.history import parse_history
    >>> print(classify(parse_history("r[0] w2[0] c2 r[1] c", n=2)))
    conflict-serialisable, WS
    >>> print(classify(parse_history("w2[0] c2 r[0] r[1] c", n=2)))
    conflict-serialisable, WS, LWS, CPS
    """
    return Isolation(
        conflict_serialisable=_is_acyclic(history),
        window_serialisable=all(_is_contiguous(history, q) for q in history.executions),
        latest_window_serialisable=all(_is_latest(history, q) for q in history.executions),
        commit_order_preserving=_keeps_order_of_commits(history),
    )


def edges(history: History) -> Iterator[tuple[Node, Node]]:
    """The serialisation graph, of what committed. Updates before the history are among its nodes
    if somebody read what they wrote."""
    for update in history.writes:
        for later in range(update + history.n, _last(history) + 1, history.n):
            yield update, later
    for query in history.executions:
        node = query.query, query.commit
        for update in updates_before(history, query):
            yield update, node
        for update in updates_after(history, query):
            yield node, update


def updates_before(history: History, query: Execution) -> set[int]:
    """The updates that are serialised before the query: it saw them, or what replaced them."""
    return {
        update
        for version in query.versions
        for update in (version, *_earlier(history, version))
        if update == version or update in history.writes
    }


def updates_after(history: History, query: Execution) -> set[int]:
    """The updates that are serialised after the query: they replace or expire what it read."""
    found: set[int] = set()
    for version in query.versions:
        found.update(range(version + history.n, _last(history) + 1, history.n))
        found.add(version + query.length)
    return {update for update in found if update <= _last(history)}


def _earlier(history: History, version: int) -> range:
    return range(version - history.n, history.before, -history.n)


def _last(history: History) -> int:
    return max(history.writes, default=history.before)


def _is_acyclic(history: History) -> bool:
    graph: dict[Node, set[Node]] = {}
    for before, after in edges(history):
        graph.setdefault(after, set()).add(before)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return True


def _is_contiguous(history: History, query: Execution) -> bool:
    """Theorem 7.1: whatever is before the query has a smaller number than whatever is after."""
    after = updates_after(history, query)
    return not after or max(updates_before(history, query)) < min(after)


def _is_latest(history: History, query: Execution) -> bool:
    """Theorem 7.2: every update that was written before the query's end is serialised before it."""
    after = updates_after(history, query)
    return not any(history.writes.get(update, -1) < query.commit for update in after)


def _keeps_order_of_commits(history: History) -> bool:
    def commit(node: Node) -> int:
        return history.commits.get(node, -1) if isinstance(node, int) else node[1]

    return all(commit(before) < commit(after) for before, after in edges(history))
