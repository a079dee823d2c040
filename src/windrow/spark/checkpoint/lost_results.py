"""Results that a checkpoint has published and that are not there any more.

A run that went on without them would give an answer of half of the changes, and nobody would know.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.result_files.commits import Published
from windrow.result_files.reader import published_results
from windrow.spark.checkpoint.query_directory import Home


@dataclass(frozen=True)
class Noted:
    """The last micro-batch in which a job has published, in how many it did, and the last that was
    begun, which it may have published too."""

    last: int
    count: int
    begun: int


def refuse_lost_results(home: Home, noted: Noted, directory: Path) -> None:
    """Refuse results that lack a micro-batch which was published, or a file of one.

    Those of micro-batches that the checkpoint knows nothing of are refused too.
    """
    state = published_results(directory)
    mine = state.run in (None, home.run)
    if state.run == home.run and state.last > noted.begun:
        raise _unknown(home, directory)
    if not noted.count:
        return
    if not mine or state.last < noted.last or state.totals.batches < noted.count:
        done = f"{state.totals.batches} of them" if mine and state.totals.batches else "none"
        raise _lost(home, directory, f"the {noted.count} micro-batches that it has published", done)
    refuse_missing_files(home, state)


def refuse_lost_member(home: Home, noted: Noted, directory: Path) -> None:
    """The same for a query of a group, which has commits only where its answer changed."""
    if not noted.count:
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


def _unknown(home: Home, directory: Path) -> StateError:
    return StateError(
        f"the checkpoint {home.directory.parent} lacks a part of what it had",
        where=f"INTO '{directory}'",
        expected="results of micro-batches that the checkpoint knows of",
        found="later ones that it has published",
        remedy="restore all of the checkpoint from a copy, or start over with another --checkpoint "
        "and directory",
    )
