"""The driver's copy of a checkpoint in an object store.

Notes on micro-batches are in a directory, and logs and records beside them: all of it small, and
written by the driver alone. So they are files of a directory that a start fills from ``notes/`` of
the checkpoint, and that is put back there as it changes: before a micro-batch publishes anything,
everything is there that says what it had. What tasks read and write, state and
results and pushed rows, is in the checkpoint alone (``windrow.object_store.object_path``).

A micro-batch is over when its state is committed, so the notes of that are not put but made from
those. One that was begun and not committed is repeated with the same rows, under the same number:
its offsets and the entries of logs that they count are there.

Order, for whoever is cut short: records and the bytes of logs, then offsets, then ``pipeline.json``
of a new pipeline, then those that have changed. Everything is put where nothing is, or over what
this process has put or read: of two runs one is told.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windrow.core.errors import StateError
from windrow.core.paths import is_object_url, object_url
from windrow.object_store.appended_file import AppendedFile
from windrow.object_store.bucket import Bucket, Stored
from windrow.object_store.local_copies import default_cache
from windrow.object_store.object_path import NOTES, STORE, ObjectPath, replace_object
from windrow.spark.checkpoint.batch_logs import OVER
from windrow.spark.checkpoint.pipeline_directory import PIPELINE, PREFIX
from windrow.spark.checkpoint.run_record import RECORD
from windrow.spark.source.inbox import INBOX
from windrow.spark.stage.state_files import RETAINED, StateCommits

LOG = ".log"
OFFSETS, COMMITS = "spark/offsets/", "spark/commits/"
NOT_PUT = ("exchange/", COMMITS)
"""Of a pipeline: what is of use in a micro-batch only, and what is made from commits of state."""
COPIES = "checkpoints"
"""In the directory for local copies."""
HANDS = 16
"""Requests at a time."""
ATTEMPTS = 5
"""For those who only look: the run may replace what is being read."""


@dataclass(frozen=True)
class Put:
    """A file as it was put or read: what the disk says of it, and the tag of its object."""

    signature: tuple[int, int, int]
    tag: str


class WorkingCopy:
    """See the module. ``directory`` stands for the checkpoint at ``url`` as long as it is open."""

    def __init__(self, url: str | os.PathLike[str]) -> None:
        self.url = object_url(url)
        self._bucket = Bucket(f"{self.url}/{NOTES}")
        self.directory, self._mark = _new_directory(self.url)
        self._put: dict[str, Put] = {}
        self._logs: dict[str, AppendedFile] = {}
        self._pushing: dict[str, threading.Lock] = {}
        self._closed = False

    # From the store

    def pull(self) -> None:
        """Have all that there is; called before anything is written here."""
        stored = self._bucket.list_below("")
        pieces: dict[str, dict[str, Stored]] = {}
        plain: dict[str, Stored] = {}
        for key, known in stored.items():
            folder, _, name = key.rpartition("/")
            if _is_log(folder):
                pieces.setdefault(folder, {})[name] = known
            elif key not in self._put or self._put[key].tag != known.tag:
                plain[key] = known
        for gone in self._put.keys() - stored.keys():
            (self.directory / gone).unlink(missing_ok=True)
            del self._put[gone]
        _side_by_side(self._pull_file, plain)
        _side_by_side(lambda log: self._pull_log(log, pieces[log]), pieces)
        for directory in self.directory.glob(f"{PREFIX}*"):
            self._note_commits(directory)

    def look(self) -> None:
        """The same for who has no lock, and may find that something has just been replaced."""
        for attempt in range(ATTEMPTS):
            try:
                self.pull()
            except FileNotFoundError:
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return

    def _pull_file(self, key: str) -> None:
        data, tag = self._bucket.get_tagged(key)
        self._put[key] = Put(_write(self.directory / key, data), tag)

    def _pull_log(self, key: str, stored: dict[str, Stored]) -> None:
        log, path = AppendedFile(self._bucket, key, stored), self.directory / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(log.read(file.tell()))
        self._logs[key] = log

    def pull_inboxes(self) -> None:
        """Have what a connection has delivered, to see what comes next and how far it came."""
        inboxes = Bucket(f"{self.url}/{INBOX}")
        _side_by_side(
            lambda key: _write(self.directory / INBOX / key, inboxes.get(key)),
            inboxes.list_below(""),
        )

    def _note_commits(self, directory: Path) -> None:
        """Let the run find that micro-batches are over whose state is committed."""
        commits = StateCommits(ObjectPath(self.url) / directory.name / "state")
        last = max(commits.numbers(), default=-1)
        for begun in (directory / OFFSETS).glob("[0-9]*"):
            if int(begun.name) <= last:
                _write(directory / COMMITS / begun.name, OVER.encode())

    # To the store

    def push(self, below: str = "") -> None:
        """Put what has changed in a directory of the checkpoint, or in all of it.

        What is gone here stays in the store, but for offsets that a run has removed: who empties
        this directory does not mean the checkpoint.
        """
        with self._pushing.setdefault(below, threading.Lock()):
            if self._closed:
                return
            here = dict(self._files(below))
            changed = [key for key, known in here.items() if self._has_changed(key, known)]
            ranks = {key: self._rank(key) for key in changed}
            for rank in sorted({*ranks.values()}):
                mine = [key for key in changed if ranks[key] == rank]
                _side_by_side(lambda key: self._push_file(key, here[key]), mine)
            old = [key for key in self._put if key not in here and _is_older(key, here)]
            _side_by_side(self._delete, [key for key in old if key.startswith(below)])

    def delete_missing(self) -> None:
        """Let the store have no more than there is here."""
        here = dict(self._files(""))
        known = [*self._put, *self._logs]
        _side_by_side(self._delete, [key for key in known if key not in here])

    def _has_changed(self, key: str, signature: tuple[int, int, int]) -> bool:
        if _is_log(key):
            known = self._logs.get(key)
            return signature[1] > (0 if known is None else known.size)
        return key not in self._put or self._put[key].signature != signature

    def _rank(self, key: str) -> int:
        """What is put first, and what later."""
        if f"/{OFFSETS}" in key:
            return 1
        if key.endswith(f"/{PIPELINE}"):
            return 3 if key in self._put else 2
        return 0

    def _files(self, below: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
        """What is to be in the store: not what is hidden, as files are while they are written.

        Offsets are looked at before the logs that they count the entries of: those may grow.
        """
        for folder, folders, names in os.walk(self.directory / below):
            folders.sort()
            if Path(folder).name == "streams":
                folders.clear()  # what was read of text can be read again
            inside = os.path.relpath(folder, self.directory)
            prefix = "" if inside == "." else f"{inside}/"
            if prefix.endswith(NOT_PUT) or prefix.startswith(f"{INBOX}/"):
                continue
            for name in names:
                if not name.startswith("."):
                    with suppress(FileNotFoundError):
                        yield f"{prefix}{name}", _signature(Path(folder) / name)

    def _push_file(self, key: str, signature: tuple[int, int, int]) -> None:
        if _is_log(key):
            self._push_log(key)
            return
        try:
            data = (self.directory / key).read_bytes()
        except FileNotFoundError:  # old notes are removed
            return
        known = self._put.get(key)
        if key.endswith(f"/{RECORD}"):  # which nothing depends on
            tag: str | None = self._bucket.put(key, data).tag
        else:
            tag = replace_object(self._bucket, key, data, None if known is None else known.tag)
        if tag is None:
            raise self._taken_over(key)
        self._put[key] = Put(signature, tag)

    def _push_log(self, key: str) -> None:
        """The whole lines behind what is there."""
        path = self.directory / key
        log = self._logs.setdefault(key, AppendedFile(self._bucket, key, {}))

        def read(start: int, stop: int | None = None) -> bytes:
            with path.open("rb") as file:
                file.seek(start)
                return file.read() if stop is None else file.read(stop - start)

        new = read(log.size)
        new = new[: new.rfind(b"\n") + 1]
        if new and not (log.append(new) and log.merge(read)):
            raise self._taken_over(key)

    def _delete(self, key: str) -> None:
        if self._logs.pop(key, None) is not None:
            for piece in self._bucket.list_folder(key):
                self._bucket.delete(f"{key}/{piece}")
        else:
            self._bucket.delete(key)
            self._put.pop(key, None)

    def _taken_over(self, key: str) -> StateError:
        return StateError(
            "another run has written to the checkpoint",
            where=self._bucket.where(key),
            expected="what this run has put or read there",
            found="something else",
            remedy="if the other run is the one to go on, leave it alone; otherwise stop it, and "
            "run the same command once more",
        )

    def close(self) -> None:
        """Forget the copy; what was not put is lost."""
        self._closed = True
        for pushing in list(self._pushing.values()):
            with pushing:  # what has begun ends
                pass
        shutil.rmtree(self.directory, ignore_errors=True)
        os.close(self._mark)


@contextmanager
def notes_of(checkpoint: Path, *, keep: bool = False) -> Iterator[Path]:
    """A checkpoint as a directory: itself, or a copy of one in an object store.

    With ``keep`` what is changed there is put back in the end; who says so has the lock.
    """
    if not is_object_url(checkpoint):
        yield checkpoint
        return
    copy = WorkingCopy(checkpoint)
    try:
        copy.look()
        yield copy.directory
        if keep:
            copy.push()
            copy.delete_missing()
    finally:
        copy.close()


def _new_directory(url: str) -> tuple[Path, int]:
    """A directory for a copy, and what has it marked as in use; those of dead processes go."""
    root = default_cache().directory / COPIES
    root.mkdir(parents=True, exist_ok=True)
    for store in root.glob(f"*/{STORE}"):
        with suppress(OSError), store.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(store.parent, ignore_errors=True)
    directory = Path(tempfile.mkdtemp(dir=root)).absolute()
    hidden = directory / f"{STORE}.new"
    mark = os.open(hidden, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    fcntl.flock(mark, fcntl.LOCK_EX)
    os.write(mark, url.encode())
    hidden.rename(directory / STORE)  # nobody looks at it before it is locked
    return directory, mark


def _is_older(key: str, here: Collection[str]) -> bool:
    """Whether a file has offsets to which no run goes back."""
    folder, _, name = key.rpartition("/")
    if not f"{folder}/".endswith(OFFSETS) or not name.isdigit():
        return False
    numbers = [int(n) for k in here if (n := k.removeprefix(f"{folder}/")).isdigit()]
    return bool(numbers) and int(name) < max(numbers) - RETAINED


def _is_log(key: str) -> bool:
    """Whether a file is only appended to."""
    return key.endswith(LOG) and key.split("/")[-2:-1] == ["streams"]


def _signature(path: Path) -> tuple[int, int, int]:
    known = path.stat()
    return known.st_mtime_ns, known.st_size, known.st_ino


def _write(path: Path, data: bytes) -> tuple[int, int, int]:
    """A file that is replaced as a whole; nothing is synced, since the store has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    hidden = path.with_name(f".{path.name}")
    hidden.write_bytes(data)
    hidden.replace(path)
    return _signature(path)


def _side_by_side(work: Callable[[str], object], keys: Iterable[str]) -> None:
    found = list(keys)
    if len(found) == 1:
        work(found[0])
    elif found:
        with ThreadPoolExecutor(min(HANDS, len(found))) as hands:
            for done in [hands.submit(work, key) for key in found]:
                done.result()
