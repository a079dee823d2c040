"""Results that a checkpoint has published and that are not there any more.

A run that went on without them would give an answer of half of the changes, and nobody would know.
"""

from __future__ import annotations

from pathlib import Path

from windrow.core.errors import StateError
from windrow.result_files.reader import Published, published_results
from windrow.spark.checkpoint.query_directory import Home


def refuse_lost_results(home: Home, directory: Path) -> None:
    """Refuse results that lack a micro-batch which Spark has noted as done, or a file of one."""
    noted = home.last_batch
    if noted is None:
        return
    state = published_results(directory)
    mine = state.run in (None, home.run)
    if not mine or state.last < noted or state.totals.batches < noted + 1:
        done = f"{state.totals.batches} of them" if mine and state.totals.batches else "none"
        raise _lost(home, directory, f"the {noted + 1} micro-batches that it has published", done)
    refuse_missing_files(home, state)


def refuse_lost_member(home: Home, directory: Path) -> None:
    """The same for a query of a group, which has commits only where its answer changed."""
    if home.last_batch is None:
        return
    state = published_results(directory)
    mine = state.run == home.run or any(c.run == home.run for c in state.commits)
    if not mine:
        raise _lost(home, directory, "the results that it has published", "none")
    refuse_missing_files(home, state)


def refuse_missing_files(home: Home, state: Published) -> None:
    """Refuse commits that name files which are gone."""
    there = {path.name for path in state.directory.iterdir()} if state.names() else set()
    missing = sorted(state.names() - there)
    if missing:
        found = f"no {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else "")
        raise _lost(home, state.directory, "all files that its commits name", found)


def _lost(home: Home, directory: Path, expected: str, found: str) -> StateError:
    return StateError(
        f"results of the checkpoint {home.directory} are gone",
        where=f"INTO '{directory}'",
        expected=expected,
        found=found,
        remedy="restore the directory (or name the one where they are), or start over with another "
        "--checkpoint and directory",
    )
