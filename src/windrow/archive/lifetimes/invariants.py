"""An index of lifetimes against its grid: what is in which sub-index, and how many runs hold it.

The invariants are those of ``docs/design/lifetimes.md``, so far as one version can show them. That
an older run was twice as large when a newer one was written is seen in what both have stored: the
newer was all alive then, and the older has lost nothing since but lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from windrow.archive.format.disk import Disk
from windrow.archive.format.run_ref import RunRef
from windrow.archive.lifetimes.index_contents import (
    Contents,
    Partition,
    RunState,
    histogram,
    subindex_name,
)
from windrow.archive.lifetimes.partition_grid import GridTechnique
from windrow.archive.progress_callback import Progress, nobody
from windrow.archive.verify import Problem, Tally, list_text, problem, verify
from windrow.archive.versions.manifest import Manifest


def verify_grid(disk: Disk, manifest: Manifest, progress: Progress = nobody) -> list[Problem]:
    """Everything that is wrong with an index of lifetimes; see ``verify``."""
    contents = Contents.of(manifest)
    return verify(
        disk,
        manifest,
        lambda tallies: grid_problems(manifest, contents, tallies),
        progress,
        expiry_periods=contents.periods.of_each,
    )


def grid_problems(
    manifest: Manifest, contents: Contents, tallies: Mapping[str, Tally]
) -> Iterator[Problem]:
    """``tallies`` has what was found in the runs that could be read."""
    if contents.state is None or contents.now is None:
        if manifest.runs or contents.draining or contents.state or contents.now is not None:
            yield problem(
                "state", expected="nothing before the first update", found="runs or a state"
            )
        return
    numbers = Counter(
        run.number for part in contents.partitions for runs in part.state.subindices for run in runs
    )
    if numbers != Counter(list(contents.runs)) or len(contents.runs) != len(manifest.runs):
        yield problem(
            "state",
            expected=f"each of the {len(manifest.runs)} runs of the manifest in one sub-index",
            found=f"the runs {list_text(sorted(numbers.elements()))}, where the manifest has "
            f"{list_text(sorted(contents.runs))}",
        )
        return
    if max(numbers, default=0) >= contents.next_run:
        yield problem(
            "state",
            expected=f"the next run to have a number after {max(numbers)}",
            found=str(contents.next_run),
        )
    for place, part in enumerate(contents.partitions):
        yield from _partition(contents, contents.now, part, place, tallies)


def _partition(
    contents: Contents, now: int, part: Partition, place: int, tallies: Mapping[str, Tally]
) -> Iterator[Problem]:
    where = "grid" if place == 0 else f"earlier grid {place}"
    state, over = part.state, contents.periods.over(now)
    if state.over != over:
        yield problem(
            where, expected=f"period {over} to be the last that is over", found=str(state.over)
        )
    if len(state.subindices) != part.grid.size:
        yield problem(
            where,
            expected=f"{part.grid.size} sub-indices, as {part.grid.name} has",
            found=str(len(state.subindices)),
        )
        return
    if place:
        yield from _earlier(contents, part, where)
    for number, runs in enumerate(state.subindices):
        name = subindex_name(place, number)
        for run in runs:
            ref = contents.runs[run.number]
            yield from _run(part, run, ref, name, number)
            if ref.name in tallies:
                yield from _entries(part, run, ref, tallies[ref.name], now)
        yield from _merge_problems(part, runs, name)


def _earlier(contents: Contents, part: Partition, where: str) -> Iterator[Problem]:
    """What drains is cut into the same periods, is kept as NoRebuild keeps it, and is not empty."""
    if replace(part.periods, longest=contents.periods.longest) != contents.periods or (
        part.periods.longest > contents.periods.longest
    ):
        yield problem(where, expected=f"periods as in {contents.periods}", found=str(part.periods))
    if part.grid.technique is not GridTechnique.NO_REBUILD or not part.live:
        yield problem(
            where,
            expected="NoRebuild, and records that live out",
            found=f"{part.grid.technique.value}, {part.state.stored_records()} records",
        )


def _run(part: Partition, run: RunState, ref: RunRef, name: str, number: int) -> Iterator[Problem]:
    """Where the records of a run belong, and how many of them are dead."""
    live = [end for end, _ in run.expiries if end > part.state.over]
    rows = [day for day, _ in ref.days if number not in part.grid.row(day, part.periods)]
    columns = [end for end in live if number not in part.grid.column(end, part.periods)]
    if rows or columns:
        yield problem(
            f"{ref.entries_file} in {name}",
            expected="entries of its row and its column",
            found=f"entries that do not belong there: inserted in periods {list_text(rows)}, "
            f"expiring in periods {list_text(columns)}",
        )
    dead, total = run.total - run.live(part.state.over), run.total
    rebuilt = part.grid.technique is GridTechnique.REBUILD
    if dead > (0 if rebuilt else total // 2) or not live:
        yield problem(
            f"{ref.entries_file} in {name}",
            expected="no record that was dead at the last update"
            if rebuilt
            else "at most two records for each live one",
            found=f"{dead} dead of {total}",
        )


def _entries(
    part: Partition, run: RunState, ref: RunRef, tally: Tally, now: int
) -> Iterator[Problem]:
    """The state's numbers against the entries themselves."""
    found = histogram(tally.ends)
    if found != run.expiries:
        yield problem(
            ref.entries_file,
            expected="entries by period of expiry as the state has them: "
            + list_text(f"{rows} in {end}" for end, rows in run.expiries),
            found=list_text(f"{rows} in {end}" for end, rows in found),
        )
    newest, longest = part.periods.of(now), part.periods.count
    if max(tally.days, default=newest) > newest:
        yield problem(
            ref.entries_file,
            expected=f"entries inserted up to period {newest}",
            found=f"some of period {max(tally.days)}",
        )
    if tally.lives is not None and not 0 <= tally.lives[0] <= tally.lives[1] <= longest:
        yield problem(
            ref.entries_file,
            expected=f"lives of 0 to {longest} periods",
            found=f"lives of {tally.lives[0]} to {tally.lives[1]}",
        )


def _merge_problems(part: Partition, runs: tuple[RunState, ...], name: str) -> Iterator[Problem]:
    if part.grid.technique is GridTechnique.REBUILD:
        if len(runs) > 1:
            yield problem(
                name, expected="one run at most, under Rebuild", found=f"{len(runs)} runs"
            )
        return
    for older, newer in pairwise(runs):
        if older.total < 2 * newer.total:
            yield problem(
                name,
                expected=f"run {older.number} to be at least twice as large as run {newer.number}, "
                "which is the next newer one",
                found=f"{older.total} and {newer.total} records",
            )
