"""What a checkpoint has of a pipeline: jobs that read their streams together.

pipeline.json       who runs in it: the number of a job is its place in the list
spark/              offsets and commits of micro-batches, in Spark's form
state/              the state of stages (``windrow.spark.stage.state_files``)
exchange/           what tasks send each other in a micro-batch (``windrow.spark.stage.blobs``)
fills/              what jobs that came later begin with (``windrow.spark.checkpoint.late_fill``)
streams/<name>.log  the file log of each stream
streams/<name>/     of text the rows that a micro-batch reads (``windrow.spark.source.text_spool``),
                    of a relation its updates (``windrow.spark.source.relation_updates``)
inboxes.json        of a connection: from where its inboxes are read
status.json         how the last run is doing (``windrow.spark.checkpoint.run_record``)

Jobs that start together on one clock make a pipeline. A job that comes later joins it if the others
hold what it would have by then, or if it cannot read what it missed anyway; otherwise it begins
another one, and reads its streams from their beginning. One that stays behind while the others go
on, since it failed or the script no longer has it, has *left*, and its state stays as it was then;
if it comes back it goes on from there in a pipeline of its own (``pipeline_members``).
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from windrow.core.errors import StateError
from windrow.core.time import BEGINNING
from windrow.object_store.object_path import ObjectPath, shared_directory, shared_place
from windrow.result_files.atomic_files import publish, read_record
from windrow.spark.source.file_log import last_batch_in, next_batch
from windrow.spark.stage.state_files import StateCommits, Version

PIPELINE = "pipeline.json"
FILLS = "fills"
PREFIX = "pipeline-"
VERSION = 6
"""Of everything in a checkpoint; one of another version is refused."""
REMEDY = "restore it, or choose a new directory with --checkpoint"


@dataclass(frozen=True)
class Joined:
    """How a job came to a pipeline that had run: it takes part in micro-batches after ``after``.

    Its answer begins at ``begins``, and is complete from ``complete_from`` on. In its first
    micro-batch it is filled with tuples up to ``closed`` and with those that waited, which are in
    ``files`` of ``fills/`` by the names of its edges, of ``size`` bytes; the ``times`` are those of
    its streams by then, and of these all tuples after ``since`` are there. What is in files may be
    ``summarised`` as senders would have done it. ``rows`` are the numbers of the first rows in
    windows of rows, by edges; None if they were not noted.
    """

    after: int
    closed: int = BEGINNING
    begins: int = BEGINNING
    complete_from: int | None = None
    size: int = 0
    since: Mapping[str, int] = field(default_factory=dict)
    times: Mapping[str, list[int]] = field(default_factory=dict)
    files: Mapping[str, list[str]] = field(default_factory=dict)
    summarised: bool = False
    rows: Mapping[str, int] | None = None


@dataclass(frozen=True)
class PipelineHome:
    """See the module. ``members`` are the directories of jobs, None for one that is gone for good;
    those in ``left`` have stayed behind, those ``joined`` have come later."""

    directory: Path
    run: str
    members: tuple[str | None, ...]
    left: frozenset[str] = frozenset()
    joined: Mapping[str, Joined] = field(default_factory=dict)

    @property
    def spark(self) -> Path:
        return self.directory / "spark"

    @cached_property
    def place_for_tasks(self) -> Path:
        """Where tasks find what is theirs."""
        return shared_directory(self.directory)

    @property
    def state(self) -> Path:
        return self.place_for_tasks / "state"

    @property
    def fills(self) -> Path:
        """What jobs that came later are filled with, in files that tasks read."""
        return self.place_for_tasks / FILLS

    @property
    def exchange(self) -> Path:
        return self.directory / "exchange"

    @property
    def offsets(self) -> Path:
        return self.spark / "offsets"

    @property
    def inboxes(self) -> Path:
        return self.directory / "inboxes.json"

    def log(self, stream: str) -> Path:
        return self.directory / "streams" / f"{stream.lower()}.log"

    def updates(self, stream: str) -> Path:
        """Where the accepted updates of a relation are, one file for each of its own."""
        return self.place_for_tasks / "streams" / stream.lower()

    @property
    def last_batch(self) -> int:
        """The last micro-batch that is noted as over; -1 if there is none."""
        noted = (self.spark / "commits").glob("[0-9]*")
        return max((int(path.name) for path in noted if path.name.isdigit()), default=-1)

    @property
    def last_begun(self) -> int:
        """The last micro-batch that was begun; -1 if there is none."""
        return next_batch(self.offsets) - 1

    @property
    def last_noted(self) -> int:
        """The last micro-batch that was begun, or that files were admitted for.

        A repair takes away what was noted of those that it repeats; the file logs stay.
        """
        logs = (self.directory / "streams").glob("*.log")
        return max(self.last_begun, *map(last_batch_in, logs), -1)

    @property
    def version(self) -> Version:
        """What there is after that micro-batch."""
        return StateCommits(self.state).before(self.last_batch + 1)

    def number_of(self, member: str) -> int:
        """The number of a job."""
        return self.members.index(member)

    @property
    def present(self) -> dict[str, int]:
        """The jobs that go on here, and their numbers."""
        found = {name: number for number, name in enumerate(self.members) if name is not None}
        return {name: number for name, number in found.items() if name not in self.left}

    def batch_of(self, member: str) -> int:
        """The last micro-batch that is part of a job's state, -1 if none is."""
        before = self.joined[member].after if member in self.joined else -1
        return self.version.published.get(self.number_of(member), (before, 0))[0]

    def without(self, names: Iterable[str]) -> PipelineHome:
        """Let jobs stay behind that are here now; what is written down is returned."""
        return self.write(left=self.left | frozenset(names))

    def write(self, **changes: Any) -> PipelineHome:
        """Write this down, with changes."""
        new = replace(self, **changes)
        known = {
            "version": VERSION,
            "run": new.run,
            "members": list(new.members),
            "left": sorted(new.left),
            "joined": {name: asdict(how) for name, how in new.joined.items()},
        }
        publish(new.directory / PIPELINE, json.dumps(known, indent=1))
        return new


