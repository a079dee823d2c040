"""Setting a checkpoint back to its last whole micro-batch, by moving files away.

Nothing is deleted: what is in the way goes to ``removed-<n>/`` beside it, under the path that it
had. The next run repeats the micro-batches after the whole one; which rows they have, and that
their results are not published twice, is as ``windrow.spark.checkpoint.survey`` says.

Order: first the notes of batches that ended, the newest first, then those of batches begun, then
state. Cut short at any point, what is left is a checkpoint of which the same repair can be made.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.object_store.object_path import ObjectPath, address_of, shared_directory
from windrow.result_files.atomic_files import publish, sync_names
from windrow.spark.checkpoint.batch_logs import checksums_of
from windrow.spark.checkpoint.survey import Survey, survey

REMOVED = "removed-"


@dataclass(frozen=True)
class Repair:
    """What would be done: the files that go, whether the metadata are written anew, and the
    first and last micro-batch that are repeated, if any are."""

    directory: Path
    moves: tuple[Path, ...]
    metadata: Path | None
    repeated: tuple[int, int] | None

    def carry_out(self) -> Path | None:
        """Do it; the directory that has what was moved away."""
        place = new_removed_directory(self.directory) if self.moves else None
        if place is not None:
            shared = shared_directory(self.directory)
            for path in self.moves:
                home = shared if isinstance(path, ObjectPath) else self.directory
                target = home / place.name / path.relative_to(home)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)
                sync_names(path.parent)
        if self.metadata is not None:
            publish(self.metadata, json.dumps({"id": str(uuid.uuid4())}))
        return place


def planned_repair(directory: Path) -> Repair | None:
    """What makes the checkpoint of a pipeline whole; None if it is, StateError if nothing does."""
    found = survey(directory)
    if not found.problems:
        return None
    if found.hopeless:
        first = found.hopeless[0]
        more = f" (and {len(found.hopeless) - 1} more)" if len(found.hopeless) > 1 else ""
        raise StateError(
            "the checkpoint cannot be repaired",
            where=address_of(first.path),
            found=f"{first.what}{more}",
            remedy="restore all of the checkpoint from a copy, or start over with another "
            "--checkpoint and other result directories",
        )
    moves = [path for path in dict.fromkeys(_moved(found)) if path.exists()]
    moves += [sums for path in moves if (sums := checksums_of(path)).is_file()]
    damaged = {problem.path for problem in found.problems}
    metadata = found.spark / "metadata"
    anew = metadata in damaged and found.whole >= 0
    repeated = (found.whole + 1, found.last) if found.last > found.whole else None
    return Repair(directory, tuple(moves), metadata if anew else None, repeated)


def _moved(found: Survey) -> list[Path]:
    whole, spark = found.whole, found.spark
    if whole == -1:
        files = found.state.directory
        return [spark, *(files.objects_below() if isinstance(files, ObjectPath) else [files])]
    keep = whole + 1 if whole + 1 in found.offsets.whole else whole
    commits = [found.commits.path(n) for n in range(found.commits.last, whole, -1)]
    offsets = [found.offsets.path(n) for n in range(found.offsets.last, keep, -1)]
    old = [log.path(n) for log in (found.offsets, found.commits) for n in log.damaged if n <= whole]
    state = [*found.state.not_up_to(whole), *found.state.damaged_files(found.last)]
    damaged = [p.path for p in found.problems if p.path == spark / "metadata"]
    return [*commits, *offsets, *old, *state, *damaged]


def new_removed_directory(directory: Path) -> Path:
    """Make ``removed-<n>/`` in a query's directory, with the next number."""
    taken = [p.name.removeprefix(REMOVED) for p in directory.glob(f"{REMOVED}*")]
    number = max((int(n) for n in taken if n.isdigit()), default=0) + 1
    place = directory / f"{REMOVED}{number}"
    place.mkdir()
    return place
