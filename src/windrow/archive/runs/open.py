"""A run that is open: its directory at once, its entries when they are needed."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from windrow.archive.errors import DamagedError
from windrow.archive.files import Disk, Written
from windrow.archive.layout import Layout
from windrow.archive.pages import Pages
from windrow.archive.runs.arrow import ArrowEntries
from windrow.archive.runs.directory import Directory
from windrow.archive.runs.entries import ALL, Entries, Only
from windrow.archive.runs.parquet import ParquetEntries
from windrow.archive.runs.ref import RunRef

__all__ = ["ALL", "Only", "Run"]


class Run:
    """A run that is open, with its directory. ``close`` is the garbage collector's business."""

    def __init__(self, disk: Disk, layout: Layout, ref: RunRef) -> None:
        self.ref, self.layout, self._disk = ref, layout, disk
        where = str(disk.path(ref.directory_file))
        self._whole = False
        self._pages: list[Pages] = []
        self.directory = Directory(
            self._mapped(ref.directory_file, ref.directory).buffer, layout, where
        )

    def read_whole(self) -> None:
        """Say that the run is going to be read as a whole, to be written again.

        Its bytes are compared with their checksums, once: what is written gets checksums of its
        own, and they must not vouch for damage.
        """
        if self._whole:
            return
        for name, written in self.ref.files:
            found = self._disk.sum(name)
            if found != written:
                raise self._damaged(name, f"{found.size} others (checksum)", written)
        self._whole = True
        for pages in self._pages:
            pages.read_ahead()

    @cached_property
    def entries(self) -> Entries:
        """The file of entries, opened when it is first needed."""
        where = str(self._disk.path(self.ref.entries_file))
        pages = self._mapped(self.ref.entries_file, self.ref.entries)
        try:
            if self.ref.format == "arrow":
                return ArrowEntries(pages, self.layout)
            return ParquetEntries(pages, self.layout)
        except (pa.ArrowException, LookupError, OSError, ValueError) as error:
            raise DamagedError(
                where=where,
                expected="the entries of a run",
                found=str(error),
                remedy="run `verify`, and restore the file from a copy of the archive",
            ) from error

    def _mapped(self, name: str, written: Written) -> Pages:
        pages = self._disk.map_pages(name)
        if pages.buffer.size != written.size:  # the one thing about bytes that costs nothing
            raise self._damaged(name, str(pages.buffer.size), written)
        if self._whole:
            pages.read_ahead()
        self._pages.append(pages)
        return pages

    def _damaged(self, name: str, found: str, written: Written) -> DamagedError:
        return DamagedError(
            where=str(self._disk.path(name)),
            expected=f"the {written.size} bytes that were written",
            found=found,
            remedy="run `verify`, and restore the file from a copy of the archive",
        )