def read_pipeline(directory: Path) -> PipelineHome:
    """The pipeline of a directory; StateError if it is damaged or of another version."""
    path = directory / PIPELINE
    known = read_record(path, "the checkpoint", _checked, remedy=REMEDY)
    if known["version"] != VERSION:
        raise StateError(
            "the checkpoint is of another version of Windrow",
            where=str(directory),
            expected=f"a checkpoint of version {VERSION}",
            found=f"one of version {known['version']}",
            remedy="finish the run with the Windrow that began it, or start over with another "
            "--checkpoint and other result directories",
        )
    left = frozenset(map(str, known["left"]))
    return PipelineHome(directory, known["run"], tuple(known["members"]), left, known["joined"])


def _checked(known: Any) -> dict[str, Any]:
    found = {name: known[name] for name in ("version", "run", "members", "left")}
    joined = {name: Joined(**how) for name, how in known.get("joined", {}).items()}
    return {**found, "joined": joined}


def pipeline_directories(checkpoint: Path) -> list[Path]:
    """The directories of a checkpoint's pipelines, the oldest first."""
    found = [path.parent for path in checkpoint.glob(f"{PREFIX}*/{PIPELINE}")]
    return sorted(found, key=lambda directory: (_number(directory), directory.name))


def new_pipeline(checkpoint: Path, members: Sequence[str]) -> PipelineHome:
    """A pipeline of jobs that have not run, or not since they were rewound."""
    directory = next_directory(checkpoint)
    directory.mkdir(parents=True)
    return PipelineHome(directory, uuid.uuid4().hex, tuple(members)).write()


def next_directory(checkpoint: Path) -> Path:
    """A directory for one more pipeline; what a start that was cut short left is not used again."""
    taken = [_number(path) for path in checkpoint.glob(f"{PREFIX}*")]
    place = shared_place(checkpoint)
    if isinstance(place, ObjectPath):
        taken += [_number(Path(name)) for name in place.bucket.list_folders(place.key)]
    return checkpoint / f"{PREFIX}{max(taken, default=0) + 1}"


def _number(directory: Path) -> int:
    text = directory.name.removeprefix(PREFIX)
    return int(text) if text.isdigit() else 0
