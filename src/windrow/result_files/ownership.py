"""Whose the results in a directory are, and how they come to be another run's.

A directory of results belongs to one run: a checkpoint with all that go on from it, or a single run
without one. Everything here is done by whoever holds the directory's lock.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import StateError
from windrow.plan.nodes.routed import MEMBER
from windrow.result_files import atomic_files as files
from windrow.result_files.commits import COMPACTED, Published
from windrow.result_files.directory_lock import publishing
from windrow.result_files.identity import RESULTS, Identity
from windrow.result_files.reader import published_results

_RECORD = re.compile(
    r"_(compacted|(batches-\d{8,}-\d{8,}|answer-\d{8,})(-\w{32})?)\.(json|parquet)", re.ASCII
)
_NUMBERED = re.compile(
    r"_commit-(\d{8,})\.json|batch-(\d{8,})-\d{5,}(?:-\w{32})?\.(parquet|csv|jsonl)", re.ASCII
)
"""Names that records, and commits and files of a micro-batch, have when they are published."""
_LOOSE = re.compile(r"batch-\w{32}\.(parquet|csv|jsonl)", re.ASCII)
"""What tasks have put into an object store, for a commit to name."""
_LEFT = re.compile(r"\.(batch-|_commit-|_compacted\.|_batches-|_answer-|_results\.).*", re.ASCII)
"""Names that all of them have while they are written; rows that wait for an archive have others."""


def refuse_results_of_others(
    directory: Path, runs: Collection[str], *, overwrite: bool = False
) -> None:
    """Refuse a directory with results of a run that is none of ``runs``."""
    owner = None if overwrite else _owner(directory)
    if owner is not None and owner not in runs:
        known = Identity.read(directory)
        whose = f"those of query {known.query}, " if known is not None else "those "
        raise StateError(
            where=f"INTO '{directory}'",
            expected="no results, or those of this run",
            found=f"{whose}of another run",
            remedy="name another directory, resume from the checkpoint of that run, or replace its "
            "results with --overwrite (in Python: connect(..., overwrite=True))",
        )


def prepare(directory: Path, identity: Identity, *, overwrite: bool = False) -> None:
    """Make a directory, which is locked, ready for a run: nothing of another or of a dead one."""
    with publishing(directory):
        _prepare(directory, identity, overwrite=overwrite)


def _prepare(directory: Path, identity: Identity, *, overwrite: bool) -> None:
    refuse_results_of_others(directory, (identity.run,), overwrite=overwrite)
    known, seen = Identity.read(directory), files.version_read(directory / RESULTS)
    if known is not None and known.run == identity.run:
        same = replace(known, query=identity.query) == identity  # a group is called by its members
        if not same and not _is_wider(identity, known) and published_results(directory).last >= 0:
            _refuse_changed(directory, known, identity)
    if known != identity:
        identity.publish(directory, seen)  # from here on no result of another run is one
    for path in directory.iterdir():
        if _LEFT.fullmatch(path.name):
            files.delete(path)
    clear(directory, published_results(directory), everything=True)


def _is_wider(new: Identity, known: Identity) -> bool:
    """Whether these are the changes of a group, which has got more columns for queries that came:
    earlier changes have nothing in them."""
    wider = replace(known, query=new.query, schema=new.schema, order=new.order) == new
    first = [new.schema.field(i) for i in range(min(len(known.schema), len(new.schema)))]
    return wider and MEMBER in known.schema.names and pa.schema(first).equals(known.schema)


def clear(
    directory: Path,
    state: Published,
    *,
    everything: bool = False,
    replaced: Collection[str] = (),
) -> None:
    """Remove what no commit or record speaks of any more.

    Of micro-batches that are not compacted only if ``everything`` should go: a sink may be about to
    commit them. Files that have no number in their names, as in an object store, go when they have
    been ``replaced``, or with everything.
    """
    through = -1 if state.compacted is None else state.compacted.through
    kept = state.names() | ({COMPACTED} if state.compacted is not None else set())
    kept |= {commit.path(directory).name for commit in state.commits}
    for path in list(directory.iterdir()):
        number = _NUMBERED.fullmatch(path.name)
        loose = _LOOSE.fullmatch(path.name) is not None
        over = everything or (path.name in replaced if loose else _is_over(number, through))
        if (loose or number or _RECORD.fullmatch(path.name)) and path.name not in kept and over:
            files.delete(path)


def _is_over(number: re.Match[str] | None, through: int) -> bool:
    return number is None or int(number[1] or number[2]) <= through


def _owner(directory: Path) -> str | None:
    """The run whose results are there; None if there are none."""
    state = published_results(directory)
    if state.run is not None or state.last < 0:
        return state.run if state.last >= 0 else None
    return state.commits[-1].run if state.commits else ""


def _refuse_changed(directory: Path, known: Identity, wanted: Identity) -> None:
    changed = "format" if known.format != wanted.format else "columns"
    raise StateError(
        where=f"INTO '{directory}'",
        expected=f"results with the {changed} of the script",
        found=f"{known.format}" if changed == "format" else ", ".join(known.schema.names),
        remedy="undo the change to the script, or use another directory and a new checkpoint",
    )
