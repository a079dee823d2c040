"""What has been committed of a query's results.

A directory of results holds data files and one ``_commit-<batch>.json`` per micro-batch, which
names the files of that micro-batch and says what went in and came out. A file that no commit
names is not a result.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from windrow.engine.files import read_record

COMMIT = "_commit-"


@dataclass(frozen=True)
class Commit:
    """What a micro-batch published. ``run`` tells a repeated batch from one of another run."""

    batch: int
    run: str
    files: tuple[str, ...]
    now: int | None
    rows_in: int
    rows_out: int
    late: int
    rejected: int

    def path(self, directory: Path) -> Path:
        return commit_path(directory, self.batch)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, path: Path) -> Commit:
        return read_record(
            path,
            "a commit of results",
            lambda values: cls(**{**values, "files": tuple(values["files"])}),
            remedy="move the directory of results away and run the script from the beginning",
        )


def commit_path(directory: Path, batch: int) -> Path:
    """Where the commit of a micro-batch is, if there is one."""
    return directory / f"{COMMIT}{batch:08d}.json"


def commits(directory: Path, after: int = -1) -> list[Commit]:
    """The commits of the micro-batches after ``after``, in their order."""
    paths = sorted(directory.glob(f"{COMMIT}*.json"))
    return [Commit.read(p) for p in paths if int(p.stem.removeprefix(COMMIT)) > after]
