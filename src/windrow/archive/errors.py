"""What can go wrong with an archive, told apart by what to do about it."""

from __future__ import annotations

from windrow.core.errors import WindrowError


class ArchiveError(WindrowError):
    """Base of the archive's errors: a wrong argument, or an archive that is not as it should be."""


class DayError(ArchiveError):
    """A day cannot be taken, or a moment not be read: it is on the wrong side of the window."""


class StorageError(ArchiveError):
    """The disk refused (full, failing, read-only). Nothing was published; it can be tried again."""


class ConflictError(ArchiveError):
    """Another writer published first. Nothing of this writer's is seen; it can start over."""


class OutcomeUnknownError(ArchiveError):
    """The disk failed in the instant of publishing: open the archive again to see which it is."""


class DamagedError(ArchiveError):
    """A file of the archive is missing, or its bytes are not those that were written."""
