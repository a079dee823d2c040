"""A run that is open: its directory at once, its entries when they are needed."""

from __future__ import annotations

from functools import cached_property

import pyarrow as pa

from windrow.archive.errors import DamagedError
from windrow.archive.files import Disk
from windrow.archive.layout import Layout
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
        self._ahead = False
        self._pages = [disk.map_pages(ref.directory_file)]
        self.directory = Directory(self._pages[0].buffer, layout, where)

    def read_ahead(self) -> None:
        """Say that the run is going to be read as a whole, or much of it."""
        self._ahead = True
        for pages in self._pages:
            pages.read_ahead()

    @cached_property
    def entries(self) -> Entries:
        """The file of entries, opened when it is first needed."""
        where = str(self._disk.path(self.ref.entries_file))
        pages = self._disk.map_pages(self.ref.entries_file)
        self._pages.append(pages)
        if self._ahead:
            pages.read_ahead()
        try:
            if self.ref.format == "arrow":
                return ArrowEntries(pages, self.layout)
            return ParquetEntries(pages, self.layout)
        except (pa.ArrowException, OSError, KeyError, ValueError) as error:
            raise DamagedError(
                where=where,
                expected="the entries of a run",
                found=str(error),
                remedy="run `verify`, and restore the file from a copy of the archive",
            ) from error
