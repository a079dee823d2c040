"""The same queries in real threads: what they saw is checked, how long it took is not compared.

Two workers scan packets with a compiled kernel that gives up the GIL; a writer moves the window
with every answer. Each answer is counted again over the state that it names, and the history of all
reads and writes is classified.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

import numpy as np

from benchmarks.concurrency_runs import KINDS
from benchmarks.concurrency_workload import SLOTS, Packets, Workload, scan_group
from windrow.sharing.transactions.executor import Answer, Executor
from windrow.sharing.transactions.isolation import Isolation, classify
from windrow.sharing.transactions.scheduler import ReadTransaction, Scheduler
from windrow.sharing.transactions.stored_windows import SubWindows

Table = tuple[np.ndarray, np.ndarray]


class BytesBySource:
    """How many bytes each source has sent."""

    def begin(self) -> list[Table]:
        return []

    def scan(self, contents: Packets) -> Table:
        keys, counters = np.full(SLOTS, -1, dtype=np.int64), np.zeros(SLOTS, dtype=np.int64)
        scan_group(contents.source, contents.size, keys, counters)
        used = keys != -1
        return keys[used], counters[used]

    def add(self, state: list[Table], part: Table) -> None:
        state.append(part)

    def answer(self, state: list[Table]) -> dict[int, int]:
        return total(state)


def total(parts: list[Table]) -> dict[int, int]:
    keys, places = np.unique(np.concatenate([part[0] for part in parts]), return_inverse=True)
    sums = np.bincount(places, weights=np.concatenate([part[1] for part in parts]))
    return dict(zip(keys.tolist(), sums.astype(np.int64).tolist(), strict=True))


@dataclass(frozen=True)
class Threads:
    """What came of one run."""

    answers: int
    wrong: int
    updates: int
    restarts: int
    isolation: Isolation


def run_threads(kind: type[Scheduler], workload: Workload, queries: int, workers: int) -> Threads:
    n = workload.n
    random = np.random.default_rng(0)
    lengths = random.integers(1, n + 1, queries)
    window = SubWindows(workload.packets[:n])
    with Executor(window, kind, workers, record=True) as executor:
        futures = [
            executor.submit(ReadTransaction(f"Q{number}", int(length)), BytesBySource())
            for number, length in enumerate(lengths)
        ]
        writer = Thread(target=_move, args=(executor, workload.packets[n:], futures))
        writer.start()
        answers = [future.result(timeout=120) for future in futures]
        writer.join()
        history = executor.history
    wrong = 0
    for answer, length in zip(answers, lengths, strict=True):
        seen = workload.packets[answer.as_of - length + 1 : answer.as_of + 1]
        wrong += answer.value != total([(p.source, p.size) for p in seen])
    restarts = sum(answer.attempts - 1 for answer in answers)
    updates = executor.newest - n + 1
    return Threads(queries, int(wrong), updates, restarts, classify(history))


def _move(executor: Executor, packets: list[Packets], answers: list[Future[Answer]]) -> None:
    for sub_window, answer in zip(packets, answers, strict=False):
        answer.result(timeout=120)
        executor.install(sub_window)


def check_threads(quick: bool) -> dict[str, Threads]:
    """Every scheduler in two threads over the same packets."""
    workload = Workload(10 if quick else 40, 1, 5, seed=0)
    scans = BytesBySource()
    scans.answer([scans.scan(workload.packets[0])])  # compiled before threads begin
    return {kind.name: run_threads(kind, workload, 30 if quick else 60, 2) for kind in KINDS}
