"""How large sub-indices are when records come evenly and lifetimes are spread evenly.

The setting of Theorem 4.1 of Golab 2006 (Appendix A): with p update intervals in the longest
lifetime, each of the p periods of insertion that still matter has left one unit of records for
each expiry period that is not over and within its reach, p (p + 1) / 2 units in all. Counting
them for the grid at hand is exact for any grid; p rarely exceeds a hundred.
"""

from __future__ import annotations

from windrow.archive.lifetimes.partition_grid import Grid
from windrow.archive.lifetimes.periods import Periods


def unit_sizes(grid: Grid, periods: Periods, over: int) -> tuple[int, ...]:
    """Units of records in each sub-index right after the update that ends period ``over``."""
    sizes = [0] * grid.size
    for inserted in range(over - periods.count + 1, over + 1):
        for expires in range(over + 1, inserted + periods.count + 1):
            sizes[grid.subindex(inserted, expires, periods)] += 1
    return tuple(sizes)


def touched_units(grid: Grid, periods: Periods, over: int) -> tuple[tuple[int, ...], ...]:
    """Units in the sub-indices that one update touches, before it: (row, column without row)."""
    sizes = unit_sizes(grid, periods, over - 1)
    row = grid.row(over, periods)
    rest = (number for number in grid.column(over, periods) if number not in row)
    return tuple(sizes[i] for i in row), tuple(sizes[i] for i in rest)


def unevenness(grid: Grid, periods: Periods) -> float:
    """Sum over sub-indices of the squared deviation from the mean size, averaged over updates.

    What Appendix A calls the average variance, in squared units. Averaged over p updates, after
    which chronological and round-robin grids that divide p stand as they did before.
    """
    mean = periods.count * (periods.count + 1) / (2 * grid.size)
    total = sum(
        (size - mean) ** 2
        for over in range(periods.count)
        for size in unit_sizes(grid, periods, over)
    )
    return total / periods.count
