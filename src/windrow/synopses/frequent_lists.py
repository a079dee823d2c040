"""The k most frequent items of each sub-window of a batch, counted by local counters.

Lines 2 to 10 of Algorithm 6 (Golab 2006, 6.2.1), compiled: O(1) per tuple, and O(d) per sub-window
with d different items, unless most of them make it into the list for a while.
"""

from __future__ import annotations

import numpy as np

from windrow.columns.kernels import grid_out, int64, ints, ints_out, kernel, void


@kernel(void, ints, ints, ints, ints, int64, grid_out, grid_out, ints_out)
def top_lists(code, weight, cuts, rank, k, best, counts, lengths):  # type: ignore[no-untyped-def]
    """Sub-window i has the tuples from ``cuts[i]`` to ``cuts[i + 1]``.

    ``code`` numbers the items of the batch, and a tuple counts ``weight`` times. Lists are from the
    most frequent item to the least; of equally frequent ones the lesser ``rank`` is first.
    """
    local = np.zeros(len(rank), np.int64)
    seen = np.empty(len(rank), np.int64)
    for window in range(len(cuts) - 1):
        different = 0
        for i in range(cuts[window], cuts[window + 1]):
            item = code[i]
            if local[item] == 0:
                seen[different] = item
                different += 1
            local[item] += weight[i]
        length = 0
        for j in range(different):
            item, count = seen[j], local[seen[j]]
            local[item] = 0
            place = length
            while place > 0 and (
                counts[window, place - 1] < count
                or (
                    counts[window, place - 1] == count
                    and rank[best[window, place - 1]] > rank[item]
                )
            ):
                place -= 1
            if place >= k:
                continue
            length = min(length + 1, k)
            for after in range(length - 1, place, -1):
                best[window, after] = best[window, after - 1]
                counts[window, after] = counts[window, after - 1]
            best[window, place], counts[window, place] = item, count
        lengths[window] = length
