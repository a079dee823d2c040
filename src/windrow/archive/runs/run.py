"""A run that is open: its directory at once, its entries when they are needed.

A run that is open is mapped, and its bytes stay on the disk when its files are deleted. So readers
of one archive share what they open (``OpenRuns``), and each forgets what the newest version no
longer has; a writer forgets all that it opened when it is done.

What reads Parquet is imported when there is some: Arrow loads its file systems with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import cached_property

import pyarrow as pa

from windrow.archive.errors import DamagedError
from windrow.archive.format.blocks import (
    REMEDY,
    Blocks,
    Summed,
    blocks_in,
    small,
    split_sums,
    top_of,
)
from windrow.archive.format.disk import Disk, Pages, Written
from windrow.archive.format.layout import Layout
from windrow.archive.format.run_ref import RunRef
from windrow.archive.runs.arrow_entries import ArrowEntries
from windrow.archive.runs.entries import ALL, Entries, Only
from windrow.archive.runs.run_directory import Directory

__all__ = ["ALL", "Only", "Run"]


class Run:
    """A run that is open, with its directory. ``close`` is the garbage collector's business.

    What is read of it is compared with the sums of its blocks first (``format/blocks.py``); files
    that are small are compared as a whole, when they are opened.
    """

    def __init__(self, disk: Disk, layout: Layout, ref: RunRef) -> None:
        self.ref, self.layout, self._disk = ref, layout, disk
        self._whole = False
        self._pages: list[Pages] = []
        self._blocks: list[Blocks] = []
        first = blocks_in(ref.entries.size)
        _, blocks = self._map(ref.directory_file, ref.directory, first)
        self.directory = Directory(blocks, layout)

    def read_whole(self) -> None:
        """Say that the run is going to be read as a whole, to be written again.

        Its bytes are compared with their checksums, once: what is written gets checksums of its
        own, and they must not vouch for damage.
        """
        if self._whole:
            return
        self._forget_parts()
        for name, written in self.ref.files:
            found = self._disk.sum(name)
            if found != written:
                raise self._damage_error(name, f"{found.size} bytes with a wrong checksum", written)
        self._whole = True
        for pages in self._pages:
            pages.read_ahead()
        for blocks in self._blocks:
            blocks.trust()

    def _forget_parts(self) -> None:
        """A file of which parts are there is opened again, as a whole, when it is next needed."""
        if any(pages.fetch is not None for pages in self._pages):
            self.__dict__.pop("entries", None)
            self._pages = [pages for pages in self._pages if pages.fetch is None]
            self._blocks = [blocks for blocks in self._blocks if blocks.fetch is None]

    @cached_property
    def entries(self) -> Entries:
        """The file of entries, opened when it is first needed."""
        pages, blocks = self._map(self.ref.entries_file, self.ref.entries, 0)
        try:
            if self.ref.format == "arrow":
                return ArrowEntries(pages, blocks, self.layout)
            from windrow.archive.runs.parquet_entries import ParquetEntries  # noqa: PLC0415

            return ParquetEntries(pages, blocks, self.layout)
        except (pa.ArrowException, LookupError, OSError, ValueError) as error:
            raise DamagedError(
                where=blocks.where, expected="the entries of a run", found=str(error), remedy=REMEDY
            ) from error

    def check_footer(self) -> None:
        """Compare what a Parquet file says of itself, for others that are going to read it."""
        from windrow.archive.runs.parquet_entries import check_footer  # noqa: PLC0415

        check_footer(*self._map(self.ref.entries_file, self.ref.entries, 0))

    @cached_property
    def _summed(self) -> Summed | None:
        """The sums of all blocks, those of sums compared with what the manifest says."""
        if self.ref.sums is None:
            return None
        name, (written, top) = self.ref.sums_file, (self.ref.sums.written, self.ref.sums.top)
        count = blocks_in(self.ref.entries.size) + blocks_in(self.ref.directory.size)
        found = split_sums(self._disk.map(name), count)
        if found is None or top_of(found[1]) != top:
            raise self._damage_error(name, "a wrong checksum", written)
        return Summed(*found, self._disk.where(name))

    def _map(self, name: str, written: Written, first: int) -> tuple[Pages, Blocks]:
        """A file, and its blocks; ``first`` is the place of its first sum."""
        in_parts = name == self.ref.entries_file and self.ref.sums is not None and not self._whole
        pages = self._disk.map_parts(name) if in_parts else self._disk.map_pages(name)
        if pages.buffer.size != written.size:  # the one thing about bytes that costs nothing
            raise self._damage_error(name, str(pages.buffer.size), written)
        if self._whole:
            pages.read_ahead()
        summed = None if self._whole else self._summed
        doubted = summed is None and not self._whole and self._disk.summed
        if doubted and written.size <= small() and zlib.crc32(pages.buffer) != written.checksum:
            raise self._damage_error(name, f"{written.size} bytes with a wrong checksum", written)
        blocks = Blocks(pages.buffer, self._disk.where(name), summed, first, pages.fetch)
        self._pages.append(pages)
        self._blocks.append(blocks)
        return pages, blocks

    def _damage_error(self, name: str, found: str, written: Written) -> DamagedError:
        return DamagedError(
            where=self._disk.where(name),
            expected=f"the {written.size} bytes that were written",
            found=found,
            remedy=REMEDY,
        )


class OpenRuns:
    """Opens runs and finds them again."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk, self._layout = disk, layout
        self.runs: dict[str, Run] = {}

    def __call__(self, ref: RunRef) -> Run:
        run = self.runs.get(ref.name)
        if run is None:
            run = self.runs[ref.name] = Run(self._disk, self._layout, ref)
        return run

    def keep(self, refs: Iterable[RunRef]) -> None:
        """Forget all others; what readers of other versions use is kept open by them alone."""
        for name in set(self.runs) - {ref.name for ref in refs}:
            self.runs.pop(name, None)
