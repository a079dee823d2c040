"""Result files: hidden while they are written, published by a commit that names them."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from windrow.core.errors import InputError, StateError
from windrow.engine.commits import Commit, commit_path, commits
from windrow.engine.files import publish

SUFFIX = {"parquet": "parquet", "csv": "csv", "json": "jsonl"}
ROWS_PER_FILE = 250_000


def prepare(directory: Path, run: str) -> None:
    """Make the directory ready for a run: the results of an earlier run go.

    Only files that a commit of ours names are removed.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            where=f"INTO '{directory}'",
            expected="a directory, there or to be made",
            found="a file" if isinstance(error, FileExistsError) else str(error),
            remedy="name another place for the results",
        ) from error
    for commit in commits(directory):
        if commit.run != run:
            for name in commit.files:
                (directory / name).unlink(missing_ok=True)
            commit.path(directory).unlink()


def write_table(table: pa.Table, path: Path, format_: str) -> None:
    """A table as a file of the format."""
    if format_ == "csv":
        pyarrow.csv.write_csv(table, path)
    elif format_ == "json":
        with path.open("w", encoding="utf-8") as file:
            for batch in table.to_batches():
                file.writelines(
                    json.dumps(row, default=str, ensure_ascii=False) + "\n"
                    for row in batch.to_pylist()
                )
    else:
        pyarrow.parquet.write_table(table, path, compression="zstd")


class FileSink:
    """Changes of one query as files below a directory; a run starts the directory afresh."""

    def __init__(self, directory: Path, format_: str) -> None:
        self.directory, self.format, self.run = directory, format_, uuid.uuid4().hex
        self._batch = self._rows = 0
        self._pending: list[pa.RecordBatch] = []
        prepare(directory, self.run)

    def write(self, changes: pa.RecordBatch, rows_in: int, now: int | None) -> None:
        """Take changes in; they are published when there are enough for a file."""
        self._pending.append(changes)
        self._rows += changes.num_rows
        if self._rows >= ROWS_PER_FILE:
            self.flush(rows_in, now)

    def flush(self, rows_in: int, now: int | None) -> None:
        """Publish what is pending; if that fails, the next time."""
        if not self._pending:
            return
        self._check_alone()
        name = f"batch-{self._batch:08d}-00000.{SUFFIX[self.format]}"
        hidden = self.directory / f".{name}"
        commit = Commit(self._batch, self.run, (name,), now, rows_in, self._rows, 0, 0)
        try:
            write_table(pa.Table.from_batches(self._pending), hidden, self.format)
            hidden.replace(self.directory / name)
            publish(commit.path(self.directory), commit.to_json())
        except OSError as error:
            raise InputError(
                where=f"INTO '{self.directory}'",
                expected="a directory that results can be written to",
                found=str(error),
                remedy="make room, or make the directory again",
            ) from error
        self._batch, self._rows, self._pending = self._batch + 1, 0, []

    def _check_alone(self) -> None:
        """Two runs that number their files alike would leave something of each."""
        for path in {commit_path(self.directory, n) for n in (0, self._batch)}:
            if path.exists() and Commit.read(path).run != self.run:
                raise StateError(
                    where=f"INTO '{self.directory}'",
                    expected="the results of this run alone",
                    found="those of another that writes there too",
                    remedy="give each its own directory, and begin them anew",
                )
