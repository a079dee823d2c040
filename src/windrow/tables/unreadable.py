"""A file that cannot be read as a whole, in words."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from windrow.core.errors import InputError

BY_FORMAT = "check that the file is whole and that FORMAT names what it is"
BY_NAME = "check that the file is whole and that its name ends in its format"


@contextmanager
def explain_unreadable(path: Path, expected: str, remedy: str = BY_NAME) -> Iterator[None]:
    """Turns what the file system, Arrow or a decompressor refuses into an InputError."""
    try:
        yield
    except (OSError, pa.ArrowException, EOFError, zlib.error) as error:
        raise InputError(
            where=str(path),
            expected=expected,
            found=str(error).splitlines()[0] if str(error) else type(error).__name__,
            remedy=remedy,
        ) from error
