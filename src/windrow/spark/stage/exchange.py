"""Large blobs on their way to another stage: files that are mapped, of which only the names travel.

A blob in Spark's shuffle goes through two sockets and the virtual machine, compressed and
decompressed on the way. Where all tasks see one disk it is written once instead and mapped where it
is read. The files of a micro-batch are of no use to the next one, so nothing is synced, and the
driver removes them all when the micro-batch is over.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pyarrow as pa

from windrow.core.thresholds import Threshold
from windrow.spark.stage.blobs import Header, pack, unpack

LARGE = Threshold(1 << 16, least=1)
"""Bytes from which a blob goes through a file."""
FILE = "file"


def send_by_file(blob: bytes, directory: str | None) -> bytes:
    """A blob that stands for this one, if it is large and there is a directory to put it in."""
    if directory is None or len(blob) < LARGE.value:
        return blob
    path = Path(directory) / uuid.uuid4().hex
    path.write_bytes(blob)
    return pack({FILE: str(path)}, {})


def open_blob(blob: pa.Buffer) -> tuple[Header, dict[str, pa.RecordBatch]]:
    """What a blob holds, wherever it is."""
    header, parts = unpack(blob)
    if FILE not in header:
        return header, parts
    return unpack(pa.memory_map(header[FILE]).read_buffer())


def prepare(directory: Path) -> None:
    """Make the directory, and empty it."""
    directory.mkdir(parents=True, exist_ok=True)
    clear(directory)


def clear(directory: Path) -> None:
    """Remove what is there; no task is running."""
    for path in directory.iterdir():
        path.unlink(missing_ok=True)
