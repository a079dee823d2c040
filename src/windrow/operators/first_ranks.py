"""Which of ranked rows are the first k present, as rows come and go in order of time.

A Fenwick tree counts the rows present by rank, so the n-th of them is one descent.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.kernels import int64, ints, ints_out, kernel, signs


@kernel(ints_out, ints)
def counting_tree(held):  # type: ignore[no-untyped-def]
    """A tree over prefix counts of ``held``, index 0 unused."""
    tree = np.zeros(len(held) + 1, np.int64)
    for i in range(1, len(tree)):
        tree[i] += held[i - 1]
        parent = i + (i & -i)
        if parent < len(tree):
            tree[parent] += tree[i]
    return tree


@kernel(int64, ints_out, int64)
def nth_present(tree, k):  # type: ignore[no-untyped-def]
    """The rank of the k-th row present (from 1), by descending a Fenwick tree."""
    at, step = 0, 1
    while step * 2 < len(tree):
        step *= 2
    while step:
        if at + step < len(tree) and tree[at + step] < k:
            at += step
            k -= tree[at]
        step //= 2
    return at


@kernel(int64, ints, ints, signs, int64, ints_out, ints_out, ints_out, *[ints_out] * 3)
def changes_of_first(rank, time, sign, count, tree, held, shown, out_rank, out_time, out_sign):  # type: ignore[no-untyped-def]
    """Play events in order of time; how many changes of the first ``count`` rows there are.

    ``held[r]`` says whether the row of rank r is present; ``shown`` are the ranks of the first
    rows as last announced, -1 where there are fewer than ``count``.
    """
    changes, present, i = 0, 0, 0
    for r in range(len(held)):
        present += held[r]
    fresh = np.empty(count, np.int64)
    while i < len(rank):
        now = time[i]
        while i < len(rank) and time[i] == now:
            r = rank[i]
            held[r] += sign[i]
            present += sign[i]
            at = r + 1
            while at < len(tree):
                tree[at] += sign[i]
                at += at & -at
            i += 1
        for j in range(count):
            fresh[j] = nth_present(tree, j + 1) if j < present else -1
        # Both lists ascend, so one pass finds what left and what came.
        a, b = 0, 0
        while True:
            old = shown[a] if a < count else -1
            new = fresh[b] if b < count else -1
            if old < 0 and new < 0:
                break
            if old == new:
                a += 1
                b += 1
                continue
            leaves = new < 0 or (old >= 0 and old < new)
            if changes < len(out_rank):
                out_rank[changes] = old if leaves else new
                out_time[changes] = now
                out_sign[changes] = -1 if leaves else 1
            changes += 1
            if leaves:
                a += 1
            else:
                b += 1
        for j in range(count):
            shown[j] = fresh[j]
    return changes
