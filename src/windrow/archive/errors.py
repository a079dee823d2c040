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


class SchemeError(ArchiveError):
    """A scheme was given a window, a number of constituents or a day that it cannot work with."""


class LifetimeError(ArchiveError):
    """A record, an instant or a grid that an index of variable lifetimes cannot take."""


class HalfwayError(ArchiveError):
    """The records are in, as version ``version``; but the window has not moved on all the way, or
    what a scheme does after a day is left to do. ``advance`` goes on; appending again would double.
    """

    def __init__(self, version: int, cause: ArchiveError) -> None:
        self.version = version
        first = "restore the file from a copy; " if isinstance(cause, DamagedError) else ""
        super().__init__(
            f"done up to version {version}, which has all records that were given, and no further",
            where=cause.where,
            expected=cause.expected,
            found=cause.found or str(cause),
            remedy=f"{first}do not append again: `advance` goes on from here",
        )


class OutcomeUnknownError(ArchiveError):
    """The disk failed in the instant of publishing: open the archive again to see which it is."""


class DamagedError(ArchiveError):
    """A file of the archive is missing, or its bytes are not those that were written."""
