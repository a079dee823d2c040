"""What a disk says when it refuses, as errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from windrow.archive.errors import StorageError

_FULL = dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "a disk that takes the file")
_MANY = dict.fromkeys((errno.EMFILE, errno.ENFILE), "to be allowed to open another file")
_EXPECTED = {**_FULL, **_MANY}
_REMEDY = {
    **dict.fromkeys(_FULL, "make room (`vacuum` removes what no version names), then try again"),
    **dict.fromkeys(_MANY, "raise the limit (`ulimit -n`) or close something, then try again"),
}


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
            "the archive is as it was before",
            where=str(path),
            expected=_EXPECTED.get(error.errno or 0, "a disk that works"),
            found=os.strerror(error.errno) if error.errno else str(error),
            remedy=_REMEDY.get(
                error.errno or 0, "check the disk and its permissions, then try again"
            ),
        ) from error
