"""What can go wrong with an archive, told apart by what to do about it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from windrow.core.errors import WindrowError

_FULL = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "free space on the disk")
_MANY = dict.fromkeys((errno.EMFILE, errno.ENFILE), "a free file descriptor")
_EXPECTED = {**_FULL, **_MANY}
_REMEDY = {
    **dict.fromkeys(
        _FULL, "free some space (`vacuum` removes files that no version needs), then try again"
    ),
    **dict.fromkeys(_MANY, "raise the limit (`ulimit -n`) or close files, then try again"),
}


class ArchiveError(WindrowError):
    """Base of the archive's errors: a wrong argument, or an archive that is not as it should be.

    >>> from windrow.archive import open as open_archive
    >>> try:
    ...     open_archive("no/such/archive")
    ... except ArchiveError as error:
    ...     error.expected, error.found
    ('an archive', 'no version of one')
    """


class DayError(ArchiveError):
    """A day cannot be taken, or a moment not be read: it is on the wrong side of the window.

    >>> from windrow.archive import Calendar
    >>> Calendar.of("days").parse("yesterday")
    Traceback (most recent call last):
    windrow.archive.errors.DayError: yesterday: expected a date such as 2026-03-01; found yesterday
    """


class StorageError(ArchiveError):
    """The disk refused (full, failing, read-only). Nothing was published; it can be tried again.

    >>> import tempfile
    >>> from windrow.archive import LifetimeIndex
    >>> file = tempfile.NamedTemporaryFile()  # not a directory
    >>> import pyarrow as pa
    >>> schema = pa.schema({"k": pa.int64()})
    >>> LifetimeIndex.create(f"{file.name}/index", schema, "k", longest=4, interval=1)
    Traceback (most recent call last):
    windrow.archive.errors.StorageError: ...: expected a directory; found a file; choose another ...
    """


class ConflictError(ArchiveError):
    """Another writer published first. Nothing of this writer's is seen; it can start over.

    >>> import tempfile
    >>> from windrow.archive import Archive
    >>> import pyarrow as pa
    >>> directory, schema = tempfile.TemporaryDirectory(), pa.schema({"k": pa.int64()})
    >>> for _ in range(2):
    ...     made = Archive.create(directory.name, schema, "k", window=7, scheme="DEL", n=1)
    Traceback (most recent call last):
    windrow.archive.errors.ConflictError: ...: expected a directory without an archive; found ...
    """


class SchemeError(ArchiveError):
    """A scheme was given a window, a number of constituents or a day that it cannot work with.

    >>> from windrow.archive import scheme_of
    >>> scheme_of("WATA").start(window=7, n=1)
    Traceback (most recent call last):
    windrow.archive.errors.SchemeError: WATA with a window of 7 days in 1 constituents: expected ...
    """


class LifetimeError(ArchiveError):
    """A record, an instant or a grid that an index of variable lifetimes cannot take.

    >>> from windrow.archive import Grid
    >>> Grid(0, 4)
    Traceback (most recent call last):
    windrow.archive.errors.LifetimeError: grid: expected at least one partition of insertion ...
    """


class HalfwayError(ArchiveError):
    """The records are in, as version ``version``; but the window has not moved on all the way, or
    what a scheme does after a day is left to do. ``advance`` goes on; appending again would double.

    >>> error = HalfwayError(5, StorageError(where="runs", expected="room", found="a full disk"))
    >>> error.version, error.remedy
    (5, 'do not append again: call `advance` to continue')
    """

    def __init__(self, version: int, cause: ArchiveError) -> None:
        self.version = version
        first = "restore the file from a copy; " if isinstance(cause, DamagedError) else ""
        super().__init__(
            f"version {version} has all records of this call, but a later step failed",
            where=cause.where,
            expected=cause.expected,
            found=cause.found or str(cause),
            remedy=f"{first}do not append again: call `advance` to continue",
        )


class OutcomeUnknownError(ArchiveError):
    """The disk failed in the instant of publishing: open the archive again to see which it is.

    >>> issubclass(OutcomeUnknownError, StorageError)  # which can be tried again; this cannot
    False
    """


class DamagedError(ArchiveError):
    """A file of the archive is missing, or its bytes are not those that were written.

    >>> import tempfile, pathlib
    >>> from windrow.archive import Archive
    >>> import pyarrow as pa
    >>> directory, schema = tempfile.TemporaryDirectory(), pa.schema({"k": pa.int64()})
    >>> made = Archive.create(directory.name, schema, "k", window=7, scheme="DEL", n=1)
    >>> manifest = next(pathlib.Path(directory.name, "versions").glob("*.json"))
    >>> bytes_written = manifest.write_bytes(manifest.read_bytes().replace(b"7", b"8"))
    >>> Archive.open(directory.name)
    Traceback (most recent call last):
    windrow.archive.errors.DamagedError: ...: expected a valid manifest; found ...
    """


@contextlib.contextmanager
def translate_os_errors(path: Path) -> Iterator[None]:
    """The disk's refusals as errors that say what to do."""
    try:
        yield
    except (FileNotFoundError, FileExistsError):
        raise
    except NotADirectoryError as error:
        raise StorageError(
            where=str(next((p for p in (path, *path.parents) if p.is_file()), path)),
            expected="a directory",
            found="a file",
            remedy="choose another path",
        ) from error
    except OSError as error:
        raise StorageError(
            "the archive is unchanged",
            where=str(path),
            expected=_EXPECTED.get(error.errno or 0, "a working disk"),
            found=os.strerror(error.errno) if error.errno else str(error),
            remedy=_REMEDY.get(
                error.errno or 0, "check the disk and its permissions, then try again"
            ),
        ) from error
